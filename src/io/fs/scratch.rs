//! A folder for what lasts no longer than a run.

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

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}
