//! Default names of an image.

use crate::base::digest::sha256_hex;
use crate::base::json;
use crate::base::version::Version;
use crate::model::definition::ImageDefinition;
use crate::model::image_version::ImageVersion;
use crate::model::variable::DefaultFrom;
use crate::model::windows::WindowsRelease;

/// Longest label of a name service, which names of images are on some clouds (RFC 1035, section 2.3.4).
const LABEL: usize = 63;

#[derive(Debug)]
pub(super) struct ImageNames {
    name: String,
    numbers: String,
}

impl ImageNames {
    /// `catalog` is the digest of what the image is made from.
    pub(super) fn new(
        windows: &WindowsRelease,
        kubernetes: &Version,
        selection: &ImageDefinition,
        catalog: &str,
    ) -> Self {
        let version = selection.image_version.clone().unwrap_or_else(|| {
            let inputs = json::format_json(selection) + catalog;
            ImageVersion::Inputs(sha256_hex(inputs.as_bytes()))
        });
        let suffix = version.format_suffix();
        Self {
            name: format!("windows-{}-k8s-{kubernetes}-{suffix}", windows.release),
            numbers: version.format_numbers(kubernetes),
        }
    }

    /// The default that a variable takes from here.
    pub(super) fn format_default(&self, from: DefaultFrom) -> Option<String> {
        match from {
            DefaultFrom::ImageName => Some(self.name.clone()),
            DefaultFrom::ImageNameLabel => Some(format_label(&self.name)),
            DefaultFrom::ImageVersion => Some(self.numbers.clone()),
            DefaultFrom::WindowsRelease | DefaultFrom::BootMedium | DefaultFrom::ArtifactFolder => {
                None
            }
        }
    }
}

/// Lower-case letters, digits and `-`, with a letter or digit last.
fn format_label(name: &str) -> String {
    let mut label = String::new();
    for c in name.chars().take(LABEL) {
        label.push(if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '-'
        });
    }
    label.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_letters_digits_and_hyphens() {
        assert_eq!(
            format_label("windows-2022-k8s-1.36.4-20261122-025441"),
            "windows-2022-k8s-1-36-4-20261122-025441"
        );
        assert_eq!(format_label("A_b.-"), "a-b");
        assert!(format_label(&"a".repeat(99)).len() == LABEL);
    }
}
