//! Declared proofs that may be missing, and those that an override drops with the publisher's bytes: each needs a waiver
//! by name.

use crate::base::code::Code;
use crate::catalog::Catalog;
use crate::diagnostic::Finding;
use crate::embedded::Tree;
use crate::model::evidence::ProofKind;
use crate::model::plan::PlannedArtifact;
use crate::model::policy::Policy;

use super::anchor::plan_component;
use super::confidence::is_trusted_digest;
use super::gate::{PolicyError, PolicyFault};
use super::own_files::{is_vetted, replaces_component};
use super::subject::Subject;

/// Refuses proofs that an override drops and that no waiver names: one of the policy, or of `--waive` where there is no
/// policy. Whoever writes an override may be the author of a pull request, and the waiver is the operator's word.
///
/// # Errors
/// All findings at once.
pub fn check_dropped<'a>(
    policy: &Policy,
    artifacts: impl Iterator<Item = &'a PlannedArtifact>,
    catalog: &Catalog,
) -> Result<(), PolicyError> {
    let mut findings = Vec::new();
    for artifact in artifacts {
        // Bytes that the policy itself names need no proof of a publisher.
        let subject = Subject::from_artifact(artifact);
        let mut pins = artifact.digests.iter();
        if pins.any(|pin| is_trusted_digest(policy, pin.digest.as_str(), &subject)) {
            continue;
        }
        let dropped = if is_vetted(policy, artifact, catalog) {
            artifact.dropped.clone()
        } else {
            list_dropped(artifact, catalog)
        };
        for proof in dropped {
            if !is_waived(policy, artifact, proof) {
                let (component, name) = (&artifact.component, proof.as_str());
                let message = format!(
                    "the catalog declares {name}, and an override or a component file takes other bytes without it"
                );
                let remedy = format!(
                    "give a proof of your own there, or accept that it is dropped, by name: \
                     `--waive {component}={name}`, or in the policy \
                     `\"waivers\": [{{\"component\": \"{component}\", \"proof\": \"{name}\"}}]`"
                );
                let finding = Finding::new(Code::PROOF_DROPPED, message, remedy);
                findings.push(finding.with_subject(artifact.title()));
            }
        }
    }
    PolicyFault::Dropped.refuse(policy, findings)
}

/// Proofs of the publisher that an override drops, or a component file of the user's own that has none in their place.
pub fn list_dropped(artifact: &PlannedArtifact, catalog: &Catalog) -> Vec<ProofKind> {
    let mut dropped = artifact.dropped.clone();
    if !artifact.is_signed() && replaces_component(artifact, catalog) {
        let published = Catalog::new(Tree::embedded_manifests());
        let published = plan_component(artifact, &published);
        dropped.extend(published.iter().flat_map(PlannedArtifact::list_signatures));
        dropped.sort_unstable();
        dropped.dedup();
    }
    dropped
}

/// Whether a declared proof may be missing.
pub fn is_waived(policy: &Policy, artifact: &PlannedArtifact, proof: ProofKind) -> bool {
    policy
        .waivers
        .iter()
        .any(|waiver| artifact.component == waiver.component.as_str() && waiver.proof == proof)
}
