//! The lockfile beside an image definition, as a file.

use std::path::{Path, PathBuf};

use crate::diagnostic::{InputError, Result};
use crate::io::fs;
use crate::lock::{self, Lock};

use super::read_input;

/// A lockfile that `--lock` names.
///
/// # Errors
/// The file cannot be read or is no lock.
pub fn read_lock(path: &Path) -> Result<Lock> {
    Ok(Lock::decode(
        &path.display().to_string(),
        &read_input("--lock", path)?,
    )?)
}

/// Writes a lockfile where there is none, or over one.
///
/// # Errors
/// Something else lies there, or the file cannot be written.
pub fn write_lockfile(path: &Path, lock: &Lock) -> Result<()> {
    check_lock_path(path)?;
    Ok(fs::write_file(path, lock.encode().as_bytes())?)
}

/// Before anything is downloaded for a lockfile.
///
/// # Errors
/// Something else than a lockfile lies there.
pub fn check_lock_path(path: &Path) -> Result<()> {
    let there = fs::read_text_if_exists(path)?.unwrap_or_default();
    if !there.is_empty() && !lock::is_lock(&there) {
        let message = format!(
            "{} is not a lockfile: it is not overwritten",
            path.display()
        );
        return Err(InputError::new(message, "choose another path for the lockfile").into());
    }
    Ok(())
}

/// The lockfile's path: as named, or beside the image definition.
pub fn lock_path(named: Option<&PathBuf>, default: &Path) -> PathBuf {
    named.cloned().unwrap_or_else(|| default.to_owned())
}

/// The lock that is replaced; none where there is none, or one that cannot be read.
///
/// # Errors
/// The file cannot be read.
pub fn read_old_lock(path: &Path) -> Result<Option<Lock>> {
    let bytes = fs::read_text_if_exists(path)?;
    Ok(bytes.and_then(|bytes| Lock::decode(&path.display().to_string(), &bytes).ok()))
}
