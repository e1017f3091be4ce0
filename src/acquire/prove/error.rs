//! Why an artifact is not proven.

use crate::base::code::Code;
use crate::catalog::CatalogError;
use crate::diagnostic::{Classify, ErrorClass, Finding, Location, format_findings, list_remedies};
use crate::fetch::FetchError;
use crate::io::fs::FileError;
use crate::model::evidence::{Evidence, ProofKind, Verdict};
use crate::trust::PolicyError;
use crate::verify::ProofError;

#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("{name} failed verification:{}", format_findings(.failed))]
    Failed { name: String, failed: Vec<Finding> },
    #[error("no digest is recorded for {name}, and no proof of its publisher holds")]
    Nothing { name: String, component: String },
    #[error("{name}: {error} [{}]", .error.code)]
    Archive { name: String, error: ProofError },
    #[error(transparent)]
    Policy(PolicyError),
    #[error(transparent)]
    Proof(#[from] ProofError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{0} cannot be read again: {1}")]
    Unreadable(String, std::io::Error),
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

impl Classify for ProveError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Fetch(error) => error.class(),
            Self::File(error) => error.class(),
            _ => self.code().class(),
        }
    }

    fn remedies(&self) -> Vec<String> {
        match self {
            Self::Nothing { component, .. } => vec![format!(
                "verify the file yourself and state its digest: `--override {component}.sha256=<64 digits>`"
            )],
            Self::Failed { failed, .. } => list_remedies(failed),
            Self::Fetch(error) => error.remedies(),
            Self::Policy(error) => error.remedies(),
            Self::Catalog(error) => error.remedies(),
            Self::Archive { .. } | Self::Proof(_) | Self::File(_) | Self::Unreadable(..) => {
                Vec::new()
            }
        }
    }

    fn code(&self) -> Code {
        match self {
            Self::Fetch(error) => error.code(),
            Self::Archive { error, .. } | Self::Proof(error) => error.code,
            Self::Nothing { .. } => Code::UNPINNED,
            Self::Policy(error) => error.code(),
            Self::File(error) => error.code(),
            Self::Catalog(error) => error.code(),
            Self::Failed { .. } => Code::VERIFICATION,
            Self::Unreadable(..) => Code::INTERNAL,
        }
    }

    fn findings(&self) -> &[Finding] {
        match self {
            Self::Failed { failed, .. } => failed,
            Self::Policy(error) => error.findings(),
            _ => &[],
        }
    }

    fn location(&self) -> Option<Location> {
        match self {
            Self::File(error) => error.location(),
            _ => None,
        }
    }
}

/// Failed proofs as findings.
pub(super) fn failed_proofs(component: &str, evidence: &[Evidence]) -> Vec<Finding> {
    let is_pinned = evidence.iter().any(|proof| proof.proof == ProofKind::Pin);
    let failed = evidence
        .iter()
        .filter(|proof| proof.verdict == Verdict::Failed);
    failed
        .map(|proof| {
            let code = proof.code.as_deref().unwrap_or("failed");
            let remedy = if code == Code::PROOF_MISSING.as_str() {
                let pin = if is_pinned {
                    String::new()
                } else {
                    format!(
                        "verify the file yourself and state its digest: `--override {component}.sha256=<64 \
                         digits>`, and "
                    )
                };
                let name = proof.proof.as_str();
                format!(
                    "{pin}accept the missing proof by name: `--waive {component}={name}`, or `waivers` in the policy"
                )
            } else if proof.proof == ProofKind::Statement {
                format!(
                    "give the file of the planned program and version, or accept it by name: `--waive {component}=statement`, \
                     or `waivers` in the policy"
                )
            } else if code == Code::SIGSTORE_ROOT.as_str() {
                "do not use the file unless a newer imagegen verifies it, or this one with Sigstore's current root \
                 (`trust/sigstore-root.json` of `--manifests DIR`): Sigstore may have changed its keys since this one was \
                 released"
                    .to_owned()
            } else {
                "do not use the file; compare it with the publisher's site over another network".to_owned()
            };
            let message = format!("{}: {}", proof.proof.as_str(), proof.detail);
            Finding::from_data(code, message, remedy)
                .with_subject(&proof.subject)
                .with_source(proof.source.clone().unwrap_or_default())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::record_evidence;

    /// A log that came after the program's trusted root says nothing against the file.
    #[test]
    fn an_old_trusted_root_is_no_reason_to_doubt_the_publisher() {
        for (code, said) in [
            (Code::SIGSTORE_ROOT, "a newer imagegen"),
            (Code::SIGSTORE_BAD_SIGNATURE, "another network"),
        ] {
            let outcome = Err(ProofError::new(code, "it fails"));
            let proof = record_evidence(ProofKind::Attestation, "a.zip", None, outcome);
            let failed = failed_proofs("containerd", &[proof]);
            assert!(list_remedies(&failed)[0].contains(said), "{failed:?}");
        }
    }
}
