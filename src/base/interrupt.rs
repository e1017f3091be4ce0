//! Interrupt of the user, as work on large files sees it: it asks between two pieces.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// One for the process, as its interrupts are.
static REQUESTED: AtomicBool = AtomicBool::new(false);

/// The user wants the program to end.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// Makes all work on large files end.
pub fn request_end() {
    REQUESTED.store(true, Ordering::SeqCst);
}

pub fn is_requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}

/// # Errors
/// The user wants the program to end. The error's kind is not [`io::ErrorKind::Interrupted`], after which readers read
/// again.
pub fn check_interrupt() -> io::Result<()> {
    if is_requested() {
        Err(io::Error::other(Interrupted))
    } else {
        Ok(())
    }
}

/// Whether the user's interrupt ended a read or a write.
pub fn is_interrupt(error: &io::Error) -> bool {
    error
        .get_ref()
        .is_some_and(<dyn std::error::Error + Send + Sync>::is::<Interrupted>)
}
