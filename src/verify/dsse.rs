//! DSSE envelopes (<https://github.com/secure-systems-lab/dsse>) in sigstore bundles: made with the signature of a
//! key, and verified by it. A sigstore bundle by a certificate is the matter of `sigstore`.
//!
//! Codes: `dsse-malformed`, and those of `cosign`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{ProofError, Proven, cosign, sigstore};
use crate::base::code::Code;
use crate::base::digest::sha256;
use crate::base::json::parse_foreign;

/// Payload type of an in-toto statement.
pub const IN_TOTO: &str = "application/vnd.in-toto+json";
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

/// The bytes that are signed (PAE of DSSE v1).
pub fn encode_preauth(payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {IN_TOTO} {} ", IN_TOTO.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

/// A sigstore bundle of a statement and a signature over [`encode_preauth`].
///
/// # Errors
/// The key is no public key in PEM, or did not make the signature.
pub fn format_bundle(payload: &[u8], signature: &[u8], key: &str) -> Result<Value, ProofError> {
    let public = cosign::parse_public_key(key)?;
    verify_payload(payload, signature, key)?;
    let hint = STANDARD.encode(sha256(public.spki()));
    Ok(json!({
        "mediaType": BUNDLE,
        "verificationMaterial": { "publicKey": { "hint": hint } },
        "dsseEnvelope": {
            "payload": STANDARD.encode(payload),
            "payloadType": IN_TOTO,
            "signatures": [{ "sig": STANDARD.encode(signature) }],
        },
    }))
}

/// The envelope of a sigstore bundle with an in-toto statement.
fn parse_envelope(bundle: &[u8]) -> Result<Value, ProofError> {
    let mut bundle: Value =
        parse_foreign(bundle).map_err(|error| malformed(&format!("it is not JSON: {error}")))?;
    let envelope = bundle.get_mut("dsseEnvelope").map(Value::take);
    let envelope = envelope.unwrap_or_default();
    if envelope["payloadType"] != IN_TOTO {
        return Err(malformed(
            "it is no sigstore bundle with an in-toto statement",
        ));
    }
    Ok(envelope)
}

/// Verifies that a statement with one of these predicates, signed by a key, names a file with this SHA-256.
///
/// # Errors
/// See the module's codes; `sigstore-subject` and `sigstore-predicate` for another statement.
pub fn verify_statement(
    digest: &[u8; 32],
    bundle: &[u8],
    key: &str,
    predicates: &[&str],
) -> Result<Proven, ProofError> {
    let (payload, mut proven) = verify_bundle(bundle, key)?;
    sigstore::check_statement(&payload, digest, predicates, &mut proven.facts)?;
    "a statement signed by the expected key names the file".clone_into(&mut proven.detail);
    Ok(proven)
}

/// Verifies a sigstore bundle by a key, and returns its statement.
///
/// # Errors
/// See the module's codes.
pub fn verify_bundle(bundle: &[u8], key: &str) -> Result<(Vec<u8>, Proven), ProofError> {
    let envelope = parse_envelope(bundle)?;
    let payload = decode(&envelope["payload"], "payload")?;
    let signatures = envelope["signatures"].as_array();
    let mut why = malformed("the envelope has no signature");
    for signature in signatures.into_iter().flatten() {
        let signature = decode(&signature["sig"], "signature")?;
        match verify_payload(&payload, &signature, key) {
            Ok(proven) => return Ok((payload, proven)),
            Err(error) => why = error,
        }
    }
    Err(why)
}

fn verify_payload(payload: &[u8], signature: &[u8], key: &str) -> Result<Proven, ProofError> {
    let message = encode_preauth(payload);
    // In base64, as files of signatures are.
    let signature = STANDARD.encode(signature);
    cosign::verify_content(
        &sha256(&message),
        |each| {
            each(&message);
            Ok(())
        },
        signature.as_bytes(),
        key,
    )
}

fn decode(value: &Value, what: &str) -> Result<Vec<u8>, ProofError> {
    let text = value
        .as_str()
        .ok_or_else(|| malformed(&format!("the envelope has no {what}")))?;
    STANDARD
        .decode(text)
        .map_err(|_| malformed(&format!("the {what} of the envelope is not base64")))
}

fn malformed(why: &str) -> ProofError {
    ProofError::new(Code::DSSE_MALFORMED, why)
}
