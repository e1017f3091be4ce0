//! The certificate log's promise inside a certificate (RFC 6962): that it was issued in public.

use std::time::Duration;

use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1, ParsedPublicKey};
use der::Encode as _;
use der::asn1::ObjectIdentifier;
use sigstore_verify::trust_root::TrustedRoot;
use x509_cert::Certificate;

use super::{find_extension, is_valid_at};
use crate::base::code::Code;
use crate::base::digest::sha256;
use crate::verify::ProofError;

const PROMISES: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.11129.2.4.2");
const ECDSA_WITH_SHA256: [u8; 2] = [4, 3];
const OCTET_STRING: u8 = 4;

/// A promise of version 1 and the time in it, in milliseconds since 1970.
#[derive(Debug)]
struct Promise<'a> {
    log: &'a [u8],
    time: u64,
    extensions: &'a [u8],
    signature: &'a [u8],
}

fn sct_error(reason: &str) -> ProofError {
    ProofError::new(
        Code::KEYLESS_LOG,
        format!("the certificate's signed certificate timestamp (SCT): {reason}"),
    )
}

/// When the certificate was logged. None where the trusted root names no certificate log.
pub(super) fn verify_sct(
    certificate: &Certificate,
    issuer: &[u8],
    root: &TrustedRoot,
) -> Result<Option<Duration>, ProofError> {
    if root.ctlogs.is_empty() {
        return Ok(None);
    }
    let extension =
        find_extension(certificate, PROMISES).ok_or_else(|| sct_error("it is missing"))?;
    let promise = parse_sct(extension).ok_or_else(|| sct_error("it cannot be read"))?;
    let time = Duration::from_millis(promise.time);
    let key = root
        .ctlogs
        .iter()
        .filter(|log| log.log_id.key_id.as_bytes() == promise.log)
        .map(|log| &log.public_key)
        .find(|key| is_valid_at(key.valid_for, time))
        .ok_or_else(|| sct_error("the trusted root does not contain this log for this time"))?;
    let key = ParsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, key.raw_bytes.as_bytes())
        .map_err(|_| sct_error("the log's key has an unsupported type"))?;
    let signed = build_signed_data(certificate, issuer, &promise)
        .ok_or_else(|| sct_error("the signed data cannot be computed"))?;
    key.verify_sig(&signed, promise.signature)
        .map_err(|_| sct_error("it belongs to another certificate"))?;
    Ok(Some(time))
}

/// The data that the log signed: the certificate without the promise, and its issuer's key.
fn build_signed_data(
    certificate: &Certificate,
    issuer: &[u8],
    promise: &Promise<'_>,
) -> Option<Vec<u8>> {
    let mut before = certificate.tbs_certificate.clone();
    before
        .extensions
        .as_mut()?
        .retain(|extension| extension.extn_id != PROMISES);
    let before = before.to_der().ok()?;
    let mut bytes = vec![0, 0];
    bytes.extend(promise.time.to_be_bytes());
    bytes.extend([0, 1]);
    bytes.extend(sha256(issuer));
    bytes.extend(u32::try_from(before.len()).ok()?.to_be_bytes().get(1..)?);
    bytes.extend(before);
    bytes.extend(u16::try_from(promise.extensions.len()).ok()?.to_be_bytes());
    bytes.extend(promise.extensions);
    Some(bytes)
}

/// The time in the extension of a certificate that holds a promise, in milliseconds since 1970. Nothing of it is
/// verified.
pub fn parse_promise_time(extension: &[u8]) -> Option<u64> {
    parse_sct(extension).map(|promise| promise.time)
}

/// Exactly one promise, as Fulcio asks for, with nothing behind it.
fn parse_sct(extension: &[u8]) -> Option<Promise<'_>> {
    let list = parse_octet_string(extension)?;
    let (list, []) = split_prefixed(list)? else {
        return None;
    };
    let (promise, []) = split_prefixed(list)? else {
        return None;
    };
    let (version, rest) = promise.split_first()?;
    let (log, rest) = rest.split_at_checked(32)?;
    let (time, rest) = rest.split_first_chunk::<8>()?;
    let (extensions, rest) = split_prefixed(rest)?;
    let (algorithm, rest) = rest.split_first_chunk::<2>()?;
    let (signature, []) = split_prefixed(rest)? else {
        return None;
    };
    (*version == 0 && *algorithm == ECDSA_WITH_SHA256).then(|| Promise {
        log,
        time: u64::from_be_bytes(*time),
        extensions,
        signature,
    })
}

/// The content of a DER octet string.
fn parse_octet_string(bytes: &[u8]) -> Option<&[u8]> {
    use der::Decode as _;
    let any = der::asn1::AnyRef::from_der(bytes).ok()?;
    (bytes.first() == Some(&OCTET_STRING)).then(|| any.value())
}

fn split_prefixed(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))
}
