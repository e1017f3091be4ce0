//! Container images that a selection names by tag: a lockfile has what their registry served.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::value::{ImageReference, NamedImage, Sha256};

/// An image by its tag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TaggedImage {
    /// `mcr.microsoft.com/windows/servercore:ltsc2022`
    pub name: NamedImage,
    /// The set that it belongs to; none where the selection names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
    /// None until `lock` asked its registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<ImagePin>,
}

/// A registry's answer to a tag. A tag is no signature: the pin says which bytes are meant, and not who made them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ImagePin {
    /// SHA-256 of the index, or of the manifest where the tag has no index.
    pub index: Sha256,
    /// SHA-256 of the manifest for the Windows build.
    pub manifest: Sha256,
    /// The build of Windows that the manifest was chosen for: `20348`.
    pub build: u32,
    /// `10.0.20348.2700`; none where the image runs on every build.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os_version: Option<String>,
    /// Bytes of configuration and layers.
    pub size: u64,
    /// SHA-256 of layers that the publisher does not let others distribute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign_layers: Vec<Sha256>,
}

impl TaggedImage {
    /// The image by its digest, once it is pinned.
    pub fn reference(&self) -> Option<ImageReference> {
        let pin = self.pin.as_ref()?;
        Some(self.name.pin(&pin.index))
    }

    /// The image by its digest; before it is pinned, by a digest that no image has, so that a machine that is made of
    /// a preview stops.
    ///
    /// # Panics
    /// Never: 64 digits are a digest.
    pub fn preview_reference(&self) -> ImageReference {
        let nothing = "0".repeat(64).parse().expect("64 digits are a digest");
        self.reference().unwrap_or_else(|| self.name.pin(&nothing))
    }

    /// Takes over the pin of a lockfile, where it is one for the same name and build of Windows.
    pub fn adopt_pin(&mut self, locked: &[Self], build: u32) {
        let same = locked.iter().find(|image| image.name == self.name);
        if self.pin.is_none()
            && let Some(Self { pin: Some(pin), .. }) = same
            && pin.build == build
        {
            self.pin = Some(pin.clone());
        }
    }
}
