//! OpenPGP: detached signatures of version 4 (RFC 9580), as GnuPG makes them. The `pgp` crate needs 88 packages for
//! private keys, encryption and every algorithm; this module only verifies, with the cryptography of our TLS library.
//!
//! A signature is accepted only if
//! * the key with the expected primary fingerprint made it, or a subkey that this key binds for signing and that has
//!   a valid back signature;
//! * it is over a file, with SHA-256, SHA-384 or SHA-512, by RSA of 2048 bits or more, ECDSA over a NIST curve, or
//!   Ed25519;
//! * key and subkey were valid at its time, it has not expired, and it is not from the future.
//!
//! Only the latest self-signatures of a key count. One valid signature of several is enough, but an invalid one of
//! the expected key is an error. A revoked key is never accepted, wherever the keyring has the revocation and whatever
//! its digest is. A designated revoker of the key may revoke as the key itself may; where the keyring does not have the
//! revoker, a revocation that names it is believed.
//!
//! Codes: `openpgp-malformed`, `openpgp-key`, `openpgp-weak`, `openpgp-time`, `openpgp-revoked`,
//! `openpgp-bad-signature`, `openpgp-no-signature`.

mod certificate;
mod key;
mod packets;
mod public_key;
mod signature;

use std::collections::BTreeMap;

use super::chain::format_time;
use super::{ProofError, Proven};
use crate::base::code::Code;
use crate::base::public_key::parse_fingerprint;
use crate::model::evidence::Verdict;
use certificate::KeyCertificate;
use key::{SigningKey, Validity};
use rustls_pki_types::UnixTime;
use signature::SignaturePacket;

/// Signatures of one key beside a file: each of them costs a pass over the file.
const MOST_SIGNATURES: usize = 4;

/// Verifies a detached signature, armored or binary. `each` passes every piece of the message to its argument, once
/// for every signature of the key.
///
/// `fingerprint` is of the primary key, in hexadecimal; `now` is seconds since 1970.
///
/// # Errors
/// See the module's codes.
pub fn verify_detached<E: From<ProofError>>(
    each: impl Fn(&mut dyn FnMut(&[u8])) -> Result<(), E>,
    signature: &[u8],
    keyring: &[u8],
    fingerprint: &str,
    now: u64,
) -> Result<Proven, E> {
    let fingerprint =
        parse_fingerprint(fingerprint).map_err(|why| ProofError::new(Code::OPENPGP_KEY, why))?;
    let signatures = certificate::parse_signatures(signature)?;
    let keyring = certificate::parse_keyring(keyring)?;
    let certificate = find_certificate(&keyring.certificates, &fingerprint)?;
    let validity = Validity::from_certificate(certificate, &keyring, now)?;
    let mut facts = None;
    let mut count = 0;
    for signature in &signatures {
        let Some(signer) = validity.find_signer(certificate, &keyring, signature, now)? else {
            continue;
        };
        count += 1;
        if count > MOST_SIGNATURES {
            let message = format!("the key has signed more than {MOST_SIGNATURES} times");
            return Err(packets::malformed_error(&message).into());
        }
        let created = check_signature(signature, &signer, &validity, now)?;
        if !signature.is_signed_by(signer.key, &each)? {
            let message = "the signature is not over these bytes";
            return Err(ProofError::new(Code::OPENPGP_BAD_SIGNATURE, message).into());
        }
        facts.get_or_insert_with(|| collect_facts(certificate, &signer, signature, created));
    }
    let facts = facts.ok_or_else(|| {
        let message = if signatures.is_empty() {
            "the file has signatures of other versions than 4 alone, which are not read".to_owned()
        } else {
            format!("no signature was made by the key {fingerprint}")
        };
        ProofError::new(Code::OPENPGP_NO_SIGNATURE, message)
    })?;
    Ok(Proven {
        verdict: Verdict::Verified,
        detail: "signed by the expected OpenPGP key".to_owned(),
        facts,
    })
}

/// Checks that a keyring has the key of this fingerprint, and that the key may have made signatures that hold.
///
/// # Errors
/// See the module's codes.
pub fn check_key(keyring: &[u8], fingerprint: &str, now: u64) -> Result<(), ProofError> {
    let fingerprint =
        parse_fingerprint(fingerprint).map_err(|why| ProofError::new(Code::OPENPGP_KEY, why))?;
    let keyring = certificate::parse_keyring(keyring)?;
    let certificate = find_certificate(&keyring.certificates, &fingerprint)?;
    Validity::from_certificate(certificate, &keyring, now).map(drop)
}

fn collect_facts(
    certificate: &KeyCertificate,
    signer: &SigningKey<'_>,
    signature: &SignaturePacket,
    created: u64,
) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::from([
        ("signer".to_owned(), certificate.primary.fingerprint.clone()),
        ("signingKey".to_owned(), signer.key.fingerprint.clone()),
        (
            "algorithm".to_owned(),
            signer.key.algorithm_name().to_owned(),
        ),
        ("digest".to_owned(), signature.digest_name()),
        ("time".to_owned(), format_seconds(created)),
    ]);
    let user = certificate
        .users
        .first()
        .and_then(|(user, _)| std::str::from_utf8(user).ok());
    if let Some(user) = user {
        facts.insert("user".to_owned(), super::sigstore::flatten_text(user));
    }
    if let Some(expires) = signer.expires {
        facts.insert("keyExpires".to_owned(), format_seconds(expires));
    }
    facts
}

/// Two copies of a key could say different things of it.
fn find_certificate<'a>(
    certificates: &'a [KeyCertificate],
    fingerprint: &str,
) -> Result<&'a KeyCertificate, ProofError> {
    let mut fitting = certificates
        .iter()
        .filter(|it| it.primary.fingerprint == fingerprint);
    let message = match (fitting.next(), fitting.next()) {
        (Some(only), None) => return Ok(only),
        (None, _) => format!("the keyring has no key {fingerprint}"),
        (Some(_), Some(_)) => format!(
            "the keyring has the key {fingerprint} twice; give what `gpg --export {fingerprint}` writes"
        ),
    };
    Err(ProofError::new(Code::OPENPGP_KEY, message))
}

/// Everything about a signature but its mathematics. Returns the time that it was made.
fn check_signature(
    signature: &SignaturePacket,
    signer: &SigningKey<'_>,
    validity: &Validity,
    now: u64,
) -> Result<u64, ProofError> {
    if signature.kind != signature::kind::BINARY {
        return Err(packets::malformed_error(
            "the signature is not a signature of a file",
        ));
    }
    key::check_digest(signature, "the signature's")?;
    if signature.has_unknown_critical {
        let message = "the signature demands something that is not known here (a critical subpacket), such as a notation";
        return Err(packets::malformed_error(message));
    }
    let Some(created) = signature.created else {
        return Err(time_error("the signature has no creation time"));
    };
    if created > now {
        return Err(time_error("the signature is from the future"));
    }
    if signature.has_expired(now) {
        return Err(time_error("the signature has expired"));
    }
    validity.check_time(created)?;
    signer.check_time(created)?;
    Ok(created)
}

fn format_seconds(seconds: u64) -> String {
    let since = std::time::Duration::from_secs(seconds);
    format_time(UnixTime::since_unix_epoch(since))
}

fn time_error(reason: &str) -> ProofError {
    ProofError::new(Code::OPENPGP_TIME, reason)
}
