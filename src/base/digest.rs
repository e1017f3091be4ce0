//! SHA-256 and hexadecimal digits.

use aws_lc_rs::digest;

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
