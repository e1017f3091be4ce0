//! OpenPGP: detached signatures, with the policy that the parser leaves to its caller.
//!
//! A signature counts only if it is by a key of the keyring whose primary fingerprint is expected,
//! over binary data, with a digest of the SHA-2 family, made while the key held, not expired and
//! not in the future. Keys that are revoked count for nothing, whenever they signed.
//!
//! Codes: `openpgp-malformed`, `openpgp-key`, `openpgp-weak`, `openpgp-time`, `openpgp-revoked`,
//! `openpgp-bad-signature`, `openpgp-no-signature`.

use std::collections::BTreeMap;
use std::io::Read;

use pgp::composed::{Deserializable as _, DetachedSignature, SignedPublicKey};
use pgp::crypto::hash::HashAlgorithm;
use pgp::packet::{Signature, SignatureType};
use pgp::types::{KeyDetails as _, PublicParams};

use super::{ProofError, Proven};
use crate::model::evidence::Verdict;

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
    let signatures = signatures(signature)?;
    let wanted: String =
        fingerprint.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_lowercase();
    let keys = keys(keyring)?;
    let key = keys
        .iter()
        .find(|key| format!("{:x}", key.fingerprint()) == wanted)
        .ok_or_else(|| ProofError::new("openpgp-key", format!("the keyring has no key {wanted}")))?;
    revocation(key)?;
    let mut why = ProofError::new("openpgp-no-signature", format!("no signature is by the key {wanted}"));
    for signature in &signatures {
        let Some((signer, checked)) = by(key, signature, message, now) else { continue };
        match checked {
            Ok(created) => {
                return Ok(Proven {
                    verdict: Verdict::Verified,
                    detail: "signed by the expected OpenPGP key".to_owned(),
                    facts: BTreeMap::from([
                        ("signer".to_owned(), wanted),
                        ("signingKey".to_owned(), signer),
                        ("time".to_owned(), created.to_string()),
                    ]),
                });
            }
            Err(error) => why = error,
        }
    }
    Err(why)
}

fn malformed(what: &str) -> impl Fn(pgp::errors::Error) -> ProofError {
    let what = what.to_owned();
    move |error| ProofError::new("openpgp-malformed", format!("the {what} cannot be read: {error}"))
}

fn is_armored(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(b"-----BEGIN PGP")
}

fn signatures(bytes: &[u8]) -> Result<Vec<DetachedSignature>, ProofError> {
    let failed = malformed("signature");
    let read: Vec<_> = if is_armored(bytes) {
        DetachedSignature::from_reader_many(bytes).map_err(&failed)?.0.collect()
    } else {
        DetachedSignature::from_bytes_many(bytes).map_err(&failed)?.collect()
    };
    let signatures = read.into_iter().collect::<Result<Vec<_>, _>>().map_err(&failed)?;
    if signatures.is_empty() {
        return Err(ProofError::new("openpgp-malformed", "there is no signature in it"));
    }
    Ok(signatures)
}

fn keys(bytes: &[u8]) -> Result<Vec<SignedPublicKey>, ProofError> {
    let failed = malformed("keyring");
    let read: Vec<_> = if is_armored(bytes) {
        SignedPublicKey::from_reader_many(bytes).map_err(&failed)?.0.collect()
    } else {
        SignedPublicKey::from_bytes_many(bytes).map_err(&failed)?.collect()
    };
    read.into_iter().collect::<Result<Vec<_>, _>>().map_err(failed)
}

fn revocation(key: &SignedPublicKey) -> Result<(), ProofError> {
    let revoked = key
        .details
        .revocation_signatures
        .iter()
        .any(|signature| signature.verify_key(&key.primary_key).is_ok());
    if revoked {
        return Err(ProofError::new(
            "openpgp-revoked",
            format!("the key {:x} is revoked", key.fingerprint()),
        ));
    }
    Ok(())
}

/// Whether the signature is by this key or a subkey of it, and if so, whether it holds: then the
/// time it was made.
fn by<R: Read>(
    key: &SignedPublicKey,
    detached: &DetachedSignature,
    message: &dyn Fn() -> R,
    now: u64,
) -> Option<(String, Result<u64, ProofError>)> {
    let signature = &detached.signature;
    let names = |fingerprint: pgp::types::Fingerprint, id: pgp::types::KeyId| {
        signature.issuer_fingerprint().contains(&&fingerprint)
            || (signature.issuer_fingerprint().is_empty() && signature.issuer_key_id().contains(&&id))
    };
    if names(key.fingerprint(), key.legacy_key_id()) {
        let expires = expiry(
            key.primary_key.created_at().as_secs(),
            &key.details.users.iter().flat_map(|user| &user.signatures).collect::<Vec<_>>(),
        );
        let held = made(signature, key.primary_key.created_at().as_secs(), expires, now)
            .and_then(|created| strength(key.primary_key.public_params(), signature).map(|()| created))
            .and_then(|created| check(signature, &key.primary_key, message()).map(|()| created));
        return Some((format!("{:x}", key.fingerprint()), held));
    }
    let subkey = key
        .public_subkeys
        .iter()
        .find(|subkey| names(subkey.key.fingerprint(), subkey.key.legacy_key_id()))?;
    let held = subkey_may_sign(key, subkey)
        .and_then(|()| {
            let born = subkey.key.created_at().as_secs();
            made(signature, born, expiry(born, &subkey.signatures.iter().collect::<Vec<_>>()), now)
        })
        .and_then(|created| strength(subkey.key.public_params(), signature).map(|()| created))
        .and_then(|created| check(signature, &subkey.key, message()).map(|()| created));
    Some((format!("{:x}", subkey.key.fingerprint()), held))
}

fn subkey_may_sign(
    key: &SignedPublicKey,
    subkey: &pgp::composed::SignedPublicSubKey,
) -> Result<(), ProofError> {
    let unbound = |reason: &str| ProofError::new("openpgp-key", format!("the signing subkey {reason}"));
    let revoked = subkey.signatures.iter().any(|signature| {
        signature.typ() == Some(SignatureType::SubkeyRevocation)
            && signature.verify_subkey_binding(&key.primary_key, &subkey.key).is_ok()
    });
    if revoked {
        return Err(ProofError::new("openpgp-revoked", "the signing subkey is revoked"));
    }
    let bound = subkey.signatures.iter().any(|signature| {
        signature.typ() == Some(SignatureType::SubkeyBinding)
            && signature.key_flags().sign()
            && signature.verify_subkey_binding(&key.primary_key, &subkey.key).is_ok()
            && signature
                .embedded_signature()
                .is_some_and(|back| back.verify_primary_key_binding(&subkey.key, &key.primary_key).is_ok())
    });
    if bound { Ok(()) } else { Err(unbound("is not bound to the key for signing")) }
}

/// The latest of the key's own statements counts.
fn expiry(born: u32, statements: &[&Signature]) -> Option<u64> {
    let latest = statements.iter().max_by_key(|signature| signature.created().map(|time| time.as_secs()))?;
    let seconds = u64::from(latest.key_expiration_time()?.as_secs());
    (seconds > 0).then_some(u64::from(born) + seconds)
}

fn made(signature: &Signature, born: u32, expires: Option<u64>, now: u64) -> Result<u64, ProofError> {
    let wrong = |reason: &str| ProofError::new("openpgp-time", reason.to_owned());
    let created = signature.created().ok_or_else(|| wrong("the signature does not say when it was made"))?;
    let created = u64::from(created.as_secs());
    if created > now {
        return Err(wrong("the signature is from the future"));
    }
    if created < u64::from(born) {
        return Err(wrong("the signature is older than the key"));
    }
    if expires.is_some_and(|expires| created >= expires) {
        return Err(wrong("the key had expired when the signature was made"));
    }
    let lasts = signature
        .signature_expiration_time()
        .map(|time| u64::from(time.as_secs()))
        .filter(|lasts| *lasts > 0);
    if lasts.is_some_and(|lasts| created + lasts <= now) {
        return Err(wrong("the signature has expired"));
    }
    Ok(created)
}

fn strength(key: &PublicParams, signature: &Signature) -> Result<(), ProofError> {
    let weak = |reason: String| ProofError::new("openpgp-weak", reason);
    match signature.hash_alg() {
        Some(
            HashAlgorithm::Sha256 | HashAlgorithm::Sha384 | HashAlgorithm::Sha512 | HashAlgorithm::Sha224,
        ) => {}
        other => return Err(weak(format!("the signature's digest is {other:?}, which proves nothing"))),
    }
    if let PublicParams::RSA(rsa) = key {
        use rsa::traits::PublicKeyParts as _;
        let bits = rsa.key.n().bits();
        if bits < 2048 {
            return Err(weak(format!("an RSA key of {bits} bits is too short")));
        }
    }
    if signature.typ() != Some(SignatureType::Binary) {
        return Err(ProofError::new("openpgp-malformed", "the signature is not one over a file"));
    }
    Ok(())
}

fn check(
    signature: &Signature,
    key: &impl pgp::types::VerifyingKey,
    message: impl Read,
) -> Result<(), ProofError> {
    signature
        .verify(key, message)
        .map_err(|_| ProofError::new("openpgp-bad-signature", "the signature is not over these bytes"))
}
