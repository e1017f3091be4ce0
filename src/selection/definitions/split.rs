//! The images of one definition, each with what all of them share.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use crate::base::code::Code;
use crate::base::json;
use crate::base::text::parent_folder;
use crate::base::value::{ImageName, LONGEST_IMAGE_NAME};
use crate::diagnostic::{CodedError, Error, Result};
use crate::model::definition::ImageDefinition;

use super::super::inputs::load_files;
use super::DefinedImage;

/// # Errors
/// The file is no definition, or names an image as no file can be named.
pub(super) fn parse_images(path: &Path, bytes: &[u8]) -> Result<Vec<DefinedImage>> {
    let definition: ImageDefinition = json::parse_json(&path.display().to_string(), bytes)?;
    split_images(definition, path)
}

/// The name that the file gives its image, as `images` could give it.
fn name_by_file(path: &Path) -> Result<ImageName> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = stem.parse::<ImageName>();
    name.map_err(|error| {
        let message = format!("{}: its name is that of its image: {error}", path.display());
        Error::value(
            message,
            "rename the file, or define the image below `images`",
        )
    })
}

/// The lockfiles of several images have the name of the file before their own.
fn check_file_length(path: &Path) -> Result<()> {
    let stem = path.file_stem().unwrap_or_default();
    if stem.len() <= LONGEST_IMAGE_NAME {
        return Ok(());
    }
    let message = format!(
        "{}: the name of a definition has at most {LONGEST_IMAGE_NAME} bytes before `.json`",
        path.display()
    );
    Err(Error::value(message, "rename the file"))
}

/// The images of one file, each with what all of them share.
fn split_images(mut definition: ImageDefinition, path: &Path) -> Result<Vec<DefinedImage>> {
    let folder = parent_folder(path);
    let containers = definition.images.named().is_none();
    let named = if containers {
        BTreeMap::new()
    } else {
        std::mem::take(&mut definition.images).into_named()
    };
    let Some(combined) = list_combined(&mut definition, path)? else {
        if !named.is_empty() {
            return define_images(&definition, named, path);
        }
        let name = name_by_file(path)?;
        load_files(&mut definition, folder)?;
        return Ok(vec![DefinedImage {
            name: name.to_string(),
            definition,
            path: path.to_owned(),
            several: None,
        }]);
    };

    // What an image says is over its combination.
    let mut images = combined;
    for (name, own) in named {
        refuse_nested(&name, &own, path)?;
        let base = images.remove(&name).unwrap_or_default();
        images.insert(name, own.merge_over(base));
    }
    define_images(&definition, images, path)
}

/// The images of a definition's matrix, by name; none where it has no matrix.
fn list_combined(
    definition: &mut ImageDefinition,
    path: &Path,
) -> Result<Option<BTreeMap<ImageName, ImageDefinition>>> {
    let Some(matrix) = definition.matrix.take() else {
        return Ok(None);
    };
    let shown = path.display();
    let listed = matrix.list_images().map_err(|error| {
        let remedy = error.remedy();
        CodedError {
            remedy: remedy.map(str::to_owned),
            ..CodedError::new(Code::VALUE, format!("{shown}: {error}"))
        }
    })?;
    let mut images = BTreeMap::new();
    for (name, image) in listed {
        let name = name.parse::<ImageName>().map_err(|error| {
            let message = format!("{shown}: `matrix` gives the name `{name}`: {error}");
            Error::value(message, "name such images below `images` instead")
        })?;
        images.insert(name, image);
    }
    Ok(Some(images))
}

fn refuse_nested(name: &ImageName, image: &ImageDefinition, path: &Path) -> Result<()> {
    let key = if image.images.named().is_some() {
        "images"
    } else if image.matrix.is_some() {
        "matrix"
    } else {
        return Ok(());
    };
    let message = format!(
        "{}: `images.{name}.{key}`: an image has no images",
        path.display()
    );
    Err(Error::value(
        message,
        "write each image directly below `images`",
    ))
}

/// Each image with what all of them share.
fn define_images(
    shared: &ImageDefinition,
    images: BTreeMap<ImageName, ImageDefinition>,
    path: &Path,
) -> Result<Vec<DefinedImage>> {
    check_file_length(path)?;
    let folder = parent_folder(path);
    let names: BTreeSet<String> = images.keys().map(ToString::to_string).collect();
    let names = Arc::new(names);
    let mut defined = Vec::new();
    for (name, own) in images {
        refuse_nested(&name, &own, path)?;
        let mut definition = own.merge_over(shared.clone());
        load_files(&mut definition, folder)?;
        defined.push(DefinedImage {
            name: name.to_string(),
            definition,
            path: path.to_owned(),
            several: Some(Arc::clone(&names)),
        });
    }
    Ok(defined)
}
