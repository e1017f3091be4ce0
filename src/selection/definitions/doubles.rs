//! Images that would write the files of each other.

use std::collections::BTreeMap;

use super::DefinedImage;
use crate::diagnostic::{CodedError, Error, Result};

/// Each image has a workspace and a lockfile of its own, on systems without case in file names too.
pub(super) fn refuse_doubles(images: &[DefinedImage]) -> Result<()> {
    let (mut names, mut locks) = (BTreeMap::new(), BTreeMap::new());
    for image in images {
        let own = image.config();
        if let Some(other) = names.insert(image.name.to_lowercase(), image) {
            let message = if other.name == image.name {
                let (one, two) = (other.path.display(), image.path.display());
                format!("`{}` is in {one} and {two}", image.name)
            } else {
                let other = other.config();
                format!("{other} and {own} differ in case alone: Windows has one folder for both")
            };
            return Err(refuse_double(message));
        }

        let lock = image.lock_path();
        let key = lock.to_string_lossy().to_lowercase();
        if let Some(other) = locks.insert(key, image) {
            let (other, lock) = (other.config(), lock.display());
            let message = format!("{other} and {own} would have the same lockfile: {lock}");
            return Err(refuse_double(message));
        }
    }
    Ok(())
}

fn refuse_double(message: String) -> Error {
    CodedError::value(message, "give each image a name of its own").into()
}
