//! Catalog × selection → plan. Pure: the rules of compatibility are data of the catalog, this
//! applies them, and says for every choice why it was made.
//!
//! All refusals of a selection are reported at once, each with the nearest good choice.

mod artifacts;
mod kubernetes;
mod refusal;
mod variables;

use std::collections::{BTreeMap, BTreeSet};

use crate::catalog::{Catalog, CatalogError};
use crate::embedded::sha256;
use crate::model::choice::{Cni, Delivery, HostAccess, Runtime};
use crate::model::component::Component;
use crate::model::json;
use crate::model::kubernetes::KubernetesLine;
use crate::model::plan::{Plan, PlannedArtifact, PlannedGroup, PlannedPacker, PlannedPlugin, Warning};
use crate::model::rules::{Group, Part};
use crate::model::selection::ImageDefinition;
use crate::model::situation::Situation;
use crate::model::target::Target;
use crate::model::version::Version;
use crate::model::windows::WindowsRelease;

pub use refusal::{Refusal, ResolveError};

/// What resolving may know of the world: which names the environment sets, never their values.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    pub environment: BTreeSet<String>,
}

/// Resolves a selection.
///
/// # Errors
/// The catalog cannot be read, or the selection is refused.
pub fn resolve(
    catalog: &Catalog,
    target: Target,
    packer: &Version,
    selection: &ImageDefinition,
    surroundings: &Surroundings,
) -> Result<Plan, ResolveError> {
    let (line, kubernetes, mut warnings) = kubernetes::choose(catalog, selection.kubernetes.as_deref())?;
    let mut refusals = Vec::new();
    let windows = choose_windows(catalog, &line, &kubernetes, selection, &mut refusals)?;
    let runtime = choose_runtime(&line, selection, &mut refusals);
    let host_access = choose_host_access(catalog, &line, runtime, selection, &mut refusals)?;
    let delivery = choose_delivery(&target, selection, &mut refusals);
    let mut situation = Situation {
        target: target.name.clone(),
        windows: windows.release.clone(),
        kubernetes: kubernetes.clone(),
        runtime,
        runtime_version: component_version(&line, runtime.as_str(), selection),
        cni: selection.cni.unwrap_or(Cni::None),
        host_access,
        delivery,
        components: BTreeMap::new(),
    };
    let groups = choose_groups(catalog, &line, &situation, selection, &mut refusals)?;
    for artifact in groups.iter().flat_map(|group| &group.artifacts) {
        situation.components.insert(artifact.component.clone(), artifact.version.clone());
    }
    // What was asked for counts too where it was refused: a rule says better why.
    for (name, version) in &selection.components {
        situation.components.entry(name.clone()).or_insert_with(|| version.clone());
    }
    check_rules(catalog, &situation, &mut refusals)?;
    let pause = choose_pause(&line, &windows, selection, &mut refusals);
    for image in &selection.images {
        check_image(image, &mut refusals);
    }
    let planned_packer = choose_packer(&target, packer, selection, &mut refusals);
    let chosen = variables::choose(
        &variables::Inputs {
            target: &target,
            windows: &windows,
            selection,
            packer: &planned_packer,
            surroundings,
            image_name: format!("windows-{}-k8s-{kubernetes}", windows.release),
        },
        &mut refusals,
    );
    let variables = chosen.values;
    let minimum_revision = minimum_revision(&windows, &situation, &variables, &mut refusals);
    if !refusals.is_empty() {
        return Err(ResolveError::Refused(refusals));
    }
    warnings.extend(kubernetes::security_floor(&line, &kubernetes));
    warnings.extend(unpinned_warnings(&groups));
    let runtime_version = situation.runtime_version.clone().unwrap_or_else(|| kubernetes.clone());
    let catalog_digest = inputs_digest(catalog, &target, &line, &windows, &groups)?;
    Ok(Plan {
        selection: settled(selection, &situation, &variables, &chosen.selectors),
        target,
        windows,
        minimum_revision,
        line,
        kubernetes,
        runtime,
        runtime_version,
        cni: situation.cni,
        host_access,
        delivery,
        pause,
        images: selection.images.clone(),
        proxy: selection.proxy.clone().unwrap_or_default(),
        groups,
        variables,
        selectors: chosen.selectors,
        declared: chosen.declared,
        missing: chosen.missing,
        packer: planned_packer,
        warnings,
        known: known_names(catalog)?,
        catalog: catalog_digest,
    })
}

fn known_names(catalog: &Catalog) -> Result<Vec<String>, CatalogError> {
    let mut names = catalog.component_names();
    names.extend(catalog.contents()?.groups.into_iter().map(|group| group.name));
    names.sort();
    names.dedup();
    Ok(names)
}

/// The selection with every default written out, as the lock records it.
fn settled(
    selection: &ImageDefinition,
    situation: &Situation,
    variables: &BTreeMap<String, serde_json::Value>,
    selectors: &BTreeMap<String, String>,
) -> ImageDefinition {
    let selectors = selectors.iter().map(|(name, value)| (name.clone(), value.clone().into()));
    ImageDefinition {
        schema: None,
        target: Some(situation.target.clone()),
        windows: Some(situation.windows.clone()),
        kubernetes: Some(situation.kubernetes.to_string()),
        runtime: Some(situation.runtime),
        cni: Some(situation.cni),
        host_access: Some(situation.host_access),
        delivery: Some(situation.delivery),
        variables: variables.clone().into_iter().chain(selectors).collect(),
        ..selection.clone()
    }
}

fn choose_windows(
    catalog: &Catalog,
    line: &KubernetesLine,
    kubernetes: &Version,
    selection: &ImageDefinition,
    refusals: &mut Vec<Refusal>,
) -> Result<WindowsRelease, ResolveError> {
    let supported: Vec<&str> = line
        .windows
        .iter()
        .filter(|windows| windows.versions.as_ref().is_none_or(|range| range.contains(kubernetes)))
        .map(|windows| windows.value.as_str())
        .collect();
    let Some(asked) = selection.windows.as_deref() else {
        let default = supported.first().copied().unwrap_or("2019");
        return Ok(catalog.windows(default)?);
    };
    let windows = catalog.windows(asked)?;
    if !supported.contains(&asked) {
        let later = refusal::lines_with_windows(catalog, asked);
        refusals.push(Refusal::new(
            "windows-unsupported",
            format!("Kubernetes {kubernetes} is not made for Windows {asked} ({})", windows.title),
            match later {
                Some(range) => format!(
                    "choose `--windows {}`, or Kubernetes {range}, which supports Windows {asked}",
                    supported.join("` or `--windows ")
                ),
                None => format!("choose `--windows {}`", supported.join("` or `--windows ")),
            },
            &line.source,
        ));
    }
    Ok(windows)
}

fn choose_runtime(
    line: &KubernetesLine,
    selection: &ImageDefinition,
    refusals: &mut Vec<Refusal>,
) -> Runtime {
    let names: Vec<&str> = line.runtimes.iter().map(|runtime| runtime.name.as_str()).collect();
    let default = names.first().and_then(|name| name.parse().ok()).unwrap_or(Runtime::Containerd);
    let chosen = selection.runtime.unwrap_or(default);
    // A rule of the catalog says better why, where there is one.
    if !names.contains(&chosen.as_str()) && chosen != Runtime::Docker {
        refusals.push(Refusal::new(
            "runtime-unsupported",
            format!("Kubernetes {} does not run with {chosen}", line.minor),
            format!("choose `--runtime {default}`"),
            &line.source,
        ));
    }
    chosen
}

fn choose_host_access(
    catalog: &Catalog,
    line: &KubernetesLine,
    runtime: Runtime,
    selection: &ImageDefinition,
    refusals: &mut Vec<Refusal>,
) -> Result<HostAccess, ResolveError> {
    let fits = |name: &str| !(runtime == Runtime::Docker && name == HostAccess::Hostprocess.as_str());
    let default = line
        .host_access
        .iter()
        .find(|choice| fits(&choice.name))
        .and_then(|choice| choice.name.parse().ok())
        .unwrap_or(HostAccess::Services);
    let Some(asked) = selection.host_access else { return Ok(default) };
    let known = line.host_access.iter().any(|choice| choice.name == asked.as_str());
    if !known {
        let range = refusal::lines_with_host_access(catalog, asked)?;
        refusals.push(Refusal::new(
            "host-access-unsupported",
            format!("Kubernetes {} has no host access by `{asked}`", line.minor),
            match range {
                Some(range) => {
                    format!("choose `--host-access {default}`, or Kubernetes {range}, which has it")
                }
                None => format!("choose `--host-access {default}`"),
            },
            &line.source,
        ));
    }
    Ok(asked)
}

fn choose_delivery(target: &Target, selection: &ImageDefinition, refusals: &mut Vec<Refusal>) -> Delivery {
    let default = target.delivery.first().copied().unwrap_or(Delivery::Download);
    let delivery = selection.delivery.unwrap_or(default);
    if !target.delivery.contains(&delivery) {
        refusals.push(Refusal::new(
            "delivery",
            format!("target {} cannot deliver by `{delivery}`", target.name),
            format!("choose `--delivery {default}`"),
            "the target's descriptor",
        ));
    }
    delivery
}

/// The version of a component that the user or the line wants.
fn component_version(line: &KubernetesLine, name: &str, selection: &ImageDefinition) -> Option<Version> {
    selection
        .components
        .get(name)
        .or_else(|| line.components.get(name).map(|choice| &choice.default))
        .cloned()
}

fn choose_groups(
    catalog: &Catalog,
    line: &KubernetesLine,
    situation: &Situation,
    selection: &ImageDefinition,
    refusals: &mut Vec<Refusal>,
) -> Result<Vec<PlannedGroup>, ResolveError> {
    let contents = catalog.contents()?;
    let mut used = BTreeSet::new();
    let mut groups = Vec::new();
    for group in &contents.groups {
        let named = || {
            group.alternatives.iter().flatten().any(|part| selection.components.contains_key(&part.component))
        };
        if !situation.holds(&group.when) || (group.on_request && !named()) {
            continue;
        }
        used.extend(group.alternatives.iter().flatten().map(|part| part.component.clone()));
        if let Some(planned) = choose_group(catalog, line, situation, selection, group, refusals)? {
            groups.push(planned);
        }
    }
    for name in selection.components.keys().filter(|name| !used.contains(*name) && *name != "pause") {
        // Unknown names are the catalog's error, with its suggestion.
        catalog.component(name)?;
        refusals.push(Refusal::new(
            "component-unused",
            format!("nothing in this image uses the component {name}"),
            format!("leave out `--component {name}=…`, or choose what needs it (`imagegen explain {name}`)"),
            "manifests/contents.json",
        ));
    }
    Ok(groups)
}

fn choose_group(
    catalog: &Catalog,
    line: &KubernetesLine,
    situation: &Situation,
    selection: &ImageDefinition,
    group: &Group,
    refusals: &mut Vec<Refusal>,
) -> Result<Option<PlannedGroup>, ResolveError> {
    let mut best: Option<(usize, Vec<PlannedArtifact>)> = None;
    let mut refused = Vec::new();
    for parts in &group.alternatives {
        let mut found = Vec::new();
        let planned = parts
            .iter()
            .filter(|part| situation.holds(&part.when))
            .map(|part| plan_part(catalog, line, situation, selection, part, &mut found))
            .collect::<Result<Option<Vec<_>>, ResolveError>>()?;
        match planned {
            Some(artifacts) if found.is_empty() => {
                let unpinned = artifacts.iter().filter(|artifact| !artifact.is_pinned()).count();
                if best.as_ref().is_none_or(|(fewest, _)| unpinned < *fewest) {
                    best = Some((unpinned, artifacts));
                }
            }
            _ => refused.append(&mut found),
        }
    }
    let Some((_, artifacts)) = best else {
        refusals.append(&mut refused);
        return Ok(None);
    };
    let choice = line.components.get(&group.name);
    let chosen = selection.components.contains_key(&group.name);
    Ok(artifacts.first().map(|first| PlannedGroup {
        name: group.name.clone(),
        version: first.version.clone(),
        reason: match choice {
            _ if chosen => format!("{}; version asked for", group.reason),
            Some(choice) => format!("{}; {}", group.reason, choice.reason),
            None => group.reason.clone(),
        },
        source: choice.map_or_else(|| group.source.clone(), |choice| choice.source.clone()),
        artifacts: artifacts.clone(),
    }))
}

fn plan_part(
    catalog: &Catalog,
    line: &KubernetesLine,
    situation: &Situation,
    selection: &ImageDefinition,
    part: &Part,
    refusals: &mut Vec<Refusal>,
) -> Result<Option<PlannedArtifact>, ResolveError> {
    let component = catalog.component(&part.component)?;
    let version = if part.follows_kubernetes {
        Some(situation.kubernetes.clone())
    } else {
        component_version(line, &part.component, selection)
    };
    let Some(version) = version else {
        refusals.push(Refusal::new(
            "no-default-version",
            format!("no version of {} is known to fit Kubernetes {}", part.component, line.minor),
            format!("name one: `--component {}=VERSION`", part.component),
            &line.source,
        ));
        return Ok(None);
    };
    if let Some(choice) = line.components.get(&part.component)
        && !part.follows_kubernetes
        && !choice.allowed.contains(&version)
    {
        refusals.push(Refusal::new(
            "component-range",
            format!(
                "{} {version} is outside `{}`, what Kubernetes {} works with",
                part.component, choice.allowed, line.minor
            ),
            format!("choose `--component {}={}`", part.component, nearest(&component, choice, &version)),
            &choice.source,
        ));
        return Ok(None);
    }
    match artifacts::plan(&component, &version) {
        Ok(artifact) => Ok(Some(artifact)),
        Err(refusal) => {
            refusals.push(refusal);
            Ok(None)
        }
    }
}

/// The pinned version inside the allowed range that is nearest to the one asked for.
fn nearest(
    component: &Component,
    choice: &crate::model::kubernetes::ComponentChoice,
    asked: &Version,
) -> Version {
    let allowed =
        || component.pins.iter().filter(|pin| pin.usable() && choice.allowed.contains(&pin.version));
    let below = allowed().map(|pin| &pin.version).filter(|version| *version < asked).max();
    let above = allowed().map(|pin| &pin.version).filter(|version| *version > asked).min();
    above.or(below).unwrap_or(&choice.default).clone()
}

fn check_rules(
    catalog: &Catalog,
    situation: &Situation,
    refusals: &mut Vec<Refusal>,
) -> Result<(), ResolveError> {
    for rule in catalog.rules()?.refusals {
        let components = rule.components.iter().all(|(name, range)| {
            situation.components.get(name).is_some_and(|version| range.contains(version))
        });
        if situation.holds(&rule.when) && components {
            refusals.retain(|refusal| {
                let subject = refusal.reason.split(' ').next().unwrap_or_default();
                refusal.rule != "component-range" || !rule.components.contains_key(subject)
            });
            refusals.push(Refusal::new(&rule.id, rule.reason, rule.instead, &rule.source));
        }
    }
    Ok(())
}

fn choose_pause(
    line: &KubernetesLine,
    windows: &WindowsRelease,
    selection: &ImageDefinition,
    refusals: &mut Vec<Refusal>,
) -> String {
    let default = line.pause.windows.get(&windows.release).unwrap_or(&line.pause.default);
    let image = match selection.components.get("pause") {
        Some(version) => match default.rsplit_once(':') {
            Some((name, _)) => format!("{name}:{version}"),
            None => default.clone(),
        },
        None => default.clone(),
    };
    let tag = |image: &str| image.rsplit('/').next().unwrap_or(image).to_owned();
    if !windows.pause.iter().any(|known| tag(known) == tag(&image)) {
        refusals.push(Refusal::new(
            "pause-build",
            format!("{image} holds no image for Windows {} (build {})", windows.release, windows.build),
            match windows.pause.first() {
                Some(first) => format!(
                    "choose `--component pause={}` or newer, or another Windows release",
                    first.rsplit(':').next().unwrap_or(first)
                ),
                None => "choose another Windows release".to_owned(),
            },
            &windows.source,
        ));
    }
    image
}

fn check_image(image: &str, refusals: &mut Vec<Refusal>) {
    let pinned = image.rsplit_once("@sha256:").is_some_and(|(name, digest)| {
        !name.is_empty()
            && digest.len() == 64
            && digest.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase())
    });
    if !pinned || image.contains(char::is_whitespace) {
        refusals.push(Refusal::new(
            "image-digest",
            format!("the image `{image}` is not pinned by its digest"),
            "write it as `registry/name:tag@sha256:<64 digits>`".to_owned(),
            "images follow tags, digests do not move",
        ));
    }
}

fn choose_packer(
    target: &Target,
    packer: &Version,
    selection: &ImageDefinition,
    refusals: &mut Vec<Refusal>,
) -> PlannedPacker {
    let choice = selection.packer.clone().unwrap_or_default();
    for name in choice.plugins.keys().filter(|name| **name != target.plugin.name) {
        refusals.push(Refusal::new(
            "packer-plugin",
            format!("target {} does not use the Packer plugin {name}", target.name),
            format!("name `{}`, or leave it out", target.plugin.name),
            "the target's descriptor",
        ));
    }
    PlannedPacker {
        version: choice.version.unwrap_or_else(|| packer.clone()),
        plugins: vec![PlannedPlugin {
            name: target.plugin.name.clone(),
            source: target.plugin.address.clone(),
            version: choice.plugins.get(&target.plugin.name).unwrap_or(&target.plugin.version).clone(),
        }],
    }
}

/// The update revision that the chosen features need; a source image that is older is refused.
fn minimum_revision(
    windows: &WindowsRelease,
    situation: &Situation,
    variables: &BTreeMap<String, serde_json::Value>,
    refusals: &mut Vec<Refusal>,
) -> u32 {
    let needed = |need: &str| match need {
        "overlay" => situation.cni.is_overlay(),
        "images" => true,
        _ => false,
    };
    let Some(update) = windows
        .minimum_updates
        .iter()
        .filter(|update| needed(&update.need) && update.revision.is_some())
        .max_by_key(|update| update.revision)
    else {
        return 0;
    };
    let revision = update.revision.unwrap_or(0);
    let image = variables.get("image_version").and_then(serde_json::Value::as_str);
    // Marketplace versions are `<build>.<revision>.<date>`.
    let given = image.and_then(|version| version.split('.').nth(1)?.parse::<u32>().ok());
    if let (Some(given), Some(image)) = (given, image)
        && given < revision
    {
        refusals.push(Refusal::new(
            "minimum-update",
            format!(
                "source image {image} is Windows {}.{given}, and {} needs {}.{revision}{}",
                windows.build,
                if update.need == "overlay" { format!("CNI {}", situation.cni) } else { update.need.clone() },
                windows.build,
                update.kb.as_ref().map(|kb| format!(" ({kb})")).unwrap_or_default()
            ),
            "choose a newer `image_version`, or `latest`".to_owned(),
            &update.source,
        ));
    }
    revision
}

fn unpinned_warnings(groups: &[PlannedGroup]) -> Vec<Warning> {
    groups
        .iter()
        .flat_map(|group| &group.artifacts)
        .filter(|artifact| !artifact.is_pinned())
        .map(|artifact| Warning {
            id: "unpinned".to_owned(),
            subject: artifact.component.clone(),
            message: match artifact.checksums.first() {
                Some(checksum) => format!(
                    "{} {} is unpinned: only the publisher's checksum file is known ({}); a bake refuses it",
                    artifact.component, artifact.version, checksum.url
                ),
                None => format!(
                    "{} {} is unpinned: its publisher offers no proof at all; a bake refuses it",
                    artifact.component, artifact.version
                ),
            },
        })
        .collect()
}

/// SHA-256 over all entries of the catalog that the plan was made from.
fn inputs_digest(
    catalog: &Catalog,
    target: &Target,
    line: &KubernetesLine,
    windows: &WindowsRelease,
    groups: &[PlannedGroup],
) -> Result<String, CatalogError> {
    let mut text = json::pretty(target) + &json::pretty(line) + &json::pretty(windows);
    text += &json::pretty(&catalog.flags()?);
    text += &json::pretty(&catalog.rules()?);
    text += &json::pretty(&catalog.contents()?);
    for group in groups {
        text += &json::pretty(group);
    }
    Ok(sha256(text.as_bytes()))
}
