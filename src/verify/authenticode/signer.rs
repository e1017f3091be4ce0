//! Signer of a file, as certificates: for whoever must trust the same ones elsewhere.

use rustls_pki_types::UnixTime;

use super::VerifiedSignature;

/// A signer whose signature holds, and the chain that it holds by, in DER.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedBy {
    pub subject: String,
    pub leaf: Vec<u8>,
    /// Between leaf and root, the leaf's issuer first.
    pub authorities: Vec<Vec<u8>>,
    pub root: Vec<u8>,
    /// When the signer's certificate ends, in seconds since 1970.
    pub not_after: u64,
    /// With a timestamp the signature outlives its certificate.
    pub timestamp: Option<UnixTime>,
}

impl SignedBy {
    pub(super) fn from_signature(shown: &VerifiedSignature<'_>) -> Self {
        Self {
            subject: shown.leaf.subject(),
            leaf: shown.leaf.der.to_vec(),
            authorities: shown.authorities.clone(),
            root: shown.root.der().to_vec(),
            not_after: shown.leaf.not_after(),
            timestamp: shown.stamp.as_ref().map(|stamp| stamp.at),
        }
    }
}
