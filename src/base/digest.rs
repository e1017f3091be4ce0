//! Digests and hexadecimal digits.

use std::io::{self, Write};

use aws_lc_rs::digest::{self, Context, SHA256, SHA512};

use super::value::PinAlgorithm;

/// SHA-256 in lower-case hexadecimal.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    encode_hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

/// The bytes of a SHA-256 that is written in hexadecimal digits.
#[must_use]
pub fn parse_sha256(digits: &str) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    hex::decode_to_slice(digits, &mut digest).ok()?;
    Some(digest)
}

/// Lower-case hexadecimal digits.
#[must_use]
pub fn encode_hex(bytes: &[u8]) -> String {
    hex::encode(bytes)
}

/// A digest of what is written into it.
#[derive(Clone)]
pub struct Digester {
    context: Context,
    size: u64,
}

impl std::fmt::Debug for Digester {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "digest of {} bytes", self.size)
    }
}

impl Digester {
    #[must_use]
    pub fn new(algorithm: PinAlgorithm) -> Self {
        let context = match algorithm {
            PinAlgorithm::Sha256 => Context::new(&SHA256),
            PinAlgorithm::Sha512 => Context::new(&SHA512),
        };
        Self { context, size: 0 }
    }

    pub fn add(&mut self, piece: &[u8]) {
        self.context.update(piece);
        self.size += piece.len() as u64;
    }

    /// Bytes so far.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The digest in lower-case hexadecimal.
    #[must_use]
    pub fn finish(self) -> String {
        encode_hex(self.context.finish().as_ref())
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
