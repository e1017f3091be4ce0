//! A folder for what lasts no longer than a run.

use std::path::Path;

use tempfile::{Builder, TempDir};

use super::write::set_mode;
use super::{FileError, file_error};

/// A folder of the system's temporary files that its owner alone can enter. It goes with the value.
#[derive(Debug)]
pub struct Scratch(TempDir);

impl Scratch {
    /// # Errors
    /// It cannot be made.
    pub fn new(purpose: &str) -> Result<Self, FileError> {
        let prefix = format!("imagegen-{purpose}-");
        let mut builder = Builder::new();
        builder.prefix(&prefix);
        set_mode(&mut builder, 0o700);
        builder.tempdir().map(Self).map_err(file_error("creating", &std::env::temp_dir().join(&prefix)))
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}
