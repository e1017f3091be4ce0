//! Choices of the selection other than components: release, runtime, access, tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::choice::{HostAccess, Join, Runtime};
use crate::base::code::Code;
use crate::base::version::Version;
use crate::diagnostic::{Finding, Result};
use crate::model::conditions::Conditions;
use crate::model::definition::ImageDefinition;
use crate::model::kubernetes::KubernetesLine;
use crate::model::plan::{PlannedPacker, PlannedPlugin};
use crate::model::pod_network::PodNetwork;
use crate::model::target::{Plugin, Start, Target};
use crate::model::windows::{MinimumUpdate, WindowsRelease};
use crate::windows::value::KbId;

use super::{ChosenPlatform, Resolver, refusal};

pub(super) fn choose_windows(
    resolver: &mut Resolver<'_>,
    line: &KubernetesLine,
    kubernetes: &Version,
) -> Result<Arc<WindowsRelease>> {
    let Resolver {
        catalog, selection, ..
    } = *resolver;
    let supported: Vec<&str> = line
        .windows
        .iter()
        .filter(|windows| {
            windows
                .versions
                .as_ref()
                .is_none_or(|range| range.contains(kubernetes))
        })
        .map(|windows| windows.value.as_str())
        .collect();
    let Some(asked) = selection.windows.as_deref() else {
        let default = supported.first().copied().unwrap_or("2019");
        return Ok(catalog.load_windows_release(default)?);
    };
    let windows = catalog.load_windows_release(asked)?;
    if !supported.contains(&asked) {
        let later = refusal::format_lines_with_windows(catalog, asked);
        let message = format!(
            "Kubernetes {kubernetes} does not support Windows {asked} ({})",
            windows.title
        );
        let remedy = match later {
            Some(range) => format!(
                "choose `--windows {}`, or Kubernetes {range}, which supports Windows {asked}",
                supported.join("` or `--windows ")
            ),
            None => format!("choose `--windows {}`", supported.join("` or `--windows ")),
        };
        let finding =
            Finding::new(Code::WINDOWS_UNSUPPORTED, message, remedy).with_subject("windows");
        resolver.refusals.push(finding.with_source(&line.source));
    }
    Ok(windows)
}

pub(super) fn choose_runtime(resolver: &mut Resolver<'_>, line: &KubernetesLine) -> Runtime {
    let names: Vec<&str> = line
        .runtimes
        .iter()
        .map(|runtime| runtime.name.as_str())
        .collect();
    let default = names
        .first()
        .and_then(|name| name.parse().ok())
        .unwrap_or(Runtime::Containerd);
    let chosen = resolver.selection.runtime.unwrap_or(default);
    // A rule of the catalog says better why, where there is one.
    if !names.contains(&chosen.as_str()) && chosen != Runtime::Docker {
        let message = format!("Kubernetes {} does not run with {chosen}", line.minor);
        let finding = Finding::new(
            Code::RUNTIME_UNSUPPORTED,
            message,
            format!("choose `--runtime {default}`"),
        );
        resolver
            .refusals
            .push(finding.with_subject("runtime").with_source(&line.source));
    }
    chosen
}

pub(super) fn choose_host_access(
    resolver: &mut Resolver<'_>,
    line: &KubernetesLine,
    runtime: Runtime,
) -> Result<HostAccess> {
    let Resolver {
        catalog, selection, ..
    } = *resolver;
    let mut choices = line.host_access.iter();
    let first = choices.find(|choice| {
        runtime != Runtime::Docker || choice.name != HostAccess::Hostprocess.as_str()
    });
    let default = first
        .and_then(|choice| choice.name.parse().ok())
        .unwrap_or(HostAccess::Services);
    let Some(asked) = selection.host_access else {
        return Ok(default);
    };
    let known = line
        .host_access
        .iter()
        .any(|choice| choice.name == asked.as_str());
    if !known {
        let range = refusal::format_lines_with_host_access(catalog, asked)?;
        let message = format!(
            "Kubernetes {} does not support host access `{asked}`",
            line.minor
        );
        let remedy = match range {
            Some(range) => {
                format!("choose `--host-access {default}`, or Kubernetes {range}, which has it")
            }
            None => format!("choose `--host-access {default}`"),
        };
        let finding =
            Finding::new(Code::HOST_ACCESS_UNSUPPORTED, message, remedy).with_subject("hostAccess");
        resolver.refusals.push(finding.with_source(&line.source));
    }
    Ok(asked)
}

/// The chosen pod network, or the catalog's for the other choices, which the conditions name from then on.
pub(super) fn choose_network(
    resolver: &Resolver<'_>,
    conditions: &mut Conditions,
) -> Result<Arc<PodNetwork>> {
    let support = resolver.catalog.load_support()?;
    let mut defaults = support.networks.as_slice().iter().rev();
    let default = defaults.find(|network| conditions.holds(&network.when));
    let default = default.unwrap_or_else(|| support.networks.first());
    let name = resolver.selection.cni.as_deref().unwrap_or(&default.name);
    let network = resolver.catalog.network(name)?;
    conditions.cni.clone_from(&network.name);
    conditions.overlay = network.overlay;
    Ok(network)
}

pub(super) fn choose_pause_image(
    resolver: &mut Resolver<'_>,
    line: &KubernetesLine,
    windows: &WindowsRelease,
) -> String {
    let known = &line.pause_images;
    let builds = windows.runs_images_of.as_slice();
    let default = select_pause_image(line, windows);
    let image = match resolver.selection.components.get("pause") {
        Some(version) => match default.rsplit_once(':') {
            Some((name, _)) => format!("{name}:{version}"),
            None => default.to_owned(),
        },
        None => default.to_owned(),
    };

    if !known.holds(&image, builds) {
        let message = format!(
            "{image} contains no image that Windows {} (build {}) runs",
            windows.release, windows.build
        );
        let remedy = match known.find_oldest(builds) {
            Some(first) => format!(
                "choose `--component pause={}` or newer, or another Windows release",
                first.image.rsplit(':').next().unwrap_or(&first.image)
            ),
            None => "choose another Windows release".to_owned(),
        };
        let finding = Finding::new(Code::PAUSE_BUILD, message, remedy).with_subject("pause");
        resolver.refusals.push(finding.with_source(&known.source));
    }
    image
}

/// The line's pause image where it holds the host's own build, else the oldest that does. Of a host without any, the
/// same by the builds of older releases whose images it runs.
fn select_pause_image<'a>(line: &'a KubernetesLine, windows: &WindowsRelease) -> &'a str {
    let known = &line.pause_images;
    let own = [windows.build];
    let builds = windows.runs_images_of.as_slice();

    let has_own = known.find_oldest(&own).is_some();
    let wanted = if has_own { own.as_slice() } else { builds };
    if known.holds(&line.pause.image, wanted) {
        return &line.pause.image;
    }
    match known.find_oldest(wanted) {
        Some(oldest) => &oldest.image,
        None => &line.pause.image,
    }
}

pub(super) fn plan_packer(
    resolver: &mut Resolver<'_>,
    target: &Target,
    packer: &Version,
) -> Option<PlannedPacker> {
    let selection = resolver.selection;
    let choice = selection.packer.clone().unwrap_or_default();
    let Some(image) = target.image() else {
        if selection.packer.is_some() {
            let message = format!("target {} is built without Packer", target.name);
            let finding = Finding::new(Code::PACKER_UNUSED, message, "remove `packer`".to_owned())
                .with_subject("packer");
            resolver.refusals.push(finding.with_source(target.source()));
        }
        return None;
    };
    let plugins = image.plugins.as_slice();
    for name in choice
        .plugins
        .keys()
        .filter(|name| plugins.iter().all(|plugin| plugin.name != **name))
    {
        let message = format!(
            "target {} does not use the Packer plugin {name}",
            target.name
        );
        let remedy = format!("use `{}`, or remove it", image.plugins.first().name);
        let finding = Finding::new(Code::PACKER_PLUGIN, message, remedy).with_subject("packer");
        resolver.refusals.push(finding.with_source(target.source()));
    }
    Some(PlannedPacker {
        version: choice.version.unwrap_or_else(|| packer.clone()),
        plugins: plugins
            .iter()
            .map(|plugin| plan_plugin(plugin, choice.plugins.get(&plugin.name)))
            .collect(),
    })
}

fn plan_plugin(plugin: &Plugin, version: Option<&Version>) -> PlannedPlugin {
    PlannedPlugin {
        name: plugin.name.clone(),
        source: plugin.address.clone(),
        version: version.unwrap_or(&plugin.version).clone(),
    }
}

/// The update revision that the choices need. A source image whose revision does not work is refused, and so are updates
/// that break what works.
pub(super) fn minimum_revision(
    resolver: &mut Resolver<'_>,
    target: &Target,
    platform: &ChosenPlatform,
    variables: &BTreeMap<String, serde_json::Value>,
) -> u32 {
    let needed: Vec<&MinimumUpdate> = platform
        .windows
        .minimum_updates
        .iter()
        .filter(|update| needs_update(update, platform))
        .collect();
    let broken = needed.iter().filter_map(|update| {
        refuse_source_image(update, target, platform, variables)
            .or_else(|| refuse_updates(update, resolver.selection))
    });
    // The highest revision is enough to know.
    let refusal = broken.max_by_key(|(revision, _)| *revision);
    resolver
        .refusals
        .extend(refusal.map(|(_, refusal)| refusal));
    let floors = needed.iter().filter(|update| update.since.is_none());
    floors
        .filter_map(|update| update.revision)
        .max()
        .unwrap_or(0)
}

fn needs_update(update: &MinimumUpdate, platform: &ChosenPlatform) -> bool {
    let ChosenPlatform {
        conditions,
        features,
        ..
    } = platform;
    match update.need.as_str() {
        "overlay" => conditions.overlay,
        "images" => true,
        "pods" => conditions.join != Join::None,
        need => features
            .iter()
            .any(|feature| feature.needs.as_deref() == Some(need)),
    }
}

/// A refusal of a source image by its version, with the revision that it needs.
fn refuse_source_image(
    update: &MinimumUpdate,
    target: &Target,
    platform: &ChosenPlatform,
    variables: &BTreeMap<String, serde_json::Value>,
) -> Option<(u32, Finding)> {
    let Start::SourceImage {
        version: Some(version),
        ..
    } = &target.image()?.start
    else {
        return None;
    };
    let image = variables.get(&version.variable)?.as_str()?;
    let given: u32 = image.split('.').nth(1)?.parse().ok()?;
    if !update.is_broken_at(given) {
        return None;
    }
    let (build, revision) = (platform.windows.build, update.revision?);
    let need = match update.need.as_str() {
        "overlay" => format!("CNI {}", platform.conditions.cni),
        "pods" => "the network of pods".to_owned(),
        need => need.to_owned(),
    };
    let article = update.kb.as_ref().map(|kb| format!(" ({kb})"));
    let message = format!(
        "source image {image} is Windows {build}.{given}, and {need} needs {build}.{revision}{}",
        article.unwrap_or_default()
    );
    let remedy = format!(
        "choose a newer `{}`, or `{}`",
        version.variable, version.newest
    );
    let finding = Finding::new(Code::MINIMUM_UPDATE, message, remedy).with_subject("windows");
    Some((revision, finding.with_source(&update.source)))
}

/// A refusal of updates that are asked for, without the one that mends what they break.
fn refuse_updates(update: &MinimumUpdate, selection: &ImageDefinition) -> Option<(u32, Finding)> {
    let updates = selection.updates.as_ref()?;
    let files = updates.files.iter().map(|file| &file.kb);
    let asked: Vec<&KbId> = updates.kbs.iter().chain(files).collect();
    let fixed = update.kb.as_ref()?;
    let breaking = update.broken_by.iter().find(|kb| asked.contains(kb))?;
    if asked.contains(&fixed) {
        return None;
    }
    let message = format!("the update {breaking} breaks the network of pods until {fixed}");
    let remedy = format!("choose `--updates {fixed}`, or a newer update");
    let finding = Finding::new(Code::MINIMUM_UPDATE, message, remedy).with_subject("windows");
    Some((update.revision?, finding.with_source(&update.source)))
}
