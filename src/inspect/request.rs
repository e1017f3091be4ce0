//! The proofs that a user asks for.

use std::path::PathBuf;

use crate::acquire::NetworkOptions;
use crate::base::value::{Sha256, Sha512};
use crate::catalog::Trees;
use crate::selection::NamedPolicy;
use crate::ui::Printer;

use super::demanded::Prover;
use super::review::Review;

/// A file, and the proofs that are to hold for it. Files of proofs are paths or URLs.
#[derive(Debug, Clone, Default)]
pub struct VerifyRequest {
    /// Path or URL.
    pub file: String,
    pub sha256: Option<Sha256>,
    pub sha512: Option<Sha512>,
    pub checksums: Option<String>,
    pub signature: Option<String>,
    pub key: Option<String>,
    pub certificate: Option<String>,
    pub bundle: Option<String>,
    /// Sigstore bundles of statements about an image.
    pub attestations: Vec<PathBuf>,
    /// Folder of stored proofs of a lockfile.
    pub proofs: Option<PathBuf>,
    pub identity: Option<String>,
    pub issuer: Option<String>,
    pub authenticode: Option<AuthenticodeRequest>,
    /// The reviewed lockfile.
    pub lock: Option<PathBuf>,
    pub policy: NamedPolicy,
    /// Time of the verification, in seconds since 1970; now if it is not named.
    pub at: Option<u64>,
    pub network: NetworkOptions,
}

/// Demands on Authenticode signatures.
#[derive(Debug, Clone, Default)]
pub struct AuthenticodeRequest {
    /// Names in the publisher's certificate: `O=…,CN=…`.
    pub publisher: Option<String>,
    /// Root certificates in PEM, in the place of the built-in ones.
    pub root: Option<PathBuf>,
    /// Globs of archive members; the file itself, if there is none.
    pub members: Vec<String>,
}

impl VerifyRequest {
    pub(super) fn prover<'a>(&'a self, trees: &'a Trees, printer: &'a Printer) -> Prover<'a> {
        Prover {
            named: &self.policy,
            network: &self.network,
            trees,
            printer,
        }
    }

    /// The review of what is verified as a whole; it admits no images beside those of the lockfile.
    pub(super) fn make_review(&self) -> Review<'_> {
        Review {
            lock: self.lock.as_deref(),
            images: &[],
            policy: &self.policy,
        }
    }

    /// Whether a proof, or a parameter of a proof, is given.
    pub fn names_proof(&self) -> bool {
        let named = [
            self.sha256.is_some(),
            self.sha512.is_some(),
            self.checksums.is_some(),
            self.signature.is_some(),
            self.key.is_some(),
            self.certificate.is_some(),
            self.bundle.is_some(),
            self.identity.is_some(),
            self.issuer.is_some(),
            self.authenticode.is_some(),
        ];
        named.contains(&true)
    }
}
