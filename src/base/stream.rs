//! Adapters between what reads and what writes.

use std::io::{self, BufReader, Read, Write};

use super::interrupt::check_interrupt;

/// Bytes that are read at once.
pub const PIECE: usize = 1 << 18;

/// Copies all that a reader gives, in large pieces. Gives the number of bytes.
///
/// # Errors
/// The reader or the writer fails, or the user interrupts the program.
pub fn copy_pieces(reader: impl Read, writer: &mut (impl Write + ?Sized)) -> io::Result<u64> {
    let reader = Interruptible(reader);
    io::copy(&mut BufReader::with_capacity(PIECE, reader), writer)
}

/// Reader that fails once the user interrupted the program.
struct Interruptible<R>(R);

impl<R: Read> Read for Interruptible<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        check_interrupt()?;
        self.0.read(buffer)
    }
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

/// Reader whose bytes are written into an output, too.
#[derive(Debug)]
pub struct TeeReader<R, W>(pub R, pub W);

impl<R: Read, W: Write> Read for TeeReader<R, W> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer)?;
        self.1.write_all(&buffer[..count])?;
        Ok(count)
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
