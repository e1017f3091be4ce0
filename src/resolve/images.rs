//! Container images that are on the node before its first pod: those of the user, and the pause image.

use crate::base::choice::Delivery;
use crate::base::value::ImageReference;
use crate::catalog::{Catalog, CatalogError};
use crate::diagnostic::Finding;
use crate::model::definition::ImageDefinition;
use crate::model::plan::Warning;

/// No images: without a runtime nothing holds them.
pub(super) fn refuse_images(
    selection: &ImageDefinition,
    refusals: &mut Vec<Finding>,
) -> Vec<ImageReference> {
    if !selection.container_images.is_empty() {
        let message =
            "an image with `--join none` has no container runtime that could hold container images";
        let remedy = "leave `containerImages` and `--image` out, or choose `--join kubeadm`";
        let finding = Finding::new("join-images", message, remedy).with_subject("containerImages");
        refusals.push(finding);
    }
    Vec::new()
}

/// The selected images, and the pause image where its digest is known: without it no pod starts.
pub(super) fn plan_images(
    catalog: &Catalog,
    pause: &str,
    delivery: Delivery,
    selection: &ImageDefinition,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<ImageReference>, CatalogError> {
    let mut images = selection.container_images.clone();
    if images
        .iter()
        .any(|image| image.split('@').next() == Some(pause))
    {
        return Ok(images);
    }
    let registry = pause.split('/').next().unwrap_or_default();
    let is_mirrored = selection
        .mirrors
        .keys()
        .any(|mirrored| mirrored.as_str() == registry);
    let mut warn = |message: String| {
        warnings.push(Warning::new("pause-image", pause.to_owned(), message));
    };
    match catalog
        .load_support()?
        .pause_digests
        .iter()
        .find(|known| known.image == pause)
    {
        None => warn(format!(
            "{pause} is not pulled during the bake, because no publisher states its digest: a node pulls it for its first pod; `--image {pause}@sha256:…` adds it"
        )),
        Some(_) if delivery == Delivery::Mirror && !is_mirrored => warn(format!(
            "{pause} is not pulled during the bake, because the machine reaches only the mirror: a node pulls it for its first pod; `--registry-mirror {registry}=URL` adds a mirror of its registry"
        )),
        Some(known) => {
            images.extend(format!("{pause}@sha256:{}", known.sha256).parse::<ImageReference>());
        }
    }
    Ok(images)
}
