//! A folder that was opened: what is looked at, made and renamed in it stays in it, even if its path leads to another
//! one by then.

#[cfg(not(unix))]
mod elsewhere;
#[cfg(unix)]
mod unix;

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use crate::base::digest::encode_hex;
use crate::io::interrupt::Cleanup;
use crate::io::random::create_random;

#[cfg(not(unix))]
pub(super) use elsewhere::Folder;
#[cfg(unix)]
pub(super) use unix::Folder;

/// New names for something temporary, until one of them can be locked.
const MOST_NAMES: usize = 16;

/// Kind of a name in a folder, links as links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Nothing,
    File,
    Folder,
    Link,
    Device,
}

/// A new file of an unpredictable name. It is removed unless it is persisted.
#[derive(Debug)]
pub(super) struct Temporary<'a> {
    folder: &'a Folder,
    name: OsString,
    pub file: File,
    persisted: bool,
    _cleanup: Cleanup,
}

impl Folder {
    /// A file that was not there before and that `mode` protects from its first byte on.
    pub(super) fn create_temporary(&self, prefix: &str, mode: u32) -> io::Result<Temporary<'_>> {
        let cleanup = Cleanup::start()?;
        for _ in 0..MOST_NAMES {
            let name = choose_temporary_name(prefix)?;
            let file = self.create_file(&name, mode)?;
            if self.hold_entry(&name, &file) {
                return Ok(Temporary {
                    folder: self,
                    name,
                    file,
                    persisted: false,
                    _cleanup: cleanup,
                });
            }
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Locks what was just made: as long as the lock is held, no other process takes it for a leftover. False if one
    /// did so before.
    fn hold_entry(&self, name: &OsStr, file: &File) -> bool {
        match file.try_lock() {
            Ok(()) => self.is_file_entry(name, file),
            Err(TryLockError::WouldBlock) => false,
            // A file system that has no locks is no reason not to write.
            Err(TryLockError::Error(_)) => true,
        }
    }

    /// A new file at a path below, with `/` between its parts, in folders that are made where they are not there.
    pub(super) fn create_below(&self, path: &str, mode: u32) -> io::Result<File> {
        let (parent, name) = self.enter_parent(path)?;
        parent.create_file(OsStr::new(&name), mode)
    }

    /// The folder of a path below, made where it is not there, and the path's own name. No part of it is a link.
    pub(super) fn enter_parent(&self, path: &str) -> io::Result<(Self, String)> {
        let Some((first, rest)) = path.split_once('/') else {
            return Ok((self.open_folder(OsStr::new("."))?, path.to_owned()));
        };
        let first = OsStr::new(first);
        match self.create_folder(first) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => self.open_folder(first)?.enter_parent(rest),
        }
    }

    /// The file at a path below. No part of it is a link.
    pub(super) fn open_below(&self, path: &str) -> io::Result<File> {
        match path.split_once('/') {
            Some((first, rest)) => self.open_folder(OsStr::new(first))?.open_below(rest),
            None => self.open_file(OsStr::new(path)),
        }
    }

    /// Removes the file at a path below, if there is one.
    pub(super) fn remove_below(&self, path: &str) -> io::Result<()> {
        match path.split_once('/') {
            Some((first, rest)) => self.open_folder(OsStr::new(first))?.remove_below(rest),
            None => self.remove_tree(OsStr::new(path)),
        }
    }

    /// Removes the folder at a path below, if it is empty.
    pub(super) fn remove_folder_below(&self, path: &str) -> io::Result<()> {
        match path.split_once('/') {
            Some((first, rest)) => self
                .open_folder(OsStr::new(first))?
                .remove_folder_below(rest),
            None => self.remove_folder(OsStr::new(path)),
        }
    }

    /// Everything below by its path, sorted, links as links. Where `enters` says no, a folder is not looked into.
    pub(super) fn list_tree(
        &self,
        enters: &dyn Fn(&str) -> bool,
    ) -> io::Result<Vec<(String, Kind)>> {
        let mut found = Vec::new();
        self.collect_entries("", enters, &mut found)?;
        Ok(found)
    }

    fn collect_entries(
        &self,
        above: &str,
        enters: &dyn Fn(&str) -> bool,
        found: &mut Vec<(String, Kind)>,
    ) -> io::Result<()> {
        let mut names = self.list_names()?;
        names.sort();
        for name in names {
            let kind = self.find_kind(&name)?;
            let path = format!("{above}{}", name.to_string_lossy());
            found.push((path.clone(), kind));
            if kind == Kind::Folder && enters(&path) {
                self.open_folder(&name)?
                    .collect_entries(&format!("{path}/"), enters, found)?;
            }
        }
        Ok(())
    }

    /// Removes what has the name, a folder with all that is in it.
    pub(super) fn remove_tree(&self, name: &OsStr) -> io::Result<()> {
        match self.find_kind(name)? {
            Kind::Nothing => Ok(()),
            Kind::Folder => {
                let inner = self.open_folder(name)?;
                inner
                    .list_names()?
                    .iter()
                    .try_for_each(|name| inner.remove_tree(name))?;
                self.remove_folder(name)
            }
            Kind::File | Kind::Link | Kind::Device => self.remove_file(name),
        }
    }
}

fn choose_temporary_name(prefix: &str) -> io::Result<OsString> {
    // Not by the library of the digests: it first fills an entropy pool, which takes longer than a whole preview.
    let random: [u8; 12] = create_random()?;
    Ok(OsString::from(format!(
        "{prefix}{}.partial",
        encode_hex(&random)
    )))
}

impl Temporary<'_> {
    /// Gives the file its name, in the place of what has this name.
    pub(super) fn persist(self, name: &OsStr) -> io::Result<()> {
        let folder = self.folder;
        self.persist_in(folder, name)
    }

    /// The same, in a folder below.
    pub(super) fn persist_in(mut self, place: &Folder, name: &OsStr) -> io::Result<()> {
        self.folder.move_entry(&self.name, place, name)?;
        self.persisted = true;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.persisted {
            // The next write sweeps what cannot be removed now.
            let _ = self.folder.remove_file(&self.name);
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Somebody who may write to the folder above exchanges the folder while another one is written into it.
    #[test]
    fn a_folder_stays_where_it_was_opened() {
        let above = tempfile::tempdir().unwrap();
        let (own, moved, other) = (
            above.path().join("own"),
            above.path().join("moved"),
            above.path().join("other"),
        );
        fs::create_dir_all(own.join("out")).unwrap();
        fs::write(own.join("out/old"), "old").unwrap();
        fs::create_dir_all(other.join("out")).unwrap();
        fs::write(other.join("out/precious"), "").unwrap();
        let place = Folder::open(&own).unwrap();
        let old = place.open_folder(OsStr::new("out")).unwrap();
        fs::rename(&own, &moved).unwrap();
        symlink(&other, &own).unwrap();
        old.create_below("a/b/new", 0o666)
            .unwrap()
            .write_all(b"new")
            .unwrap();
        old.remove_below("old").unwrap();
        assert_eq!(fs::read(moved.join("out/a/b/new")).unwrap(), b"new");
        assert!(!moved.join("out/old").exists() && other.join("out/precious").exists());
        for path in [&moved, &other] {
            assert_eq!(
                fs::read_dir(path).unwrap().count(),
                1,
                "nothing temporary stays"
            );
        }
    }

    #[test]
    fn links_below_a_folder_lead_nowhere() {
        let above = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("secret"), "").unwrap();
        symlink(elsewhere.path(), above.path().join("folder")).unwrap();
        symlink(elsewhere.path().join("secret"), above.path().join("file")).unwrap();
        let place = Folder::open(above.path()).unwrap();
        assert!(place.create_below("folder/new", 0o666).is_err());
        assert!(place.open_below("folder/secret").is_err() && place.open_below("file").is_err());
        let kinds: Vec<_> = place
            .list_tree(&|_| true)
            .unwrap()
            .into_iter()
            .map(|(_, kind)| kind)
            .collect();
        assert_eq!(kinds, [Kind::Link, Kind::Link]);
        place.remove_tree(OsStr::new("folder")).unwrap();
        assert!(elsewhere.path().join("secret").exists());
    }
}
