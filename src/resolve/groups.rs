//! Which components the image holds, in which version: the groups of `manifests/contents.json`.

use std::collections::BTreeSet;

use crate::catalog::Catalog;
use crate::model::component::Component;
use crate::model::kubernetes::{ComponentChoice, KubernetesLine};
use crate::model::plan::{PlannedArtifact, PlannedGroup};
use crate::model::rules::{Group, Part};
use crate::model::selection::ImageDefinition;
use crate::model::situation::Situation;
use crate::model::version::Version;

use super::artifacts;
use super::refusal::{Refusal, ResolveError};

/// The version of a component that the user or the line wants.
pub(super) fn component_version(
    line: &KubernetesLine,
    name: &str,
    selection: &ImageDefinition,
) -> Option<Version> {
    selection
        .components
        .get(name)
        .or_else(|| line.components.get(name).map(|choice| &choice.default))
        .cloned()
}

pub(super) fn choose(
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
        if let Some(planned) = choose_one(catalog, line, situation, selection, group, refusals)? {
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

fn choose_one(
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
fn nearest(component: &Component, choice: &ComponentChoice, asked: &Version) -> Version {
    let allowed =
        || component.pins.iter().filter(|pin| pin.usable() && choice.allowed.contains(&pin.version));
    let below = allowed().map(|pin| &pin.version).filter(|version| *version < asked).max();
    let above = allowed().map(|pin| &pin.version).filter(|version| *version > asked).min();
    above.or(below).unwrap_or(&choice.default).clone()
}
