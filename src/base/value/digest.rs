//! Digests, parsed where they enter.

use std::fmt;

use super::ValueError;
use crate::base::choice::words;
use crate::base::text::is_hex;
use crate::text_value;

text_value!(
    /// A SHA-1. It tells files apart that nobody made to deceive, so it pins nothing.
    Sha1,
    |text| is_digest(text, 40),
    "a SHA-1: expected 40 lower-case hexadecimal digits"
);

text_value!(
    /// The SHA-256 of a file that is not empty.
    Sha256,
    |text| is_digest(text, 64) && !text.starts_with("e3b0c44298fc1c149afbf4c8996fb924"),
    "a SHA-256 of a file: expected 64 lower-case hexadecimal digits, and not those of the empty file",
    find_fault
);

text_value!(
    /// The SHA-512 of a file that is not empty.
    Sha512,
    |text| is_digest(text, 128) && !text.starts_with("cf83e1357eefb8bdf1542850d66d8007"),
    "a SHA-512 of a file: expected 128 lower-case hexadecimal digits, and not those of the empty file",
    find_fault
);

words!(
    /// Digest algorithms that may pin bytes.
    PinAlgorithm {
        Sha256 = "sha256",
        Sha512 = "sha512",
    }
);

/// A digest that pins the bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileDigest {
    Sha256(Sha256),
    Sha512(Sha512),
}

impl FileDigest {
    /// # Errors
    /// The text is not a digest of this algorithm.
    pub fn new(algorithm: PinAlgorithm, text: String) -> Result<Self, ValueError> {
        Ok(match algorithm {
            PinAlgorithm::Sha256 => Self::Sha256(text.try_into()?),
            PinAlgorithm::Sha512 => Self::Sha512(text.try_into()?),
        })
    }

    pub const fn algorithm(&self) -> PinAlgorithm {
        match self {
            Self::Sha256(_) => PinAlgorithm::Sha256,
            Self::Sha512(_) => PinAlgorithm::Sha512,
        }
    }

    /// Lower-case hexadecimal.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Sha256(digest) => digest.as_str(),
            Self::Sha512(digest) => digest.as_str(),
        }
    }
}

impl fmt::Display for FileDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Forms in which other programs print digests: PowerShell's in upper case, registries' with the algorithm in front.
fn find_fault(text: &str) -> Option<String> {
    if let Some((algorithm @ ("sha256" | "sha512"), _)) = text.split_once(':') {
        return Some(format!("begins with `{algorithm}:`: leave that out"));
    }
    let lower = text.to_ascii_lowercase();
    (is_hex(text) && lower != text).then(|| format!("has upper-case letters: write `{lower}`"))
}

/// Whether a text is a digest of so many digits, in lower-case hexadecimal.
pub fn is_digest(text: &str, digits: usize) -> bool {
    text.len() == digits
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
