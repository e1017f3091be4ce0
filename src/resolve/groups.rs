//! Which components the image holds, in which version: the groups of `manifests/contents.json`.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::value::ComponentName;
use crate::base::version::Version;
use crate::catalog::Catalog;
use crate::diagnostic::{Finding, Result};
use crate::model::component::Component;
use crate::model::definition::ImageDefinition;
use crate::model::kubernetes::{ComponentChoice, KubernetesLine};
use crate::model::overrides::is_prefix;
use crate::model::plan::{PlannedArtifact, PlannedGroup, Warning};
use crate::model::pod_network::PodNetwork;
use crate::model::rules::{Group, GroupMember};
use crate::model::situation::Conditions;

use super::{artifacts, overrides};

/// The version of a component that the user or the line wants. An update counts where it is newer
/// than the line's own choice, and within what the line works with.
pub(super) fn component_version(
    choice: Option<&ComponentChoice>,
    name: &str,
    selection: &ImageDefinition,
    updated: &BTreeMap<String, Version>,
) -> Option<Version> {
    let newer = updated.get(name).filter(|version| {
        choice.is_none_or(|choice| **version > choice.default && choice.allowed.contains(version))
    });
    selection
        .components
        .get(name)
        .or(newer)
        .or_else(|| choice.map(|choice| &choice.default))
        .cloned()
}

/// What groups are chosen by.
#[derive(Clone, Copy)]
pub(super) struct GroupInputs<'a> {
    pub catalog: &'a Catalog,
    pub line: &'a KubernetesLine,
    pub situation: &'a Conditions,
    pub network: &'a PodNetwork,
    pub selection: &'a ImageDefinition,
    pub updated: &'a BTreeMap<String, Version>,
}

pub(super) fn choose_groups(
    inputs: GroupInputs<'_>,
    warnings: &mut Vec<Warning>,
    refusals: &mut Vec<Finding>,
) -> Result<Vec<PlannedGroup>> {
    let GroupInputs {
        catalog,
        situation,
        network,
        selection,
        ..
    } = inputs;
    let contents = catalog.load_contents()?;
    let own = list_own_contents(inputs, &contents.groups)?;
    let mut used = BTreeSet::new();
    let mut groups: Vec<PlannedGroup> = Vec::new();
    overrides::check_overrides(&selection.overrides, refusals);
    for group in contents.groups.iter().chain(&own) {
        let named = || {
            group
                .alternatives
                .iter()
                .flatten()
                .any(|part| selection.components.contains_key(part.component.as_str()))
        };
        if !situation.holds(&group.when)
            || (group.by_network && !network.components.contains(&group.name))
        {
            continue;
        }
        if group.on_request && !named() {
            warnings.extend(warn_of_lack(group));
            continue;
        }
        used.extend(
            group
                .alternatives
                .iter()
                .flatten()
                .map(|part| part.component.clone()),
        );
        if let Some(planned) = choose_group(inputs, group, warnings, refusals)? {
            groups.push(planned);
        }
    }
    let planned = |name: &String| {
        groups
            .iter()
            .flat_map(|group| &group.artifacts)
            .any(|artifact| artifact.component == name.as_str())
    };
    let elsewhere = |key: &str| is_prefix(key) || overrides::is_script(key) || is_tool(key);
    let unused = |key: &&String| !elsewhere(key) && !planned(key);
    for name in selection.overrides.keys().filter(unused) {
        catalog.load_component(name)?;
        let message =
            format!("an override names the component {name}, which this image does not use");
        let remedy = format!(
            "remove the override, or select what needs the component (`imagegen explain {name}`)"
        );
        let finding = Finding::new("override-unused", message, remedy).with_subject(name);
        refusals.push(finding.with_source("manifests/contents.json"));
    }
    for name in selection
        .components
        .keys()
        .filter(|name| !used.contains(name.as_str()) && *name != "pause")
    {
        // Unknown names are the catalog's error, with its suggestion.
        catalog.load_component(name)?;
        let message = format!("this image does not use the component {name}");
        let finding = Finding::new("component-unused", message, format!(
                    "remove `--component {name}=…`, or select what needs the component (`imagegen explain {name}`)"
                )).with_subject(name);
        refusals.push(finding.with_source("manifests/contents.json"));
    }
    Ok(groups)
}

/// Packer and its plugins are no part of the image.
pub(super) fn is_tool(name: &str) -> bool {
    name.starts_with("packer")
}

fn warn_of_lack(group: &Group) -> Option<Warning> {
    let message = group.lacking.clone()?;
    Some(Warning::new("lacking", group.name.to_string(), message))
}

/// Groups of components that are in no group of the catalog, and that the network or the user names.
fn list_own_contents(inputs: GroupInputs<'_>, groups: &[Group]) -> Result<Vec<Group>> {
    let mut own: Vec<Group> = Vec::new();
    let of_network = inputs.network.components.iter().map(ComponentName::as_str);
    for name in of_network.chain(inputs.selection.components.keys().map(String::as_str)) {
        let is_in = |group: &Group| {
            group.name == name
                || group
                    .alternatives
                    .iter()
                    .flatten()
                    .any(|part| part.component == name)
        };
        if name == "pause" || groups.iter().chain(&own).any(is_in) {
            continue;
        }
        let component = inputs.catalog.load_component(name)?;
        own.extend(
            component
                .contents
                .as_ref()
                .map(|own| Group::of_component(&component.name, own)),
        );
    }
    Ok(own)
}

/// An alternative of a group. The one with most overrides counts, then the one with fewest unpinned.
struct Alternative {
    artifacts: Vec<PlannedArtifact>,
    warnings: Vec<Warning>,
    rank: (std::cmp::Reverse<usize>, usize),
}

fn choose_group(
    inputs: GroupInputs<'_>,
    group: &Group,
    warnings: &mut Vec<Warning>,
    refusals: &mut Vec<Finding>,
) -> Result<Option<PlannedGroup>> {
    let GroupInputs {
        catalog,
        line,
        situation,
        selection,
        updated,
        ..
    } = inputs;
    let mut best: Option<Alternative> = None;
    let mut refused = Vec::new();
    for parts in &group.alternatives {
        let mut found = Vec::new();
        let mut said = Vec::new();
        let planned = parts
            .iter()
            .filter(|part| situation.holds(&part.when))
            .map(|part| plan_part(inputs, part, &mut said, &mut found))
            .collect::<Result<Option<Vec<_>>>>()?;
        match planned {
            Some(artifacts) if found.is_empty() => {
                let overridden = |artifact: &&PlannedArtifact| {
                    selection
                        .overrides
                        .contains_key(artifact.component.as_str())
                };
                // Nobody can have pinned what an update found: that is no reason to take another layout.
                let unpinned = |artifact: &&PlannedArtifact| {
                    !artifact.is_pinned()
                        && !updated.values().any(|version| *version == artifact.version)
                };
                let rank = (
                    std::cmp::Reverse(artifacts.iter().filter(overridden).count()),
                    artifacts.iter().filter(unpinned).count(),
                );
                if best.as_ref().is_none_or(|best| rank < best.rank) {
                    best = Some(Alternative {
                        artifacts,
                        warnings: said,
                        rank,
                    });
                }
            }
            // A version that is named is meant, although another layout does without it.
            _ if found
                .iter()
                .any(|finding| finding.code == "component-follows") =>
            {
                refusals.append(&mut found);
                return Ok(None);
            }
            _ => refused.append(&mut found),
        }
    }
    let Some(Alternative {
        artifacts,
        warnings: said,
        ..
    }) = best
    else {
        refusals.append(&mut refused);
        return Ok(None);
    };
    warnings.extend(said);
    let is_component = group
        .alternatives
        .iter()
        .flatten()
        .any(|part| part.component == group.name);
    let component = is_component
        .then(|| catalog.load_component(&group.name))
        .transpose()?;
    let choice = component
        .as_ref()
        .and_then(|component| component.find_choice(line.minor));
    let chosen = selection.components.contains_key(group.name.as_str());
    Ok(artifacts.first().map(|first| PlannedGroup {
        name: group.name.to_string(),
        version: first.version.clone(),
        reason: match choice {
            _ if chosen => format!("{}; version set by the selection", group.reason),
            Some(choice)
                if updated.get(group.name.as_str()) == Some(&first.version)
                    && first.version != choice.default =>
            {
                format!("{}; updated from {}", group.reason, choice.default)
            }
            Some(choice) => format!("{}; {}", group.reason, choice.reason),
            None => group.reason.clone(),
        },
        source: choice.map_or_else(|| group.source.clone(), |choice| choice.source.clone()),
        artifacts: artifacts.clone(),
    }))
}

fn plan_part(
    inputs: GroupInputs<'_>,
    part: &GroupMember,
    warnings: &mut Vec<Warning>,
    refusals: &mut Vec<Finding>,
) -> Result<Option<PlannedArtifact>> {
    let GroupInputs {
        catalog,
        line,
        situation,
        selection,
        updated,
        ..
    } = inputs;
    let component = catalog.load_component(&part.component)?;
    let choice = component.find_choice(line.minor);
    let asked = selection.components.get(part.component.as_str());
    if let Some(asked) =
        asked.filter(|asked| part.follows_kubernetes && **asked != situation.kubernetes)
    {
        refusals.push(refuse_other_release(
            &component,
            asked,
            &situation.kubernetes,
        ));
        return Ok(None);
    }
    let version = if part.follows_kubernetes {
        Some(situation.kubernetes.clone())
    } else {
        component_version(choice, &part.component, selection, updated)
    };
    let Some(version) = version else {
        let message = format!(
            "the catalog has no version of {} for Kubernetes {}",
            part.component, line.minor
        );
        let remedy = format!("add `--component {}=VERSION`", part.component);
        let finding =
            Finding::new("no-default-version", message, remedy).with_subject(&part.component);
        refusals.push(finding.with_source(&line.source));
        return Ok(None);
    };
    if let Some(choice) = choice
        && !part.follows_kubernetes
        && !choice.allowed.contains(&version)
    {
        let message = format!(
            "{} {version} is outside `{}`, the range for Kubernetes {}",
            part.component, choice.allowed, line.minor
        );
        let remedy = format!(
            "choose `--component {}={}`",
            part.component,
            find_nearest_version(&component, choice, &version)
        );
        let finding =
            Finding::new("component-range", message, remedy).with_subject(&part.component);
        refusals.push(finding.with_source(&choice.source));
        return Ok(None);
    }
    match artifacts::plan_artifact(&component, &version, &selection.overrides) {
        Ok((artifact, said)) => {
            warnings.extend(said);
            Ok(Some(artifact))
        }
        Err(refusal) => {
            refusals.push(refusal);
            Ok(None)
        }
    }
}

fn refuse_other_release(component: &Component, asked: &Version, kubernetes: &Version) -> Finding {
    let name = &component.name;
    Finding::new(
        "component-follows",
        format!(
            "{name} {asked} is not of the Kubernetes release {kubernetes}, which it belongs to"
        ),
        format!("choose `--k8s {asked}`, or remove `--component {name}=…`"),
    )
    .with_subject(name)
    .with_source("manifests/contents.json")
}

/// The pinned version inside the allowed range that is closest to the requested version.
fn find_nearest_version(
    component: &Component,
    choice: &ComponentChoice,
    asked: &Version,
) -> Version {
    let allowed = || {
        component
            .pins
            .iter()
            .filter(|pin| pin.is_usable() && choice.allowed.contains(&pin.version))
    };
    let below = allowed()
        .map(|pin| &pin.version)
        .filter(|version| *version < asked)
        .max();
    let above = allowed()
        .map(|pin| &pin.version)
        .filter(|version| *version > asked)
        .min();
    above.or(below).unwrap_or(&choice.default).clone()
}
