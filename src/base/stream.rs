//! Adapters between what reads and what writes.

use std::io::{self, BufReader, Read, Write};

/// Bytes that are read at once.
pub const PIECE: usize = 1 << 18;

/// Copies all that a reader gives, in large pieces. Gives the number of bytes.
///
/// # Errors
/// The reader or the writer fails.
pub fn copy_pieces(reader: impl Read, writer: &mut (impl Write + ?Sized)) -> io::Result<u64> {
    io::copy(&mut BufReader::with_capacity(PIECE, reader), writer)
}

/// Writes everything into both.
#[derive(Debug)]
pub struct Tee<A, B>(pub A, pub B);

impl<A: Write, B: Write> Write for Tee<A, B> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.0.write_all(piece)?;
        self.1.write_all(piece)?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()?;
        self.1.flush()
    }
}

/// Passes each piece that is written to a function.
#[derive(Debug)]
pub struct EachPiece<F>(pub F);

impl<F: FnMut(&[u8])> Write for EachPiece<F> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        (self.0)(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
