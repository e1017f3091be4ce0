//! A provider's policy against a plan and against what was proven. Pure.
//!
//! A violation names the rule, the artifact, and what would satisfy it.

use crate::model::evidence::{Evidence, ProofKind, Verdict};
use crate::model::plan::{Plan, PlannedArtifact};
use crate::model::policy::{Policy, Requirement};
use crate::model::url::host;

/// A demand that is not met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// `allowedHosts`, `require cosign`, …
    pub rule: String,
    pub subject: String,
    pub reason: String,
    pub remedy: String,
}

#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The selection itself is not allowed.
    #[error("policy {policy} refuses this image:{}", told(.violations))]
    Selection { policy: String, violations: Vec<Violation> },
    /// Something is not proven as the policy demands.
    #[error("policy {policy} is not satisfied:{}", told(.violations))]
    Proof { policy: String, violations: Vec<Violation> },
}

fn told(violations: &[Violation]) -> String {
    violations
        .iter()
        .map(|violation| {
            format!("\n  {}: {} (rule `{}`)", violation.subject, violation.reason, violation.rule)
        })
        .collect()
}

impl PolicyError {
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        match self {
            Self::Selection { violations, .. } | Self::Proof { violations, .. } => violations,
        }
    }
}

/// What can be judged before anything is fetched.
///
/// # Errors
/// All violations at once.
pub fn check_plan(policy: &Policy, plan: &Plan) -> Result<(), PolicyError> {
    let mut violations = Vec::new();
    for artifact in plan.artifacts() {
        violations.extend(forbidden(policy, artifact));
        violations.extend(hosts(policy, artifact));
        violations.extend(confidence(policy, artifact));
        violations.extend(publisher(policy, artifact));
        violations.extend(
            requirements(policy, artifact)
                .filter(|rule| !rule.any_of.iter().any(|proof| offers(artifact, *proof)))
                .map(|rule| unmet(rule, artifact, "nothing of the kind is known for it")),
        );
    }
    if policy.refuse_below_security_floor {
        violations.extend(plan.warnings.iter().filter(|warning| warning.id == "security-floor").map(
            |warning| Violation {
                rule: "refuseBelowSecurityFloor".to_owned(),
                subject: warning.subject.clone(),
                reason: warning.message.clone(),
                remedy: "choose a Kubernetes release that has the fix".to_owned(),
            },
        ));
    }
    if violations.is_empty() {
        return Ok(());
    }
    Err(PolicyError::Selection { policy: policy.name.clone(), violations })
}

/// What was proven of one artifact.
#[must_use]
pub fn check_evidence(policy: &Policy, artifact: &PlannedArtifact, evidence: &[Evidence]) -> Vec<Violation> {
    let minimum = policy.minimum_verdict.unwrap_or(Verdict::SignedTimeUnproven);
    let mut violations: Vec<Violation> = requirements(policy, artifact)
        .filter(|rule| {
            !evidence.iter().any(|proof| rule.any_of.contains(&proof.proof) && proof.verdict >= minimum)
        })
        .map(|rule| {
            let found: Vec<String> = evidence
                .iter()
                .filter(|proof| rule.any_of.contains(&proof.proof))
                .map(|proof| format!("{} is {}", proof.proof.as_str(), proof.verdict.as_str()))
                .collect();
            let found = if found.is_empty() { "there is none".to_owned() } else { found.join(", ") };
            unmet(rule, artifact, &found)
        })
        .collect();
    if let Some(allowed) = &policy.allowed_roots {
        let roots = evidence
            .iter()
            .filter(|proof| proof.proof == ProofKind::Authenticode)
            .filter_map(|proof| proof.facts.get("rootSha256"));
        violations.extend(roots.filter(|root| !allowed.iter().any(|ok| ok.eq_ignore_ascii_case(root))).map(
            |root| Violation {
                rule: "allowedRoots".to_owned(),
                subject: artifact.title(),
                reason: format!("its Authenticode chain ends in {root}"),
                remedy: format!(
                    "add the root to the policy, or override {} with a build of your own",
                    artifact.component
                ),
            },
        ));
    }
    violations
}

fn requirements<'a>(
    policy: &'a Policy,
    artifact: &'a PlannedArtifact,
) -> impl Iterator<Item = &'a Requirement> {
    policy.require.iter().filter(|rule| {
        rule.components.iter().any(|pattern| matches(pattern, &artifact.component))
            && rule.versions.as_ref().is_none_or(|range| range.contains(&artifact.version))
    })
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}

fn unmet(rule: &Requirement, artifact: &PlannedArtifact, found: &str) -> Violation {
    let wanted: Vec<&str> = rule.any_of.iter().map(|proof| proof.as_str()).collect();
    let wanted = wanted.join(" or ");
    Violation {
        rule: format!("require {}", rule.id),
        subject: artifact.title(),
        reason: format!("it must be proven by {wanted}, and {found}"),
        remedy: format!("override {} with a build that offers {wanted}", artifact.component),
    }
}

/// Whether a proof of this kind is known to be published for the artifact.
fn offers(artifact: &PlannedArtifact, proof: ProofKind) -> bool {
    match proof {
        ProofKind::Pin => artifact.is_pinned(),
        ProofKind::Size => artifact.size.is_some(),
        ProofKind::ChecksumFile => !artifact.checksums.is_empty(),
        ProofKind::Authenticode => artifact.authenticode.is_some(),
        _ => artifact.signatures.iter().any(|signature| signature.kind.proof() == proof),
    }
}

fn forbidden(policy: &Policy, artifact: &PlannedArtifact) -> Option<Violation> {
    policy.forbidden_components.iter().any(|pattern| matches(pattern, &artifact.component)).then(|| {
        Violation {
            rule: "forbiddenComponents".to_owned(),
            subject: artifact.title(),
            reason: "the component is forbidden".to_owned(),
            remedy: match artifact.component.as_str() {
                "wins" => "choose `--host-access services` or `hostprocess`".to_owned(),
                name => format!("choose an image without it (`imagegen explain {name}` says what brings it)"),
            },
        }
    })
}

fn hosts(policy: &Policy, artifact: &PlannedArtifact) -> Vec<Violation> {
    let Some(allowed) = policy.hosts() else { return Vec::new() };
    let urls =
        std::iter::once(&artifact.url).chain(artifact.checksums.iter().map(|checksum| &checksum.url)).chain(
            artifact.signatures.iter().flat_map(|signature| {
                std::iter::once(&signature.url).chain(signature.certificate_url.as_ref())
            }),
        );
    let mut refused: Vec<&str> = urls.map(|url| host(url)).filter(|host| !allowed.allow(host)).collect();
    refused.sort_unstable();
    refused.dedup();
    refused
        .into_iter()
        .map(|host| Violation {
            rule: "allowedHosts".to_owned(),
            subject: artifact.title(),
            reason: format!("it comes from {host}"),
            remedy: format!(
                "serve it from a host of yours: an override of `https://{host}/`, or `--mirror URL`"
            ),
        })
        .collect()
}

fn confidence(policy: &Policy, artifact: &PlannedArtifact) -> Option<Violation> {
    let minimum = policy.minimum_confidence?;
    let best = artifact.digests.iter().map(|digest| digest.confidence).max()?;
    (best < minimum).then(|| Violation {
        rule: "minimumConfidence".to_owned(),
        subject: artifact.title(),
        reason: format!("its digest is attested `{}`, below `{}`", best.as_str(), minimum.as_str()),
        remedy: format!(
            "check the file yourself and state its digest: `--override {}.sha256=…`",
            artifact.component
        ),
    })
}

fn publisher(policy: &Policy, artifact: &PlannedArtifact) -> Option<Violation> {
    let allowed = policy.allowed_publishers.as_ref()?;
    let publisher = &artifact.authenticode.as_ref()?.publisher;
    (!allowed.contains(publisher)).then(|| Violation {
        rule: "allowedPublishers".to_owned(),
        subject: artifact.title(),
        reason: format!("it is signed by `{publisher}`"),
        remedy: "add the publisher to the policy, or override the component with a build of your own"
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_components_end_in_a_star() {
        assert!(matches("kube*", "kubelet"));
        assert!(matches("kubelet", "kubelet"));
        assert!(!matches("kubelet", "kubelet2"));
        assert!(!matches("*kube", "kube"));
    }
}
