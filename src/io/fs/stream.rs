//! Pipes and devices, for which a reader may wait without end: the user's interrupt ends the wait.

use std::fs;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use crate::base::interrupt::check_interrupt;
use crate::base::stream::PIECE;

/// Longest time until an interrupt is seen.
const PATIENCE: Duration = Duration::from_millis(50);

/// Opens what a path names, to be read once.
pub(super) fn open_once(path: &Path) -> io::Result<Box<dyn Read>> {
    let metadata = path.metadata()?;
    if metadata.is_file() || metadata.is_dir() {
        return Ok(Box::new(fs::File::open(path)?));
    }
    // A pipe is opened once somebody writes it, and no signal ends that wait.
    let (sender, pieces) = sync_channel(1);
    let path = path.to_owned();
    thread::spawn(move || send_pieces(path, &sender));
    Ok(Box::new(WaitingReader {
        pieces,
        piece: Cursor::default(),
    }))
}

/// Reads to the end, or until nobody takes the pieces any longer.
fn send_pieces(path: PathBuf, sender: &SyncSender<io::Result<Vec<u8>>>) {
    let mut file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) => {
            // Who asked may have ended, here and below.
            let _ = sender.send(Err(error));
            return;
        }
    };
    let mut buffer = vec![0; PIECE];
    loop {
        let read = file.read(&mut buffer);
        let is_last = !matches!(read, Ok(length) if length > 0);
        let piece = read.map(|length| buffer[..length].to_vec());
        if sender.send(piece).is_err() || is_last {
            return;
        }
    }
}

/// Pieces of another thread.
struct WaitingReader {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: Cursor<Vec<u8>>,
}

impl Read for WaitingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.piece.read(buffer)?;
        if length > 0 || buffer.is_empty() {
            return Ok(length);
        }
        loop {
            check_interrupt()?;
            match self.pieces.recv_timeout(PATIENCE) {
                Ok(piece) => {
                    self.piece = Cursor::new(piece?);
                    return self.piece.read(buffer);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
    }
}
