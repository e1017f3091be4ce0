//! Digests of files and streams.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use aws_lc_rs::digest::{Context, SHA256, SHA512};

use super::{FileError, file_error};
use crate::embedded::encode_hex;

/// Digests of a file, in lower-case hexadecimal, and its size in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digests {
    pub sha256: String,
    pub sha512: String,
    pub size: u64,
}

/// Reads a file once, a piece at a time.
///
/// # Errors
/// The file cannot be read.
pub fn read_pieces(path: &Path, mut each: impl FnMut(&[u8])) -> Result<(), FileError> {
    let mut file = fs::File::open(path).map_err(file_error("reading", path))?;
    let mut piece = vec![0; 1 << 18];
    loop {
        let read = file.read(&mut piece).map_err(file_error("reading", path))?;
        if read == 0 {
            return Ok(());
        }
        each(&piece[..read]);
    }
}

/// Both digests of what comes piece by piece.
#[derive(Clone)]
pub struct Sums {
    sha256: Context,
    sha512: Context,
    size: u64,
}

impl Default for Sums {
    fn default() -> Self {
        Self { sha256: Context::new(&SHA256), sha512: Context::new(&SHA512), size: 0 }
    }
}

impl std::fmt::Debug for Sums {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sums of {} bytes", self.size)
    }
}

impl Sums {
    pub fn add(&mut self, piece: &[u8]) {
        self.sha256.update(piece);
        self.sha512.update(piece);
        self.size += piece.len() as u64;
    }

    /// Bytes so far.
    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn finish(self) -> Digests {
        Digests {
            sha256: encode_hex(self.sha256.finish().as_ref()),
            sha512: encode_hex(self.sha512.finish().as_ref()),
            size: self.size,
        }
    }
}

/// Digests of a file. SHA-512 is slower, so it runs in a second thread; the second read comes from the page cache.
///
/// # Errors
/// The file cannot be read.
pub fn digest_file(path: &Path) -> Result<Digests, FileError> {
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut sha512 = Context::new(&SHA512);
            read_pieces(path, |piece| sha512.update(piece)).map(|()| encode_hex(sha512.finish().as_ref()))
        });
        let (mut sha256, mut size) = (Context::new(&SHA256), 0);
        read_pieces(path, |piece| {
            sha256.update(piece);
            size += piece.len() as u64;
        })?;
        let sha512 = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(Digests { sha256: encode_hex(sha256.finish().as_ref()), sha512, size })
    })
}
