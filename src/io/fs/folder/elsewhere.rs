//! Elsewhere a folder is its path. Links are looked for before each step, because no handle keeps a path from
//! changing; on Windows, making one takes a privilege.

#![expect(clippy::disallowed_methods, reason = "the one owner of file access")]

use std::fs;
use std::path::PathBuf;

use super::{File, Kind, OsStr, OsString, Path, io};

#[derive(Debug)]
pub(in super::super) struct Folder(PathBuf);

impl Folder {
    pub(in super::super) fn open(path: &Path) -> io::Result<Self> {
        if path.metadata()?.is_dir() {
            Ok(Self(path.to_owned()))
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }

    pub(in super::super) fn find_kind(&self, name: &OsStr) -> io::Result<Kind> {
        match self.0.join(name).symlink_metadata() {
            Ok(found) if found.is_file() => Ok(Kind::File),
            Ok(found) if found.is_symlink() => Ok(Kind::Link),
            Ok(found) if found.is_dir() => Ok(Kind::Folder),
            Ok(_) => Ok(Kind::Device),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Kind::Nothing),
            Err(error) => Err(error),
        }
    }

    pub(super) fn create_file(&self, name: &OsStr, _: u32) -> io::Result<File> {
        File::create_new(self.0.join(name))
    }

    pub(in super::super) fn rename_entry(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        fs::rename(self.0.join(from), self.0.join(to))
    }

    pub(super) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        let path = self.0.join(name);
        let removed = fs::remove_file(&path);
        if removed.is_err() && self.find_kind(name)? == Kind::Link {
            // For Windows, a link to a folder is a folder.
            return fs::remove_dir(path);
        }
        removed
    }

    pub(super) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_dir(self.0.join(name))
    }

    pub(in super::super) fn create_folder(&self, name: &OsStr) -> io::Result<()> {
        fs::create_dir(self.0.join(name))
    }

    /// The folder of a user's profile is the user's alone.
    pub(in super::super) fn create_private_folder(&self, name: &OsStr) -> io::Result<()> {
        self.create_folder(name)
    }

    pub(in super::super) fn move_entry(
        &self,
        name: &OsStr,
        place: &Self,
        to: &OsStr,
    ) -> io::Result<()> {
        fs::rename(self.0.join(name), place.0.join(to))
    }

    pub(in super::super) fn open_folder(&self, name: &OsStr) -> io::Result<Self> {
        match self.find_kind(name)? {
            Kind::Folder => Ok(Self(self.0.join(name))),
            Kind::Nothing => Err(io::ErrorKind::NotFound.into()),
            Kind::File | Kind::Link | Kind::Device => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    pub(in super::super) fn open_file(&self, name: &OsStr) -> io::Result<File> {
        if self.find_kind(name)? == Kind::Link {
            return Err(io::Error::other("it is a link"));
        }
        File::open(self.0.join(name))
    }

    pub(in super::super) fn list_names(&self) -> io::Result<Vec<OsString>> {
        fs::read_dir(&self.0)?
            .map(|entry| Ok(entry?.file_name()))
            .collect()
    }

    /// Whether the name is that of a file that was opened, as far as a path tells.
    pub(super) fn is_file_entry(&self, name: &OsStr, _: &File) -> bool {
        self.find_kind(name).is_ok_and(|kind| kind == Kind::File)
    }
}
