//! Signatures by a public key, as `cosign sign-blob --key` makes them: ECDSA over SHA-256, DER,
//! mostly in base64. Of the two values that ECDSA allows for `s` both are taken, as cosign does.
//!
//! Codes: `cosign-key`, `cosign-malformed`, `cosign-bad-signature`.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{Digest, SHA256};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1, ParsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use der::Decode as _;
use der::asn1::UintRef;

use super::{ProofError, Proven};
use crate::base::code::Code;
use crate::base::public_key::CosignKey;
use crate::model::evidence::Verdict;

/// Verifies a signature over a file of which the SHA-256 is known.
///
/// # Errors
/// See the module's codes.
pub fn verify_key(digest: &[u8; 32], signature: &[u8], key: &str) -> Result<Proven, ProofError> {
    let key = parse_public_key(key)?;
    let signature = decode_signature(signature)?;
    check_signature(digest, &signature, key.spki())?;
    let fingerprint = key.sha256();
    Ok(Proven {
        verdict: Verdict::Verified,
        detail: "signed by the expected key".to_owned(),
        facts: BTreeMap::from([
            (
                "signer".to_owned(),
                format!("the key with the SHA-256 {fingerprint}"),
            ),
            ("keySha256".to_owned(), fingerprint),
            (
                "algorithm".to_owned(),
                "ECDSA P-256 with SHA-256".to_owned(),
            ),
        ]),
    })
}

/// The key of a PEM text.
pub(super) fn parse_public_key(pem: &str) -> Result<CosignKey, ProofError> {
    CosignKey::parse(pem).map_err(|reason| ProofError::new(Code::COSIGN_KEY, reason))
}

/// DER of a signature, from DER or base64 with or without line ends.
///
/// # Errors
/// `cosign-malformed`
pub fn decode_signature(bytes: &[u8]) -> Result<Vec<u8>, ProofError> {
    if bytes.trim_ascii().is_empty() {
        return Err(malformed_error("the signature is empty"));
    }
    let der = match std::str::from_utf8(bytes) {
        Ok(text) => {
            let packed: String = text.split_whitespace().collect();
            STANDARD.decode(packed).map_err(|_| {
                malformed_error(
                    find_other_form(text).unwrap_or("the signature is neither DER nor base64"),
                )
            })?
        }
        Err(_) => bytes.to_vec(),
    };
    if der.len() == 64 && der.first() != Some(&0x30) {
        return Err(malformed_error(
            "the signature is two plain numbers, not DER",
        ));
    }
    // Strict: nothing behind it, both numbers in their shortest form.
    let _: (UintRef<'_>, UintRef<'_>) = parse_integers(&der)
        .map_err(|_| malformed_error("the signature is not DER of two numbers"))?;
    Ok(der)
}

/// Message about a form in which signatures are published and that is not read; none for another text.
pub(super) fn find_other_form(text: &str) -> Option<&'static str> {
    if text.contains("\"base64Signature\"") {
        return Some(
            "it is in the bundle format of an old cosign, no sigstore bundle: give its `base64Signature` as `--signature`, or sign again \
             with `cosign sign-blob --new-bundle-format`",
        );
    }
    if text.contains("\"attestations\"") {
        return Some(
            "it is an answer of GitHub's API, no sigstore bundle: give each `bundle` in it on a line of its own, as \
             `gh attestation download` writes them",
        );
    }
    let is_bare = text.contains("\"payloadType\"") && !text.contains("\"dsseEnvelope\"");
    is_bare.then_some(
        "it is an envelope (DSSE) alone, as slsa-github-generator writes provenance, no sigstore bundle: nothing in it proves its \
         time, and slsa-verifier asks the log for that",
    )
}

fn parse_integers(der: &[u8]) -> der::Result<(UintRef<'_>, UintRef<'_>)> {
    #[derive(der::Sequence)]
    struct Numbers<'a> {
        r: UintRef<'a>,
        s: UintRef<'a>,
    }
    let numbers = Numbers::from_der(der)?;
    Ok((numbers.r, numbers.s))
}

pub(super) fn check_signature(
    digest: &[u8; 32],
    signature: &[u8],
    spki: &[u8],
) -> Result<(), ProofError> {
    let key = ParsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, spki)
        .map_err(|_| ProofError::new(Code::COSIGN_KEY, "the key cannot be used"))?;
    let digest = Digest::import_less_safe(digest, &SHA256)
        .map_err(|_| ProofError::new(Code::COSIGN_MALFORMED, "the digest is not a SHA-256"))?;
    if key.verify_digest_sig(&digest, signature).is_err() {
        let message = "the signature was not made by this key over these bytes";
        return Err(ProofError::new(Code::COSIGN_BAD_SIGNATURE, message));
    }
    Ok(())
}

fn malformed_error(reason: &str) -> ProofError {
    ProofError::new(Code::COSIGN_MALFORMED, reason)
}
