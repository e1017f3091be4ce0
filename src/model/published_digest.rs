//! Digests as they are published: SHA-1 shows that a file changed, and pins no bytes.

use crate::base::choice::words;
use crate::base::value::{FileDigest, PinAlgorithm, Sha1, ValueError};

words!(
    DigestAlgorithm {
        Sha1 = "sha1",
        Sha256 = "sha256",
        Sha512 = "sha512",
    }
);

/// A digest as it is published, ordered by the strength of its algorithm.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PublishedDigest {
    Sha1(Sha1),
    File(FileDigest),
}

impl PublishedDigest {
    /// # Errors
    /// The text is not a digest of this algorithm.
    pub fn new(algorithm: DigestAlgorithm, text: String) -> Result<Self, ValueError> {
        let algorithm = match algorithm {
            DigestAlgorithm::Sha1 => return Ok(Self::Sha1(text.try_into()?)),
            DigestAlgorithm::Sha256 => PinAlgorithm::Sha256,
            DigestAlgorithm::Sha512 => PinAlgorithm::Sha512,
        };
        FileDigest::new(algorithm, text).map(Self::File)
    }

    /// The digest if it may pin bytes: SHA-1 may not.
    pub fn file_digest(&self) -> Option<FileDigest> {
        match self {
            Self::Sha1(_) => None,
            Self::File(digest) => Some(digest.clone()),
        }
    }

    pub const fn algorithm(&self) -> DigestAlgorithm {
        match self {
            Self::Sha1(_) => DigestAlgorithm::Sha1,
            Self::File(digest) => match digest.algorithm() {
                PinAlgorithm::Sha256 => DigestAlgorithm::Sha256,
                PinAlgorithm::Sha512 => DigestAlgorithm::Sha512,
            },
        }
    }

    /// Lower-case hexadecimal.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Sha1(digest) => digest.as_str(),
            Self::File(digest) => digest.as_str(),
        }
    }
}

impl From<FileDigest> for PublishedDigest {
    fn from(digest: FileDigest) -> Self {
        Self::File(digest)
    }
}
