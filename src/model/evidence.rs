//! Evidence: what was checked of a file, by which means, and with what outcome.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::choice::words;

words!(
    /// A means of proof.
    ProofKind {
        /// A digest known beforehand.
        Pin = "pin",
        /// A size known beforehand.
        Size = "size",
        /// The publisher's checksum file.
        ChecksumFile = "checksum-file",
        /// A detached signature by a public key, as cosign makes it.
        CosignKey = "cosign-key",
        /// Detached signature and short-lived certificate, without bundle.
        CosignKeyless = "cosign-keyless",
        /// A sigstore bundle over the file.
        SigstoreBundle = "sigstore-bundle",
        /// An in-toto statement in a sigstore bundle that names the file's digest.
        Attestation = "attestation",
        Openpgp = "openpgp",
        Minisign = "minisign",
        Authenticode = "authenticode",
    }
);

impl ProofKind {
    /// Whether somebody's key stands behind it.
    #[must_use]
    pub fn is_signature(self) -> bool {
        !matches!(self, Self::Pin | Self::Size | Self::ChecksumFile)
    }

    /// Whether it is a file beside the artifact, which can be missing: only such proofs can be waived.
    #[must_use]
    pub fn is_beside(self) -> bool {
        !matches!(self, Self::Pin | Self::Size | Self::Authenticode)
    }
}

words!(
    /// The outcome of a proof, worst first.
    Verdict {
        /// The file contradicts the proof.
        Failed = "failed",
        /// The proof was wanted and is not there.
        Absent = "absent",
        /// Signature and signer are right; nothing proves that it was made while the certificate held.
        SignedTimeUnproven = "signed-time-unproven",
        Verified = "verified",
    }
);

impl Verdict {
    /// Whether the proof shows something.
    #[must_use]
    pub fn holds(self) -> bool {
        self >= Self::SignedTimeUnproven
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
    /// Statements of the proof: digest, signer, issuer, root, time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
}
