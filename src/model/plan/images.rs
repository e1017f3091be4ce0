//! Container images of a plan, by the names that users gave.

use super::{Plan, PlannedArtifact};
use crate::base::value::ImageReference;
use crate::model::definition::ImageDefinition;
use crate::model::tagged_image::TaggedImage;

/// Artifacts and container images without a digest, as messages name them.
pub fn list_unpinned<'a>(
    artifacts: impl Iterator<Item = &'a PlannedArtifact>,
    images: &[TaggedImage],
) -> Vec<String> {
    let artifacts = artifacts.filter(|artifact| !artifact.is_pinned());
    let artifacts = artifacts.map(PlannedArtifact::title);
    artifacts.chain(list_unpinned_images(images)).collect()
}

/// Tags of container images whose digest the registry has not told yet.
pub fn list_unpinned_images(images: &[TaggedImage]) -> impl Iterator<Item = String> {
    let images = images.iter().filter(|image| image.pin.is_none());
    images.map(|image| image.name.to_string())
}

/// Whether the user asked for an image: a selection names it, or one of its tags led to it.
pub fn is_selected_image(
    selection: &ImageDefinition,
    tagged: &[TaggedImage],
    image: &ImageReference,
) -> bool {
    let named = selection.container_images.iter();
    let tagged = tagged.iter().map(|tagged| &tagged.name);
    named.chain(tagged).any(|name| name.is_name_of(image))
}

impl Plan {
    /// Whether the user asked for the image, by its name or by a set.
    pub fn selects_image(&self, image: &ImageReference) -> bool {
        is_selected_image(&self.selection, &self.tagged_images, image)
    }

    /// Whether an image was named by this tag.
    pub fn names_image(&self, name: &str) -> bool {
        self.tagged_images.iter().any(|image| image.name == name)
    }
}
