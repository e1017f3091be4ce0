//! Images that would write the files of each other.

use std::collections::BTreeMap;

use super::DefinedImage;
use crate::diagnostic::Error;

const OWN_NAMES: &str = "give each image a name of its own";

/// The names of a matrix come from its lists.
const OWN_NAMES_OF_FILES: &str = "give each image a name of its own; in a `matrix`, add a list of what tells \
     the files apart, such as `\"target\": […]`";

/// Two images that share a file.
pub(super) struct DoubleImages {
    pub names: [String; 2],
    pub error: Error,
}

impl DoubleImages {
    fn new(one: &DefinedImage, other: &DefinedImage, message: String) -> Self {
        let are_several = one.is_one_of_several() && other.is_one_of_several();
        let remedy = if are_several && one.path != other.path {
            OWN_NAMES_OF_FILES
        } else {
            OWN_NAMES
        };
        Self {
            names: [one.name.clone(), other.name.clone()],
            error: Error::value(message, remedy),
        }
    }
}

/// Each image has a workspace and a lockfile of its own, on systems without case in file names too.
pub(super) fn find_doubles(images: &[DefinedImage]) -> Vec<DoubleImages> {
    let (mut names, mut locks) = (BTreeMap::new(), BTreeMap::new());
    let mut doubles = Vec::new();
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
            doubles.push(DoubleImages::new(other, image, message));
        }

        let lock = image.lock_path();
        let key = lock.to_string_lossy().to_lowercase();
        if let Some(other) = locks.insert(key, image) {
            let (config, lock) = (other.config(), lock.display());
            let message = format!("{config} and {own} would have the same lockfile: {lock}");
            doubles.push(DoubleImages::new(other, image, message));
        }
    }
    doubles
}
