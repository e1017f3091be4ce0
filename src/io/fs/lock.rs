//! Locks of files. The system releases the lock of a process that was killed. Unlike a process number, a lock is seen
//! from every container that shares the files.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

use super::{FileError, file_error};

/// Action of the error of a file system that has no locks.
pub(super) const LOCKING: &str = "locking";

/// Whether the error of [`lock_file`] is that of a file system that has no locks.
pub(in crate::io) fn lacks_locks(error: &FileError) -> bool {
    error.action == LOCKING
}

/// The file with its lock; none while another process has it, or where there is none.
pub(in crate::io) fn lock_file(path: &Path, create: bool) -> Result<Option<File>, FileError> {
    let mut options = OpenOptions::new();
    options
        .create(create)
        .truncate(false)
        .read(true)
        .write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // A link would be written through; a pipe would wait.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    let file = match options.open(path) {
        Ok(file) => file,
        Err(error) if !create && error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(file_error("writing", path)(error)),
    };
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        let error = io::Error::other("it is not a regular file");
        return Err(file_error("writing", path)(error));
    }
    match file.try_lock() {
        // Whoever held it before may have renamed it: then the name stands for another file now.
        Ok(()) => Ok(is_same_file(&file, path).then_some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(file_error(LOCKING, path)(error)),
    }
}

/// The lock of a directory that is written as a whole: as [`lock_file`], with a file that is made.
#[cfg(not(windows))]
pub(super) fn lock_place(path: &Path) -> Result<Option<File>, FileError> {
    lock_file(path, true)
}

/// A file that is open without sharing cannot be opened, renamed or removed by another process. A lock of a part of it
/// would leave it to be removed.
#[cfg(windows)]
pub(super) fn lock_place(path: &Path) -> Result<Option<File>, FileError> {
    use std::os::windows::fs::OpenOptionsExt as _;
    /// `ERROR_SHARING_VIOLATION` of winerror.h
    const SHARING_VIOLATION: i32 = 32;
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    match options.share_mode(0).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.raw_os_error() == Some(SHARING_VIOLATION) => Ok(None),
        Err(error) => Err(file_error("writing", path)(error)),
    }
}

#[cfg(unix)]
fn is_same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), path.symlink_metadata()) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_same_file(_: &File, path: &Path) -> bool {
    path.exists()
}
