//! Which images of a definition a verb is about.

use std::path::{Path, PathBuf};

use crate::cli::ImageFields;
use crate::diagnostic::{Classify, ErrorClass, InputError, Result};
use crate::model::names::format_suggestion;

use super::{DefinedImage, list_images};

/// Folder of workspaces that have no other name.
const WORKSPACES: &str = "imagegen-out";

/// The workspace of a named image.
pub fn workspace_path(name: &str) -> PathBuf {
    Path::new(WORKSPACES).join(name)
}

/// Names of the images that the user asks for; none where the definition has one image or the flags describe it.
///
/// # Errors
/// A name is unknown, or one file would be written for several images.
pub fn choose_images(fields: &ImageFields<'_>) -> Result<Vec<String>> {
    if fields.images.names.is_empty() && !fields.images.all {
        return Ok(Vec::new());
    }
    let defined = list_images(fields.selection.config.as_deref())?;
    let names: Vec<String> = if fields.images.all {
        defined.iter().map(|image| image.name.clone()).collect()
    } else {
        fields.images.names.clone()
    };
    check_names(&names, &defined)?;
    if names.len() > 1 && fields.lock.is_some() {
        let message = "`--lock` names one lockfile, and each image has its own";
        return Err(InputError::new(
            message,
            "leave it out: the lockfiles are beside the definition",
        )
        .into());
    }
    Ok(names)
}

fn check_names(names: &[String], defined: &[DefinedImage]) -> Result<()> {
    if defined.is_empty() {
        let remedy = "write `\"images\": {…}` into imagegen.json, or add `--config FILE`";
        return Err(InputError::new("no image is defined", remedy).into());
    }
    let known = |name: &String| defined.iter().any(|image| image.name == *name);
    match names.iter().find(|name| !known(name)) {
        None => Ok(()),
        Some(name) => {
            let names = defined.iter().map(|image| image.name.as_str());
            Err(InputError::new(
                format!("unknown image `{name}`"),
                format_suggestion(name, names),
            )
            .into())
        }
    }
}

/// Arguments for one image: its part of the definition and its workspace.
pub fn select_image(fields: ImageFields<'_>, name: &str, several: bool) {
    fields.selection.name = Some(name.to_owned());
    let Some(out) = fields.out else { return };
    match out.take() {
        Some(folder) => *out = Some(if several { folder.join(name) } else { folder }),
        None => *out = Some(workspace_path(name)),
    }
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
}
