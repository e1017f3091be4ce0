//! Statements of a key about itself: whether it may sign, until when, and by which subkeys.

use super::certificate::KeyCertificate;
use super::public_key::PublicKey;
use super::signature::{SignaturePacket, SignedPart, kind};
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

/// The key that made a signature.
#[derive(Debug)]
pub(super) struct SigningKey<'a> {
    pub(super) key: &'a PublicKey,
    pub(super) expires: Option<u64>,
}

impl Validity {
    pub(super) fn from_certificate(
        certificate: &KeyCertificate,
        now: u64,
    ) -> Result<Self, ProofError> {
        let primary = &certificate.primary;
        let fingerprint = &primary.fingerprint;
        primary.check_strength()?;
        let part = SignedPart::Key(primary);
        let own: Vec<&SignaturePacket> = list_own(primary, part, &certificate.signatures);
        if own.iter().any(|it| it.kind == kind::KEY_REVOCATION) {
            return Err(ProofError::new(
                "openpgp-revoked",
                format!("the key {fingerprint} is revoked"),
            ));
        }
        let by_user = certificate
            .users
            .iter()
            .flat_map(|user| list_certifications(primary, user));
        let direct = own.into_iter().filter(|it| it.kind == kind::DIRECT_KEY);
        let word = find_latest(direct.chain(by_user), now).ok_or_else(|| {
            ProofError::new(
                "openpgp-key",
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
        signature: &SignaturePacket,
        now: u64,
    ) -> Result<Option<SigningKey<'a>>, ProofError> {
        let primary = &certificate.primary;
        if signature.names_key(primary) {
            if !self.may_sign {
                return Err(ProofError::new(
                    "openpgp-key",
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
            .find(|(key, _)| signature.names_key(key))
        else {
            return Ok(None);
        };
        subkey.check_strength()?;
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
) -> Vec<&'a SignaturePacket> {
    let mut own = list_own(primary, SignedPart::UserId(primary, user), signatures);
    if own
        .iter()
        .any(|it| it.kind == kind::CERTIFICATION_REVOCATION)
    {
        return Vec::new();
    }
    own.retain(|it| kind::CERTIFICATION.contains(&it.kind));
    own
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
    statements
        .filter(|statement| {
            statement.created.is_some_and(|time| time <= now) && !statement.has_expired(now)
        })
        .max_by_key(|statement| statement.created)
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
    if own.iter().any(|it| it.kind == kind::SUBKEY_REVOCATION) {
        return Err(ProofError::new(
            "openpgp-revoked",
            "the signing subkey is revoked",
        ));
    }
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
    Ok(word)
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
            "openpgp-time",
            format!("the signature is older than the {what}"),
        ));
    }
    if expires.is_some_and(|expires| time >= expires) {
        let message = format!("the {what} had expired when the signature was made");
        return Err(ProofError::new("openpgp-time", message));
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
        "openpgp-weak",
        format!("{whose} digest is {name}, which is too weak"),
    ))
}

fn unbound_error(reason: &str) -> ProofError {
    ProofError::new("openpgp-key", format!("the signing subkey {reason}"))
}
