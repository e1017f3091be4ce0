//! OpenPGP: detached signatures, with the policy that the parser leaves to its caller.
//!
//! A signature counts only if
//! * it is by the key whose whole primary fingerprint is expected, or by a subkey which that key
//!   has bound for signing and which says so itself;
//! * it is over a file, with a digest of the SHA-2 or SHA-3 family, by RSA of 2048 bits or more or
//!   by an elliptic curve;
//! * it was made while key and subkey held, has not expired and is not from the future.
//!
//! Of a key only what it has signed itself counts, the latest word each time. One good signature
//! is enough among several, but a bad one by the expected key is never passed over. A revoked key
//! counts for nothing, whenever it signed and for whatever reason it was revoked; revocation by
//! another key that the key has named for it is not looked at.
//!
//! Codes: `openpgp-malformed`, `openpgp-key`, `openpgp-weak`, `openpgp-time`, `openpgp-revoked`,
//! `openpgp-bad-signature`, `openpgp-no-signature`.

mod key;
mod packets;

use std::collections::BTreeMap;
use std::io::Read;

use pgp::composed::{Deserializable as _, DetachedSignature, SignedPublicKey};
use pgp::packet::{Signature, SignatureType};
use pgp::types::KeyDetails as _;

use super::chain::instant;
use super::{ProofError, Proven};
use crate::model::evidence::Verdict;
use key::{Held, Signer};
use rustls_pki_types::UnixTime;

/// Verifies a detached signature, armored or not, over a message that can be read again for every
/// signature.
///
/// `fingerprint` is of the primary key, in hexadecimal; `now` is seconds since 1970.
///
/// # Errors
/// See the module's codes.
pub fn verify<R: Read>(
    message: &dyn Fn() -> R,
    signature: &[u8],
    keyring: &[u8],
    fingerprint: &str,
    now: u64,
) -> Result<Proven, ProofError> {
    let wanted = whole_fingerprint(fingerprint)?;
    let signatures = signatures(signature)?;
    let key = expected(&keys(keyring)?, &wanted)?;
    let held = Held::of(&key, now)?;
    let mut proven = None;
    for signature in &signatures {
        let Some(signer) = held.signer(&key, signature, now)? else { continue };
        let made = checked(signature, &signer, &held, message, now)?;
        proven.get_or_insert_with(|| facts(&key, &signer, signature, made));
    }
    let facts = proven.ok_or_else(|| {
        ProofError::new("openpgp-no-signature", format!("no signature is by the key {wanted}"))
    })?;
    Ok(Proven { verdict: Verdict::Verified, detail: "signed by the expected OpenPGP key".to_owned(), facts })
}

/// Short key ids can be made at will, so they name nobody.
fn whole_fingerprint(text: &str) -> Result<String, ProofError> {
    let plain: String = text.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_lowercase();
    let plain = plain.strip_prefix("0x").unwrap_or(&plain).to_owned();
    if matches!(plain.len(), 40 | 64) && plain.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(plain);
    }
    Err(ProofError::new(
        "openpgp-key",
        format!("`{text}` is no whole fingerprint: state all 40 digits of the primary key's"),
    ))
}

fn facts(
    key: &SignedPublicKey,
    signer: &Signer<'_>,
    signature: &Signature,
    made: u64,
) -> BTreeMap<String, String> {
    let time = |seconds| instant(UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds)));
    let mut facts = BTreeMap::from([
        ("signer".to_owned(), key.fingerprint().to_string()),
        ("signingKey".to_owned(), signer.fingerprint()),
        ("algorithm".to_owned(), signer.algorithm()),
        ("time".to_owned(), time(made)),
    ]);
    if let Some(digest) = signature.hash_alg() {
        facts.insert("digest".to_owned(), digest.to_string());
    }
    if let Some(name) = key.details.users.first().and_then(|user| user.id.as_str()) {
        facts.insert("user".to_owned(), name.to_owned());
    }
    if let Some(expires) = signer.expires() {
        facts.insert("keyExpires".to_owned(), time(expires));
    }
    facts
}

fn malformed(what: &str) -> impl Fn(pgp::errors::Error) -> ProofError {
    let what = what.to_owned();
    move |error| ProofError::new("openpgp-malformed", format!("the {what} cannot be read: {error}"))
}

fn signatures(bytes: &[u8]) -> Result<Vec<Signature>, ProofError> {
    let packets = packets::signatures(bytes)?;
    let read = DetachedSignature::from_bytes_many(&packets[..]).map_err(malformed("signature"))?;
    let signatures = read
        .map(|each| each.map(|detached| detached.signature))
        .collect::<Result<Vec<_>, _>>()
        .map_err(malformed("signature"))?;
    if signatures.is_empty() {
        return Err(ProofError::new("openpgp-malformed", "there is no signature in it"));
    }
    Ok(signatures)
}

fn keys(bytes: &[u8]) -> Result<Vec<SignedPublicKey>, ProofError> {
    let packets = packets::keyring(bytes)?;
    let read = SignedPublicKey::from_bytes_many(&packets[..]).map_err(malformed("keyring"))?;
    read.collect::<Result<Vec<_>, _>>().map_err(malformed("keyring"))
}

/// Two copies of a key could say different things of it.
fn expected(keys: &[SignedPublicKey], wanted: &str) -> Result<SignedPublicKey, ProofError> {
    let mut fitting = keys.iter().filter(|key| key.fingerprint().to_string() == wanted);
    match (fitting.next(), fitting.next()) {
        (Some(only), None) => Ok(only.clone()),
        (None, _) => Err(ProofError::new("openpgp-key", format!("the keyring has no key {wanted}"))),
        (Some(_), Some(_)) => {
            Err(ProofError::new("openpgp-key", format!("the keyring has the key {wanted} twice")))
        }
    }
}

/// The time that a signature was made, if it holds.
fn checked<R: Read>(
    signature: &Signature,
    signer: &Signer<'_>,
    held: &Held,
    message: &dyn Fn() -> R,
    now: u64,
) -> Result<u64, ProofError> {
    if signature.typ() != Some(SignatureType::Binary) {
        return Err(ProofError::new("openpgp-malformed", "the signature is not one over a file"));
    }
    key::strong_digest(signature, "the signature's")?;
    signer.strong()?;
    let made = made(signature, now)?;
    held.at(made)?;
    signer.at(made)?;
    signer.verifies(signature, message()).map(|()| made)
}

fn made(signature: &Signature, now: u64) -> Result<u64, ProofError> {
    let wrong = |reason: &str| ProofError::new("openpgp-time", reason.to_owned());
    let made = signature.created().ok_or_else(|| wrong("the signature does not say when it was made"))?;
    let made = u64::from(made.as_secs());
    if made > now {
        return Err(wrong("the signature is from the future"));
    }
    if key::signature_expired(signature, now) {
        return Err(wrong("the signature has expired"));
    }
    Ok(made)
}
