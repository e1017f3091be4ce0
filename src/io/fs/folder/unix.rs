//! Folders by their descriptors.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;

use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags};

use super::{File, Kind, OsStr, OsString, Path, io};

// A folder may be one to write and not to list.
#[cfg(target_os = "linux")]
const ACCESS: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const ACCESS: OFlags = OFlags::RDONLY;

#[derive(Debug)]
pub(in super::super) struct Folder(OwnedFd);

impl Folder {
    pub(in super::super) fn open(path: &Path) -> io::Result<Self> {
        let flags = ACCESS | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(fs::openat(CWD, path, flags, Mode::empty())?))
    }

    pub(in super::super) fn find_kind(&self, name: &OsStr) -> io::Result<Kind> {
        let found = match self.find_status(name) {
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
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CLOEXEC;
        Ok(File::from(fs::openat(
            &self.0,
            name,
            flags,
            Mode::from_raw_mode(mode),
        )?))
    }

    pub(in super::super) fn rename_entry(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(fs::renameat(&self.0, from, &self.0, to)?)
    }

    pub(super) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        Ok(fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    pub(super) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    pub(in super::super) fn create_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(fs::mkdirat(&self.0, name, Mode::from_raw_mode(0o777))?)
    }

    /// A folder that its owner alone can enter.
    pub(in super::super) fn create_private_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(fs::mkdirat(&self.0, name, Mode::RWXU)?)
    }

    /// Moves an entry to another folder, over what has the name there.
    pub(in super::super) fn move_entry(
        &self,
        name: &OsStr,
        place: &Self,
        to: &OsStr,
    ) -> io::Result<()> {
        Ok(fs::renameat(&self.0, name, &place.0, to)?)
    }

    pub(in super::super) fn open_folder(&self, name: &OsStr) -> io::Result<Self> {
        let flags = ACCESS | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self(fs::openat(&self.0, name, flags, Mode::empty())?))
    }

    pub(in super::super) fn open_file(&self, name: &OsStr) -> io::Result<File> {
        // Nobody waits for the other end of a pipe.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(File::from(fs::openat(&self.0, name, flags, Mode::empty())?))
    }

    pub(in super::super) fn list_names(&self) -> io::Result<Vec<OsString>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listed = fs::openat(&self.0, ".", flags, Mode::empty())?;
        let mut names = Vec::new();
        for entry in fs::Dir::new(listed)? {
            let name = entry?.file_name().to_bytes().to_owned();
            if !matches!(name.as_slice(), b"." | b"..") {
                names.push(OsString::from_vec(name));
            }
        }
        Ok(names)
    }

    /// Whether the name is that of a file that was opened.
    pub(super) fn is_file_entry(&self, name: &OsStr, file: &File) -> bool {
        match (self.find_status(name), fs::fstat(file)) {
            (Ok(one), Ok(other)) => (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino),
            _ => false,
        }
    }

    /// Status of what has the name, of a link its own.
    fn find_status(&self, name: &OsStr) -> rustix::io::Result<fs::Stat> {
        fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)
    }
}
