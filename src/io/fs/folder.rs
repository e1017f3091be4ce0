//! A folder that was opened: what is looked at, made and renamed in it stays in it, even if its path leads to another
//! one by then.

#![cfg_attr(not(unix), expect(clippy::disallowed_methods, reason = "the one owner of file access"))]

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::Path;

use aws_lc_rs::rand;

use crate::embedded::encode_hex;

pub(super) use system::Folder;

/// What has a name in a folder, links as links.
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
    pub(super) file: File,
    persisted: bool,
}

impl Folder {
    /// A file that was not there before and that `mode` protects from its first byte on.
    pub(super) fn create_temporary(&self, prefix: &str, mode: u32) -> io::Result<Temporary<'_>> {
        let mut random = [0; 12];
        rand::fill(&mut random).map_err(|_| io::Error::other("the system has no random numbers"))?;
        let name = OsString::from(format!("{prefix}{}.partial", encode_hex(&random)));
        let file = self.create_file(&name, mode)?;
        Ok(Temporary { folder: self, name, file, persisted: false })
    }
}

impl Temporary<'_> {
    /// Gives the file its name, in the place of what has this name.
    pub(super) fn persist(mut self, name: &OsStr) -> io::Result<()> {
        self.folder.rename_file(&self.name, name)?;
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

#[cfg(unix)]
mod system {
    use std::os::fd::OwnedFd;

    use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags};

    use super::{File, Kind, OsStr, Path, io};

    #[derive(Debug)]
    pub(in super::super) struct Folder(OwnedFd);

    impl Folder {
        pub(in super::super) fn open(path: &Path) -> io::Result<Self> {
            // A folder may be one to write and not to list.
            #[cfg(target_os = "linux")]
            let access = OFlags::PATH;
            #[cfg(not(target_os = "linux"))]
            let access = OFlags::RDONLY;
            let flags = access | OFlags::DIRECTORY | OFlags::CLOEXEC;
            Ok(Self(fs::openat(CWD, path, flags, Mode::empty())?))
        }

        pub(in super::super) fn find_kind(&self, name: &OsStr) -> io::Result<Kind> {
            let found = match fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(rustix::io::Errno::NOENT) => return Ok(Kind::Nothing),
                found => found?,
            };
            Ok(match FileType::from_raw_mode(found.st_mode) {
                FileType::RegularFile => Kind::File,
                FileType::Directory => Kind::Folder,
                FileType::Symlink => Kind::Link,
                _ => Kind::Device,
            })
        }

        pub(super) fn create_file(&self, name: &OsStr, mode: u32) -> io::Result<File> {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CLOEXEC;
            Ok(File::from(fs::openat(&self.0, name, flags, Mode::from_raw_mode(mode))?))
        }

        pub(super) fn rename_file(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
            Ok(fs::renameat(&self.0, from, &self.0, to)?)
        }

        pub(super) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
            Ok(fs::unlinkat(&self.0, name, AtFlags::empty())?)
        }
    }
}

/// Elsewhere a folder is its path.
#[cfg(not(unix))]
mod system {
    use std::fs;
    use std::path::PathBuf;

    use super::{File, Kind, OsStr, Path, io};

    #[derive(Debug)]
    pub(in super::super) struct Folder(PathBuf);

    impl Folder {
        #[expect(clippy::unnecessary_wraps, reason = "opening a folder fails on other systems")]
        pub(in super::super) fn open(path: &Path) -> io::Result<Self> {
            Ok(Self(path.to_owned()))
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

        pub(super) fn rename_file(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
            fs::rename(self.0.join(from), self.0.join(to))
        }

        pub(super) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
            fs::remove_file(self.0.join(name))
        }
    }
}
