//! A folder for what lasts no longer than a run.

#![expect(clippy::disallowed_methods, reason = "the one owner of file access")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{FileError, at};

static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A folder of the system's temporary files that its owner alone can enter. It goes with the value.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// # Errors
    /// It cannot be made; one that is there already is somebody else's.
    pub fn new(purpose: &str) -> Result<Self, FileError> {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("imagegen-{purpose}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path).map_err(at("creating", &path))?;
        Ok(Self(path))
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays behind holds no secret, and nobody reads it.
        let _ = fs::remove_dir_all(&self.0);
    }
}
