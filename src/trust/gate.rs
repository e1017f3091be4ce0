//! A provider's policy against a plan and against what was proven. Pure.
//!
//! A violation names the rule, the artifact, and what would satisfy it.

use crate::diagnostic::{Classify, ErrorClass, Finding, format_findings, list_remedies};
use crate::lock::PinnedPlan;
use crate::model::evidence::{Evidence, ProofKind, Verdict};
use crate::model::plan::{Plan, PlannedArtifact};
use crate::model::policy::{Policy, Requirement};
use crate::model::url::host;

use super::subject::{Subject, list_subjects};

#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The selection itself is not allowed.
    #[error("policy {policy} refuses this image:{}", format_findings(.findings))]
    Selection { policy: String, findings: Vec<Finding> },
    /// Something is not proven as the policy demands.
    #[error("policy {policy} is not satisfied:{}", format_findings(.findings))]
    Proof { policy: String, findings: Vec<Finding> },
}

impl Classify for PolicyError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Selection { .. } => ErrorClass::Selection,
            Self::Proof { .. } => ErrorClass::Verification,
        }
    }

    fn remedies(&self) -> Vec<String> {
        match self {
            Self::Selection { findings, .. } | Self::Proof { findings, .. } => list_remedies(findings),
        }
    }
}

/// A pinned plan that the policy allows. Only [`admit`] makes one.
#[derive(Debug)]
pub struct Admitted(PinnedPlan);

impl Admitted {
    #[must_use]
    pub fn pinned(&self) -> &PinnedPlan {
        &self.0
    }
}

/// The gate between a pinned plan and its bytes.
///
/// # Errors
/// All violations at once.
pub fn admit(pinned: PinnedPlan, policy: &Policy) -> Result<Admitted, PolicyError> {
    check_plan(policy, pinned.plan())?;
    Ok(Admitted(pinned))
}

/// What can be judged before anything is fetched.
///
/// # Errors
/// All findings at once.
pub fn check_plan(policy: &Policy, plan: &Plan) -> Result<(), PolicyError> {
    let mut findings = Vec::new();
    for subject in list_subjects(plan) {
        findings.extend(hosts(policy, &subject));
        let Some(artifact) = subject.artifact else { continue };
        findings.extend(forbidden(policy, artifact));
        findings.extend(confidence(policy, artifact));
        findings.extend(publisher(policy, artifact));
        findings.extend(
            requirements(policy, artifact)
                .filter(|rule| !rule.any_of.iter().any(|proof| offers(artifact, *proof)))
                .map(|rule| unmet(rule, artifact, "nothing of the kind is known for it")),
        );
    }
    if policy.refuse_below_security_floor {
        findings.extend(plan.warnings.iter().filter(|warning| warning.id == "security-floor").map(
            |warning| {
                Finding::new(
                    "refuseBelowSecurityFloor",
                    warning.message.clone(),
                    "choose a Kubernetes release that has the fix",
                )
                .with_subject(warning.subject.clone())
            },
        ));
    }
    if findings.is_empty() {
        return Ok(());
    }
    Err(PolicyError::Selection { policy: policy.name.clone(), findings })
}

/// What was proven of one artifact.
#[must_use]
pub fn check_evidence(policy: &Policy, artifact: &PlannedArtifact, evidence: &[Evidence]) -> Vec<Finding> {
    let minimum = policy.minimum_verdict.unwrap_or(Verdict::SignedTimeUnproven);
    let mut findings: Vec<Finding> = requirements(policy, artifact)
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
        findings.extend(roots.filter(|root| !allowed.iter().any(|ok| ok.eq_ignore_ascii_case(root))).map(
            |root| {
                Finding::new(
                    "allowedRoots",
                    format!("its Authenticode chain ends in {root}"),
                    format!(
                        "add the root to the policy, or override {} with a build of your own",
                        artifact.component
                    ),
                )
                .with_subject(artifact.title())
            },
        ));
    }
    findings
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

/// Whether a declared proof may be missing.
#[must_use]
pub fn is_waived(policy: &Policy, artifact: &PlannedArtifact, proof: ProofKind) -> bool {
    policy.waivers.iter().any(|waiver| waiver.component == artifact.component && waiver.proof == proof)
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}

fn unmet(rule: &Requirement, artifact: &PlannedArtifact, found: &str) -> Finding {
    let wanted: Vec<&str> = rule.any_of.iter().map(|proof| proof.as_str()).collect();
    let wanted = wanted.join(" or ");
    Finding::new(
        format!("require {}", rule.id),
        format!("it must be proven by {wanted}, and {found}"),
        format!("override {} with a build that offers {wanted}", artifact.component),
    )
    .with_subject(artifact.title())
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

fn forbidden(policy: &Policy, artifact: &PlannedArtifact) -> Option<Finding> {
    let remedy = match artifact.component.as_str() {
        "wins" => "choose `--host-access services` or `hostprocess`".to_owned(),
        name => format!("choose an image without it (`imagegen explain {name}` says what brings it)"),
    };
    let patterns = &policy.forbidden_components;
    patterns.iter().any(|pattern| matches(pattern, &artifact.component)).then(|| {
        Finding::new("forbiddenComponents", "the component is forbidden", remedy)
            .with_subject(artifact.title())
    })
}

fn hosts(policy: &Policy, subject: &Subject<'_>) -> Vec<Finding> {
    let Some(allowed) = policy.hosts() else { return Vec::new() };
    let mut refused: Vec<String> =
        subject.urls().into_iter().map(host).filter(|host| !allowed.allow(host)).collect();
    refused.sort_unstable();
    refused.dedup();
    let finding = |host: String| {
        let remedy =
            format!("serve it from a host of yours: an override of `https://{host}/`, or `--mirror URL`");
        Finding::new("allowedHosts", format!("it comes from {host}"), remedy).with_subject(&subject.title)
    };
    refused.into_iter().map(finding).collect()
}

fn confidence(policy: &Policy, artifact: &PlannedArtifact) -> Option<Finding> {
    let minimum = policy.minimum_confidence?;
    let best = artifact.digests.iter().map(|digest| digest.confidence).max()?;
    (best < minimum).then(|| {
        Finding::new(
            "minimumConfidence",
            format!("its digest is attested `{}`, below `{}`", best.as_str(), minimum.as_str()),
            format!(
                "check the file yourself and state its digest: `--override {}.sha256=…`",
                artifact.component
            ),
        )
        .with_subject(artifact.title())
    })
}

fn publisher(policy: &Policy, artifact: &PlannedArtifact) -> Option<Finding> {
    let allowed = policy.allowed_publishers.as_ref()?;
    let publisher = &artifact.authenticode.as_ref()?.publisher;
    (!allowed.contains(publisher)).then(|| {
        Finding::new(
            "allowedPublishers",
            format!("it is signed by `{publisher}`"),
            "add the publisher to the policy, or override the component with a build of your own".to_owned(),
        )
        .with_subject(artifact.title())
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
