//! minisign: Ed25519 over a BLAKE2b digest, with a comment that is signed too.
//!
//! Legacy signatures, without prehash, are refused; minisign has not written them by default since 0.10.
//!
//! Codes: `minisign-key`, `minisign-malformed`, `minisign-legacy`, `minisign-other-key`,
//! `minisign-bad-signature`.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minisign_verify::{Error, PublicKey, Signature};

use super::{ProofError, Proven};
use crate::base::code::Code;
use crate::model::evidence::Verdict;

/// Verifies a signature. `each` passes every piece of the file to its argument. The key is minisign's key file, or
/// only its second line.
///
/// # Errors
/// See the module's codes.
pub fn verify_minisign<E: From<ProofError>>(
    each: impl FnOnce(&mut dyn FnMut(&[u8])) -> Result<(), E>,
    signature: &[u8],
    key: &str,
) -> Result<Proven, E> {
    let (public, id) = parse_public_key(key)?;
    let signature = parse_signature(signature)?;
    let mut stream = public
        .verify_stream(&signature)
        .map_err(|error| explain_error(&error))?;
    each(&mut |piece| stream.update(piece))?;
    stream.finalize().map_err(|error| explain_error(&error))?;
    let comment = signature
        .trusted_comment()
        .chars()
        .filter(|c| !c.is_control())
        .collect();
    Ok(Proven {
        verdict: Verdict::Verified,
        detail: "signed by the expected minisign key".to_owned(),
        facts: BTreeMap::from([
            ("signer".to_owned(), id),
            ("trustedComment".to_owned(), comment),
        ]),
    })
}

/// The key, and its id as minisign prints it.
fn parse_public_key(text: &str) -> Result<(PublicKey, String), ProofError> {
    if text.contains("secret key") {
        return Err(ProofError::new(
            Code::MINISIGN_KEY,
            "it is a secret key; give the public key",
        ));
    }
    decode_public_key(text)
        .ok_or_else(|| ProofError::new(Code::MINISIGN_KEY, "it is not a minisign public key"))
}

fn decode_public_key(text: &str) -> Option<(PublicKey, String)> {
    let line = match text.trim().lines().collect::<Vec<_>>()[..] {
        [line] | [_, line] => line.trim(),
        _ => return None,
    };
    let public = PublicKey::from_base64(line).ok()?;
    let bytes = STANDARD.decode(line).ok()?;
    let id = u64::from_le_bytes(*bytes.get(2..)?.first_chunk()?);
    Some((public, format!("{id:X}")))
}

fn parse_signature(bytes: &[u8]) -> Result<Signature, ProofError> {
    if let Ok(text) = std::str::from_utf8(bytes)
        && text.trim_end().lines().count() == 4
        && let Ok(signature) = Signature::decode(text)
    {
        return Ok(signature);
    }
    Err(ProofError::new(
        Code::MINISIGN_MALFORMED,
        "it is not a minisign signature",
    ))
}

fn explain_error(error: &Error) -> ProofError {
    match error {
        Error::UnexpectedKeyId => ProofError::new(
            Code::MINISIGN_OTHER_KEY,
            "the signature was made by another key",
        ),
        Error::UnsupportedLegacyMode | Error::UnexpectedAlgorithm | Error::UnsupportedAlgorithm => {
            ProofError::new(
                Code::MINISIGN_LEGACY,
                "the signature has the legacy form without prehash",
            )
        }
        _ => ProofError::new(
            Code::MINISIGN_BAD_SIGNATURE,
            "the signature or its comment was not made by this key over these bytes",
        ),
    }
}
