//! A verb for several images: where their workspaces lie, and which of them failed.

use std::path::{Path, PathBuf};

use crate::diagnostic::{Classify, ErrorClass};

/// Folder of workspaces that have no other name.
const WORKSPACES: &str = "imagegen-out";

/// The workspace of a named image.
pub fn workspace_path(name: &str) -> PathBuf {
    Path::new(WORKSPACES).join(name)
}

/// Images whose verb failed.
#[derive(Debug, Default, thiserror::Error)]
#[error("{} of {count} images failed: {}", .names.len(), .names.join(", "))]
pub struct SeveralFailed {
    names: Vec<String>,
    count: usize,
    /// Of the first failure.
    class: Option<ErrorClass>,
}

impl SeveralFailed {
    pub fn add(&mut self, name: &str, class: ErrorClass) {
        self.names.push(name.to_owned());
        self.class.get_or_insert(class);
    }

    /// # Errors
    /// An image failed.
    pub fn into_result(self, count: usize) -> std::result::Result<(), Self> {
        if self.names.is_empty() {
            Ok(())
        } else {
            Err(Self { count, ..self })
        }
    }
}

impl Classify for SeveralFailed {
    fn class(&self) -> ErrorClass {
        self.class.unwrap_or(ErrorClass::Internal)
    }

    fn code(&self) -> &'static str {
        "several-failed"
    }
}
