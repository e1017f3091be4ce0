//! Evidence: what was checked of a file, by which means, and with what outcome.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::choice::words;
use crate::base::code::Code;
use crate::base::names::is_same_program;
use crate::base::version::Version;

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
        /// Detached signature and short-lived certificate, without sigstore bundle.
        CosignKeyless = "cosign-keyless",
        /// A sigstore bundle over the file.
        SigstoreBundle = "sigstore-bundle",
        /// An in-toto statement in a sigstore bundle that names the file's digest.
        Attestation = "attestation",
        Openpgp = "openpgp",
        Minisign = "minisign",
        Authenticode = "authenticode",
        /// Statement of a file about itself: its name and its version.
        Statement = "statement",
    }
);

impl ProofKind {
    /// Whether a certificate names its signer, so that a verified proof says who that is.
    pub fn names_signer(self) -> bool {
        matches!(
            self,
            Self::CosignKeyless | Self::SigstoreBundle | Self::Attestation
        )
    }

    /// Whether somebody's key stands behind it.
    pub fn is_signature(self) -> bool {
        !matches!(
            self,
            Self::Pin | Self::Size | Self::ChecksumFile | Self::Statement
        )
    }

    /// Whether a waiver can accept that it is missing: a file beside the artifact, a statement of the file that is not
    /// the plan's, or a signature that an override drops.
    pub fn is_waivable(self) -> bool {
        !matches!(self, Self::Pin | Self::Size)
    }
}

words!(
    /// The outcome of a proof, worst first.
    Verdict {
        /// The file contradicts the proof.
        Failed = "failed",
        /// The proof is not there, or shows nothing: its code says whether a waiver accepts that.
        Absent = "absent",
        /// Signature and signer are right; nothing proves that it was made while the certificate held.
        SignedTimeUnproven = "signed-time-unproven",
        Verified = "verified",
    }
);

impl Verdict {
    /// The worst verdict of a proof that shows something.
    pub const LEAST: Self = Self::SignedTimeUnproven;

    /// Whether the proof shows something.
    pub fn holds(self) -> bool {
        self >= Self::LEAST
    }
}

/// Facts of a proof that say over which name and version it was made, and where that is said.
pub const STATED_NAME: &str = "statedName";
pub const STATED_VERSION: &str = "statedVersion";
pub const STATED_BY: &str = "statedBy";

/// Facts of a signature: its signer, who vouched for the signer's identity, and SHA-256 of the key where it is by a key.
pub const SIGNER: &str = "signer";
pub const ISSUER: &str = "issuer";
pub const KEY: &str = "keySha256";

/// Fact of a pin: how well its digest is attested, and the word for a digest that only a lockfile states.
pub const CONFIDENCE: &str = "confidence";
pub const UNPROVEN: &str = "unproven";
/// Fact of a checksum file that a mirror gave: whoever runs the mirror may have made it.
pub const MIRRORED: &str = "mirrored";

words!(
    /// A statement about an image.
    StatementKind {
        Provenance = "provenance",
        Sbom = "sbom",
        CheckReport = "check-report",
    }
);

impl StatementKind {
    /// URI of the predicate.
    pub fn predicate_type(self) -> &'static str {
        match self {
            Self::Provenance => "https://slsa.dev/provenance/v1",
            Self::Sbom => "https://cyclonedx.org/bom",
            Self::CheckReport => "https://in-toto.io/attestation/test-result/v0.1",
        }
    }

    pub fn from_predicate_type(uri: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|kind| kind.predicate_type() == uri)
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// One sentence.
    pub detail: String,
    /// Where the proof was read: a URL without query, or a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Statements of the proof: digest, signer, issuer, root, time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
}

impl Evidence {
    /// Whether the proof says that it is over one of these programs in this version.
    pub fn states(&self, programs: &[&str], version: &Version) -> bool {
        let (Some(name), Some(text)) =
            (self.facts.get(STATED_NAME), self.facts.get(STATED_VERSION))
        else {
            return false;
        };
        let mut programs = programs.iter();
        programs.any(|program| is_same_program(program, name)) && version.is_stated_by(text)
    }

    /// Whether it was wanted, is missing, and a waiver accepts that. A file that does not say what it is misses nothing.
    pub fn is_waived(&self) -> bool {
        self.verdict == Verdict::Absent && self.code.as_deref() == Some(Code::PROOF_WAIVED.as_str())
    }

    /// The identity in the certificate that this proof was verified with, as its issuer vouched for it; none where the
    /// proof is by a key.
    pub fn certified_identity(&self) -> Option<&str> {
        let is_certified = self.verdict.holds()
            && self.proof.names_signer()
            && self.facts.contains_key(ISSUER)
            && !self.facts.contains_key(KEY);
        self.facts
            .get(SIGNER)
            .map(String::as_str)
            .filter(|_| is_certified)
    }

    /// Whether it shows more than that the bytes are those of a lockfile.
    pub fn attests(&self) -> bool {
        let confidence = self.facts.get(CONFIDENCE).map(String::as_str);
        self.verdict.holds()
            && self.proof != ProofKind::Statement
            && self.proof != ProofKind::Size
            && confidence != Some(UNPROVEN)
    }

    /// `kube-proxy 1.20.0 (version resource)`; none where it says neither.
    pub fn describe_stated(&self) -> Option<String> {
        let fact = |name: &str| self.facts.get(name).map(String::as_str);
        let (name, version) = (fact(STATED_NAME), fact(STATED_VERSION));
        name.or(version)?;
        let by = fact(STATED_BY).unwrap_or_default();
        let (name, version) = (name.unwrap_or("no name"), version.unwrap_or("no version"));
        Some(format!("{name} {version} ({by})"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Evidence;

    /// A proof by a key has no certificate, whatever somebody writes into it.
    #[test]
    fn a_certificate_alone_names_an_identity() {
        let identity = "https://x.example/y/kubelet/z@refs/tags/v1.36.4";
        let certified = json!({"signer": identity, "issuer": "https://x.example"});
        let by_key = json!({"signer": identity, "issuer": "https://x.example", "keySha256": "ab"});
        for (proof, verdict, facts, named) in [
            ("cosign-keyless", "signed-time-unproven", &certified, true),
            ("sigstore-bundle", "verified", &certified, true),
            ("attestation", "verified", &certified, true),
            ("attestation", "failed", &certified, false),
            ("sigstore-bundle", "verified", &by_key, false),
            ("cosign-key", "verified", &certified, false),
            ("minisign", "verified", &certified, false),
            ("openpgp", "verified", &certified, false),
            (
                "attestation",
                "verified",
                &json!({"signer": identity}),
                false,
            ),
        ] {
            let evidence = json!({
                "proof": proof, "verdict": verdict, "subject": "f", "detail": "d", "facts": facts
            });
            let evidence: Evidence = serde_json::from_value(evidence).expect("evidence");
            let found = evidence.certified_identity();
            assert_eq!(found, Some(identity).filter(|_| named), "{evidence:?}");
        }
    }
}
