//! Files that the user names for a result. A path that was mistaken must take nothing away, so it is written only after
//! a look at what is there.

use std::ffi::OsString;
use std::path::{Display, Path, PathBuf};

use super::{FileError, is_file, read_head, write_file, write_secret};
use crate::base::code::Code;
use crate::diagnostic::{Classify, Location};

/// A path of the command line or the environment. It says where it leads only with the kind of file that may be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputFile(PathBuf);

/// Kind of file that a result may replace.
#[derive(Debug, Clone, Copy)]
pub struct OutputKind {
    /// Such as `a bundle`.
    pub name: &'static str,
    /// Every file of the kind begins in one of these ways. No entry has more than 64 bytes.
    pub beginnings: &'static [&'static str],
}

impl OutputKind {
    /// Whether a file that begins so may be replaced.
    fn takes(&self, there: &[u8]) -> bool {
        let mut beginnings = self.beginnings.iter();
        there.is_empty() || beginnings.any(|beginning| there.starts_with(beginning.as_bytes()))
    }
}

/// A file that is not there, is empty, or has the kind of what is to be written.
#[derive(Debug, Clone, Copy)]
pub struct CheckedFile<'a>(&'a Path);

/// A file of another kind than what is to be written over it.
#[derive(Debug, thiserror::Error)]
#[error("{} is not {what}: it is not overwritten", .path.display())]
pub struct OverwriteError {
    path: PathBuf,
    what: &'static str,
}

impl Classify for OverwriteError {
    fn remedies(&self) -> Vec<String> {
        vec!["choose another path".to_owned()]
    }

    fn code(&self) -> Code {
        Code::FILE_KIND
    }

    fn location(&self) -> Option<Location> {
        Some(Location::from_file(self.path.display().to_string()))
    }
}

impl From<PathBuf> for OutputFile {
    fn from(path: PathBuf) -> Self {
        Self(path)
    }
}

impl From<OsString> for OutputFile {
    fn from(path: OsString) -> Self {
        Self(path.into())
    }
}

impl OutputFile {
    pub fn display(&self) -> Display<'_> {
        self.0.display()
    }

    /// Only a file that is empty or begins like the kind is replaced: one that cannot be read may be anything. The
    /// writer itself refuses what is no regular file.
    ///
    /// # Errors
    /// Something else lies there.
    pub fn check(&self, kind: OutputKind) -> Result<CheckedFile<'_>, OverwriteError> {
        if !is_file(&self.0) || read_head(&self.0, 64).is_ok_and(|there| kind.takes(&there)) {
            return Ok(CheckedFile(&self.0));
        }
        Err(OverwriteError {
            path: self.0.clone(),
            what: kind.name,
        })
    }

    /// The file, if nothing is there.
    pub fn check_new(&self) -> Option<CheckedFile<'_>> {
        let is_free = self.0.symlink_metadata().is_err();
        is_free.then_some(CheckedFile(&self.0))
    }
}

impl<'a> CheckedFile<'a> {
    pub fn path(self) -> &'a Path {
        self.0
    }

    /// # Errors
    /// As [`write_file()`].
    pub fn write(self, bytes: &[u8]) -> Result<(), FileError> {
        write_file(self.0, bytes)
    }

    /// # Errors
    /// As [`write_secret()`].
    pub fn write_secret(self, bytes: &[u8]) -> Result<(), FileError> {
        write_secret(self.0, bytes)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_read_is_not_replaced() {
        let kind = OutputKind {
            name: "a page",
            beginnings: &["<!doctype html>"],
        };
        let output = |path: &str| OutputFile::from(PathBuf::from(path));
        // A regular file whose first page is no memory.
        assert!(output("/proc/self/mem").check(kind).is_err());
        assert!(output("/proc/self/comm").check(kind).is_err());
        assert!(output("/proc/self/absent").check(kind).is_ok());
    }
}
