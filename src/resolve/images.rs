//! Container images that are on the node before its first pod: those of the user, and the pause image.

use serde_json::json;
use tera::Context;

use crate::base::choice::Delivery;
use crate::base::code::Code;
use crate::base::names::format_suggestion;
use crate::base::value::{ImageReference, NamedImage, ValueError};
use crate::catalog::CatalogError;
use crate::diagnostic::Finding;
use crate::model::cluster::ClusterIndex;
use crate::model::plan::Warning;
use crate::model::tagged_image::TaggedImage;
use crate::template;

use super::{ChosenPlatform, Resolver};

/// Images of a plan, by digest and by tag.
#[derive(Debug, Default)]
pub(super) struct PlannedImages {
    pub(super) pinned: Vec<ImageReference>,
    pub(super) tagged: Vec<TaggedImage>,
}

impl PlannedImages {
    fn add(&mut self, name: NamedImage, set: Option<&str>) {
        if let Some(image) = name.reference() {
            if !self.pinned.contains(&image) {
                self.pinned.push(image);
            }
        } else if !self.tagged.iter().any(|tagged| tagged.name == name) {
            let (set, pin) = (set.map(str::to_owned), None);
            self.tagged.push(TaggedImage { name, set, pin });
        }
    }

    fn contains(&self, name: &str) -> bool {
        let mut pinned = self.pinned.iter();
        pinned.any(|image| image.split('@').next() == Some(name))
            || self.tagged.iter().any(|tagged| tagged.name == *name)
    }
}

/// No images: without a runtime nothing holds them.
pub(super) fn refuse_images(resolver: &mut Resolver<'_>) -> PlannedImages {
    let selection = resolver.selection;
    if !selection.container_images.is_empty() || !selection.image_sets.is_empty() {
        let message =
            "an image with `--join none` has no container runtime that could hold container images";
        let remedy = "leave `containerImages`, `imageSets`, `--image` and `--images` out, or choose `--join kubeadm`";
        let finding =
            Finding::new(Code::JOIN_IMAGES, message, remedy).with_subject("containerImages");
        resolver.refusals.push(finding);
    }
    PlannedImages::default()
}

/// The selected images, those of the selected sets, and the pause image where its digest is known: without it no pod
/// starts.
pub(super) fn plan_images(
    resolver: &mut Resolver<'_>,
    pause: &str,
    platform: &ChosenPlatform,
) -> Result<PlannedImages, CatalogError> {
    let mut images = PlannedImages::default();
    for name in &resolver.selection.container_images {
        images.add(name.clone(), None);
    }
    if !resolver.selection.image_sets.is_empty() {
        add_sets(resolver, platform, &mut images)?;
    }
    if !images.contains(pause) {
        add_pause_image(resolver, pause, platform.delivery, &mut images)?;
    }
    Ok(images)
}

fn add_pause_image(
    resolver: &mut Resolver<'_>,
    pause: &str,
    delivery: Delivery,
    images: &mut PlannedImages,
) -> Result<(), CatalogError> {
    let registry = pause.split('/').next().unwrap_or_default();
    let mirrored = resolver.selection.list_registry_urls();
    let is_mirrored = mirrored.contains_key(registry);
    let support = resolver.catalog.load_support()?;
    let mut digests = support.pause_digests.iter();
    let message = match digests.find(|known| known.image == pause) {
        None => format!(
            "{pause} is not pulled during the bake, because no publisher states its digest: a node pulls it for its first pod; `--image {pause}` adds it, and `imagegen lock` records its digest"
        ),
        Some(_) if delivery == Delivery::Mirror && !is_mirrored => format!(
            "{pause} is not pulled during the bake, because the machine reaches only the mirror: a node pulls it for its first pod; `--registry-mirror {registry}=URL` adds a mirror of its registry"
        ),
        Some(known) => {
            let image = format!("{pause}@sha256:{}", known.sha256).parse();
            images.pinned.extend(image);
            return Ok(());
        }
    };
    let warning = Warning::new(Code::PAUSE_IMAGE, pause.to_owned(), message);
    resolver.warnings.push(warning);
    Ok(())
}

/// Names of the sets, as `--images` takes them.
pub const IMAGE_SETS: &[&str] = &["agents", "workloads"];

fn add_sets(
    resolver: &mut Resolver<'_>,
    platform: &ChosenPlatform,
    images: &mut PlannedImages,
) -> Result<(), CatalogError> {
    let index = resolver.catalog.load_cluster_index()?;
    for set in &resolver.selection.image_sets {
        let sources = match set.as_str() {
            "agents" => list_agents(&index, platform),
            "workloads" => vec![&index.workloads.servercore, &index.workloads.iis],
            _ => {
                let message = format!("no set of container images is named `{set}`");
                let remedy = format_suggestion(set, IMAGE_SETS.iter().copied());
                let finding =
                    Finding::new(Code::IMAGE_SET, message, remedy).with_subject("imageSets");
                resolver.refusals.push(finding);
                continue;
            }
        };
        for source in sources {
            let name = render_name(source, &index, platform)?;
            images.add(name, Some(set));
        }
    }
    Ok(())
}

fn list_agents<'a>(index: &'a ClusterIndex, platform: &ChosenPlatform) -> Vec<&'a String> {
    let agents = index.images.iter().filter(|image| image.agent);
    let used = agents.filter(|image| platform.conditions.holds(&image.when));
    used.filter_map(|image| image.reference.as_ref()).collect()
}

/// The name of an image of the cluster's index for this Kubernetes and this Windows.
fn render_name(
    source: &str,
    index: &ClusterIndex,
    platform: &ChosenPlatform,
) -> Result<NamedImage, CatalogError> {
    let release = &platform.windows.container_tag;
    let mut context = Context::new();
    context.insert("kubernetes", &json!({ "version": platform.kubernetes }));
    context.insert("tag", index.workloads.tags.get(release).unwrap_or(release));
    let rendered = template::render(source, &context);
    let parsed =
        rendered.and_then(|text| text.parse().map_err(|error: ValueError| error.to_string()));
    parsed.map_err(|message| CatalogError::ImageName {
        file: "cluster/index.json".to_owned(),
        message,
    })
}
