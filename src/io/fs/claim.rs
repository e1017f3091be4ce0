//! The right to write a directory as a whole. A process has it from the moment in which it looks at what is there until
//! its last write: of two runs for one directory, each could remove what the other one has just written.
//!
//! The lock is an empty file beside the directory, `.NAME.lock`. It goes with the claim; one of a process that was killed
//! is taken over. A file with content is none, and stays.

#![expect(clippy::disallowed_methods, reason = "the one owner of file access")]

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::lock::{LOCKING, lock_place};
use super::place::PlaceError;
use super::write::split_path;
use super::{FileError, file_error};
use crate::base::interrupt::check_interrupt;
use crate::io::interrupt::Cleanup;

/// A preview is written in less, so a second one waits for the first. A bake takes an hour, for which none waits.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

const PAUSE: Duration = Duration::from_millis(20);

/// A directory that this process alone writes.
#[derive(Debug)]
pub struct PlaceClaim {
    path: PathBuf,
    lock_path: PathBuf,
    /// None on a file system that has no locks: that is no reason not to write.
    lock: Option<File>,
    /// An interrupt must not leave the file.
    _cleanup: Cleanup,
}

impl PlaceClaim {
    /// Waits for a run that writes the directory at the moment.
    ///
    /// # Errors
    /// Another run still writes it, the folder above cannot be written, or the user interrupts.
    pub fn take(path: &Path) -> Result<Self, PlaceError> {
        Self::take_within(path, LONGEST_WAIT)
    }

    fn take_within(path: &Path, longest_wait: Duration) -> Result<Self, PlaceError> {
        let (parent, _) = split_path(path)?;
        let Some(own_name) = path.file_name() else {
            let reason = "name the directory itself";
            return Err(file_error("writing", path)(io::Error::other(reason)).into());
        };
        let cleanup = Cleanup::start().map_err(file_error("writing", path))?;
        let mut lock_name = OsString::from(".");
        lock_name.push(own_name);
        lock_name.push(".lock");
        let lock_path = parent.join(lock_name);

        let lock = wait_for_lock(path, &lock_path, longest_wait)?;
        if !has_no_content(lock.as_ref(), &lock_path) {
            return Err(PlaceError::ForeignLock { path: lock_path });
        }
        Ok(Self {
            path: path.to_owned(),
            lock_path,
            lock,
            _cleanup: cleanup,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PlaceClaim {
    fn drop(&mut self) {
        let is_own = has_no_content(self.lock.as_ref(), &self.lock_path);
        // Windows removes no file that is open without sharing. If another process opens it before it is removed, the
        // file stays, and is the lock of that process.
        if cfg!(windows) {
            self.lock = None;
        }
        // The next claim takes over what cannot be removed.
        if is_own {
            let _ = fs::remove_file(&self.lock_path);
        }
    }
}

/// Whether a lock has no content, as every lock of imagegen.
fn has_no_content(lock: Option<&File>, lock_path: &Path) -> bool {
    let metadata = match lock {
        Some(lock) => lock.metadata(),
        None => lock_path.symlink_metadata(),
    };
    metadata.is_ok_and(|metadata| metadata.len() == 0)
}

fn wait_for_lock(
    path: &Path,
    lock_path: &Path,
    longest_wait: Duration,
) -> Result<Option<File>, PlaceError> {
    let start = Instant::now();
    loop {
        match lock_place(lock_path) {
            Ok(Some(lock)) => return Ok(Some(lock)),
            Ok(None) => {}
            Err(FileError {
                action: LOCKING, ..
            }) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        if start.elapsed() >= longest_wait {
            return Err(PlaceError::Busy {
                path: path.to_owned(),
            });
        }
        check_interrupt().map_err(file_error("writing", path))?;
        thread::sleep(PAUSE);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn place(path: &Path, content: &str) -> Result<(), PlaceError> {
        let files = BTreeMap::from([("file".to_owned(), content.as_bytes().to_vec())]);
        super::super::place_directory(path, &files, &[], &[], false).map(|_| ())
    }

    /// Two at once, each of which keeps the records and leaves nothing beside the folder.
    #[test]
    fn writers_of_one_folder_take_turns() {
        let above = tempfile::tempdir().unwrap();
        let path = above.path().join("out");
        for round in 0..20 {
            thread::scope(|scope| {
                for writer in 0..4 {
                    let path = &path;
                    scope.spawn(move || place(path, &format!("{round} {writer}")).unwrap());
                }
            });
            if round == 0 {
                fs::create_dir_all(path.join("builds/7")).unwrap();
                fs::write(path.join("builds/7/image.json"), "{}").unwrap();
            }
        }
        assert_eq!(fs::read(path.join("builds/7/image.json")).unwrap(), b"{}");
        assert_eq!(fs::read_dir(above.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_that_another_run_writes_is_refused() {
        let above = tempfile::tempdir().unwrap();
        let path = above.path().join("out");
        let claim = PlaceClaim::take(&path).unwrap();
        let refused = PlaceClaim::take_within(&path, Duration::ZERO).unwrap_err();
        assert!(refused.to_string().contains("another imagegen writes"));
        drop(claim);
        PlaceClaim::take_within(&path, Duration::ZERO).unwrap();
    }

    /// It may have the name of a lock and be the user's.
    #[test]
    fn a_file_with_content_is_no_lock() {
        let above = tempfile::tempdir().unwrap();
        let (path, lock) = (above.path().join("out"), above.path().join(".out.lock"));
        fs::write(&lock, "notes").unwrap();
        let refused = PlaceClaim::take(&path).unwrap_err();
        assert!(refused.to_string().contains("has content"), "{refused}");
        assert_eq!(fs::read(&lock).unwrap(), b"notes");

        // Content that came during the claim stays, too.
        fs::remove_file(&lock).unwrap();
        let claim = PlaceClaim::take(&path).unwrap();
        fs::write(&lock, "notes").unwrap();
        drop(claim);
        assert_eq!(fs::read(&lock).unwrap(), b"notes");
    }

    #[test]
    fn a_lock_of_a_process_that_was_killed_is_taken_over() {
        let above = tempfile::tempdir().unwrap();
        fs::write(above.path().join(".out.lock"), "").unwrap();
        drop(PlaceClaim::take(&above.path().join("out")).unwrap());
        assert_eq!(fs::read_dir(above.path()).unwrap().count(), 0);
    }
}
