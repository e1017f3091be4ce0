//! A detached signature with its short-lived certificate, as Kubernetes publishes them. It proves the signer, not
//! the time: the certificate is valid for minutes, and only a sigstore bundle proves that the signature was made in them.
//! The best verdict is `signed-time-unproven`.
//!
//! The certificate must be for code signing, chain to an authority of the trusted root at the start of its validity,
//! and contain a signed timestamp (SCT) of a certificate log of the root.
//!
//! Codes: `keyless-bundle`, `keyless-certificate`, `keyless-identity`, `keyless-log`, `keyless-root`, and those of
//! [`super::cosign`].

mod sct;

pub use sct::parse_promise_time;

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use der::asn1::{AnyRef, ObjectIdentifier, Utf8StringRef};
use der::{Decode as _, DecodePem as _, Encode as _, Tag};
use rustls_pki_types::{CertificateDer, UnixTime};
use serde_json::json;
use sigstore_verify::trust_root::TrustedRoot;
use sigstore_verify::types::bundle::VerificationMaterialContent;
use sigstore_verify::types::{MediaType, SignatureContent, TimeRange};
use webpki::{ALL_VERIFICATION_ALGS, EndEntityCert, KeyUsage, anchor_from_trusted_cert};
use x509_cert::Certificate;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

use super::chain::format_time;
use super::sigstore::{self, ExpectedSigner};
use super::{ProofError, Proven, cosign};
use crate::base::code::Code;
use crate::base::json;
use crate::model::evidence::Verdict;

const SUBJECT_ALT_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.17");
const CODE_SIGNING: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 3];
/// Issuer of the identity, as bare text and, since 2022, as a UTF8String.
const ISSUER_OLD: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.1");
const ISSUER: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.8");

/// Verifies a signature of a file with this SHA-256. `root` is a sigstore trusted root in JSON; the default is the
/// built-in root of the public good instance.
///
/// # Errors
/// See the module's codes.
pub fn verify_signature(
    digest: &[u8; 32],
    signature: &[u8],
    certificate: &[u8],
    signer: ExpectedSigner<'_>,
    root: Option<&str>,
) -> Result<Proven, ProofError> {
    verify_pair(
        digest,
        signature,
        &decode_certificate(certificate)?,
        signer,
        root,
    )
}

/// Signature and certificate as a sigstore bundle without log entry. [`sigstore::verify_bundle`] refuses it, because
/// it has no time.
///
/// # Errors
/// Signature or certificate cannot be parsed.
pub fn build_bundle(
    digest: &[u8; 32],
    signature: &[u8],
    certificate: &[u8],
) -> Result<String, ProofError> {
    let certificate = STANDARD.encode(decode_certificate(certificate)?);
    let signature = STANDARD.encode(cosign::decode_signature(signature)?);
    let digest = json!({"algorithm": "SHA2_256", "digest": STANDARD.encode(digest)});
    Ok(json::format_json(&json!({
        "mediaType": MediaType::Bundle0_3.as_str(),
        "verificationMaterial": {"certificate": {"rawBytes": certificate}},
        "messageSignature": {"messageDigest": digest, "signature": signature},
    })))
}

/// Verifies a sigstore bundle of [`build_bundle`]. One with a log entry or timestamp is refused, because this function
/// would not check them.
///
/// # Errors
/// As [`verify_signature`]; `keyless-bundle` for any other file.
pub fn verify_bundle(
    digest: &[u8; 32],
    bundle: &[u8],
    signer: ExpectedSigner<'_>,
    root: Option<&str>,
) -> Result<Proven, ProofError> {
    let bundle = sigstore::parse_bundle(bundle)?;
    let material = &bundle.verification_material;
    let timestamps = &material.timestamp_verification_data.rfc3161_timestamps;
    if !material.tlog_entries.is_empty() || !timestamps.is_empty() {
        return Err(bundle_error(
            "the sigstore bundle says when it was signed: verify it with `--bundle`",
        ));
    }
    let SignatureContent::MessageSignature(message) = &bundle.content else {
        return Err(bundle_error("the sigstore bundle is not over a file"));
    };
    let VerificationMaterialContent::Certificate(certificate) = &material.content else {
        return Err(bundle_error("the sigstore bundle contains no certificate"));
    };
    verify_pair(
        digest,
        message.signature.as_bytes(),
        certificate.raw_bytes.as_bytes(),
        signer,
        root,
    )
}

fn verify_pair(
    digest: &[u8; 32],
    signature: &[u8],
    der: &[u8],
    signer: ExpectedSigner<'_>,
    root: Option<&str>,
) -> Result<Proven, ProofError> {
    let parsed =
        Certificate::from_der(der).map_err(|error| certificate_error(&error.to_string()))?;
    let info = &parsed.tbs_certificate;
    let roots = sigstore::load_trusted_roots(root)
        .map_err(|error| ProofError::new(Code::KEYLESS_ROOT, error.message))?;
    let begins = info.validity.not_before.to_unix_duration();
    let logged = verify_issuance(&parsed, der, begins, &roots)?;
    sigstore::check_signer(signer)
        .map_err(|error| ProofError::new(Code::KEYLESS_IDENTITY, error.message))?;
    check_identity(&parsed, signer)?;
    let key = info
        .subject_public_key_info
        .to_der()
        .map_err(|error| certificate_error(&error.to_string()))?;
    cosign::check_signature(digest, &cosign::decode_signature(signature)?, &key)?;
    let ends = info.validity.not_after.to_unix_duration();
    let mut facts = BTreeMap::from([
        ("signer".to_owned(), signer.identity.to_owned()),
        ("issuer".to_owned(), signer.issuer.to_owned()),
        (
            "certificateSha256".to_owned(),
            crate::base::digest::sha256_hex(der),
        ),
        ("certificateFrom".to_owned(), format_since_epoch(begins)),
        ("certificateTo".to_owned(), format_since_epoch(ends)),
    ]);
    if let Some(logged) = logged {
        facts.insert("certificateLogged".to_owned(), format_since_epoch(logged));
    }
    Ok(Proven {
        verdict: Verdict::SignedTimeUnproven,
        detail: "signed by the expected identity; the time of the signature is not proven"
            .to_owned(),
        facts,
    })
}

/// Leads the certificate to one of the roots, each of another instance; the time when it was logged there.
fn verify_issuance(
    certificate: &Certificate,
    der: &[u8],
    at: Duration,
    roots: &[TrustedRoot],
) -> Result<Option<Duration>, ProofError> {
    let mut why: Option<ProofError> = None;
    for root in roots {
        let issuer = verify_chain(der, at, root);
        match issuer.and_then(|issuer| sct::verify_sct(certificate, &issuer, root)) {
            Ok(logged) => return Ok(logged),
            // Only the root of its own instance says more than that it does not know the certificate.
            Err(error) if why.is_none() || error.code == Code::KEYLESS_LOG => why = Some(error),
            Err(_) => {}
        }
    }
    Err(why.unwrap_or_else(|| certificate_error("there is no trusted root")))
}

fn certificate_error(reason: &str) -> ProofError {
    ProofError::new(
        Code::KEYLESS_CERTIFICATE,
        format!("the certificate beside the signature: {reason}"),
    )
}

/// PEM, or base64 of PEM.
fn decode_certificate(bytes: &[u8]) -> Result<Vec<u8>, ProofError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| certificate_error("is not text"))?
        .trim();
    let pem = if text.starts_with("-----BEGIN") {
        text.as_bytes().to_vec()
    } else {
        let joined: String = text.split_whitespace().collect();
        STANDARD
            .decode(joined)
            .map_err(|_| certificate_error("is neither PEM nor base64 of PEM"))?
    };
    let certificate = Certificate::from_pem(pem.trim_ascii())
        .map_err(|error| certificate_error(&error.to_string()))?;
    certificate
        .to_der()
        .map_err(|error| certificate_error(&error.to_string()))
}

/// Leads the certificate to an authority that the root trusts at that time; the key of its issuer.
fn verify_chain(leaf: &[u8], at: Duration, root: &TrustedRoot) -> Result<Vec<u8>, ProofError> {
    let authorities: Vec<CertificateDer<'static>> = root
        .certificate_authorities
        .iter()
        .filter(|authority| is_valid_at(authority.valid_for, at))
        .flat_map(|authority| &authority.cert_chain.certificates)
        .map(|entry| CertificateDer::from(entry.raw_bytes.as_bytes().to_vec()))
        .collect();
    let anchors: Vec<_> = authorities
        .iter()
        .filter_map(|certificate| anchor_from_trusted_cert(certificate).ok())
        .collect();
    let leaf = CertificateDer::from(leaf);
    let end =
        EndEntityCert::try_from(&leaf).map_err(|error| certificate_error(&error.to_string()))?;
    let path = end
        .verify_for_usage(
            ALL_VERIFICATION_ALGS,
            &anchors,
            &authorities,
            UnixTime::since_unix_epoch(at),
            KeyUsage::required(CODE_SIGNING),
            None,
            None,
        )
        .map_err(|error| {
            certificate_error(&format!("does not chain to the trusted root: {error}"))
        })?;
    if let Some(issuer) = path.intermediate_certificates().next() {
        return Ok(issuer.subject_public_key_info().to_vec());
    }
    // An anchor keeps the content of its key's sequence only.
    AnyRef::new(
        Tag::Sequence,
        path.anchor().subject_public_key_info.as_ref(),
    )
    .and_then(|key| key.to_der())
    .map_err(|error| certificate_error(&error.to_string()))
}

/// Whether a time since 1970 is in the range; without a range, every time is.
fn is_valid_at(range: Option<TimeRange>, time: Duration) -> bool {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    range.is_none_or(|range| {
        let is_over = range.end.is_some_and(|end| end.as_second() < seconds);
        range.start.as_second() <= seconds && !is_over
    })
}

fn check_identity(certificate: &Certificate, signer: ExpectedSigner<'_>) -> Result<(), ProofError> {
    let mut names = Vec::new();
    if let Some(der) = find_extension(certificate, SUBJECT_ALT_NAME)
        && let Ok(parsed) = SubjectAltName::from_der(der)
    {
        for name in parsed.0 {
            names.push(match name {
                GeneralName::Rfc822Name(name) | GeneralName::UniformResourceIdentifier(name) => {
                    name.to_string()
                }
                _ => "a name of another kind".to_owned(),
            });
        }
    }
    if names != [signer.identity] {
        let message = format!(
            "it is signed by `{}`, not by `{}`",
            names.join(", "),
            signer.identity
        );
        return Err(identity_error(&message));
    }

    let mut issuers = Vec::new();
    if let Some(der) = find_extension(certificate, ISSUER)
        && let Ok(text) = Utf8StringRef::from_der(der)
    {
        issuers.push(text.as_str());
    }
    if let Some(bytes) = find_extension(certificate, ISSUER_OLD)
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        issuers.push(text);
    }
    if issuers.is_empty() || issuers.iter().any(|issuer| *issuer != signer.issuer) {
        let message = format!(
            "its issuer is `{}`, not `{}`",
            issuers.join(", "),
            signer.issuer
        );
        return Err(identity_error(&message));
    }
    Ok(())
}

fn find_extension(certificate: &Certificate, oid: ObjectIdentifier) -> Option<&[u8]> {
    let mut extensions = certificate.tbs_certificate.extensions.iter().flatten();
    let found = extensions.find(|extension| extension.extn_id == oid)?;
    Some(found.extn_value.as_bytes())
}

fn identity_error(message: &str) -> ProofError {
    ProofError::new(Code::KEYLESS_IDENTITY, sigstore::flatten_text(message))
}

fn bundle_error(reason: &str) -> ProofError {
    ProofError::new(Code::KEYLESS_BUNDLE, reason)
}

fn format_since_epoch(time: Duration) -> String {
    format_time(UnixTime::since_unix_epoch(time))
}
