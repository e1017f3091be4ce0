//! Refusals of path validation in our words.

use rustls_pki_types::{CertificateDer, UnixTime};
use webpki::Error;

use super::{
    ChainError, LEAST_RSA_BITS, Question, X509Certificate, format_time, invalid_chain_error, oid,
    untrusted_root_error,
};

/// A refusal of path validation in our words.
pub(super) fn explain_error(
    leaf: &X509Certificate<'_>,
    others: &[CertificateDer<'_>],
    question: Question<'_>,
    error: Error,
) -> ChainError {
    let at = format_time(question.at);
    let mut certificates = vec![leaf.clone()];
    for der in others {
        certificates.extend(X509Certificate::from_der(der).ok());
    }
    match error {
        Error::CertExpired { not_after, .. } => ChainError::Expired {
            subject: find_dated_subject(&certificates, not_after),
            after: format_time(not_after),
            at,
        },
        Error::CertNotValidYet { not_before, .. } => ChainError::NotYetValid {
            subject: find_dated_subject(&certificates, not_before),
            before: format_time(not_before),
            at,
        },
        Error::UnknownIssuer => untrusted_root_error(leaf, question.purpose),
        Error::UnsupportedSignatureAlgorithmContext(_)
            if certificates.iter().any(is_signed_with_sha1) =>
        {
            ChainError::Sha1 {
                subject: leaf.subject(),
            }
        }
        Error::InvalidSignatureForPublicKey => {
            find_weak_key(&certificates).unwrap_or_else(|| invalid_chain_error(leaf, &error))
        }
        Error::RequiredEkuNotFoundContext(_) => ChainError::Usage {
            subject: leaf.subject(),
            purpose: question.purpose.as_str(),
            why: "one of its authorities may not issue for it",
        },
        other => invalid_chain_error(leaf, &other),
    }
}

/// Path validation names a time and no certificate: the first one that begins or ends then, else the leaf.
fn find_dated_subject(certificates: &[X509Certificate<'_>], time: UnixTime) -> String {
    let seconds = time.as_secs();
    let mut dated = certificates.iter();
    let found = dated.find(|it| it.not_before() == seconds || it.not_after() == seconds);
    found.unwrap_or(&certificates[0]).subject()
}

fn is_signed_with_sha1(certificate: &X509Certificate<'_>) -> bool {
    let algorithm = certificate.signature_algorithm();
    algorithm == oid::SHA1_WITH_RSA || algorithm == oid::ECDSA_WITH_SHA1
}

fn find_weak_key(certificates: &[X509Certificate<'_>]) -> Option<ChainError> {
    for certificate in certificates {
        if let Some(bits) = certificate.rsa_bits()
            && bits < LEAST_RSA_BITS
        {
            return Some(ChainError::WeakKey {
                subject: certificate.subject(),
                bits,
            });
        }
    }
    None
}
