//! Digests and hexadecimal digits.

use std::io::{self, Write};

use sha2::digest::common::hazmat::SerializableState as _;
use sha2::{Digest as _, Sha256, Sha512};

use super::value::PinAlgorithm;

/// SHA-256.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// SHA-256 in lower-case hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    encode_hex(&sha256(bytes))
}

/// The start of bytes whose digest was begun before: by the build script, of what each payload begins with.
#[derive(Debug)]
pub struct DigestedStart {
    pub length: usize,
    pub state: &'static [u8],
}

impl DigestedStart {
    /// SHA-256 of bytes that begin with this start, in lower-case hexadecimal.
    pub fn sha256_hex(&self, bytes: &[u8]) -> String {
        let begun = self.state.try_into().ok();
        let begun = begun.and_then(|state| Sha256::deserialize(state).ok());
        match (begun, bytes.get(self.length..)) {
            (Some(begun), Some(rest)) => encode_hex(&begun.chain_update(rest).finalize()),
            _ => sha256_hex(bytes),
        }
    }
}

/// The bytes of a SHA-256 that is written in hexadecimal digits.
pub fn parse_sha256(digits: &str) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    hex::decode_to_slice(digits, &mut digest).ok()?;
    Some(digest)
}

/// Lower-case hexadecimal digits.
pub fn encode_hex(bytes: &[u8]) -> String {
    hex::encode(bytes)
}

/// A digest of what is written into it.
#[derive(Clone)]
pub struct Digester {
    hasher: DigestState,
    size: u64,
}

#[derive(Clone)]
enum DigestState {
    Sha256(Sha256),
    Sha512(Sha512),
}

impl std::fmt::Debug for Digester {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "digest of {} bytes", self.size)
    }
}

impl Digester {
    pub fn new(algorithm: PinAlgorithm) -> Self {
        let hasher = match algorithm {
            PinAlgorithm::Sha256 => DigestState::Sha256(Sha256::new()),
            PinAlgorithm::Sha512 => DigestState::Sha512(Sha512::new()),
        };
        Self { hasher, size: 0 }
    }

    pub fn add(&mut self, piece: &[u8]) {
        match &mut self.hasher {
            DigestState::Sha256(hasher) => hasher.update(piece),
            DigestState::Sha512(hasher) => hasher.update(piece),
        }
        self.size += piece.len() as u64;
    }

    /// Bytes so far.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The digest in lower-case hexadecimal.
    pub fn finish(self) -> String {
        match self.hasher {
            DigestState::Sha256(hasher) => encode_hex(&hasher.finalize()),
            DigestState::Sha512(hasher) => encode_hex(&hasher.finalize()),
        }
    }
}

impl Write for Digester {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.add(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
