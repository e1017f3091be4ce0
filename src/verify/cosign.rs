//! Signatures by a public key, as `cosign sign-blob --key` makes them, mostly in base64: ECDSA in DER, of which both
//! values that it allows for `s` are taken, as cosign does, or RSA with PKCS #1 v1.5.
//!
//! They are over SHA-256; those on P-384 and P-521 by newer versions of cosign and by key services over the digest that
//! belongs to the curve.
//!
//! Codes: `cosign-key`, `cosign-malformed`, `cosign-bad-signature`.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{self, Context, Digest, SHA256, SHA384, SHA512};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, ECDSA_P521_SHA256_ASN1,
    ECDSA_P521_SHA512_ASN1, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, VerificationAlgorithm,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use der::Decode as _;
use der::asn1::UintRef;

use super::{ProofError, Proven};
use crate::base::code::Code;
use crate::base::public_key::{CosignAlgorithm, CosignKey};
use crate::model::evidence::Verdict;

/// Verifies a signature by a P-256 key over a file of which the SHA-256 is known.
///
/// # Errors
/// See the module's codes.
pub fn verify_key(digest: &[u8; 32], signature: &[u8], key: &str) -> Result<Proven, ProofError> {
    let key = parse_p256_key(key)?;
    let signature = decode_signature(signature)?;
    check_signature(digest, &signature, key.spki())?;
    Ok(describe_signer(&key, "ECDSA P-256 with SHA-256"))
}

/// Verifies a signature by a key of any algorithm. `each` passes the content; it is read only for a digest that belongs
/// to the key's curve.
///
/// # Errors
/// See the module's codes, and those of `each`.
pub fn verify_content(
    sha256: &[u8; 32],
    each: impl FnOnce(&mut dyn FnMut(&[u8])) -> Result<(), ProofError>,
    signature: &[u8],
    key: &str,
) -> Result<Proven, ProofError> {
    let parsed = parse_public_key(key)?;
    let (by_sha256, own): (&'static dyn VerificationAlgorithm, Option<OwnDigest>) =
        match parsed.algorithm() {
            CosignAlgorithm::P256 => return verify_key(sha256, signature, key),
            CosignAlgorithm::P384 => (
                &ECDSA_P384_SHA256_ASN1,
                Some((&ECDSA_P384_SHA384_ASN1, &SHA384, "ECDSA P-384 with SHA-384")),
            ),
            CosignAlgorithm::P521 => (
                &ECDSA_P521_SHA256_ASN1,
                Some((&ECDSA_P521_SHA512_ASN1, &SHA512, "ECDSA P-521 with SHA-512")),
            ),
            CosignAlgorithm::Rsa => (&RSA_PKCS1_2048_8192_SHA256, None),
        };
    let signature = decode_by(signature, parsed.algorithm())?;
    let digest = import_digest(sha256, &SHA256)?;
    if check_digest(by_sha256, &digest, &signature, parsed.spki()).is_ok() {
        let name = match parsed.algorithm() {
            CosignAlgorithm::Rsa => "RSA PKCS #1 v1.5 with SHA-256",
            _ => "ECDSA with SHA-256",
        };
        return Ok(describe_signer(&parsed, name));
    }

    let Some((algorithm, hash, name)) = own else {
        return Err(other_signature_error());
    };
    let mut context = Context::new(hash);
    each(&mut |piece| context.update(piece))?;
    check_digest(algorithm, &context.finish(), &signature, parsed.spki())?;
    Ok(describe_signer(&parsed, name))
}

/// Signatures over the digest that belongs to a curve.
type OwnDigest = (
    &'static dyn VerificationAlgorithm,
    &'static digest::Algorithm,
    &'static str,
);

fn describe_signer(key: &CosignKey, algorithm: &str) -> Proven {
    let fingerprint = key.sha256();
    Proven {
        verdict: Verdict::Verified,
        detail: "signed by the expected key".to_owned(),
        facts: BTreeMap::from([
            (
                "signer".to_owned(),
                format!("the key with the SHA-256 {fingerprint}"),
            ),
            ("keySha256".to_owned(), fingerprint),
            ("algorithm".to_owned(), algorithm.to_owned()),
        ]),
    }
}

/// The key of a PEM text.
pub(super) fn parse_public_key(pem: &str) -> Result<CosignKey, ProofError> {
    CosignKey::parse(pem).map_err(|reason| ProofError::new(Code::COSIGN_KEY, reason))
}

/// The same, where a signature is known by its SHA-256 alone.
pub(super) fn parse_p256_key(pem: &str) -> Result<CosignKey, ProofError> {
    let key = CosignKey::parse(pem).and_then(CosignKey::require_p256);
    key.map_err(|reason| ProofError::new(Code::COSIGN_KEY, reason))
}

/// A signature by this key, from its bytes or base64 with or without line ends: DER, if the key is on a curve.
///
/// # Errors
/// `cosign-malformed`, `cosign-key`
pub fn decode_signature_of(bytes: &[u8], key: &str) -> Result<Vec<u8>, ProofError> {
    decode_by(bytes, parse_public_key(key)?.algorithm())
}

fn decode_by(bytes: &[u8], algorithm: CosignAlgorithm) -> Result<Vec<u8>, ProofError> {
    match algorithm {
        CosignAlgorithm::Rsa => decode_text(bytes),
        _ => decode_signature(bytes),
    }
}

fn decode_text(bytes: &[u8]) -> Result<Vec<u8>, ProofError> {
    if bytes.trim_ascii().is_empty() {
        return Err(malformed_error("the signature is empty"));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => {
            let packed: String = text.split_whitespace().collect();
            STANDARD.decode(packed).map_err(|_| {
                malformed_error(
                    find_other_form(text).unwrap_or("the signature is neither DER nor base64"),
                )
            })
        }
        Err(_) => Ok(bytes.to_vec()),
    }
}

/// DER of a signature, from DER or base64 with or without line ends.
///
/// # Errors
/// `cosign-malformed`
pub fn decode_signature(bytes: &[u8]) -> Result<Vec<u8>, ProofError> {
    let der = decode_text(bytes)?;
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
    if text.contains("\"verification_material\"") {
        return Some(
            "it is an attestation of PyPI (PEP 740), no sigstore bundle: `pypi-attestations verify` verifies it",
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
    let digest = import_digest(digest, &SHA256)?;
    check_digest(&ECDSA_P256_SHA256_ASN1, &digest, signature, spki)
}

fn import_digest(
    digest: &[u8],
    algorithm: &'static digest::Algorithm,
) -> Result<Digest, ProofError> {
    Digest::import_less_safe(digest, algorithm)
        .map_err(|_| malformed_error("the digest is not a SHA-256"))
}

fn check_digest(
    algorithm: &'static dyn VerificationAlgorithm,
    digest: &Digest,
    signature: &[u8],
    spki: &[u8],
) -> Result<(), ProofError> {
    let key = ParsedPublicKey::new(algorithm, spki)
        .map_err(|_| ProofError::new(Code::COSIGN_KEY, "the key cannot be used"))?;
    key.verify_digest_sig(digest, signature)
        .map_err(|_| other_signature_error())
}

fn other_signature_error() -> ProofError {
    let message = "the signature was not made by this key over these bytes";
    ProofError::new(Code::COSIGN_BAD_SIGNATURE, message)
}

fn malformed_error(reason: &str) -> ProofError {
    ProofError::new(Code::COSIGN_MALFORMED, reason)
}
