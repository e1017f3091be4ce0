//! A signature packet of version 4 (RFC 9580, 5.2).

use std::collections::BTreeSet;

use aws_lc_rs::digest::{self, Context, Digest};

use super::packets::{Cursor, malformed_error};
use super::public_key::PublicKey;
use crate::verify::ProofError;

/// RFC 9580, 5.2.1
pub(super) mod kind {
    pub(crate) const BINARY: u8 = 0x00;
    pub(crate) const CERTIFICATION: std::ops::RangeInclusive<u8> = 0x10..=0x13;
    pub(crate) const SUBKEY_BINDING: u8 = 0x18;
    pub(crate) const PRIMARY_KEY_BINDING: u8 = 0x19;
    pub(crate) const DIRECT_KEY: u8 = 0x1f;
    pub(crate) const KEY_REVOCATION: u8 = 0x20;
    pub(crate) const SUBKEY_REVOCATION: u8 = 0x28;
    pub(crate) const CERTIFICATION_REVOCATION: u8 = 0x30;
}

/// Subpackets that are understood or may be passed over though they are critical (RFC 9580, 5.2.3.7).
const KNOWN: &[u8] = &[
    2, 3, 4, 5, 6, 7, 9, 11, 12, 16, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34,
];

/// A signature that takes a key, a subkey or a certification back.
///
/// One that cannot be checked counts where it may be by the key: its digest or a critical subpacket is not known here,
/// or it is of version 3. Who can add such a packet to a keyring can also leave the key out of it.
#[derive(Debug)]
pub(super) enum Revocation {
    Packet(SignaturePacket),
    Older {
        kind: u8,
        /// Key id in hexadecimal.
        issuer: String,
    },
}

impl Revocation {
    /// Whether the body of a signature packet is a revocation (RFC 9580, 5.2.2 and 5.2.3).
    pub(super) fn is_kind(packet: &[u8]) -> bool {
        let kind = match packet {
            [4, kind, ..] | [3, 5, kind, ..] => *kind,
            _ => return false,
        };
        matches!(
            kind,
            kind::KEY_REVOCATION | kind::SUBKEY_REVOCATION | kind::CERTIFICATION_REVOCATION
        )
    }

    pub(super) fn parse(packet: &[u8]) -> Result<Option<Self>, ProofError> {
        if let [3, 5, kind, _, _, _, _, rest @ ..] = packet {
            let issuer = rest.get(..8);
            let issuer = issuer.ok_or_else(damaged_error)?;
            return Ok(Some(Self::Older {
                kind: *kind,
                issuer: crate::base::digest::encode_hex(issuer),
            }));
        }
        Ok(SignaturePacket::parse(packet)?.map(Self::Packet))
    }

    /// Whether a key that the keyring does not have may take this part back: the packet names it, or nobody, and begins
    /// with the digest of the part.
    pub(super) fn may_revoke(&self, fingerprint: &str, wanted: u8, part: SignedPart<'_>) -> bool {
        match self {
            Self::Older { kind, issuer } => *kind == wanted && fingerprint.ends_with(issuer),
            Self::Packet(packet) => {
                packet.kind == wanted && packet.may_be_by(fingerprint) && packet.may_be_over(part)
            }
        }
    }

    /// Whether the key takes this part back.
    pub(super) fn revokes(&self, key: &PublicKey, wanted: u8, part: SignedPart<'_>) -> bool {
        match self {
            Self::Older { kind, issuer } => *kind == wanted && issuer == key.id(),
            Self::Packet(packet) if packet.kind != wanted => false,
            Self::Packet(packet) if packet.is_checkable(key) => packet.signs_statement(key, part),
            Self::Packet(packet) => packet.may_be_by(&key.fingerprint),
        }
    }
}

#[derive(Debug)]
pub(super) struct SignaturePacket {
    pub kind: u8,
    algorithm: u8,
    pub digest: u8,
    /// From the version to the last hashed subpacket: what is signed behind the message.
    hashed: Vec<u8>,
    /// The first two bytes of the digest.
    left: [u8; 2],
    values: Vec<u8>,
    /// Seconds since 1970.
    pub created: Option<u64>,
    /// Seconds after its creation until the signature expires.
    lifetime: u64,
    /// Seconds after a key's creation until it expires.
    pub key_lifetime: u64,
    pub key_flags: Option<u8>,
    issuer_fingerprints: BTreeSet<String>,
    issuer_ids: BTreeSet<String>,
    pub embedded: Option<Box<SignaturePacket>>,
    /// Fingerprints of the keys that may revoke the signed key and its parts (RFC 9580, 5.2.3.23).
    pub revokers: BTreeSet<String>,
    /// A critical subpacket that is not known makes a signature invalid.
    pub has_unknown_critical: bool,
}

/// Subjects of a key's own signatures (RFC 9580, 5.2.4).
#[derive(Debug, Clone, Copy)]
pub(super) enum SignedPart<'a> {
    Key(&'a PublicKey),
    UserId(&'a PublicKey, &'a [u8]),
    Subkey(&'a PublicKey, &'a PublicKey),
}

impl SignaturePacket {
    /// None where the packet is of another version than 4.
    pub(super) fn parse(packet: &[u8]) -> Result<Option<Self>, ProofError> {
        if packet.first() != Some(&4) {
            return Ok(None);
        }
        let (mut signature, embedded) = Self::parse_body(packet).ok_or_else(damaged_error)?;
        if let Some(body) = embedded
            && signature.kind == kind::SUBKEY_BINDING
            && body.first() == Some(&4)
        {
            // No signature is embedded in an embedded one: a packet cannot make this program parse deeper than here.
            let (embedded, None) = Self::parse_body(body).ok_or_else(damaged_error)? else {
                return Err(damaged_error());
            };
            // By it a subkey names its primary key (RFC 9580, 5.2.1); others say nothing here.
            signature.embedded = Some(Box::new(embedded))
                .filter(|embedded| embedded.kind == kind::PRIMARY_KEY_BINDING);
        }
        Ok(Some(signature))
    }

    /// The packet, and the body of the signature that is embedded in it.
    fn parse_body(packet: &[u8]) -> Option<(Self, Option<&[u8]>)> {
        let mut cursor = Cursor(&packet[1..]);
        let (kind, algorithm, digest) = (
            cursor.read_byte()?,
            cursor.read_byte()?,
            cursor.read_byte()?,
        );
        let length = cursor.read_number(2)?;
        let hashed_subpackets = cursor.take(length)?;
        let hashed = packet.get(..6 + length)?.to_vec();
        let length = cursor.read_number(2)?;
        let unhashed_subpackets = cursor.take(length)?;
        let left = cursor.take(2)?.try_into().ok()?;
        let mut signature = Self {
            kind,
            algorithm,
            digest,
            hashed,
            left,
            values: cursor.0.to_vec(),
            created: None,
            lifetime: 0,
            key_lifetime: 0,
            key_flags: None,
            issuer_fingerprints: BTreeSet::new(),
            issuer_ids: BTreeSet::new(),
            embedded: None,
            revokers: BTreeSet::new(),
            has_unknown_critical: false,
        };
        let mut embedded = None;
        signature.read_subpackets(hashed_subpackets, true, &mut embedded)?;
        signature.read_subpackets(unhashed_subpackets, false, &mut embedded)?;
        Some((signature, embedded))
    }

    /// Of subpackets that are not signed only hints count: the issuer, and a signature that proves
    /// itself.
    fn read_subpackets<'a>(
        &mut self,
        bytes: &'a [u8],
        is_hashed: bool,
        embedded: &mut Option<&'a [u8]>,
    ) -> Option<()> {
        let mut area = Cursor(bytes);
        while !area.is_empty() {
            let length = area.read_length(255)?;
            let mut subpacket = Cursor(area.take(length)?);
            let kind = subpacket.read_byte()?;
            match (kind & 0x7f, is_hashed) {
                (2, true) => self.created = Some(subpacket.read_number(4)? as u64),
                (3, true) => self.lifetime = subpacket.read_number(4)? as u64,
                (9, true) => self.key_lifetime = subpacket.read_number(4)? as u64,
                (12, true) => self.revokers.extend(read_revoker(subpacket.0)),
                (27, true) => self.key_flags = Some(subpacket.read_byte().unwrap_or(0)),
                (16, _) => drop(
                    self.issuer_ids
                        .insert(crate::base::digest::encode_hex(subpacket.0)),
                ),
                (33, _) if subpacket.read_byte()? == 4 => {
                    self.issuer_fingerprints
                        .insert(crate::base::digest::encode_hex(subpacket.0));
                }
                (32, _) => *embedded = Some(subpacket.0),
                (known, true) if kind & 0x80 != 0 && !KNOWN.contains(&known) => {
                    self.has_unknown_critical = true;
                }
                _ => {}
            }
        }
        Some(())
    }

    /// Whether the signature says that it is by this key: by whole fingerprint where it has one.
    pub(super) fn names_key(&self, fingerprint: &str) -> bool {
        if self.issuer_fingerprints.is_empty() {
            let mut ids = self.issuer_ids.iter();
            return ids.any(|id| id.len() == 16 && fingerprint.ends_with(id));
        }
        self.issuer_fingerprints.contains(fingerprint)
    }

    /// Whether the signature names the key, or nobody.
    fn may_be_by(&self, fingerprint: &str) -> bool {
        let names_nobody = self.issuer_fingerprints.is_empty() && self.issuer_ids.is_empty();
        names_nobody || self.names_key(fingerprint)
    }

    /// Whether the digest of the part begins as the packet says, or cannot be computed here.
    fn may_be_over(&self, part: SignedPart<'_>) -> bool {
        let Some(mut context) = self.new_context() else {
            return true;
        };
        part.feed(&mut |piece| context.update(piece));
        self.finish_digest(context).as_ref().starts_with(&self.left)
    }

    /// Whether digest and algorithm are known, and every critical subpacket.
    fn is_checkable(&self, key: &PublicKey) -> bool {
        self.new_context().is_some() && !self.has_unknown_critical && key.can_verify(self.digest)
    }

    /// Whether the key made this statement, or may have made it and the statement cannot be checked.
    pub(super) fn may_state(&self, key: &PublicKey, part: SignedPart<'_>) -> bool {
        if self.is_checkable(key) {
            return self.signs_statement(key, part);
        }
        self.may_be_by(&key.fingerprint)
    }

    pub(super) fn has_expired(&self, now: u64) -> bool {
        self.lifetime > 0 && self.created.unwrap_or(0) + self.lifetime <= now
    }

    /// RFC 9580, 9.5
    pub(super) fn digest_name(&self) -> String {
        match self.digest {
            1 => "MD5".to_owned(),
            2 => "SHA-1".to_owned(),
            3 => "RIPEMD-160".to_owned(),
            8 => "SHA-256".to_owned(),
            9 => "SHA-384".to_owned(),
            10 => "SHA-512".to_owned(),
            11 => "SHA-224".to_owned(),
            other => format!("number {other}"),
        }
    }

    /// SHA-1 is here for what a key has revoked with it; whoever asks looks at the digest too.
    fn new_context(&self) -> Option<Context> {
        Some(Context::new(match self.digest {
            2 => &digest::SHA1_FOR_LEGACY_USE_ONLY,
            8 => &digest::SHA256,
            9 => &digest::SHA384,
            10 => &digest::SHA512,
            _ => return None,
        }))
    }

    /// Whether `key` made this signature over what `feed` hands out.
    pub(super) fn is_signed_by<E>(
        &self,
        key: &PublicKey,
        feed: impl FnOnce(&mut dyn FnMut(&[u8])) -> Result<(), E>,
    ) -> Result<bool, E> {
        let Some(mut context) = self.new_context().filter(|_| !self.has_unknown_critical) else {
            return Ok(false);
        };
        feed(&mut |piece| context.update(piece))?;
        let digest = self.finish_digest(context);
        Ok(digest.as_ref().starts_with(&self.left)
            && key.verify_digest(self.algorithm, self.digest, &digest, &self.values))
    }

    /// The digest of what was fed, followed by the signature's own trailer (RFC 9580, 5.2.4).
    fn finish_digest(&self, mut context: Context) -> Digest {
        let length = u32::try_from(self.hashed.len()).unwrap_or(u32::MAX);
        context.update(&self.hashed);
        context.update(&[4, 0xff]);
        context.update(&length.to_be_bytes());
        context.finish()
    }

    /// Whether `key` made this signature over a statement about keys.
    pub(super) fn signs_statement(&self, key: &PublicKey, statement: SignedPart<'_>) -> bool {
        let outcome = self.is_signed_by(key, |update| {
            statement.feed(update);
            Ok::<(), std::convert::Infallible>(())
        });
        outcome.unwrap_or_else(|never| match never {})
    }
}

fn damaged_error() -> ProofError {
    malformed_error("a signature is damaged")
}

impl SignedPart<'_> {
    /// Hands out the bytes that are hashed before a signature's trailer.
    fn feed(self, update: &mut dyn FnMut(&[u8])) {
        match self {
            SignedPart::Key(key) => key.feed(update),
            SignedPart::UserId(key, user) => {
                key.feed(update);
                update(&[0xb4]);
                update(&u32::try_from(user.len()).unwrap_or(u32::MAX).to_be_bytes());
                update(user);
            }
            SignedPart::Subkey(key, subkey) => {
                key.feed(update);
                subkey.feed(update);
            }
        }
    }
}

/// The fingerprint of a revocation key: class with bit 0x80, algorithm, 20 bytes (RFC 9580, 5.2.3.23).
fn read_revoker(subpacket: &[u8]) -> Option<String> {
    let (class, rest) = subpacket.split_first()?;
    let fingerprint = rest.get(1..).filter(|it| it.len() == 20)?;
    (class & 0x80 != 0).then(|| crate::base::digest::encode_hex(fingerprint))
}
