//! OpenPGP keys and signatures that no tool makes: each part as RFC 9580, 5 has it, with an Ed25519 key.

use aws_lc_rs::digest;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use imagegen::base::digest::encode_hex;

/// RFC 9580, 9.5
pub const MD5: u8 = 1;
pub const SHA1: u8 = 2;
pub const SHA256: u8 = 8;
pub const SHA224: u8 = 11;

pub struct ForgedKey {
    pair: Ed25519KeyPair,
    body: Vec<u8>,
}

/// A signature in the making.
#[derive(Clone, Copy)]
pub struct Statement<'a> {
    pub kind: u8,
    pub digest: u8,
    /// Seconds since 1970.
    pub made: u32,
    /// Subpackets with their lengths, signed and not.
    pub signed: &'a [u8],
    pub unsigned: &'a [u8],
    /// Whether it names its issuer.
    pub named: bool,
}

impl Statement<'_> {
    pub fn new(kind: u8, made: u32) -> Self {
        Self {
            kind,
            digest: SHA256,
            made,
            signed: &[],
            unsigned: &[],
            named: true,
        }
    }
}

pub fn subpacket(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u8::try_from(body.len() + 1).expect("length");
    assert!(length < 192, "one byte of length");
    [&[length, kind], body].concat()
}

pub fn packet(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).expect("length").to_be_bytes();
    [&[0xc0 | kind, 255], &length[..], body].concat()
}

impl ForgedKey {
    pub fn new(seed: u8, created: u32) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).expect("a key");
        let head = [&[4], &created.to_be_bytes()[..], &[27]].concat();
        let body = [head.as_slice(), pair.public_key().as_ref()].concat();
        Self { pair, body }
    }

    pub fn fingerprint_bytes(&self) -> Vec<u8> {
        let digest = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, &self.part());
        digest.as_ref().to_vec()
    }

    pub fn fingerprint(&self) -> String {
        encode_hex(&self.fingerprint_bytes())
    }

    pub fn id(&self) -> Vec<u8> {
        self.fingerprint_bytes()[12..].to_vec()
    }

    pub fn packet(&self, kind: u8) -> Vec<u8> {
        packet(kind, &self.body)
    }

    /// As signatures over the key take it.
    pub fn part(&self) -> Vec<u8> {
        let length = u16::try_from(self.body.len()).expect("length");
        [&[0x99], &length.to_be_bytes()[..], &self.body].concat()
    }

    /// The body of a signature packet over these bytes.
    pub fn sign(&self, message: &[u8], statement: Statement<'_>) -> Vec<u8> {
        let mut signed = subpacket(2, &statement.made.to_be_bytes());
        if statement.named {
            let issuer = [&[4][..], &self.fingerprint_bytes()].concat();
            signed.extend(subpacket(33, &issuer));
        }
        signed.extend(statement.signed);
        let length = |bytes: &[u8]| u16::try_from(bytes.len()).expect("length").to_be_bytes();
        let hashed = [
            &[4, statement.kind, 27, statement.digest],
            &length(&signed)[..],
            &signed,
        ]
        .concat();
        let end = u32::try_from(hashed.len()).expect("length").to_be_bytes();
        let whole = [message, &hashed, &[4, 0xff], &end].concat();
        let digest = match statement.digest {
            SHA1 => take(&digest::SHA1_FOR_LEGACY_USE_ONLY, &whole),
            SHA256 => take(&digest::SHA256, &whole),
            SHA224 => take(&digest::SHA224, &whole),
            // Nobody here computes it; the signature says that it is so.
            _ => vec![7; 16],
        };
        let signature = self.pair.sign(&digest);
        [
            hashed.as_slice(),
            &length(statement.unsigned),
            statement.unsigned,
            &digest[..2],
            signature.as_ref(),
        ]
        .concat()
    }
}

fn take(algorithm: &'static digest::Algorithm, bytes: &[u8]) -> Vec<u8> {
    digest::digest(algorithm, bytes).as_ref().to_vec()
}
