//! minisign: Ed25519 over a BLAKE2b digest, with a comment that is signed too.
//!
//! Legacy signatures, without prehash, are refused; minisign has not written them by default since 0.10.
//!
//! Codes: `minisign-key`, `minisign-malformed`, `minisign-legacy`, `minisign-other-key`,
//! `minisign-bad-signature`.

use std::collections::BTreeMap;

use minisign_verify::{Error, PublicKey, Signature};

use super::{ProofError, Proven};
use crate::base::code::Code;
use crate::base::public_key::MinisignKey;
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
    let key = MinisignKey::parse(key).map_err(key_error)?;
    let public = PublicKey::from_base64(&key.to_base64())
        .map_err(|_| key_error("it is not a minisign public key"))?;
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
            ("signer".to_owned(), key.id()),
            ("trustedComment".to_owned(), comment),
        ]),
    })
}

fn key_error(reason: &str) -> ProofError {
    ProofError::new(Code::MINISIGN_KEY, reason)
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
