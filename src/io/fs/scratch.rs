//! A folder for what lasts no longer than a run.

use std::fs;
use std::path::Path;

use tempfile::{Builder, TempDir};

use super::write::set_mode;
use super::{FileError, file_error};
use crate::io::interrupt::Cleanup;

/// A folder of the system's temporary files that its owner alone can enter. It goes with the value.
#[derive(Debug)]
pub struct Scratch(TempDir, Cleanup);

impl Scratch {
    /// # Errors
    /// It cannot be made.
    pub fn new(purpose: &str) -> Result<Self, FileError> {
        let prefix = format!("imagegen-{purpose}-");
        let place = std::env::temp_dir().join(&prefix);
        let cleanup = Cleanup::start().map_err(file_error("creating", &place))?;
        let mut builder = Builder::new();
        builder.prefix(&prefix);
        set_mode(&mut builder, 0o700);
        builder
            .tempdir()
            .map(|folder| Self(folder, cleanup))
            .map_err(file_error("creating", &place))
    }

    /// # Errors
    /// It cannot be made.
    pub fn add_folder(&self, name: &str) -> Result<(), FileError> {
        let path = self.path().join(name);
        fs::create_dir(&path).map_err(file_error("creating", &path))
    }

    /// Puts a file of the disk into the folder: as a link where the system allows it, else as a copy.
    ///
    /// # Errors
    /// The file cannot be read, or the folder cannot be written.
    pub fn add_file(&self, name: &str, path: &Path) -> Result<(), FileError> {
        let target = self.path().join(name);
        if fs::hard_link(path, &target).is_err() && link_file(path, &target).is_err() {
            fs::copy(path, &target).map_err(file_error("copying", path))?;
        }
        Ok(())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

#[cfg(unix)]
fn link_file(path: &Path, target: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(path, target)
}

/// Links take a privilege on Windows.
#[cfg(not(unix))]
fn link_file(_: &Path, _: &Path) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}
