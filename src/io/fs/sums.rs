//! Digests of files and streams, computed in the pass that reads them.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};

use super::{FileError, file_error, open_once};
use crate::base::digest::Digester;
use crate::base::stream::{EachPiece, PIECE, Tee, copy_pieces};
use crate::base::value::{FileDigest, PinAlgorithm, ValueError};

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
pub fn read_pieces(path: &Path, each: impl FnMut(&[u8])) -> Result<(), FileError> {
    let copied = copy_pieces(open_once(path)?, &mut EachPiece(each));
    copied.map(drop).map_err(file_error("reading", path))
}

/// The digests of a file, of what is written into it.
#[derive(Debug, Clone)]
pub struct FileDigester {
    sha256: Digester,
    sha512: Option<Digester>,
}

impl FileDigester {
    pub fn new(set: DigestSet) -> Self {
        let sha512 = (set == DigestSet::Both).then(|| Digester::new(PinAlgorithm::Sha512));
        Self {
            sha256: Digester::new(PinAlgorithm::Sha256),
            sha512,
        }
    }

    pub fn add(&mut self, piece: &[u8]) {
        self.sha256.add(piece);
        if let Some(sha512) = &mut self.sha512 {
            sha512.add(piece);
        }
    }

    /// Bytes so far.
    pub fn size(&self) -> u64 {
        self.sha256.size()
    }

    pub fn finish(self) -> Digests {
        Digests {
            size: self.size(),
            sha256: self.sha256.finish(),
            sha512: self.sha512.map(Digester::finish),
        }
    }
}

impl Write for FileDigester {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.add(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
    digest_stream(&mut open_once(path)?, set, &mut io::sink()).map_err(file_error("reading", path))
}

/// Digests of what a reader gives, which is read once and copied into `output`.
///
/// # Errors
/// The reader or `output` fails.
pub fn digest_stream(
    reader: &mut dyn Read,
    set: DigestSet,
    output: &mut dyn Write,
) -> io::Result<Digests> {
    if set == DigestSet::Both {
        return digest_both(reader, output);
    }
    let mut sums = FileDigester::new(set);
    copy_pieces(reader, &mut Tee(&mut sums, output))?;
    Ok(sums.finish())
}

/// SHA-512 is slower than all else, so a second thread computes it.
fn digest_both(reader: &mut dyn Read, output: &mut dyn Write) -> io::Result<Digests> {
    let (filled, pieces) = sync_channel::<Vec<u8>>(BUFFERS);
    let (emptied, buffers) = channel();
    for _ in 0..BUFFERS {
        let buffer = Vec::with_capacity(PIECE);
        emptied.send(buffer).map_err(io::Error::other)?;
    }

    std::thread::scope(|scope| {
        let other = scope.spawn(move || {
            let mut sha512 = Digester::new(PinAlgorithm::Sha512);
            for piece in pieces {
                sha512.add(&piece);
                // Whoever reads may have ended.
                drop(emptied.send(piece));
            }
            sha512.finish()
        });

        let mut sha256 = Digester::new(PinAlgorithm::Sha256);
        let sender = PieceSender { filled, buffers };
        // The sender ends here, and with it the other thread.
        let copied = copy_pieces(reader, &mut Tee(&mut sha256, Tee(output, sender)));
        let sha512 = other
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok(Digests {
            size: copied?,
            sha256: sha256.finish(),
            sha512: Some(sha512),
        })
    })
}

/// Hands each piece on to another thread, in a buffer that comes back from there.
struct PieceSender {
    filled: SyncSender<Vec<u8>>,
    buffers: Receiver<Vec<u8>>,
}

impl Write for PieceSender {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let mut buffer = self.buffers.recv().map_err(io::Error::other)?;
        buffer.clear();
        buffer.extend_from_slice(piece);
        self.filled.send(buffer).map_err(io::Error::other)?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
