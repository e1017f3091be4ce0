//! A provider's policy against a plan and against what was proven. Pure.
//!
//! A violation names the rule, the subject, and what would satisfy it.

use crate::base::code::Code;
use crate::base::value::StepId;
use crate::catalog::Catalog;
use crate::diagnostic::{Classify, Finding, format_findings, list_remedies};
use crate::lock::PinnedPlan;
use crate::model::evidence::{Evidence, ProofKind};
use crate::model::plan::{Plan, PlannedArtifact};
use crate::model::policy::{Policy, Requirement, Role};

use super::anchor::{check_anchors, declares_own_proof};
use super::clauses::{
    check_base_image, check_forbidden, check_hosts, check_proxies, check_publisher, check_roots,
    check_version,
};
use super::code::{check_own_code, check_tool_bytes};
use super::confidence::{
    check_confidence, check_foreign_digests, check_proven_confidence, check_stated_digest,
    find_record,
};
use super::subject::{Subject, list_mirrors};
use super::subjects::list_subjects;
use super::transport::{check_addresses, check_transport};
use super::waived::check_dropped;

/// Why a policy refuses something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyFault {
    /// The policy demands what it cannot mean.
    Malformed,
    /// The selection itself is not allowed.
    Selection,
    /// Somebody on the way could change what is downloaded.
    Address,
    /// An override drops a proof that the catalog declares.
    Dropped,
    /// Something is not proven as the policy demands.
    Proof,
}

impl PolicyFault {
    /// # Errors
    /// There are findings.
    pub fn refuse(self, policy: &Policy, findings: Vec<Finding>) -> Result<(), PolicyError> {
        if findings.is_empty() {
            return Ok(());
        }
        Err(PolicyError::new(self, policy, findings))
    }

    fn describe(self, policy: &str) -> String {
        match self {
            Self::Malformed => format!("policy {policy} is wrong"),
            Self::Selection => format!("policy {policy} refuses this image"),
            Self::Address => "an address is not protected".to_owned(),
            Self::Dropped => "an override drops a proof of the publisher".to_owned(),
            Self::Proof => format!("policy {policy} is not satisfied"),
        }
    }
}

/// A refusal with everything that is wrong.
#[derive(Debug, thiserror::Error)]
#[error("{}:{}", .fault.describe(.policy), format_findings(.findings))]
pub struct PolicyError {
    fault: PolicyFault,
    policy: String,
    findings: Vec<Finding>,
}

impl PolicyError {
    pub fn new(fault: PolicyFault, policy: &Policy, findings: Vec<Finding>) -> Self {
        Self {
            fault,
            policy: policy.name.clone(),
            findings,
        }
    }
}

impl Classify for PolicyError {
    fn code(&self) -> Code {
        match self.fault {
            PolicyFault::Selection | PolicyFault::Malformed | PolicyFault::Address => Code::VALUE,
            PolicyFault::Proof | PolicyFault::Dropped => Code::VERIFICATION,
        }
    }

    fn remedies(&self) -> Vec<String> {
        list_remedies(&self.findings)
    }

    fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

/// A pinned plan that the policy allows. Only [`admit`] makes one.
#[derive(Debug)]
pub struct Admitted(PinnedPlan);

impl Admitted {
    pub fn pinned(&self) -> &PinnedPlan {
        &self.0
    }

    /// Digests of members that follow from the admitted digests of their archives.
    pub(crate) fn record_members<'a>(&mut self, proven: impl Iterator<Item = &'a PlannedArtifact>) {
        self.0.record_members(proven);
    }
}

/// The gate between a pinned plan and its bytes.
///
/// # Errors
/// All violations at once.
pub fn admit(
    pinned: PinnedPlan,
    policy: &Policy,
    catalog: &Catalog,
) -> Result<Admitted, PolicyError> {
    check_addresses(policy, pinned.plan())?;
    check_plan(policy, pinned.plan(), catalog)?;
    check_dropped(policy, pinned.plan().artifacts(), catalog)?;
    Ok(Admitted(pinned))
}

/// Judges everything that can be judged before anything is fetched.
///
/// # Errors
/// All findings at once.
pub fn check_plan(policy: &Policy, plan: &Plan, catalog: &Catalog) -> Result<(), PolicyError> {
    let mut findings: Vec<Finding> = list_subjects(plan)
        .iter()
        .flat_map(|subject| {
            check_subject(policy, subject, plan.governance.policy.is_some(), catalog)
        })
        .collect();
    findings.extend(
        list_mirrors(plan)
            .iter()
            .flat_map(|mirror| check_hosts(policy, mirror)),
    );
    findings.extend(check_base_image(policy, plan));
    findings.extend(check_proxies(policy, plan));
    if policy.refuse_floating_base_image {
        let floating = plan
            .choice_warnings
            .iter()
            .filter(|warning| warning.id == Code::FLOATING_BASE_IMAGE);
        findings.extend(floating.map(|warning| {
            let remedy = format!("pin the base image: `--var {}=…`", warning.subject);
            warning.refuse(Code::POLICY_REFUSE_FLOATING_BASE_IMAGE, remedy)
        }));
    }
    PolicyFault::Selection.refuse(policy, findings)
}

/// `applied` holds the ids of the steps that are part of a plan.
///
/// # Errors
/// A step that the policy requires is not among them.
pub fn check_steps(policy: &Policy, applied: &[StepId]) -> Result<(), PolicyError> {
    let absent = policy
        .required_steps
        .iter()
        .filter(|id| !applied.contains(id));
    let findings = absent.map(|id| {
        let remedy =
            format!("add the step `{id}` with `--steps DIR`, or select what it applies to");
        Finding::new(
            Code::POLICY_REQUIRED_STEPS,
            "no step of the plan has this id",
            remedy,
        )
        .with_subject(id)
    });
    PolicyFault::Selection.refuse(policy, findings.collect())
}

/// Checks subjects that are not in a plan: build tools, the user's files, images of manifests and bundles.
///
/// # Errors
/// All findings at once.
pub fn check_subjects(
    policy: &Policy,
    subjects: &[Subject<'_>],
    governed: bool,
    catalog: &Catalog,
) -> Result<(), PolicyError> {
    check_transport(policy, subjects)?;
    let mut findings = Vec::new();
    for subject in subjects {
        findings.extend(check_subject(policy, subject, governed, catalog));
    }
    PolicyFault::Selection.refuse(policy, findings)
}

/// `governed`: the user named the policy. Without one, whatever is pinned is allowed.
fn check_subject(
    policy: &Policy,
    subject: &Subject<'_>,
    governed: bool,
    catalog: &Catalog,
) -> Vec<Finding> {
    let mut findings = check_hosts(policy, subject);
    findings.extend(check_forbidden(policy, subject, catalog));
    findings.extend(check_foreign_digests(policy, subject));
    findings.extend(check_version(policy, subject));
    if subject.role == Role::BuildTool && subject.artifact.is_none() {
        // How it is published is judged beside the plan, as the artifact that it is.
        return findings;
    }
    if let Some(artifact) = subject.artifact {
        findings.extend(check_confidence(policy, artifact, catalog));
        findings.extend(check_publisher(policy, artifact));
        if governed {
            findings.extend(check_anchors(policy, artifact, catalog));
            findings.extend(check_tool_bytes(policy, artifact, catalog));
        }
    } else if matches!(
        subject.role,
        Role::Update | Role::VolumePlugin | Role::ContainerImage | Role::Medium
    ) {
        findings.extend(check_stated_digest(policy, subject));
    } else if governed {
        findings.extend(check_own_code(policy, subject));
    }
    let unmet = requirements(policy, subject)
        .filter(|rule| !rule.any_of.iter().any(|proof| offers(subject, *proof)))
        .map(|rule| report_unmet(rule, subject, "no such proof is recorded"));
    findings.extend(unmet);
    findings
}

/// Judges the proofs of one artifact.
#[must_use]
pub fn check_evidence(
    policy: &Policy,
    artifact: &PlannedArtifact,
    evidence: &[Evidence],
    catalog: &Catalog,
) -> Vec<Finding> {
    let subject = Subject::from_artifact(artifact);
    let mut findings: Vec<Finding> = requirements(policy, &subject)
        .filter(|rule| !is_met(policy, rule, &subject, artifact, evidence))
        .map(|rule| {
            let found: Vec<String> = evidence
                .iter()
                .filter(|proof| rule.any_of.contains(&proof.proof))
                .map(|proof| {
                    let stated = proof.describe_stated();
                    let stated = stated.filter(|_| rule.require_version).map_or_else(
                        || {
                            if rule.require_version {
                                " and states neither name nor version".to_owned()
                            } else {
                                String::new()
                            }
                        },
                        |stated| format!(" and states {stated}"),
                    );
                    format!(
                        "{} of {} is {}{stated}",
                        proof.proof.as_str(),
                        proof.subject,
                        proof.verdict.as_str()
                    )
                })
                .collect();
            let found = if found.is_empty() {
                "it is missing".to_owned()
            } else {
                found.join(", ")
            };
            report_unmet(rule, &subject, &found)
        })
        .collect();
    findings.extend(check_roots(policy, artifact, evidence));
    findings.extend(check_proven_confidence(policy, artifact, evidence, catalog));
    findings
}

/// Whether a policy wants more of an artifact's bytes than that they have their digest.
pub fn wants_proof(policy: &Policy, artifact: &PlannedArtifact, catalog: &Catalog) -> bool {
    let subject = Subject::from_artifact(artifact);
    let signed = artifact.authenticode.is_some();
    signed && (policy.allowed_roots.is_some() || policy.allowed_publishers.is_some())
        || requirements(policy, &subject).any(|rule| {
            !rule.any_of.contains(&ProofKind::Pin)
                || rule.require_version && find_record(policy, artifact, catalog).is_none()
        })
        || check_proven_confidence(policy, artifact, &[], catalog).is_some()
        || declares_own_proof(artifact, catalog)
}

/// One kind of proof must hold for all that the rule is about. A signature inside an archive covers its member
/// alone, so each one that is used needs its own.
fn is_met(
    policy: &Policy,
    rule: &Requirement,
    subject: &Subject<'_>,
    artifact: &PlannedArtifact,
    evidence: &[Evidence],
) -> bool {
    let minimum = policy.least_verdict();
    let names = subject.list_names();
    let states = |proof: &Evidence, names: &[&str]| {
        !rule.require_version || proof.states(names, &artifact.version)
    };
    let mut held = Vec::new();
    for proof in evidence {
        let holds =
            rule.any_of.contains(&proof.proof) && proof.verdict >= minimum && states(proof, &names);
        let is_inner = proof.proof == ProofKind::Authenticode && proof.subject.contains('!');
        if holds && !is_inner {
            return true;
        }
        if holds {
            held.push(proof);
        }
    }
    let mut used: Vec<&str> = rule
        .components
        .iter()
        .flat_map(|pattern| subject.brings(pattern))
        .collect();
    let whole = rule.roles.contains(&subject.role)
        || !rule.hosts.is_empty()
        || rule
            .components
            .iter()
            .any(|pattern| subject.is_called(pattern));
    if whole {
        used.clone_from(&subject.programs);
    }
    !used.is_empty()
        && used.iter().all(|program| {
            // Each program by its own name, or by that of the component in a record of these bytes.
            let names = [*program, subject.name.as_str()];
            let proofs: Vec<&Evidence> = held
                .iter()
                .copied()
                .filter(|proof| states(proof, &names))
                .collect();
            is_member_proven(artifact, program, &proofs)
        })
}

/// Whether one of the proofs is over a member that becomes this program.
fn is_member_proven(artifact: &PlannedArtifact, program: &str, proofs: &[&Evidence]) -> bool {
    for member in &artifact.members {
        let name = format!("{}!{}", artifact.file, member.member);
        if *member.file == *program && proofs.iter().any(|proof| proof.subject == name) {
            return true;
        }
    }
    false
}

fn requirements<'a>(
    policy: &'a Policy,
    subject: &'a Subject<'_>,
) -> impl Iterator<Item = &'a Requirement> {
    policy
        .require
        .iter()
        .filter(|rule| subject.is_selected(rule, &policy.mirrors))
}

fn report_unmet(rule: &Requirement, subject: &Subject<'_>, found: &str) -> Finding {
    let proofs: Vec<&str> = rule.any_of.iter().map(|proof| proof.as_str()).collect();
    let proofs = proofs.join(" or ");
    let remedy = match subject.role {
        Role::Artifact => format!(
            "override {} with a build that offers {proofs}",
            subject.name
        ),
        Role::Update => "give updates as files with their digests (`updates.files`)".to_owned(),
        _ => "choose an image without it, or change what the rule selects".to_owned(),
    };
    Finding::new(
        Code::POLICY_REQUIRE,
        format!(
            "it must be proven by {proofs}, as `{}` requires, but {found}",
            rule.id
        ),
        remedy,
    )
    .with_subject(&subject.title)
}

/// Whether a proof of this kind is known to be published for the subject.
fn offers(subject: &Subject<'_>, proof: ProofKind) -> bool {
    let Some(artifact) = subject.artifact else {
        // Nothing is published of other subjects but the bytes.
        return proof == ProofKind::Pin && !subject.digests.is_empty();
    };
    match proof {
        ProofKind::Pin => artifact.is_pinned(),
        ProofKind::Size => artifact.size.is_some(),
        ProofKind::ChecksumFile => !artifact.checksums.is_empty(),
        ProofKind::Authenticode => artifact.authenticode.is_some(),
        _ => artifact
            .signatures
            .iter()
            .any(|signature| signature.kind.proof_kind() == proof),
    }
}
