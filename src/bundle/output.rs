//! Output of an archive that a full disk may cut off.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

/// File that an archive is written to. Its writer ends the archive when it is dropped, and prints by itself why it cannot:
/// after the first refusal of the system it is told that all is well, and the refusal is kept for the caller.
pub(super) struct ArchiveOutput<'a> {
    file: &'a mut File,
    /// As if everything had been written.
    position: u64,
    end: u64,
    refusal: Option<io::Error>,
}

impl<'a> ArchiveOutput<'a> {
    pub(super) fn new(file: &'a mut File) -> Self {
        Self {
            file,
            position: 0,
            end: 0,
            refusal: None,
        }
    }

    /// The reason for which the system took no more.
    pub(super) fn take_refusal(&mut self) -> Option<io::Error> {
        self.refusal.take()
    }

    /// Keeps an error, and returns another one of its kind.
    fn keep_refusal(&mut self, error: io::Error) -> io::Error {
        let kind = error.kind();
        // Whoever writes tries again after this one.
        if kind == io::ErrorKind::Interrupted {
            return error;
        }
        let text = error.to_string();
        self.refusal = Some(error);
        io::Error::new(kind, text)
    }
}

impl Write for ArchiveOutput<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let mut taken = piece.len();
        if self.refusal.is_none() {
            taken = self
                .file
                .write(piece)
                .map_err(|error| self.keep_refusal(error))?;
        }
        self.position += taken as u64;
        self.end = self.end.max(self.position);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        // A file has no buffer.
        Ok(())
    }
}

impl Seek for ArchiveOutput<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::Current(distance) => self.position.checked_add_signed(distance),
            SeekFrom::End(distance) => self.end.checked_add_signed(distance),
        };
        let place = place.ok_or(io::ErrorKind::InvalidInput)?;
        if self.refusal.is_none() {
            self.file
                .seek(SeekFrom::Start(place))
                .map_err(|error| self.keep_refusal(error))?;
        }
        self.position = place;
        Ok(place)
    }
}
