//! Digests of files and streams, computed in the pass that reads them.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};

use aws_lc_rs::digest::{Context, SHA256, SHA512};

use super::{FileError, file_error};
use crate::base::digest::encode_hex;
use crate::base::value::{FileDigest, PinAlgorithm, ValueError};

/// Bytes that are read at once.
const PIECE: usize = 1 << 18;
/// Buffers that a stream with both digests needs: one is read, one is hashed, two wait.
const BUFFERS: usize = 4;

/// Which digests are computed. SHA-256 always is: it names files in the store and in locks.
///
/// SHA-512 is computed only where something is compared with it. Processors have instructions for SHA-256; SHA-512
/// takes longer than a download over a fast network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DigestSet {
    Sha256,
    Both,
}

/// Digests of a file, in lower-case hexadecimal, and its size in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digests {
    pub sha256: String,
    /// None if it was not computed.
    pub sha512: Option<String>,
    pub size: u64,
}

impl Digests {
    /// Empty if it was not computed: no digest equals that.
    #[must_use]
    pub fn digest(&self, algorithm: PinAlgorithm) -> &str {
        match algorithm {
            PinAlgorithm::Sha256 => &self.sha256,
            PinAlgorithm::Sha512 => self.sha512.as_deref().unwrap_or_default(),
        }
    }

    /// Those that were computed.
    ///
    /// # Errors
    /// The file is empty: digests of the empty file pin nothing.
    pub fn file_digests(&self) -> Result<Vec<FileDigest>, ValueError> {
        let sha256 = FileDigest::new(PinAlgorithm::Sha256, self.sha256.clone());
        let sha512 = self
            .sha512
            .clone()
            .map(|digest| FileDigest::new(PinAlgorithm::Sha512, digest));
        std::iter::once(sha256).chain(sha512).collect()
    }
}

/// Reads a file once, a piece at a time.
///
/// # Errors
/// The file cannot be read.
pub fn read_pieces(path: &Path, mut each: impl FnMut(&[u8])) -> Result<(), FileError> {
    let mut file = fs::File::open(path).map_err(file_error("reading", path))?;
    let mut piece = vec![0; PIECE];
    loop {
        let read = file.read(&mut piece).map_err(file_error("reading", path))?;
        if read == 0 {
            return Ok(());
        }
        each(&piece[..read]);
    }
}

/// Digests of what comes piece by piece.
#[derive(Clone)]
pub struct Digester {
    sha256: Context,
    sha512: Option<Context>,
    size: u64,
}

impl std::fmt::Debug for Digester {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sums of {} bytes", self.size)
    }
}

impl Digester {
    #[must_use]
    pub fn new(set: DigestSet) -> Self {
        let sha512 = (set == DigestSet::Both).then(|| Context::new(&SHA512));
        Self {
            sha256: Context::new(&SHA256),
            sha512,
            size: 0,
        }
    }

    pub fn add(&mut self, piece: &[u8]) {
        self.sha256.update(piece);
        if let Some(sha512) = &mut self.sha512 {
            sha512.update(piece);
        }
        self.size += piece.len() as u64;
    }

    /// Bytes so far.
    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn finish(self) -> Digests {
        Digests {
            sha256: encode_hex(self.sha256.finish().as_ref()),
            sha512: self.sha512.map(|hash| encode_hex(hash.finish().as_ref())),
            size: self.size,
        }
    }
}

/// SHA-256 of a file.
///
/// # Errors
/// The file cannot be read.
pub fn digest_file(path: &Path) -> Result<Digests, FileError> {
    digest_file_with(path, DigestSet::Sha256)
}

/// # Errors
/// The file cannot be read.
pub fn digest_file_with(path: &Path, set: DigestSet) -> Result<Digests, FileError> {
    let mut file = fs::File::open(path).map_err(file_error("reading", path))?;
    digest_stream(&mut file, set, |_| Ok(())).map_err(file_error("reading", path))
}

/// Digests of what a reader gives, which is read once; `each` gets every piece of it.
///
/// # Errors
/// The reader or `each` fails.
pub fn digest_stream(
    reader: &mut dyn Read,
    set: DigestSet,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<Digests> {
    if set == DigestSet::Both {
        return digest_both(reader, each);
    }
    let (mut sums, mut piece) = (Digester::new(set), Vec::with_capacity(PIECE));
    while read_piece(reader, &mut piece)? {
        sums.add(&piece);
        each(&piece)?;
    }
    Ok(sums.finish())
}

/// SHA-512 is slower than all else, so a second thread computes it.
fn digest_both(
    reader: &mut dyn Read,
    each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<Digests> {
    let (filled, pieces) = sync_channel::<Vec<u8>>(BUFFERS);
    let (emptied, buffers) = channel();
    for _ in 0..BUFFERS {
        emptied
            .send(Vec::with_capacity(PIECE))
            .map_err(io::Error::other)?;
    }
    std::thread::scope(|scope| {
        let other = scope.spawn(move || {
            let mut hash = Context::new(&SHA512);
            for piece in pieces {
                hash.update(&piece);
                // Whoever reads may have ended.
                drop(emptied.send(piece));
            }
            encode_hex(hash.finish().as_ref())
        });
        let digests = feed_pieces(reader, each, filled, &buffers);
        let sha512 = other
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok(Digests {
            sha512: Some(sha512),
            ..digests?
        })
    })
}

/// SHA-256 of what a reader gives; each piece goes on to another thread, which ends with the pieces.
fn feed_pieces(
    reader: &mut dyn Read,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
    filled: SyncSender<Vec<u8>>,
    buffers: &Receiver<Vec<u8>>,
) -> io::Result<Digests> {
    let mut sums = Digester::new(DigestSet::Sha256);
    loop {
        let mut piece = buffers.recv().map_err(io::Error::other)?;
        if !read_piece(reader, &mut piece)? {
            drop(filled);
            return Ok(sums.finish());
        }
        sums.add(&piece);
        each(&piece)?;
        filled.send(piece).map_err(io::Error::other)?;
    }
}

/// The next bytes in the place of those that `piece` holds; false at the end.
fn read_piece(reader: &mut dyn Read, piece: &mut Vec<u8>) -> io::Result<bool> {
    piece.clear();
    Ok(reader.take(PIECE as u64).read_to_end(piece)? > 0)
}
