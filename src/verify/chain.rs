//! From a certificate to a pinned root, as it stood at a time.
//!
//! Roots are pinned by their bytes and belong to a use; the machine's own trust store plays no
//! part. Revocation is not looked at: there is no offline source of it, and no proof claims it.

mod certificate;
mod explain;
pub(crate) mod oid;
mod policies;

use std::time::Duration;

use der::oid::ObjectIdentifier;
use rustls_pki_types::{CertificateDer, SignatureVerificationAlgorithm, TrustAnchor, UnixTime};
use serde::Deserialize;
use webpki::{ALL_VERIFICATION_ALGS, EndEntityCert, Error, KeyUsage, anchor_from_trusted_cert};

pub use certificate::X509Certificate;
pub(crate) use certificate::find_attribute_type;
use explain::explain_error;
use policies::{PolicyView, SignedPartAlgorithm};

use crate::base::json::parse_foreign;
use crate::base::public_key::decode_certificates;
use crate::diagnostic::classify;
use crate::embedded::Tree;

/// RSA keys below this many bits prove nothing.
pub const LEAST_RSA_BITS: usize = 2048;

/// Why a certificate does not lead to a root.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    #[error("a certificate cannot be read")]
    Malformed,
    #[error(
        "the certificate `{subject}` expired on {after}, before the time of the signature ({at})"
    )]
    Expired {
        subject: String,
        after: String,
        at: String,
    },
    #[error(
        "the certificate `{subject}` is valid from {before}, after the time of the signature ({at})"
    )]
    NotYetValid {
        subject: String,
        before: String,
        at: String,
    },
    #[error("`{subject}`, issued by `{issuer}`, does not chain to a pinned root for {purpose}")]
    UntrustedRoot {
        subject: String,
        issuer: String,
        purpose: &'static str,
    },
    #[error("the certificate `{subject}` is not for {purpose} ({why})")]
    Usage {
        subject: String,
        purpose: &'static str,
        why: &'static str,
    },
    #[error(
        "the certificate `{subject}` has an RSA key of {bits} bits, fewer than {LEAST_RSA_BITS}"
    )]
    WeakKey { subject: String, bits: usize },
    #[error("the certificate chain of `{subject}` is signed with SHA-1")]
    Sha1 { subject: String },
    #[error("the certificate chain of `{subject}` is invalid: {why}")]
    Invalid { subject: String, why: String },
}

classify!(ChainError => CERTIFICATE_CHAIN);

/// Why roots cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RootError {
    #[error("no certificate in PEM form (`-----BEGIN CERTIFICATE-----`)")]
    Empty,
    #[error("certificate {number} in the PEM cannot be read")]
    Unreadable { number: usize },
    #[error("trust/roots.json: {0}")]
    List(String),
    #[error("trust/{file} differs from the certificate in trust/roots.json: SHA-256 {found}")]
    Differs { file: String, found: String },
}

classify!(RootError => VALUE);

/// Purpose of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    CodeSigning,
    Timestamping,
}

impl Purpose {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CodeSigning => "code signing",
            Self::Timestamping => "timestamping",
        }
    }

    pub(crate) fn oid(self) -> ObjectIdentifier {
        match self {
            Self::CodeSigning => oid::CODE_SIGNING,
            Self::Timestamping => oid::TIME_STAMPING,
        }
    }

    /// Authorities without extended key usage are common, Microsoft's among them: so it binds
    /// where it is present. The leaf's is checked apart, because there it must be present.
    fn key_usage(self) -> KeyUsage {
        const CODE_SIGNING: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 3];
        const TIME_STAMPING: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 8];
        KeyUsage::required_if_present(match self {
            Self::CodeSigning => CODE_SIGNING,
            Self::Timestamping => TIME_STAMPING,
        })
    }
}

/// A certificate that is trusted because of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    pub subject: String,
    /// Of the certificate, lower case.
    pub sha256: String,
    der: Vec<u8>,
    not_before: u64,
    not_after: u64,
}

impl Root {
    /// # Errors
    ///
    /// Bytes that are no X.509 certificate.
    pub fn from_der(der: &[u8]) -> Result<Self, ChainError> {
        let certificate = X509Certificate::from_der(der)?;
        Ok(Self {
            subject: certificate.subject(),
            sha256: certificate.sha256(),
            not_before: certificate.not_before(),
            not_after: certificate.not_after(),
            der: der.to_vec(),
        })
    }

    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// A root's own dates are no part of path validation in RFC 5280; here they bind, as they do
    /// in OpenSSL.
    fn is_valid_at(&self, at: UnixTime) -> bool {
        (self.not_before..=self.not_after).contains(&at.as_secs())
    }
}

/// Certificates of a PEM file; text around them is skipped.
///
/// # Errors
///
/// No certificate, or one that cannot be read.
pub fn parse_roots(pem: &[u8]) -> Result<Vec<Root>, RootError> {
    let text = std::str::from_utf8(pem).map_err(|_| RootError::Empty)?;
    let mut found = Vec::new();
    for der in decode_certificates(text) {
        let number = found.len() + 1;
        let root = der.and_then(|der| Root::from_der(&der).ok());
        found.push(root.ok_or(RootError::Unreadable { number })?);
    }
    if found.is_empty() {
        Err(RootError::Empty)
    } else {
        Ok(found)
    }
}

/// The roots that the program carries, by use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedRoots {
    pub code_signing: Vec<Root>,
    pub timestamping: Vec<Root>,
}

/// `trust/roots.json`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RootList {
    roots: Vec<ListedRoot>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListedRoot {
    /// In `trust/`.
    file: String,
    sha256: String,
    r#use: Vec<Purpose>,
    /// For people.
    #[serde(rename = "subject")]
    _subject: String,
    #[serde(rename = "source")]
    _source: String,
}

impl PinnedRoots {
    /// Reads `trust/roots.json` of the manifests and the files it names.
    ///
    /// # Errors
    ///
    /// The list cannot be read, or a file is not the certificate whose digest the list holds.
    pub fn read(manifests: &Tree) -> Result<Self, RootError> {
        let list = manifests
            .get("trust/roots.json")
            .ok_or_else(|| RootError::List("is absent".to_owned()))?;
        let list: RootList =
            parse_foreign(list).map_err(|error| RootError::List(error.to_string()))?;
        let mut pinned = Self {
            code_signing: Vec::new(),
            timestamping: Vec::new(),
        };
        for listed in list.roots {
            let file = listed.file;
            let pem = manifests
                .get(&format!("trust/{file}"))
                .ok_or_else(|| RootError::List(format!("trust/{file} is missing")))?;
            let [root] = parse_roots(pem)?.try_into().map_err(|_| {
                RootError::List(format!("trust/{file} contains several certificates"))
            })?;
            if root.sha256 != listed.sha256 {
                return Err(RootError::Differs {
                    file,
                    found: root.sha256,
                });
            }
            if listed.r#use.contains(&Purpose::Timestamping) {
                pinned.timestamping.push(root.clone());
            }
            if listed.r#use.contains(&Purpose::CodeSigning) {
                pinned.code_signing.push(root);
            }
        }
        Ok(pinned)
    }
}

/// Purpose and time that a chain was built for.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    pub roots: &'a [Root],
    pub purpose: Purpose,
    pub at: UnixTime,
}

/// A chain that holds.
#[derive(Debug, Clone)]
pub struct Chain<'a> {
    pub root: &'a Root,
    /// Between leaf and root, the leaf's issuer first.
    pub authorities: Vec<Vec<u8>>,
}

/// The chain of a leaf to a root that holds at the time.
///
/// # Errors
///
/// See [`ChainError`].
pub fn build_chain<'a>(
    leaf: &X509Certificate<'_>,
    others: &[&[u8]],
    question: Question<'a>,
) -> Result<Chain<'a>, ChainError> {
    check_leaf(leaf, question.purpose)?;
    let roots: Vec<&Root> = question
        .roots
        .iter()
        .filter(|root| root.is_valid_at(question.at))
        .collect();
    let of_roots = roots.iter().map(|root| root.der.as_slice());
    let of_path = std::iter::once(leaf.der).chain(others.iter().copied());
    let view = PolicyView::new(of_path.chain(of_roots));
    let roots_der: Vec<CertificateDer<'_>> = roots
        .iter()
        .map(|root| CertificateDer::from(view.show(&root.der)))
        .collect();
    let mut anchors: Vec<TrustAnchor<'_>> = Vec::new();
    for der in &roots_der {
        anchors.push(
            anchor_from_trusted_cert(der).map_err(|error| invalid_chain_error(leaf, &error))?,
        );
    }
    let others: Vec<CertificateDer<'_>> = others
        .iter()
        .map(|der| CertificateDer::from(view.show(der)))
        .collect();
    let end = CertificateDer::from(view.show(leaf.der));
    let end = EndEntityCert::try_from(&end).map_err(|error| invalid_chain_error(leaf, &error))?;
    let view = &view;
    let algorithms: Vec<_> = ALL_VERIFICATION_ALGS
        .iter()
        .map(|inner| SignedPartAlgorithm {
            inner: *inner,
            view,
        })
        .collect();
    let algorithms: Vec<&dyn SignatureVerificationAlgorithm> = algorithms
        .iter()
        .map(|it| -> &dyn SignatureVerificationAlgorithm { it })
        .collect();
    let usage = question.purpose.key_usage();
    let path = end
        .verify_for_usage(
            &algorithms,
            &anchors,
            &others,
            question.at,
            usage,
            None,
            None,
        )
        .map_err(|error| explain_error(leaf, &others, question, error))?;
    let place = anchors.iter().position(|anchor| {
        anchor.subject == path.anchor().subject
            && anchor.subject_public_key_info == path.anchor().subject_public_key_info
    });
    let root = place
        .and_then(|place| roots.get(place))
        .ok_or_else(|| untrusted_root_error(leaf, question.purpose))?;
    let authorities = path
        .intermediate_certificates()
        .map(|authority| view.restore(&authority.der()))
        .collect();
    Ok(Chain { root, authorities })
}

/// Checks that path validation leaves out: a leaf that does not say its purpose, and its key.
fn check_leaf(leaf: &X509Certificate<'_>, purpose: Purpose) -> Result<(), ChainError> {
    if let Some(why) = find_usage_fault(leaf, purpose)? {
        return Err(ChainError::Usage {
            subject: leaf.subject(),
            purpose: purpose.as_str(),
            why,
        });
    }
    match leaf.rsa_bits() {
        Some(bits) if bits < LEAST_RSA_BITS => Err(ChainError::WeakKey {
            subject: leaf.subject(),
            bits,
        }),
        _ => Ok(()),
    }
}

fn find_usage_fault(
    leaf: &X509Certificate<'_>,
    purpose: Purpose,
) -> Result<Option<&'static str>, ChainError> {
    let Some(purposes) = leaf.purposes()? else {
        return Ok(Some("it has no extended key usage"));
    };
    if !purposes.contains(&purpose.oid()) {
        return Ok(Some("it has another extended key usage"));
    }
    if purpose == Purpose::Timestamping && purposes.len() != 1 {
        return Ok(Some("its extended key usage has other purposes, too"));
    }
    if !leaf.may_sign()? {
        return Ok(Some("its key usage lacks digitalSignature"));
    }
    let is_authority = leaf.is_authority();
    Ok(is_authority.then_some("it is the certificate of an authority"))
}

fn untrusted_root_error(leaf: &X509Certificate<'_>, purpose: Purpose) -> ChainError {
    ChainError::UntrustedRoot {
        subject: leaf.subject(),
        issuer: leaf.issuer(),
        purpose: purpose.as_str(),
    }
}

fn invalid_chain_error(leaf: &X509Certificate<'_>, error: &Error) -> ChainError {
    let why = match error {
        Error::InvalidSignatureForPublicKey => "a certificate is not signed by its issuer",
        Error::UnsupportedCriticalExtension => "a certificate has an unknown critical extension",
        Error::NameConstraintViolation => "a name is outside what an authority may issue",
        Error::PathLenConstraintViolated => "the chain is longer than an authority allows",
        Error::EndEntityUsedAsCa => "a certificate that is not an authority has issued another one",
        other => {
            return ChainError::Invalid {
                subject: leaf.subject(),
                why: other.to_string(),
            };
        }
    };
    ChainError::Invalid {
        subject: leaf.subject(),
        why: why.to_owned(),
    }
}

/// Seconds since 1970 as people and JSON write a time.
pub fn format_time(time: UnixTime) -> String {
    der::DateTime::from_unix_duration(Duration::from_secs(time.as_secs())).map_or_else(
        |_| format!("{} s after 1970", time.as_secs()),
        |time| time.to_string(),
    )
}
