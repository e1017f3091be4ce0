//! One detached signature against whoever is expected to have made it: the only caller of the verifiers of each form.
//!
//! The catalog, a stored proof and the flags of `verify` each say which signature they expect, as a value that lacks
//! nothing: a key that is not named, an identity without issuer or a missing certificate never becomes an
//! [`ExpectedSignature`].
//!
//! Codes: `no-signer`, `no-certificate`, and those of the forms.

use crate::base::code::Code;
use crate::base::text::convert_to_utf8;
use crate::model::evidence::ProofKind;

use super::sigstore::ExpectedSigner;
use super::{ProofError, Proven, cosign, keyless, minisign, openpgp, sigstore};

/// A trusted root of Sigstore in JSON; the built-in one where none is named.
type SigstoreRoot<'a> = Option<&'a str>;

/// The form of a signature, with everything that it must be by.
#[derive(Debug, Clone, Copy)]
pub enum ExpectedSignature<'a> {
    /// By a key in PEM, as `cosign sign-blob --key` makes it.
    Cosign {
        key: &'a str,
    },
    /// A signature and the short-lived certificate beside it.
    KeylessPair {
        certificate: &'a [u8],
        signer: ExpectedSigner<'a>,
        root: SigstoreRoot<'a>,
    },
    /// The same two in one file, as [`keyless::build_bundle`] makes it.
    KeylessBundle {
        signer: ExpectedSigner<'a>,
        root: SigstoreRoot<'a>,
    },
    /// A sigstore bundle by a key in PEM.
    BundleByKey {
        key: &'a str,
        root: SigstoreRoot<'a>,
    },
    /// A sigstore bundle by a certificate, with its entry in a log.
    BundleBySigner {
        signer: ExpectedSigner<'a>,
        root: SigstoreRoot<'a>,
    },
    /// A signed statement of provenance that lists the file.
    Attestation {
        signer: ExpectedSigner<'a>,
        root: SigstoreRoot<'a>,
    },
    /// A signature by a key of a keyring, or by a subkey of it.
    Openpgp {
        keyring: &'a [u8],
        /// Of the primary key: 40 hexadecimal digits.
        fingerprint: &'a str,
        /// Seconds since 1970.
        now: u64,
    },
    Minisign {
        key: &'a str,
    },
}

impl ExpectedSignature<'_> {
    /// The kind of proof as evidence names it, over the file itself.
    pub fn proof_kind(&self) -> ProofKind {
        match self {
            Self::Cosign { .. } => ProofKind::CosignKey,
            Self::KeylessPair { .. } | Self::KeylessBundle { .. } => ProofKind::CosignKeyless,
            Self::BundleByKey { .. } | Self::BundleBySigner { .. } => ProofKind::SigstoreBundle,
            Self::Attestation { .. } => ProofKind::Attestation,
            Self::Openpgp { .. } => ProofKind::Openpgp,
            Self::Minisign { .. } => ProofKind::Minisign,
        }
    }
}

/// Bytes that a signature is over.
pub trait SignedContent {
    /// # Errors
    /// Nobody knows the digest.
    fn sha256(&self) -> Result<[u8; 32], ProofError>;

    /// Passes every piece of the content to `each`. OpenPGP reads it once for each signature of the key, cosign for the
    /// digest of a curve.
    ///
    /// # Errors
    /// `unreadable`: it cannot be read.
    fn read_pieces(&self, each: &mut dyn FnMut(&[u8])) -> Result<(), ProofError>;
}

/// Whether a signature is over the content and by whoever is expected.
///
/// # Errors
/// See the codes of this module and of the form's.
pub fn verify_detached(
    content: &dyn SignedContent,
    signature: &[u8],
    expected: &ExpectedSignature<'_>,
) -> Result<Proven, ProofError> {
    let signature = &*convert_to_utf8(signature);
    match *expected {
        ExpectedSignature::Cosign { key } => cosign::verify_content(
            &content.sha256()?,
            |each| content.read_pieces(each),
            signature,
            key,
        ),
        ExpectedSignature::KeylessPair {
            certificate,
            signer,
            root,
        } => keyless::verify_signature(&content.sha256()?, signature, certificate, signer, root),
        ExpectedSignature::KeylessBundle { signer, root } => {
            keyless::verify_bundle(&content.sha256()?, signature, signer, root)
        }
        ExpectedSignature::BundleByKey { key, root } => {
            sigstore::verify_bundle_by_key(&content.sha256()?, signature, key, root)
        }
        ExpectedSignature::BundleBySigner { signer, root } => {
            sigstore::verify_bundle(&content.sha256()?, signature, signer, root)
        }
        ExpectedSignature::Attestation { signer, root } => {
            sigstore::verify_attestation(&content.sha256()?, signature, signer, root)
        }
        ExpectedSignature::Openpgp {
            keyring,
            fingerprint,
            now,
        } => openpgp::verify_detached(
            |each| content.read_pieces(each),
            signature,
            keyring,
            fingerprint,
            now,
        ),
        ExpectedSignature::Minisign { key } => {
            minisign::verify_minisign(|each| content.read_pieces(each), signature, key)
        }
    }
}

/// A value by which a signature must be, such as its `key`. One that is missing or empty would be met by anybody.
///
/// # Errors
/// `no-signer`
pub fn require_named<'a>(value: Option<&'a str>, what: &str) -> Result<&'a str, ProofError> {
    value
        .filter(|value| !value.trim().is_empty())
        .ok_or_else(|| ProofError::new(Code::NO_SIGNER, format!("the signature names no {what}")))
}

/// The signer of a short-lived certificate: both the identity and who vouched for it.
///
/// # Errors
/// `no-signer`: one of them is missing or empty.
pub fn require_signer<'a>(
    identity: Option<&'a str>,
    issuer: Option<&'a str>,
) -> Result<ExpectedSigner<'a>, ProofError> {
    Ok(ExpectedSigner {
        identity: require_named(identity, "identity")?,
        issuer: require_named(issuer, "issuer")?,
    })
}
