//! Container images of a plan, by the names that users gave.

use super::Plan;
use crate::base::value::ImageReference;

impl Plan {
    /// Tags of container images whose digest the registry has not told yet.
    pub fn unpinned_images(&self) -> impl Iterator<Item = String> {
        let images = self.tagged_images.iter().filter(|it| it.pin.is_none());
        images.map(|image| image.name.to_string())
    }

    /// Whether the user asked for the image, by its name or by a set.
    #[must_use]
    pub fn selects_image(&self, image: &ImageReference) -> bool {
        let named = self.selection.container_images.iter();
        let tagged = self.tagged_images.iter().map(|tagged| &tagged.name);
        named.chain(tagged).any(|name| name.is_name_of(image))
    }

    /// Whether an image was named by this tag.
    #[must_use]
    pub fn names_image(&self, name: &str) -> bool {
        self.tagged_images.iter().any(|image| image.name == name)
    }
}
