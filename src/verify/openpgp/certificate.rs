//! A key with its users, subkeys and signatures (RFC 9580, 10.1).

use super::packets::{dearmor_keyring, malformed_error, private_key_error, split_packets};
use super::public_key::PublicKey;
use super::signature::{Revocation, SignaturePacket};
use crate::verify::ProofError;

/// Packet types (RFC 9580, 5).
const SIGNATURE: u8 = 2;
const SECRET_KEY: u8 = 5;
const PUBLIC_KEY: u8 = 6;
const SECRET_SUBKEY: u8 = 7;
const TRUST: u8 = 12;
const USER_ID: u8 = 13;
const PUBLIC_SUBKEY: u8 = 14;

/// A transferable public key, which OpenPGP implementations call a certificate.
#[derive(Debug)]
pub(super) struct KeyCertificate {
    pub primary: PublicKey,
    /// Over the primary key itself.
    pub signatures: Vec<SignaturePacket>,
    pub users: Vec<(Vec<u8>, Vec<SignaturePacket>)>,
    pub subkeys: Vec<(PublicKey, Vec<SignaturePacket>)>,
}

/// Keys, and what takes them or their parts back.
#[derive(Debug, Default)]
pub(super) struct Keyring {
    pub certificates: Vec<KeyCertificate>,
    /// Wherever they stand: behind the key, a user or a subkey, behind another key, or before all of them.
    pub revocations: Vec<Revocation>,
}

/// Subject of the signatures that follow.
enum KeyPart {
    Primary,
    User,
    Subkey,
    /// An attribute, or a subkey of a version that is not known.
    Other,
}

/// Every key of a keyring. Keys of other versions than 4 are passed over.
pub(super) fn parse_keyring(bytes: &[u8]) -> Result<Keyring, ProofError> {
    let bytes = dearmor_keyring(bytes)?;
    let mut certificates: Vec<KeyCertificate> = Vec::new();
    let mut revocations: Vec<Revocation> = Vec::new();
    let mut current: Option<(KeyCertificate, KeyPart)> = None;
    for (kind, body) in split_packets(&bytes, "keyring")? {
        match (kind, &mut current) {
            (SECRET_KEY | SECRET_SUBKEY, _) => return Err(private_key_error()),
            (PUBLIC_KEY, _) => {
                certificates.extend(current.take().map(|(certificate, _)| certificate));
                let primary = PublicKey::parse(body)?;
                current = primary.map(|primary| (KeyCertificate::new(primary), KeyPart::Primary));
            }
            (SIGNATURE, _) if Revocation::is_kind(body) => {
                revocations.extend(Revocation::parse(body)?);
            }
            (TRUST, _) | (_, None) => {}
            (SIGNATURE, Some((certificate, subject))) => {
                let signature = SignaturePacket::parse(body)?;
                certificate.add_signature(signature, subject);
            }
            (USER_ID, Some((certificate, subject))) => {
                certificate.users.push((body.to_vec(), Vec::new()));
                *subject = KeyPart::User;
            }
            (PUBLIC_SUBKEY, Some((certificate, subject))) => {
                let subkey = PublicKey::parse(body)?;
                *subject = if subkey.is_some() {
                    KeyPart::Subkey
                } else {
                    KeyPart::Other
                };
                certificate
                    .subkeys
                    .extend(subkey.map(|subkey| (subkey, Vec::new())));
            }
            (_, Some((_, subject))) => *subject = KeyPart::Other,
        }
    }
    certificates.extend(current.map(|(certificate, _)| certificate));
    Ok(Keyring {
        certificates,
        revocations,
    })
}

impl Keyring {
    /// A primary key or a subkey.
    pub(super) fn find_key(&self, fingerprint: &str) -> Option<&PublicKey> {
        for certificate in &self.certificates {
            let subkeys = certificate.subkeys.iter().map(|(key, _)| key);
            let mut keys = std::iter::once(&certificate.primary).chain(subkeys);
            if let Some(key) = keys.find(|key| key.fingerprint == fingerprint) {
                return Some(key);
            }
        }
        None
    }
}

impl KeyCertificate {
    fn new(primary: PublicKey) -> Self {
        Self {
            primary,
            signatures: Vec::new(),
            users: Vec::new(),
            subkeys: Vec::new(),
        }
    }

    fn add_signature(&mut self, signature: Option<SignaturePacket>, subject: &KeyPart) {
        let list = match subject {
            KeyPart::Primary => Some(&mut self.signatures),
            KeyPart::User => self.users.last_mut().map(|(_, signatures)| signatures),
            KeyPart::Subkey => self.subkeys.last_mut().map(|(_, signatures)| signatures),
            KeyPart::Other => None,
        };
        if let (Some(list), Some(signature)) = (list, signature) {
            list.push(signature);
        }
    }
}

/// The signatures of a detached signature, which holds no other packets.
pub(super) fn parse_signatures(bytes: &[u8]) -> Result<Vec<SignaturePacket>, ProofError> {
    let bytes = super::packets::dearmor_signature(bytes)?;
    let packets = split_packets(&bytes, "signature")?;
    if packets.is_empty() {
        return Err(malformed_error("the file contains no signature"));
    }
    let mut signatures = Vec::new();
    for (kind, body) in packets {
        if kind != SIGNATURE {
            return Err(malformed_error(
                "the file contains other data beside the signature",
            ));
        }
        signatures.extend(SignaturePacket::parse(body)?);
    }
    Ok(signatures)
}
