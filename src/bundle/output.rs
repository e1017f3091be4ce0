//! Output of an archive that a full disk may cut off.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

/// File that an archive is written to. Its writer ends the archive when it is dropped, and prints by itself why it cannot:
/// it is told that all is well, and what the system refused is kept for the caller.
pub(super) struct ArchiveOutput<'a> {
    pub file: &'a mut File,
    pub refusal: Option<io::Error>,
}

impl Write for ArchiveOutput<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        match self.file.write(piece) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                self.refusal.get_or_insert(error);
                self.file
                    .seek_relative(i64::try_from(piece.len()).unwrap_or_default())?;
                Ok(piece.len())
            }
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        // A file has no buffer.
        Ok(())
    }
}

impl Seek for ArchiveOutput<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}
