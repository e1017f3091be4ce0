//! A folder for one run, which nobody else can enter or guess. It is opened once: what leaves it goes from handle to
//! handle, and no link is followed on the way.

#![expect(clippy::disallowed_methods, reason = "the one owner of file access")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::folder::{Folder, Kind};
use super::lock::{LOCKING, lacks_locks, lock_file};
use super::{FileError, file_error};
use crate::base::digest::encode_hex;
use crate::base::stream::copy_pieces;
use crate::base::text::is_hex;
use crate::io::interrupt::Cleanup;
use crate::io::random::create_random;

/// End of the name of a folder's lock, which lies beside the folder.
const LOCK: &str = ".lock";
/// New names for a folder, until one of them can be locked.
const MOST_NAMES: usize = 16;
/// Random bytes of a folder's name.
const RANDOM: usize = 8;

/// A private folder. It goes with the value, unless it is kept.
#[derive(Debug)]
pub struct PrivateFolder {
    parent: Folder,
    lock: RunLock,
    name: OsString,
    folder: Folder,
    path: PathBuf,
    kept: bool,
    _cleanup: Cleanup,
}

/// Lock of a folder: as long as it is held, no other process removes the folder.
#[derive(Debug)]
struct RunLock {
    /// None where the file system has no locks: then no process removes a folder that it did not make.
    _file: Option<fs::File>,
    /// Name of the folder, without the end of the lock's name.
    run: String,
}

impl PrivateFolder {
    /// A new folder below `base`, which is made where it is not there. What killed processes left there is removed.
    ///
    /// # Errors
    /// The folder cannot be made, or other users can exchange what lies in `base`.
    pub fn create(base: &Path) -> Result<Self, FileError> {
        fs::create_dir_all(base).map_err(file_error("creating", base))?;
        // As `C:\…`, not `\\?\C:\…`, which cmd and Packer's plugins do not take.
        let base = dunce::canonicalize(base).map_err(file_error("reading", base))?;
        check_base(&base)?;
        let parent = Folder::open(&base).map_err(file_error("reading", &base))?;
        // Leftovers of other processes are no reason not to build.
        let _ = remove_left_folders(&parent, &base);

        let cleanup = Cleanup::start().map_err(file_error("creating", &base))?;
        let lock = RunLock::create(&base)?;
        let path = base.join(&lock.run);
        let name = OsString::from(&lock.run);
        let folder = parent
            .create_private_folder(&name)
            .and_then(|()| parent.open_folder(&name))
            .map_err(file_error("creating", &path))?;
        Ok(Self {
            parent,
            lock,
            name,
            folder,
            path,
            kept: false,
            _cleanup: cleanup,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the folder for its owner to look into.
    pub fn keep(&mut self) -> &Path {
        let name = OsString::from(format!("kept-{}", self.name.to_string_lossy()));
        if self.parent.rename_entry(&self.name, &name).is_ok() {
            self.path = self.path.with_file_name(&name);
            self.name = name;
        }
        self.kept = true;
        &self.path
    }

    /// A new folder, with those above it.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn add_folder(&self, name: &str) -> Result<PathBuf, FileError> {
        let path = self.path.join(name);
        fs::create_dir_all(&path).map_err(file_error("creating", &path))?;
        Ok(path)
    }

    /// New files in a folder.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn add_files(
        &self,
        folder: &str,
        files: &BTreeMap<String, Vec<u8>>,
    ) -> Result<(), FileError> {
        for (name, bytes) in files {
            let path = format!("{folder}/{name}");
            let written = self
                .folder
                .create_below(&path, 0o600)
                .and_then(|mut file| file.write_all(bytes));
            written.map_err(file_error("writing", &self.path.join(&path)))?;
        }
        Ok(())
    }

    /// A file of the disk: as a link where the system allows it, else as a copy.
    ///
    /// # Errors
    /// The file cannot be read, or the folder cannot be written.
    pub fn add_file(&self, name: &str, path: &Path) -> Result<(), FileError> {
        let target = self.path.join(name);
        if fs::hard_link(path, &target).is_err() {
            fs::copy(path, &target).map_err(file_error("copying", path))?;
        }
        Ok(())
    }

    /// A name for a file or folder of elsewhere, which programs may change.
    ///
    /// # Errors
    /// It cannot be linked, nor copied.
    pub fn add_link(&self, name: &str, path: &Path) -> Result<(), FileError> {
        let target = self.path.join(name);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(file_error("creating", parent))?;
        }
        link_path(path, &target).map_err(file_error("linking", path))
    }

    /// Files below a folder, by their path in it; none where the folder is not there. Links are none.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn list_files(&self, folder: &str) -> Result<Vec<String>, FileError> {
        let opened = folder
            .split('/')
            .try_fold(None, |above: Option<Folder>, name| {
                above
                    .as_ref()
                    .unwrap_or(&self.folder)
                    .open_folder(OsStr::new(name))
                    .map(Some)
            });
        let listed = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            opened => opened.and_then(|opened| {
                let opened = opened.as_ref().unwrap_or(&self.folder);
                opened.list_tree(&|_| true)
            }),
        };
        let entries = listed.map_err(file_error("reading", &self.path.join(folder)))?;
        let files = entries.into_iter().filter(|(_, kind)| *kind == Kind::File);
        Ok(files.map(|(name, _)| name).collect())
    }

    /// Moves a file out of the folder to a path below another one, in the place of a regular file if there is one. False
    /// where there is no such file.
    ///
    /// # Errors
    /// The file is a link, something else than a regular file has its place, or the other folder cannot be written.
    pub fn export_file(&self, file: &str, folder: &Path, name: &str) -> Result<bool, FileError> {
        let from = match self.folder.open_below(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            opened => opened.map_err(file_error("reading", &self.path.join(file)))?,
        };
        if !from.metadata().is_ok_and(|found| found.is_file()) {
            let error = io::Error::other("it is no regular file");
            return Err(file_error("reading", &self.path.join(file))(error));
        }
        let to = folder.join(name);
        let exported = Folder::open(folder)
            .and_then(|place| place.enter_parent(name))
            .and_then(|(place, name)| self.move_into(file, from, &place, OsStr::new(&name)));
        exported.map(|()| true).map_err(file_error("writing", &to))
    }

    fn move_into(
        &self,
        file: &str,
        mut from: fs::File,
        place: &Folder,
        name: &OsStr,
    ) -> io::Result<()> {
        if !matches!(place.find_kind(name)?, Kind::Nothing | Kind::File) {
            return Err(io::Error::other("it is no regular file"));
        }
        let (above, own) = self.folder.enter_parent(file)?;
        if above.move_entry(OsStr::new(&own), place, name).is_ok() {
            return Ok(());
        }
        // Another file system.
        let mut temporary = place.create_temporary(".imagegen-", 0o600)?;
        copy_pieces(&mut from, &mut temporary.file)?;
        temporary
            .file
            .set_permissions(from.metadata()?.permissions())?;
        temporary.file.sync_all()?;
        temporary.persist(name)
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        if !self.kept {
            // The next run removes what cannot be removed now.
            let _ = self.parent.remove_tree(&self.name);
        }
        // The name of the lock goes before the lock does: whoever opened it sees that the name is gone.
        let _ = self
            .parent
            .remove_tree(OsStr::new(&lock_name(&self.lock.run)));
    }
}

impl RunLock {
    /// Lock of a new folder. It is held before the folder is there: a folder whose lock is free is a leftover.
    fn create(base: &Path) -> Result<Self, FileError> {
        for _ in 0..MOST_NAMES {
            let random: [u8; RANDOM] = create_random().map_err(file_error("creating", base))?;
            // Short: sockets of programs that run in it have paths of 104 bytes at most.
            let run = format!("run{}-{}", std::process::id(), encode_hex(&random));
            match lock_file(&base.join(lock_name(&run)), true) {
                Ok(Some(file)) => {
                    return Ok(Self {
                        _file: Some(file),
                        run,
                    });
                }
                // Another process looks for leftovers and was faster.
                Ok(None) => {}
                Err(error) if lacks_locks(&error) => return Ok(Self { _file: None, run }),
                Err(error) => return Err(error),
            }
        }
        let error = io::Error::from(io::ErrorKind::WouldBlock);
        Err(file_error(LOCKING, base)(error))
    }
}

fn lock_name(run: &str) -> String {
    format!("{run}{LOCK}")
}

/// Name of a run's folder, from its name or that of its lock.
fn find_run(name: &str) -> Option<&str> {
    let run = name.strip_suffix(LOCK).unwrap_or(name);
    let (process, random) = run.strip_prefix("run")?.split_once('-')?;
    let is_number = process.parse::<u32>().is_ok();
    let is_random = random.len() == 2 * RANDOM && is_hex(random);
    (is_number && is_random).then_some(run)
}

/// Removes folders whose lock no process holds.
fn remove_left_folders(parent: &Folder, base: &Path) -> io::Result<()> {
    let names = parent.list_names()?;
    let runs: BTreeSet<&str> = names
        .iter()
        .filter_map(|name| find_run(name.to_str()?))
        .collect();
    for run in runs {
        let name = lock_name(run);
        if let Ok(Some(_lock)) = lock_file(&base.join(&name), true) {
            // A folder that cannot be removed, such as another user's, keeps none of the others.
            let _ = parent.remove_tree(OsStr::new(run));
            let _ = parent.remove_tree(OsStr::new(&name));
        }
    }
    Ok(())
}

/// Refuses a folder in which other users may exchange what lies there. One such as `/tmp` keeps each user's own.
#[cfg(unix)]
fn check_base(base: &Path) -> Result<(), FileError> {
    use std::os::unix::fs::MetadataExt as _;
    let found = base.metadata().map_err(file_error("reading", base))?;
    let (mode, owner) = (found.mode(), found.uid());
    let is_sticky = mode & 0o1000 != 0;
    let is_own = owner == rustix::process::geteuid().as_raw() || owner == 0;
    if is_own && (is_sticky || mode & 0o022 == 0) {
        return Ok(());
    }
    let reason = "other users can exchange what lies in it: choose a folder of your own";
    let error = io::Error::new(io::ErrorKind::PermissionDenied, reason);
    Err(file_error("using", base)(error))
}

#[cfg(not(unix))]
fn check_base(_: &Path) -> Result<(), FileError> {
    Ok(())
}

#[cfg(unix)]
fn link_path(path: &Path, target: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(path, target)
}

/// Links take a privilege on Windows, so the content is copied.
#[cfg(not(unix))]
fn link_path(path: &Path, target: &Path) -> io::Result<()> {
    if !path.is_dir() {
        return fs::copy(path, target).map(drop);
    }
    fs::create_dir(target)?;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        link_path(&entry.path(), &target.join(entry.file_name()))?;
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn nobody_else_enters_and_nothing_stays() {
        let base = tempfile::tempdir().unwrap();
        let folder = PrivateFolder::create(base.path()).unwrap();
        assert_eq!(folder.path().metadata().unwrap().mode() & 0o777, 0o700);
        let other = PrivateFolder::create(base.path()).unwrap();
        assert_ne!(folder.path(), other.path());
        folder
            .add_files("w", &BTreeMap::from([("a/b".to_owned(), b"new".to_vec())]))
            .unwrap();
        assert_eq!(folder.list_files("w").unwrap(), ["a/b"]);
        assert!(folder.list_files("none").unwrap().is_empty());
        drop((folder, other));
        drop(PrivateFolder::create(base.path()).unwrap());
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
    }

    /// The number of a process of another container says nothing here: it may be no process's, or another one's.
    #[test]
    fn a_folder_stays_while_its_lock_is_held() {
        let base = tempfile::tempdir().unwrap();
        // No process has this number: it is above the kernel's limit.
        let used = base.path().join("run2147483600-0123456789abcdef");
        let left = base.path().join("run1-0123456789abcdef");
        let own = base.path().join("run1-notes");
        for path in [&used, &left, &own] {
            fs::create_dir_all(path.join("workspace")).unwrap();
        }
        let lock = fs::File::create(used.with_added_extension("lock")).unwrap();
        lock.lock().unwrap();
        drop(PrivateFolder::create(base.path()).unwrap());
        assert!(used.join("workspace").exists() && own.exists() && !left.exists());

        drop(lock);
        // A program that another test starts at this moment holds every lock of the process until it runs.
        for _ in 0..50 {
            drop(PrivateFolder::create(base.path()).unwrap());
            if !used.exists() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert!(!used.exists());
        let names: Vec<_> = fs::read_dir(base.path()).unwrap().collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }

    #[test]
    fn a_kept_folder_has_no_lock() {
        let base = tempfile::tempdir().unwrap();
        let mut folder = PrivateFolder::create(base.path()).unwrap();
        let kept = folder.keep().to_owned();
        drop(folder);
        drop(PrivateFolder::create(base.path()).unwrap());
        let names: Vec<_> = fs::read_dir(base.path()).unwrap().collect();
        assert!(kept.exists() && names.len() == 1, "{names:?}");
    }

    #[test]
    fn a_folder_that_others_may_write_is_refused() {
        let base = tempfile::tempdir().unwrap();
        for (mode, good) in [(0o777, false), (0o1777, true), (0o755, true)] {
            fs::set_permissions(base.path(), fs::Permissions::from_mode(mode)).unwrap();
            let created = PrivateFolder::create(base.path());
            assert_eq!(created.is_ok(), good, "{mode:o}");
        }
    }

    #[test]
    fn what_leaves_follows_no_link() {
        let base = tempfile::tempdir().unwrap();
        let (out, elsewhere) = (base.path().join("out"), base.path().join("elsewhere"));
        for path in [&out, &elsewhere] {
            fs::create_dir(path).unwrap();
        }
        fs::write(elsewhere.join("precious"), "old").unwrap();
        symlink(elsewhere.join("precious"), out.join("log")).unwrap();
        symlink(&elsewhere, out.join("image")).unwrap();

        let folder = PrivateFolder::create(&base.path().join("work")).unwrap();
        let files = ["log", "other", "image/disk"].map(|it| (it.to_owned(), b"new".to_vec()));
        folder.add_files("w", &BTreeMap::from(files)).unwrap();
        assert!(folder.export_file("w/log", &out, "log").is_err());
        assert!(
            folder
                .export_file("w/image/disk", &out, "image/precious")
                .is_err()
        );
        assert_eq!(fs::read(elsewhere.join("precious")).unwrap(), b"old");
        assert!(folder.export_file("w/other", &out, "new/other").unwrap());
        assert_eq!(fs::read(out.join("new/other")).unwrap(), b"new");
        assert!(!folder.export_file("w/other", &out, "x").unwrap());
        // A program inside cannot have a file of elsewhere read for it.
        symlink(
            elsewhere.join("precious"),
            folder.path().join("w/check-report.json"),
        )
        .unwrap();
        assert!(
            folder
                .export_file("w/check-report.json", &out, "check-report.json")
                .is_err()
        );
    }
}
