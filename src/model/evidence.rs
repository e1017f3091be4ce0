//! Evidence: what was checked of a file, by which means, and with what outcome.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A means of proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProofKind {
    /// A digest known beforehand.
    Pin,
    /// A size known beforehand.
    Size,
    /// The publisher's checksum file.
    ChecksumFile,
    /// A detached signature by a public key, as cosign makes it.
    CosignKey,
    /// Detached signature and short-lived certificate, without bundle.
    CosignKeyless,
    /// A sigstore bundle over the file.
    SigstoreBundle,
    /// An in-toto statement in a sigstore bundle that names the file's digest.
    Attestation,
    Openpgp,
    Minisign,
    Authenticode,
}

impl ProofKind {
    pub const ALL: &'static [Self] = &[
        Self::Pin,
        Self::Size,
        Self::ChecksumFile,
        Self::CosignKey,
        Self::CosignKeyless,
        Self::SigstoreBundle,
        Self::Attestation,
        Self::Openpgp,
        Self::Minisign,
        Self::Authenticode,
    ];

    /// Whether somebody's key stands behind it.
    #[must_use]
    pub fn is_signature(self) -> bool {
        !matches!(self, Self::Pin | Self::Size | Self::ChecksumFile)
    }

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pin => "pin",
            Self::Size => "size",
            Self::ChecksumFile => "checksum-file",
            Self::CosignKey => "cosign-key",
            Self::CosignKeyless => "cosign-keyless",
            Self::SigstoreBundle => "sigstore-bundle",
            Self::Attestation => "attestation",
            Self::Openpgp => "openpgp",
            Self::Minisign => "minisign",
            Self::Authenticode => "authenticode",
        }
    }
}

/// The outcome of a proof, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The file contradicts the proof.
    Failed,
    /// The proof was wanted and is not there.
    Absent,
    /// Signature and signer are right; nothing proves that it was made while the certificate held.
    SignedTimeUnproven,
    Verified,
}

impl Verdict {
    /// Whether the proof shows something.
    #[must_use]
    pub fn holds(self) -> bool {
        self >= Self::SignedTimeUnproven
    }

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Absent => "absent",
            Self::SignedTimeUnproven => "signed-time-unproven",
            Self::Verified => "verified",
        }
    }
}

/// One proof with its outcome, as lock, reports and `imagegen verify` show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Evidence {
    pub proof: ProofKind,
    pub verdict: Verdict,
    /// The file, or `archive!member`.
    pub subject: String,
    /// Stable name of what is wrong, where something is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// One sentence.
    pub detail: String,
    /// Where the proof was read: a URL without query, or a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What the proof says: digest, signer, issuer, root, time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
}
