//! Statements of a key about itself: whether it may sign, until when, and by which subkeys.

use std::collections::BTreeSet;

use super::certificate::{KeyCertificate, Keyring};
use super::public_key::PublicKey;
use super::signature::{Revocation, SignaturePacket, SignedPart, kind};
use crate::base::code::Code;
use crate::verify::ProofError;

/// Key flag: the key signs data (RFC 9580, 5.2.3.29).
const SIGNS_DATA: u8 = 0x02;

/// The primary key's own latest word.
#[derive(Debug)]
pub(super) struct Validity {
    created: u64,
    expires: Option<u64>,
    may_sign: bool,
}

/// The keys that may revoke a key or a part of it: the key itself, and the designated revokers that it names.
#[derive(Debug)]
struct Revokers<'a> {
    known: Vec<&'a PublicKey>,
    /// Fingerprints of revokers that are not in the keyring.
    absent: Vec<&'a str>,
    revocations: &'a [Revocation],
}

/// The key that made a signature.
#[derive(Debug)]
pub(super) struct SigningKey<'a> {
    pub key: &'a PublicKey,
    pub expires: Option<u64>,
}

impl Validity {
    pub(super) fn from_certificate(
        certificate: &KeyCertificate,
        keyring: &Keyring,
        now: u64,
    ) -> Result<Self, ProofError> {
        let primary = &certificate.primary;
        let fingerprint = &primary.fingerprint;
        primary.check_strength()?;
        let part = SignedPart::Key(primary);
        let revokers = Revokers::find(certificate, keyring);
        if revokers.has_revoked(kind::KEY_REVOCATION, part) {
            return Err(ProofError::new(
                Code::OPENPGP_REVOKED,
                format!("the key {fingerprint} is revoked"),
            ));
        }
        let by_user = certificate
            .users
            .iter()
            .flat_map(|user| list_certifications(primary, user, &revokers));
        let mut direct = list_own(primary, part, &certificate.signatures);
        direct.retain(|it| it.kind == kind::DIRECT_KEY);
        if revokers.has_revoked(kind::CERTIFICATION_REVOCATION, part) {
            direct.clear();
        }
        let word = find_latest(direct.into_iter().chain(by_user), now).ok_or_else(|| {
            ProofError::new(
                Code::OPENPGP_KEY,
                format!("the key {fingerprint} has no valid self-signature"),
            )
        })?;
        check_digest(word, "the key's own signature's")?;
        // A key that says nothing about its use may be used for anything.
        let may_sign = word.key_flags.is_none_or(|flags| flags & SIGNS_DATA != 0);
        Ok(Self {
            created: primary.created,
            expires: compute_expiry(word, primary),
            may_sign,
        })
    }

    pub(super) fn check_time(&self, time: u64) -> Result<(), ProofError> {
        check_within("key", self.created, self.expires, time)
    }

    /// The key or subkey that a signature names, if it is of this key.
    pub(super) fn find_signer<'a>(
        &self,
        certificate: &'a KeyCertificate,
        keyring: &Keyring,
        signature: &SignaturePacket,
        now: u64,
    ) -> Result<Option<SigningKey<'a>>, ProofError> {
        let primary = &certificate.primary;
        if signature.names_key(&primary.fingerprint) {
            if !self.may_sign {
                return Err(ProofError::new(
                    Code::OPENPGP_KEY,
                    "the key is not for signing files",
                ));
            }
            return Ok(Some(SigningKey {
                key: primary,
                expires: self.expires,
            }));
        }
        let Some((subkey, statements)) = certificate
            .subkeys
            .iter()
            .find(|(key, _)| signature.names_key(&key.fingerprint))
        else {
            return Ok(None);
        };
        subkey.check_strength()?;
        let part = SignedPart::Subkey(primary, subkey);
        if Revokers::find(certificate, keyring).has_revoked(kind::SUBKEY_REVOCATION, part) {
            return Err(ProofError::new(
                Code::OPENPGP_REVOKED,
                "the signing subkey is revoked",
            ));
        }
        let word = find_binding(primary, subkey, statements, now)?;
        Ok(Some(SigningKey {
            key: subkey,
            expires: compute_expiry(word, subkey),
        }))
    }
}

impl SigningKey<'_> {
    pub(super) fn check_time(&self, time: u64) -> Result<(), ProofError> {
        check_within("signing key", self.key.created, self.expires, time)
    }
}

/// Statements of the key itself about one of its users, unless it has taken them back.
fn list_certifications<'a>(
    primary: &PublicKey,
    (user, signatures): &'a (Vec<u8>, Vec<SignaturePacket>),
    revokers: &Revokers<'_>,
) -> Vec<&'a SignaturePacket> {
    let part = SignedPart::UserId(primary, user);
    if revokers.has_revoked(kind::CERTIFICATION_REVOCATION, part) {
        return Vec::new();
    }
    let mut own = list_own(primary, part, signatures);
    own.retain(|it| kind::CERTIFICATION.contains(&it.kind));
    own
}

impl<'a> Revokers<'a> {
    /// The key itself, and the keys that one of its own statements has ever named. A statement that cannot be checked
    /// counts: a name leads to nothing but a revocation.
    fn find(certificate: &'a KeyCertificate, keyring: &'a Keyring) -> Self {
        let primary = &certificate.primary;
        let on_key = certificate.signatures.iter();
        let mut named = BTreeSet::new();
        for statement in on_key {
            if statement.may_state(primary, SignedPart::Key(primary)) {
                named.extend(&statement.revokers);
            }
        }
        for (user, statements) in &certificate.users {
            for statement in statements {
                if statement.may_state(primary, SignedPart::UserId(primary, user)) {
                    named.extend(&statement.revokers);
                }
            }
        }

        let mut revokers = Self {
            known: vec![primary],
            absent: Vec::new(),
            revocations: &keyring.revocations,
        };
        for fingerprint in named {
            match keyring.find_key(fingerprint) {
                Some(key) => revokers.known.push(key),
                None => revokers.absent.push(fingerprint),
            }
        }
        revokers
    }

    /// Whether one of the keys takes this part back. Of a key that the keyring does not have, a revocation that names
    /// it is enough.
    fn has_revoked(&self, wanted: u8, part: SignedPart<'_>) -> bool {
        for revocation in self.revocations {
            let mut known = self.known.iter();
            let mut absent = self.absent.iter();
            if known.any(|key| revocation.revokes(key, wanted, part))
                || absent.any(|named| revocation.may_revoke(named, wanted, part))
            {
                return true;
            }
        }
        false
    }
}

/// The signatures of a part that the key itself made.
fn list_own<'a>(
    primary: &PublicKey,
    part: SignedPart<'_>,
    signatures: &'a [SignaturePacket],
) -> Vec<&'a SignaturePacket> {
    let own = signatures
        .iter()
        .filter(|it| it.signs_statement(primary, part));
    own.collect()
}

fn find_latest<'a>(
    statements: impl Iterator<Item = &'a SignaturePacket>,
    now: u64,
) -> Option<&'a SignaturePacket> {
    let mut known = Vec::new();
    for statement in statements {
        let is_made = statement.created.is_some_and(|time| time <= now);
        if is_made && !statement.has_expired(now) {
            known.push(statement);
        }
    }
    known.into_iter().max_by_key(|statement| statement.created)
}

/// The latest word that binds a subkey for signing, which the subkey has confirmed.
fn find_binding<'a>(
    primary: &PublicKey,
    subkey: &PublicKey,
    statements: &'a [SignaturePacket],
    now: u64,
) -> Result<&'a SignaturePacket, ProofError> {
    let statement = SignedPart::Subkey(primary, subkey);
    let own = list_own(primary, statement, statements);
    let bindings = own.into_iter().filter(|it| it.kind == kind::SUBKEY_BINDING);
    let Some(word) = find_latest(bindings, now) else {
        return Err(unbound_error("is not bound to the key"));
    };
    check_digest(word, "the subkey's binding's")?;
    if word.key_flags.is_none_or(|flags| flags & SIGNS_DATA == 0) {
        return Err(unbound_error("is not for signing files"));
    }
    let back = word
        .embedded
        .as_deref()
        .filter(|back| {
            back.kind == kind::PRIMARY_KEY_BINDING && back.signs_statement(subkey, statement)
        })
        .ok_or_else(|| unbound_error("has no valid back signature"))?;
    check_digest(back, "the subkey's own signature's")?;
    check_back_time(back, subkey, now)?;
    Ok(word)
}

/// A back signature is a signature like others: made while the subkey existed, not in the future, and not expired.
fn check_back_time(back: &SignaturePacket, subkey: &PublicKey, now: u64) -> Result<(), ProofError> {
    let fault = match back.created {
        None => "has no creation time",
        Some(created) if created > now => "is from the future",
        Some(created) if created < subkey.created => "is older than the subkey",
        Some(_) if back.has_expired(now) => "has expired",
        Some(_) => return Ok(()),
    };
    let message = format!("the back signature of the signing subkey {fault}");
    Err(ProofError::new(Code::OPENPGP_TIME, message))
}

fn compute_expiry(word: &SignaturePacket, key: &PublicKey) -> Option<u64> {
    (word.key_lifetime > 0).then_some(key.created + word.key_lifetime)
}

fn check_within(
    what: &str,
    created: u64,
    expires: Option<u64>,
    time: u64,
) -> Result<(), ProofError> {
    if time < created {
        return Err(ProofError::new(
            Code::OPENPGP_TIME,
            format!("the signature is older than the {what}"),
        ));
    }
    if expires.is_some_and(|expires| time >= expires) {
        let message = format!("the {what} had expired when the signature was made");
        return Err(ProofError::new(Code::OPENPGP_TIME, message));
    }
    Ok(())
}

/// SHA-256, SHA-384 or SHA-512 (RFC 9580, 9.5).
pub(super) fn check_digest(signature: &SignaturePacket, whose: &str) -> Result<(), ProofError> {
    if matches!(signature.digest, 8..=10) {
        return Ok(());
    }
    let name = signature.digest_name();
    Err(ProofError::new(
        Code::OPENPGP_WEAK,
        format!("{whose} digest is {name}, which is too weak"),
    ))
}

fn unbound_error(reason: &str) -> ProofError {
    ProofError::new(Code::OPENPGP_KEY, format!("the signing subkey {reason}"))
}
