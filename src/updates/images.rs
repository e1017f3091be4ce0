//! Container images by tag: what a lockfile keeps of them, and which tags moved since.

use serde::Serialize;

use crate::acquire::{NetworkOptions, open_fetcher};
use crate::base::value::Sha256;
use crate::bundle::ImageSource;
use crate::diagnostic::Result;
use crate::model::plan::Plan;
use crate::model::policy::Policy;
use crate::model::tagged_image::TaggedImage;
use crate::ui::Printer;

use super::answers::{Answers, TagQuestion};

/// A container image that the selection names by its tag.
#[derive(Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutdatedImage {
    /// `mcr.microsoft.com/windows/servercore:ltsc2022`
    pub name: String,
    /// SHA-256 of the index that the lockfile has; none without lockfile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned: Option<Sha256>,
    /// SHA-256 of the index that the registry serves now; none where it is the planned one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newer: Option<Sha256>,
    /// Build and update of Windows in what the registry serves now: `10.0.20348.2700`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os_version: Option<String>,
}

/// Images of a lockfile that is written anew.
#[derive(Debug, Clone, Copy)]
pub struct LockedImages<'a> {
    pub images: &'a [TaggedImage],
    /// Names to ask for again, or, if it is empty, every one; none where nothing is updated.
    pub updated: Option<&'a [String]>,
    pub answers: &'a Answers,
}

impl LockedImages<'_> {
    /// The plan with a digest for each of its tags: of the old lockfile, or what the registry serves now.
    ///
    /// # Errors
    /// A registry cannot be reached, does not have the tag, or has no image for the plan's Windows.
    pub fn pin_plan(
        self,
        plan: Plan,
        network: &NetworkOptions,
        policy: &Policy,
        printer: &Printer,
    ) -> Result<Plan> {
        let mut kept = self.images.to_vec();
        if let Some(names) = self.updated {
            kept.retain(|image| !names.is_empty() && !names.contains(&image.name.to_string()));
        }
        let plan = plan.with_image_pins(&kept);
        let mut open = plan.tagged_images.clone();
        open.retain(|image| image.pin.is_none());
        if open.is_empty() {
            return Ok(plan);
        }

        let fetcher = open_fetcher(network, policy)?;
        let source = ImageSource {
            fetcher: &fetcher,
            jobs: network.downloads(),
            printer,
        };
        let pinned = pin_images(&open, plan.windows.build, &source, self.answers)?;
        Ok(plan.with_image_pins(&pinned))
    }
}

/// The images with the answers of their registries, which are asked again where there is a pin already.
fn pin_images(
    images: &[TaggedImage],
    build: u32,
    source: &ImageSource<'_>,
    answers: &Answers,
) -> Result<Vec<TaggedImage>> {
    let mut pinned = Vec::new();
    for image in images {
        let url = source.locate_tag(&image.name)?;
        let question = TagQuestion { url, build };
        let pin = answers.read_tag(question, || source.ask_tag(&image.name, build))?;
        pinned.push(TaggedImage {
            pin: Some(pin),
            ..image.clone()
        });
    }
    Ok(pinned)
}

/// Asks the registries of a plan's tags.
///
/// # Errors
/// A registry cannot be reached, does not have the tag, or has no image for the plan's Windows.
pub fn check_images(
    plan: &Plan,
    source: &ImageSource<'_>,
    answers: &Answers,
) -> Result<Vec<OutdatedImage>> {
    let served = pin_images(&plan.tagged_images, plan.windows.build, source, answers)?;
    let mut rows = Vec::new();
    for (planned, served) in plan.tagged_images.iter().zip(served) {
        let planned = planned.pin.as_ref().map(|pin| pin.index.clone());
        let index = served.pin.as_ref().map(|pin| pin.index.clone());
        rows.push(OutdatedImage {
            name: served.name.to_string(),
            newer: index.filter(|index| planned.as_ref() != Some(index)),
            planned,
            os_version: served.pin.and_then(|pin| pin.os_version),
        });
    }
    Ok(rows)
}
