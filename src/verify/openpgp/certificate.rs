//! A key with its users, subkeys and signatures (RFC 9580, 10.1).

use super::packets::{dearmor_keyring, malformed_error, private_key_error, split_packets};
use super::public_key::PublicKey;
use super::signature::Signature;
use crate::verify::ProofError;

/// Packet types (RFC 9580, 5).
const SIGNATURE: u8 = 2;
const SECRET_KEY: u8 = 5;
const PUBLIC_KEY: u8 = 6;
const SECRET_SUBKEY: u8 = 7;
const TRUST: u8 = 12;
const USER_ID: u8 = 13;
const PUBLIC_SUBKEY: u8 = 14;

/// What an OpenPGP implementation calls a certificate: a transferable public key.
#[derive(Debug)]
pub(super) struct Certificate {
    pub(super) primary: PublicKey,
    /// Over the primary key itself.
    pub(super) signatures: Vec<Signature>,
    pub(super) users: Vec<(Vec<u8>, Vec<Signature>)>,
    pub(super) subkeys: Vec<(PublicKey, Vec<Signature>)>,
}

/// What the signatures that follow are about.
enum Subject {
    Primary,
    User,
    Subkey,
    /// An attribute, or a subkey of a version that is not known.
    Other,
}

/// Every key of a keyring. Keys of other versions than 4 are passed over.
pub(super) fn parse_keyring(bytes: &[u8]) -> Result<Vec<Certificate>, ProofError> {
    let bytes = dearmor_keyring(bytes)?;
    let mut certificates: Vec<Certificate> = Vec::new();
    let mut current: Option<(Certificate, Subject)> = None;
    for (kind, body) in split_packets(&bytes, "keyring")? {
        match (kind, &mut current) {
            (SECRET_KEY | SECRET_SUBKEY, _) => return Err(private_key_error()),
            (PUBLIC_KEY, _) => {
                certificates.extend(current.take().map(|(certificate, _)| certificate));
                let primary = PublicKey::parse(body)?;
                current = primary.map(|primary| (Certificate::new(primary), Subject::Primary));
            }
            (TRUST, _) | (_, None) => {}
            (SIGNATURE, Some((certificate, subject))) => {
                let signature = Signature::parse(body)?;
                certificate.add_signature(signature, subject);
            }
            (USER_ID, Some((certificate, subject))) => {
                certificate.users.push((body.to_vec(), Vec::new()));
                *subject = Subject::User;
            }
            (PUBLIC_SUBKEY, Some((certificate, subject))) => {
                let subkey = PublicKey::parse(body)?;
                *subject = if subkey.is_some() {
                    Subject::Subkey
                } else {
                    Subject::Other
                };
                certificate
                    .subkeys
                    .extend(subkey.map(|subkey| (subkey, Vec::new())));
            }
            (_, Some((_, subject))) => *subject = Subject::Other,
        }
    }
    certificates.extend(current.map(|(certificate, _)| certificate));
    Ok(certificates)
}

impl Certificate {
    fn new(primary: PublicKey) -> Self {
        Self {
            primary,
            signatures: Vec::new(),
            users: Vec::new(),
            subkeys: Vec::new(),
        }
    }

    fn add_signature(&mut self, signature: Option<Signature>, subject: &Subject) {
        let list = match subject {
            Subject::Primary => Some(&mut self.signatures),
            Subject::User => self.users.last_mut().map(|(_, signatures)| signatures),
            Subject::Subkey => self.subkeys.last_mut().map(|(_, signatures)| signatures),
            Subject::Other => None,
        };
        if let (Some(list), Some(signature)) = (list, signature) {
            list.push(signature);
        }
    }
}

/// The signatures of a detached signature, which holds no other packets.
pub(super) fn parse_signatures(bytes: &[u8]) -> Result<Vec<Signature>, ProofError> {
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
        signatures.extend(Signature::parse(body)?);
    }
    Ok(signatures)
}
