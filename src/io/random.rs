//! Random bytes of the system.

use std::io;

/// # Errors
/// The system gives none.
pub fn create_random<const LENGTH: usize>() -> io::Result<[u8; LENGTH]> {
    let mut random = [0; LENGTH];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(random)
}
