//! Bytes × proofs → evidence. Every check here is a function of bytes: it reads no file and opens
//! no socket, so that it can be handed anything in a test.

mod anchors;
pub mod archive;
pub mod authenticode;
pub mod chain;
pub mod checksums;
pub mod cosign;
pub mod dsse;
pub mod keyless;
pub mod minisign;
pub mod openpgp;
pub mod proof;
pub mod sigstore;
pub mod statement;

use std::collections::BTreeMap;

use crate::base::code::Code;
use crate::base::digest::parse_sha256;
use crate::diagnostic::{Classify, Location};
use crate::model::evidence::{Evidence, ProofKind, Verdict};

pub use anchors::lint_anchors;

/// Why a proof does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ProofError {
    /// Stable, kebab-case: scripts and tests tell errors apart by it.
    pub code: Code,
    /// One sentence without a full stop: what is wrong, with the values that disagree.
    pub message: String,
}

impl Classify for ProofError {
    fn code(&self) -> Code {
        self.code
    }
}

impl ProofError {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

/// The bytes of a SHA-256 that is written in hexadecimal.
///
/// # Errors
/// `digest`: it is none.
pub(crate) fn require_digest(hex: &str) -> Result<[u8; 32], ProofError> {
    parse_sha256(hex).ok_or_else(|| ProofError::new(Code::DIGEST, "the digest is not hexadecimal"))
}

/// Proofs do not hold, or there was none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {}", describe_failures(*.failed, *.proofs))]
pub struct NotProven {
    pub file: String,
    pub failed: usize,
    pub proofs: usize,
}

fn describe_failures(failed: usize, proofs: usize) -> String {
    match proofs {
        0 => "nothing was verified: no proof was requested".to_owned(),
        proofs => format!("{failed} of {proofs} proofs failed"),
    }
}

impl Classify for NotProven {
    fn remedies(&self) -> Vec<String> {
        let proofs =
            "add a proof: `--sha256`, `--checksums`, `--signature`, `--bundle` or `--authenticode`";
        if self.proofs == 0 {
            vec![proofs.to_owned()]
        } else {
            Vec::new()
        }
    }

    fn code(&self) -> Code {
        Code::NOT_PROVEN
    }

    fn location(&self) -> Option<Location> {
        Some(Location::from_file(&self.file))
    }
}

/// Statements of a proof that holds.
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
pub fn record_evidence(
    proof: ProofKind,
    subject: &str,
    source: Option<&str>,
    outcome: Result<Proven, ProofError>,
) -> Evidence {
    let (verdict, code, detail, facts) = match outcome {
        Ok(proven) => (proven.verdict, None, proven.detail, proven.facts),
        Err(error) => (
            Verdict::Failed,
            Some(error.code.into()),
            error.message,
            BTreeMap::new(),
        ),
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
