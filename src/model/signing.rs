//! Signers of the guest scripts, and the certificates that a guest must trust for them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::value::Sha256;
use crate::windows::resource::CertificateStore;

/// Outcome of a policy of signed scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signing {
    /// By digest.
    pub signers: Vec<Signer>,
    /// Certificates by which Windows trusts them, by store and digest.
    pub certificates: Vec<TrustedCertificate>,
}

/// A certificate that guest scripts are signed with.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Signer {
    pub subject: String,
    /// Of the certificate.
    pub sha256: Sha256,
}

/// A certificate of the machine's stores.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TrustedCertificate {
    pub store: CertificateStore,
    pub sha256: Sha256,
    /// DER in base64.
    pub content: String,
}
