//! What a key says of itself: whether it may sign, until when, and by which subkeys.

use std::io::Read;

use pgp::composed::{SignedPublicKey, SignedPublicSubKey};
use pgp::crypto::hash::HashAlgorithm;
use pgp::packet::{PublicKey, PublicSubkey, Signature, SignatureType, SubpacketData};
use pgp::types::{KeyDetails, PublicParams, SignedUser, Tag, Timestamp};

use crate::verify::ProofError;

/// The primary key's own latest word.
#[derive(Debug)]
pub(super) struct Held {
    born: u64,
    expires: Option<u64>,
    may_sign: bool,
}

/// The key that made a signature.
#[derive(Debug)]
pub(super) struct Signer<'a> {
    key: Component<'a>,
    born: u64,
    expires: Option<u64>,
}

#[derive(Debug)]
enum Component<'a> {
    Primary(&'a PublicKey),
    Sub(&'a PublicSubkey),
}

impl Held {
    pub(super) fn of(key: &SignedPublicKey, now: u64) -> Result<Self, ProofError> {
        let fingerprint = key.fingerprint();
        let details = &key.details;
        if details
            .revocation_signatures
            .iter()
            .any(|signature| signature.verify_key(&key.primary_key).is_ok())
        {
            return Err(ProofError::new("openpgp-revoked", format!("the key {fingerprint} is revoked")));
        }
        let direct = details.direct_signatures.iter().filter(|signature| {
            signature.typ() == Some(SignatureType::Key) && signature.verify_key(&key.primary_key).is_ok()
        });
        let by_user = details.users.iter().flat_map(|user| certifications(key, user));
        let word = latest(direct.chain(by_user), now).ok_or_else(|| {
            ProofError::new("openpgp-key", format!("the key {fingerprint} has signed nothing about itself"))
        })?;
        strong_digest(word, "the key's own signature's")?;
        strong(key.primary_key.public_params())?;
        let born = u64::from(key.primary_key.created_at().as_secs());
        Ok(Self { born, expires: expiry(word, born), may_sign: may_sign(word) })
    }

    pub(super) fn at(&self, time: u64) -> Result<(), ProofError> {
        within("key", self.born, self.expires, time)
    }

    /// The key or subkey that a signature names, if it is of this key.
    pub(super) fn signer<'a>(
        &self,
        key: &'a SignedPublicKey,
        signature: &Signature,
        now: u64,
    ) -> Result<Option<Signer<'a>>, ProofError> {
        if names(signature, &key.primary_key) {
            if !self.may_sign {
                return Err(ProofError::new("openpgp-key", "the key is not for signing files"));
            }
            let key = Component::Primary(&key.primary_key);
            return Ok(Some(Signer { key, born: self.born, expires: self.expires }));
        }
        let Some(subkey) = key.public_subkeys.iter().find(|subkey| names(signature, &subkey.key)) else {
            return Ok(None);
        };
        let word = binding(key, subkey, now)?;
        let born = u64::from(subkey.key.created_at().as_secs());
        Ok(Some(Signer { key: Component::Sub(&subkey.key), born, expires: expiry(word, born) }))
    }
}

impl Signer<'_> {
    pub(super) fn fingerprint(&self) -> String {
        match self.key {
            Component::Primary(key) => key.fingerprint().to_string(),
            Component::Sub(key) => key.fingerprint().to_string(),
        }
    }

    pub(super) fn algorithm(&self) -> String {
        match self.key {
            Component::Primary(key) => format!("{:?}", key.algorithm()),
            Component::Sub(key) => format!("{:?}", key.algorithm()),
        }
    }

    pub(super) fn expires(&self) -> Option<u64> {
        self.expires
    }

    pub(super) fn strong(&self) -> Result<(), ProofError> {
        match self.key {
            Component::Primary(key) => strong(key.public_params()),
            Component::Sub(key) => strong(key.public_params()),
        }
    }

    pub(super) fn at(&self, time: u64) -> Result<(), ProofError> {
        within("signing key", self.born, self.expires, time)
    }

    pub(super) fn verifies(&self, signature: &Signature, message: impl Read) -> Result<(), ProofError> {
        let outcome = match self.key {
            Component::Primary(key) => signature.verify(key, message),
            Component::Sub(key) => signature.verify(key, message),
        };
        outcome.map_err(|_| ProofError::new("openpgp-bad-signature", "the signature is not over these bytes"))
    }
}

/// By whole fingerprint where the signature has one.
fn names(signature: &Signature, key: &impl KeyDetails) -> bool {
    let fingerprints = signature.issuer_fingerprint();
    if fingerprints.is_empty() {
        return signature.issuer_key_id().contains(&&key.legacy_key_id());
    }
    fingerprints.contains(&&key.fingerprint())
}

/// What the key itself says of one of its users, unless it has taken it back.
fn certifications<'a>(key: &SignedPublicKey, user: &'a SignedUser) -> Vec<&'a Signature> {
    let own: Vec<&Signature> = user
        .signatures
        .iter()
        .filter(|signature| signature.verify_certification(&key.primary_key, Tag::UserId, &user.id).is_ok())
        .collect();
    if own.iter().any(|signature| signature.typ() == Some(SignatureType::CertRevocation)) {
        return Vec::new();
    }
    own
}

fn latest<'a>(statements: impl Iterator<Item = &'a Signature>, now: u64) -> Option<&'a Signature> {
    statements
        .filter(|statement| statement.created().is_some_and(|time| u64::from(time.as_secs()) <= now))
        .filter(|statement| !signature_expired(statement, now))
        .max_by_key(|statement| statement.created().map(Timestamp::as_secs))
}

/// The latest word that binds a subkey for signing, which the subkey has confirmed.
fn binding<'a>(
    key: &SignedPublicKey,
    subkey: &'a SignedPublicSubKey,
    now: u64,
) -> Result<&'a Signature, ProofError> {
    let unbound = |reason: &str| ProofError::new("openpgp-key", format!("the signing subkey {reason}"));
    let own = |kind: SignatureType| {
        subkey.signatures.iter().filter(move |signature| {
            signature.typ() == Some(kind)
                && signature.verify_subkey_binding(&key.primary_key, &subkey.key).is_ok()
        })
    };
    if own(SignatureType::SubkeyRevocation).next().is_some() {
        return Err(ProofError::new("openpgp-revoked", "the signing subkey is revoked"));
    }
    let word =
        latest(own(SignatureType::SubkeyBinding), now).ok_or_else(|| unbound("is not bound to the key"))?;
    strong_digest(word, "the subkey's binding's")?;
    if !word.key_flags().sign() {
        return Err(unbound("is not for signing files"));
    }
    let back = word
        .embedded_signature()
        .filter(|back| back.verify_primary_key_binding(&subkey.key, &key.primary_key).is_ok())
        .ok_or_else(|| unbound("does not say itself that it is the key's"))?;
    strong_digest(back, "the subkey's own signature's")?;
    Ok(word)
}

/// A key that says nothing about its use may be used for anything.
fn may_sign(word: &Signature) -> bool {
    let stated = word.config().is_some_and(|config| {
        config.hashed_subpackets().any(|packet| matches!(packet.data, SubpacketData::KeyFlags(_)))
    });
    !stated || word.key_flags().sign()
}

fn expiry(word: &Signature, born: u64) -> Option<u64> {
    let seconds = u64::from(word.key_expiration_time()?.as_secs());
    (seconds > 0).then_some(born + seconds)
}

pub(super) fn signature_expired(signature: &Signature, now: u64) -> bool {
    let lasts = signature.signature_expiration_time().map_or(0, |time| u64::from(time.as_secs()));
    let made = signature.created().map_or(0, |time| u64::from(time.as_secs()));
    lasts > 0 && made + lasts <= now
}

fn within(what: &str, born: u64, expires: Option<u64>, time: u64) -> Result<(), ProofError> {
    if time < born {
        return Err(ProofError::new("openpgp-time", format!("the signature is older than the {what}")));
    }
    if expires.is_some_and(|expires| time >= expires) {
        let message = format!("the {what} had expired when the signature was made");
        return Err(ProofError::new("openpgp-time", message));
    }
    Ok(())
}

pub(super) fn strong_digest(signature: &Signature, whose: &str) -> Result<(), ProofError> {
    match signature.hash_alg() {
        Some(
            HashAlgorithm::Sha224
            | HashAlgorithm::Sha256
            | HashAlgorithm::Sha384
            | HashAlgorithm::Sha512
            | HashAlgorithm::Sha3_256
            | HashAlgorithm::Sha3_512,
        ) => Ok(()),
        other => {
            let name = other.map_or_else(|| "unknown".to_owned(), |name| name.to_string());
            Err(ProofError::new("openpgp-weak", format!("{whose} digest is {name}, which proves nothing")))
        }
    }
}

fn strong(key: &PublicParams) -> Result<(), ProofError> {
    use rsa::traits::PublicKeyParts as _;
    match key {
        PublicParams::RSA(rsa) if rsa.key.n().bits() >= 2048 => Ok(()),
        PublicParams::RSA(rsa) => {
            let message = format!("an RSA key of {} bits is too short", rsa.key.n().bits());
            Err(ProofError::new("openpgp-weak", message))
        }
        PublicParams::ECDSA(_)
        | PublicParams::EdDSALegacy(_)
        | PublicParams::Ed25519(_)
        | PublicParams::Ed448(_) => Ok(()),
        _ => Err(ProofError::new("openpgp-weak", "the key's algorithm is not one that signs well enough")),
    }
}
