//! Why an artifact is not proven.

use crate::fetch::FetchError;
use crate::io::fs::FileError;
use crate::model::evidence::Evidence;
use crate::policy::PolicyError;
use crate::verify::ProofError;

#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("{name} is not what its publisher says:{}", told(.failed))]
    Failed { name: String, failed: Vec<Evidence> },
    #[error("{name} is pinned by nobody, and its publisher offers no proof that holds")]
    Nothing { name: String, component: String },
    #[error(transparent)]
    Policy(PolicyError),
    #[error(transparent)]
    Proof(#[from] ProofError),
    #[error(transparent)]
    File(#[from] FileError),
}

fn told(failed: &[Evidence]) -> String {
    failed
        .iter()
        .map(|proof| {
            let code = proof.code.as_deref().unwrap_or("failed");
            let source = proof.source.as_ref().map(|source| format!(" ({source})")).unwrap_or_default();
            format!("\n  {} of {}: {} [{code}]{source}", proof.proof.as_str(), proof.subject, proof.detail)
        })
        .collect()
}

impl ProveError {
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Nothing { component, .. } => Some(format!(
                "check the file yourself and state its digest: `--override {component}.sha256=<64 digits>`"
            )),
            Self::Failed { .. } => Some(
                "do not use the file; compare with the publisher's own site over another network".to_owned(),
            ),
            Self::Fetch(_) | Self::Policy(_) | Self::Proof(_) | Self::File(_) => None,
        }
    }
}
