//! The right to write a directory as a whole. A process has it from the moment in which it looks at what is there until
//! its last write: of two runs for one directory, each could remove what the other one has just written.
//!
//! The lock is an empty file beside the directory, `.NAME.lock`. It goes with the claim; one of a process that was killed
//! is taken over. A file with content is none, and stays.

#![expect(clippy::disallowed_methods, reason = "the one owner of file access")]

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::folder::{Folder, Kind};
use super::lock::{LOCKING, lock_place};
use super::place::{BUILDS, PlaceError};
use super::write::{is_abandoned, list_leftovers, split_path};
use super::{FileError, file_error};
use crate::base::interrupt::check_interrupt;
use crate::io::interrupt::Cleanup;

/// A preview is written in less, so a second one waits for the first. A bake takes an hour, for which none waits.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

const PAUSE: Duration = Duration::from_millis(20);

/// Most records of one name.
const MOST_NUMBERS: u32 = 10_000;

/// A directory that this process alone writes.
#[derive(Debug)]
pub struct PlaceClaim {
    path: PathBuf,
    lock_path: PathBuf,
    /// None on a file system that has no locks: that is no reason not to write.
    lock: Option<File>,
    /// Something that other runs left lies beside the directory.
    has_leftovers: bool,
    /// An interrupt must not leave the file.
    _cleanup: Cleanup,
}

impl PlaceClaim {
    /// Waits for a run that writes the directory at the moment, and moves the records home that a run left beside it.
    ///
    /// # Errors
    /// Another run still writes it, the folder above cannot be written, or the user interrupts.
    pub fn take(path: &Path) -> Result<Self, PlaceError> {
        Self::take_within(path, LONGEST_WAIT)
    }

    fn take_within(path: &Path, longest_wait: Duration) -> Result<Self, PlaceError> {
        let (parent, name) = split_path(path)?;
        let Some(own_name) = path.file_name() else {
            let reason = "name the directory itself: it is replaced whole";
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
        let mut claim = Self {
            path: path.to_owned(),
            lock_path,
            lock,
            has_leftovers: false,
            _cleanup: cleanup,
        };
        let place = Folder::open(parent).map_err(file_error("creating", path))?;
        let leftovers = list_leftovers(&place, &name).unwrap_or_default();
        claim.has_leftovers = !leftovers.is_empty();
        // What cannot be moved now stays where it is, for the next write.
        let _ = restore_records(&place, own_name, leftovers);
        Ok(claim)
    }

    /// Whether something is to be swept: the folder above may have thousands of entries, which are listed once.
    pub(super) fn has_leftovers(&self) -> bool {
        self.has_leftovers
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

/// Moves home what a run that ended between two steps of a replacement left: the old folder with its records, or the
/// records alone where the new folder is in its place already.
fn restore_records(place: &Folder, own_name: &OsStr, leftovers: Vec<OsString>) -> io::Result<()> {
    for left in leftovers {
        if place.find_kind(&left)? != Kind::Folder {
            continue;
        }
        let old = place.open_folder(&left)?;
        let has_records = old.find_kind(OsStr::new(BUILDS))? == Kind::Folder;
        // Where two names cannot be exchanged, the old folder is moved away first.
        let is_old = has_records || left.as_encoded_bytes().ends_with(b".old");
        if !is_old || !is_abandoned(place, &left) {
            continue;
        }
        match place.find_kind(own_name)? {
            Kind::Nothing => place.rename_entry(&left, own_name)?,
            // The next write sweeps the rest.
            Kind::Folder if has_records => move_records(&old, &place.open_folder(own_name)?)?,
            Kind::Folder | Kind::File | Kind::Link | Kind::Device => {}
        }
    }
    Ok(())
}

/// Moves the records of builds to another folder. No record takes the place of another one.
fn move_records(from: &Folder, to: &Folder) -> io::Result<()> {
    let builds = OsStr::new(BUILDS);
    if to.find_kind(builds)? == Kind::Nothing {
        return from.move_entry(builds, to, builds);
    }
    let (records, home) = (from.open_folder(builds)?, to.open_folder(builds)?);
    for record in records.list_names()? {
        let free = find_free_name(&home, &record)?;
        records.move_entry(&record, &home, &free)?;
    }
    from.remove_tree(builds)
}

fn find_free_name(folder: &Folder, name: &OsStr) -> io::Result<OsString> {
    for number in 1..MOST_NUMBERS {
        let mut free = name.to_owned();
        if number > 1 {
            free.push(format!("-{number}"));
        }
        if folder.find_kind(&free)? == Kind::Nothing {
            return Ok(free);
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
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

    /// Writes until a record is home. A program that another test starts at this moment holds every lock of the
    /// process until it runs, and what seems to be in use stays for the next write.
    fn place_until(path: &Path, record: &str) {
        for attempt in 0..50 {
            let placed = place(path, &attempt.to_string());
            assert!(placed.is_ok(), "{placed:?}");
            if path.join(record).exists() {
                return;
            }
            thread::sleep(PAUSE);
        }
        panic!("{record} was not moved home");
    }

    #[test]
    fn records_that_a_run_left_are_moved_home() {
        let above = tempfile::tempdir().unwrap();
        let path = above.path().join("out");
        let left = |end: &str| above.path().join(format!(".out.1-abc.{end}"));
        let add_record = |folder: &Path, content: &str| {
            fs::create_dir_all(folder.join("builds/7")).unwrap();
            fs::write(folder.join("builds/7/image.json"), content).unwrap();
        };

        // The new folder was in its place, and the records were not yet moved.
        place(&path, "new").unwrap();
        add_record(&left("partial"), "one");
        place_until(&path, "builds/7/image.json");
        assert_eq!(fs::read(path.join("builds/7/image.json")).unwrap(), b"one");

        // Since then the folder has a record of the same name.
        add_record(&left("old"), "two");
        place_until(&path, "builds/7-2/image.json");
        assert_eq!(fs::read(path.join("builds/7/image.json")).unwrap(), b"one");
        assert_eq!(
            fs::read(path.join("builds/7-2/image.json")).unwrap(),
            b"two"
        );

        // The old folder was moved away, and the new one did not take its place.
        fs::rename(&path, left("old")).unwrap();
        place_until(&path, "builds/7-2/image.json");
        assert_eq!(
            fs::read(path.join("builds/7-2/image.json")).unwrap(),
            b"two"
        );
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
