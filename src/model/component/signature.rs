//! Detached signatures as their publishers declare them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::choice::words;
use crate::base::url::HttpUrl;
use crate::base::version::VersionRange;
use crate::model::evidence::ProofKind;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct DeclaredSignature {
    pub kind: SignatureKind,
    /// Versions that carry it, where that is fewer than the release entry says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versions: Option<VersionRange>,
    pub url: HttpUrl,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_url: Option<HttpUrl>,
    /// Signer: e-mail, workflow, or key fingerprint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// Public key itself, or the name of one in `manifests/trust/keys.json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl DeclaredSignature {
    /// Whether a key is declared and no identity: a sigstore bundle is by one or the other.
    pub fn is_by_key(&self) -> bool {
        self.key.is_some() && self.identity.is_none()
    }

    /// The first of the declared fields that no verifier of its kind looks at: whoever reads the declaration would
    /// believe that it was checked.
    pub fn find_unverified(&self) -> Option<&'static str> {
        let verified = self.kind.list_verified(self.is_by_key());
        let declared = [
            ("key", self.key.is_some()),
            ("identity", self.identity.is_some()),
            ("issuer", self.issuer.is_some()),
            ("certificateUrl", self.certificate_url.is_some()),
        ];
        declared.into_iter().find_map(|(field, is_declared)| {
            (is_declared && !verified.contains(&field)).then_some(field)
        })
    }
}

words!(
    SignatureKind {
        /// Detached cosign signature and short-lived certificate, without sigstore bundle.
        CosignKeyless = "cosign-keyless",
        /// in-toto statements in a sigstore bundle, by GitHub's build provenance.
        GithubAttestation = "github-attestation",
        /// OpenPGP, detached, over the checksum file.
        OpenpgpOverChecksums = "openpgp-over-checksums",
        /// OpenPGP, detached, over the file.
        Openpgp = "openpgp",
        /// A public key's signature over the file, as `cosign sign-blob --key` makes it.
        CosignKey = "cosign-key",
        /// The same over the checksum file.
        CosignKeyOverChecksums = "cosign-key-over-checksums",
        /// A sigstore bundle over the file.
        SigstoreBundle = "sigstore-bundle",
        Minisign = "minisign",
        MinisignOverChecksums = "minisign-over-checksums",
    }
);

impl SignatureKind {
    /// Whether the checksum file is what is signed.
    pub fn signs_checksums(self) -> bool {
        matches!(
            self,
            Self::OpenpgpOverChecksums | Self::CosignKeyOverChecksums | Self::MinisignOverChecksums
        )
    }

    /// Fields of a declaration that its verifier compares with the signature. `by_key`: a key is declared, and no
    /// identity.
    fn list_verified(self, by_key: bool) -> &'static [&'static str] {
        match self {
            Self::CosignKey
            | Self::CosignKeyOverChecksums
            | Self::Minisign
            | Self::MinisignOverChecksums => &["key"],
            Self::Openpgp | Self::OpenpgpOverChecksums => &["key", "identity"],
            Self::CosignKeyless => &["identity", "issuer", "certificateUrl"],
            Self::SigstoreBundle if by_key => &["key"],
            Self::SigstoreBundle | Self::GithubAttestation => &["identity", "issuer"],
        }
    }

    pub fn proof_kind(self) -> ProofKind {
        match self {
            Self::CosignKeyless => ProofKind::CosignKeyless,
            Self::GithubAttestation => ProofKind::Attestation,
            Self::OpenpgpOverChecksums | Self::Openpgp => ProofKind::Openpgp,
            Self::CosignKey | Self::CosignKeyOverChecksums => ProofKind::CosignKey,
            Self::SigstoreBundle => ProofKind::SigstoreBundle,
            Self::Minisign | Self::MinisignOverChecksums => ProofKind::Minisign,
        }
    }
}
