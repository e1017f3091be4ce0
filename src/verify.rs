//! Bytes × proofs → evidence. Every check here is a function of bytes: it reads no file and opens
//! no socket, so that it can be handed anything in a test.

pub mod archive;
pub mod authenticode;
pub mod chain;
pub mod checksums;
pub mod cosign;
pub mod keyless;
pub mod minisign;
pub mod openpgp;
pub mod sigstore;

use std::collections::BTreeMap;

use crate::diagnostic::{Classify, ErrorClass};
use crate::model::evidence::{Evidence, ProofKind, Verdict};

/// Why a proof does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ProofError {
    /// Stable, kebab-case: scripts and tests tell errors apart by it.
    pub code: &'static str,
    /// One sentence without a full stop: what is wrong, with the values that disagree.
    pub message: String,
}

impl Classify for ProofError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Verification
    }
}

impl ProofError {
    #[must_use]
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// Proofs that were asked for do not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {failed} of {proofs} proofs failed")]
pub struct NotProven {
    pub file: String,
    pub failed: usize,
    pub proofs: usize,
}

impl Classify for NotProven {
    fn class(&self) -> ErrorClass {
        ErrorClass::Verification
    }
}

/// What a proof that holds has shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proven {
    /// [`Verdict::Verified`] or [`Verdict::SignedTimeUnproven`].
    pub verdict: Verdict,
    pub detail: String,
    /// `signer`, `issuer`, `root`, `time`, … as evidence lists them.
    pub facts: BTreeMap<String, String>,
}

/// The outcome of one proof as evidence.
#[must_use]
pub fn evidence(
    proof: ProofKind,
    subject: &str,
    source: Option<&str>,
    outcome: Result<Proven, ProofError>,
) -> Evidence {
    let (verdict, code, detail, facts) = match outcome {
        Ok(proven) => (proven.verdict, None, proven.detail, proven.facts),
        Err(error) => (Verdict::Failed, Some(error.code.to_owned()), error.message, BTreeMap::new()),
    };
    Evidence {
        proof,
        verdict,
        subject: subject.to_owned(),
        code,
        detail,
        source: source.map(str::to_owned),
        facts,
    }
}
