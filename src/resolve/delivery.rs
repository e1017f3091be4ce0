//! How payloads reach the guest, and what goes along with each way.

use std::collections::BTreeSet;

use crate::base::choice::Delivery;
use crate::base::code::Code;
use crate::diagnostic::{Finding, Refusal};
use crate::model::definition::ImageDefinition;
use crate::model::plan::{ArtifactRole, Plan, PlannedArtifact, PlannedGroup, Warning};
use crate::model::target::Target;

use super::Resolver;
use super::refusal::refuse_image;

pub(super) fn choose_delivery(resolver: &mut Resolver<'_>, target: &Target) -> Delivery {
    let ways = target.delivery().as_slice();
    let default = *target.delivery().first();
    let delivery = resolver.selection.delivery.unwrap_or(default);
    if !ways.contains(&delivery) {
        let instead = if delivery == Delivery::Media && ways.contains(&Delivery::Mirror) {
            "choose `--delivery mirror --mirror URL`; `imagegen bundle extract --as-mirror DIR` writes the files that this URL must serve"
                .to_owned()
        } else {
            format!("choose `--delivery {default}`")
        };
        let message = format!("target {} cannot deliver by `{delivery}`", target.name);
        let finding = Finding::new(Code::DELIVERY, message, instead).with_subject("delivery");
        resolver.refusals.push(finding.with_source(target.source()));
    }
    delivery
}

/// Refuses parts of the plan that the way of delivery cannot bring.
pub(super) fn check_delivery(
    resolver: &mut Resolver<'_>,
    delivery: Delivery,
    target: &Target,
    groups: &[PlannedGroup],
) {
    let selection = resolver.selection;
    let refusals = &mut resolver.refusals;
    let artifacts = || groups.iter().flat_map(|group| &group.artifacts);
    if delivery == Delivery::Media {
        check_offline_media(selection, refusals);
        check_disc_images(target, selection, refusals);
        return;
    }
    check_secret_urls(selection, groups, refusals);
    let with_headers = artifacts().filter(|artifact| !artifact.headers.is_empty());
    resolver
        .warnings
        .extend(with_headers.map(warn_dropped_headers));
}

/// Refuses files that delivery by mirror would take from another server. It is asked before something is built: a lock
/// has no mirrors.
///
/// # Errors
/// A file has no mirror.
pub fn check_mirrored(plan: &Plan) -> Result<(), Refusal> {
    if plan.delivery != Delivery::Mirror {
        return Ok(());
    }
    let selection = &plan.selection;
    let mirrors = &selection.download_mirrors;
    let mut elsewhere = BTreeSet::new();
    for artifact in plan.artifacts() {
        let own = selection.overrides.get(artifact.component.as_str());
        let is_own = own.is_some_and(|own| own.url.is_some());
        if artifact.role == ArtifactRole::Guest && !is_own && mirrors.find(&artifact.url).is_none()
        {
            elsewhere.insert(artifact.url.host());
        }
    }
    for file in selection.user_files() {
        if mirrors.find(file.url).is_none() {
            elsewhere.insert(file.url.host());
        }
    }
    if elsewhere.is_empty() {
        return Ok(());
    }
    let hosts: Vec<String> = elsewhere.into_iter().collect();
    let message = format!("artifacts of {} have no mirror", hosts.join(", "));
    let remedy = "add `--mirror URL`, or `--mirror https://HOST/=URL` for each host";
    let finding = Finding::new(Code::DELIVERY_MIRROR, message, remedy).with_subject("delivery");
    let source = "derived: with delivery `mirror` the machine reaches the mirror alone";
    Err(refuse_image(vec![finding.with_source(source)]))
}

/// Mirrors that need headers, of files that the guest downloads by itself.
pub fn warn_login(plan: &Plan) -> Option<String> {
    if plan.delivery == Delivery::Media {
        return None;
    }
    let mirrors = &plan.selection.download_mirrors;
    let mut places = BTreeSet::new();
    for artifact in plan.artifacts() {
        if artifact.role == ArtifactRole::Guest
            && let Some((_, mirror)) = mirrors.find(&artifact.url)
            && !mirror.headers.is_empty()
        {
            places.insert(mirror.url.to_string());
        }
    }
    let places: Vec<String> = places.into_iter().collect();
    let text = places.join(", ");
    (!places.is_empty())
        .then(|| format!("the guest sends no headers: {text} must serve it without them"))
}

/// The guest reads its plan from a file, and a file holds no signature or token of a URL.
fn check_secret_urls(
    selection: &ImageDefinition,
    groups: &[PlannedGroup],
    refusals: &mut Vec<Finding>,
) {
    let artifacts = groups.iter().flat_map(|group| &group.artifacts);
    let artifacts =
        artifacts.map(|artifact| (artifact.component.to_string(), artifact.url.clone()));
    let files = selection
        .user_files()
        .map(|file| (file.name, file.url.clone()));
    for (name, url) in artifacts.chain(files).filter(|(_, url)| url.has_secret()) {
        let message = format!(
            "the URL of {name} ({url}) has a signature or a token, which is not written into the guest's plan"
        );
        let remedy = "serve the file without it, such as from a mirror of your own, or choose `--delivery media`";
        let finding = Finding::new(Code::SECRET_URL, message, remedy).with_subject(name);
        refusals.push(finding.with_source("derived: the guest plan is a file of the workspace"));
    }
}

/// With media the machine has no network: refuse plans that need it.
fn check_offline_media(selection: &ImageDefinition, refusals: &mut Vec<Finding>) {
    let updates = selection.updates.as_ref();
    if updates.is_some_and(|updates| !updates.kbs.is_empty() || !updates.categories.is_empty()) {
        let message = "a search for updates needs the network, and delivery by media has none";
        let remedy =
            "give updates as files with URL and SHA-256 (`updates.files` in imagegen.json)";
        refusals.push(Finding::new(Code::MEDIA_UPDATES, message, remedy).with_subject("updates").with_source(
            "derived: with delivery `media` the machine has no network while the image is built",
        ));
    }
}

/// The archive for an existing machine has container images; the disc of a machine that is built has artifacts alone.
fn check_disc_images(target: &Target, selection: &ImageDefinition, refusals: &mut Vec<Finding>) {
    let names = selection.container_images.len() + selection.image_sets.len();
    if target.image().is_none() || names == 0 {
        return;
    }
    let message = format!(
        "the disc of target {} contains no container images",
        target.name
    );
    let remedy = "remove `--image` and `--images`: nodes pull the images from a registry";
    refusals.push(
        Finding::new(Code::MEDIA_IMAGES, message, remedy).with_subject("containerImages").with_source(
            "derived: with delivery `media` the machine has no network while the image is built",
        ),
    );
}

fn warn_dropped_headers(artifact: &PlannedArtifact) -> Warning {
    let message = format!(
        "{} {}: the guest sends no headers, so {} must serve it to the guest without them",
        artifact.component,
        artifact.version,
        artifact.url.host()
    );
    Warning::new(Code::GUEST_HEADERS, artifact.component.to_string(), message)
}
