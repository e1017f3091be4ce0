//! Which components the image holds, in which version: the groups of `manifests/contents.json`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::base::code::Code;
use crate::base::value::ComponentName;
use crate::base::version::Version;
use crate::diagnostic::{Finding, Result};
use crate::model::component::Component;
use crate::model::definition::ImageDefinition;
use crate::model::kubernetes::ComponentChoice;
use crate::model::overrides::is_prefix;
use crate::model::plan::{PlannedArtifact, PlannedGroup, Warning};
use crate::model::pod_network::PodNetwork;
use crate::model::rules::{Group, GroupMember};

use super::{ChosenPlatform, Resolver, artifacts, overrides};

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

/// One choice of groups on its way.
struct GroupChooser<'a, 'r> {
    resolver: &'a mut Resolver<'r>,
    platform: &'a ChosenPlatform,
}

/// Chooses the groups whose conditions hold, and refuses versions and overrides that nothing uses.
pub(super) fn choose_groups(
    resolver: &mut Resolver<'_>,
    platform: &ChosenPlatform,
) -> Result<Vec<PlannedGroup>> {
    let Resolver {
        catalog, selection, ..
    } = *resolver;
    let contents = catalog.load_contents()?;
    let own = list_own_contents(resolver, &platform.network, &contents.groups)?;
    let mut used = BTreeSet::new();
    let mut groups: Vec<PlannedGroup> = Vec::new();

    overrides::check_overrides(&selection.overrides, &mut resolver.refusals);
    let mut chooser = GroupChooser { resolver, platform };
    for group in contents.groups.iter().chain(&own) {
        if !chooser.is_wanted(group) {
            continue;
        }
        used.extend(list_parts(group).map(|part| part.component.to_string()));
        groups.extend(chooser.choose_group(group)?);
    }

    refuse_unused_overrides(resolver, &groups)?;
    refuse_unused_components(resolver, &used)?;
    Ok(groups)
}

fn list_parts(group: &Group) -> impl Iterator<Item = &GroupMember> {
    group.alternatives.iter().flatten()
}

fn refuse_unused_overrides(resolver: &mut Resolver<'_>, groups: &[PlannedGroup]) -> Result<()> {
    let artifacts = groups.iter().flat_map(|group| &group.artifacts);
    let planned: BTreeSet<&str> = artifacts
        .map(|artifact| artifact.component.as_str())
        .collect();

    for name in resolver.selection.overrides.keys() {
        let is_elsewhere = is_prefix(name) || overrides::is_script(name) || is_tool(name);
        if is_elsewhere || planned.contains(name.as_str()) {
            continue;
        }
        resolver.catalog.load_component(name)?;
        let message =
            format!("an override names the component {name}, which this image does not use");
        let remedy = format!(
            "remove the override, or select what needs the component (`imagegen explain {name}`)"
        );
        let finding = Finding::new(Code::OVERRIDE_UNUSED, message, remedy).with_subject(name);
        resolver
            .refusals
            .push(finding.with_source("manifests/contents.json"));
    }
    Ok(())
}

fn refuse_unused_components(resolver: &mut Resolver<'_>, used: &BTreeSet<String>) -> Result<()> {
    for name in resolver.selection.components.keys() {
        if used.contains(name) || name == "pause" {
            continue;
        }
        // Unknown names are the catalog's error, with its suggestion.
        resolver.catalog.load_component(name)?;
        let message = format!("this image does not use the component {name}");
        let remedy = format!(
            "remove `--component {name}=…`, or select what needs the component (`imagegen explain {name}`)"
        );
        let finding = Finding::new(Code::COMPONENT_UNUSED, message, remedy).with_subject(name);
        resolver
            .refusals
            .push(finding.with_source("manifests/contents.json"));
    }
    Ok(())
}

/// Packer and its plugins are no part of the image.
pub(super) fn is_tool(name: &str) -> bool {
    name.starts_with("packer")
}

/// Groups of components that are in no group of the catalog, and that the network or the user names.
fn list_own_contents(
    resolver: &Resolver<'_>,
    network: &PodNetwork,
    groups: &[Group],
) -> Result<Vec<Group>> {
    let mut own: Vec<Group> = Vec::new();
    let of_network = network.components.iter().map(ComponentName::as_str);
    let of_user = resolver.selection.components.keys().map(String::as_str);
    for name in of_network.chain(of_user) {
        let is_known = groups.iter().chain(&own).any(|group| {
            group.name == name || list_parts(group).any(|part| part.component == name)
        });
        if name == "pause" || is_known {
            continue;
        }
        let component = resolver.catalog.load_component(name)?;
        let contents = component.definition.contents.as_ref();
        own.extend(contents.map(|own| Group::of_component(&component.definition.name, own)));
    }
    Ok(own)
}

/// An alternative of a group. The one with most overrides counts, then the one with fewest unpinned.
struct Alternative {
    artifacts: Vec<PlannedArtifact>,
    warnings: Vec<Warning>,
    rank: (Reverse<usize>, usize),
}

/// Warnings and refusals of the parts of an alternative.
#[derive(Default)]
struct Found {
    warnings: Vec<Warning>,
    refusals: Vec<Finding>,
}

impl GroupChooser<'_, '_> {
    /// Whether the group belongs to this image.
    fn is_wanted(&self, group: &Group) -> bool {
        let ChosenPlatform {
            conditions,
            network,
            ..
        } = self.platform;
        let asked = &self.resolver.selection.components;

        if !conditions.holds(&group.when) {
            return false;
        }
        if group.by_network && !network.components.contains(&group.name) {
            return false;
        }
        !group.on_request
            || list_parts(group).any(|part| asked.contains_key(part.component.as_str()))
    }

    fn choose_group(&mut self, group: &Group) -> Result<Option<PlannedGroup>> {
        let mut best: Option<Alternative> = None;
        let mut refused = Vec::new();
        for parts in &group.alternatives {
            let mut found = Found::default();
            let planned = self.plan_parts(parts, &mut found)?;
            // A version that is named is meant, although another layout does without it.
            if found
                .refusals
                .iter()
                .any(|finding| finding.code == Code::COMPONENT_FOLLOWS)
            {
                self.resolver.refusals.append(&mut found.refusals);
                return Ok(None);
            }
            let Some(artifacts) = planned.filter(|_| found.refusals.is_empty()) else {
                refused.append(&mut found.refusals);
                continue;
            };
            let rank = self.rank_artifacts(&artifacts);
            if best.as_ref().is_none_or(|best| rank < best.rank) {
                best = Some(Alternative {
                    artifacts,
                    warnings: found.warnings,
                    rank,
                });
            }
        }

        let Some(best) = best else {
            self.resolver.refusals.append(&mut refused);
            return Ok(None);
        };
        self.resolver.warnings.extend(best.warnings);
        self.describe_group(group, best.artifacts)
    }

    /// The artifacts of an alternative; `None` when a part has no artifact.
    fn plan_parts(
        &self,
        parts: &[GroupMember],
        found: &mut Found,
    ) -> Result<Option<Vec<PlannedArtifact>>> {
        let mut artifacts = Vec::new();
        for part in parts {
            if !self.platform.conditions.holds(&part.when) {
                continue;
            }
            let Some(artifact) = self.plan_part(part, found)? else {
                return Ok(None);
            };
            artifacts.push(artifact);
        }
        Ok(Some(artifacts))
    }

    /// Most overridden first, then fewest without a pin.
    fn rank_artifacts(&self, artifacts: &[PlannedArtifact]) -> (Reverse<usize>, usize) {
        let overrides = &self.resolver.selection.overrides;
        let mut overridden = 0;
        let mut unpinned = 0;
        for artifact in artifacts {
            if overrides.contains_key(artifact.component.as_str()) {
                overridden += 1;
            }
            if !artifact.is_pinned() {
                unpinned += 1;
            }
        }
        (Reverse(overridden), unpinned)
    }

    /// The group with its version, reason and source.
    fn describe_group(
        &self,
        group: &Group,
        artifacts: Vec<PlannedArtifact>,
    ) -> Result<Option<PlannedGroup>> {
        let Resolver {
            catalog,
            selection,
            world,
            ..
        } = *self.resolver;
        let Some(first) = artifacts.first() else {
            return Ok(None);
        };
        let version = first.version.clone();
        let is_component = list_parts(group).any(|part| part.component == group.name);
        let component = if is_component {
            Some(catalog.load_component(&group.name)?)
        } else {
            None
        };
        let choice = component
            .as_ref()
            .and_then(|component| component.find_choice(self.platform.line.minor));
        let is_update = world.updated.get(group.name.as_str()) == Some(&version);

        let reason = match choice {
            _ if selection.components.contains_key(group.name.as_str()) => {
                format!("{}; version set by the selection", group.reason)
            }
            Some(choice) if is_update && version != choice.default => {
                format!("{}; updated from {}", group.reason, choice.default)
            }
            Some(choice) => format!("{}; {}", group.reason, choice.reason),
            None => group.reason.clone(),
        };
        Ok(Some(PlannedGroup {
            name: group.name.to_string(),
            version,
            reason,
            source: choice.map_or_else(|| group.source.clone(), |choice| choice.source.clone()),
            artifacts,
        }))
    }

    fn plan_part(&self, part: &GroupMember, found: &mut Found) -> Result<Option<PlannedArtifact>> {
        let Resolver {
            catalog, selection, ..
        } = *self.resolver;
        let component = catalog.load_component(&part.component)?;
        match self.choose_version(part, &component) {
            Ok(version) => {
                match artifacts::plan_artifact(&component, &version, &selection.overrides) {
                    Ok((artifact, warnings)) => {
                        found.warnings.extend(warnings);
                        return Ok(Some(artifact));
                    }
                    Err(refusal) => found.refusals.push(refusal),
                }
            }
            Err(refusal) => found.refusals.push(*refusal),
        }
        Ok(None)
    }

    fn choose_version(
        &self,
        part: &GroupMember,
        component: &Component,
    ) -> Result<Version, Box<Finding>> {
        let Resolver {
            selection, world, ..
        } = *self.resolver;
        let ChosenPlatform {
            line, kubernetes, ..
        } = self.platform;
        let name = &part.component;
        if part.follows_kubernetes {
            let asked = selection.components.get(name.as_str());
            return match asked.filter(|asked| *asked != kubernetes) {
                Some(asked) => Err(refuse_other_release(component, asked, kubernetes).into()),
                None => Ok(kubernetes.clone()),
            };
        }

        let choice = component.find_choice(line.minor);
        let Some(version) = component_version(choice, name, selection, &world.updated) else {
            let message = format!(
                "the catalog has no version of {name} for Kubernetes {}",
                line.minor
            );
            let remedy = format!("add `--component {name}=VERSION`");
            let finding =
                Finding::new(Code::NO_DEFAULT_VERSION, message, remedy).with_subject(name);
            return Err(finding.with_source(&line.source).into());
        };
        if let Some(choice) = choice
            && !choice.allowed.contains(&version)
        {
            let message = format!(
                "{name} {version} is outside `{}`, the range for Kubernetes {}",
                choice.allowed, line.minor
            );
            let nearest = find_nearest_version(component, choice, &version);
            let remedy = format!("choose `--component {name}={nearest}`");
            let finding = Finding::new(Code::COMPONENT_RANGE, message, remedy).with_subject(name);
            return Err(finding.with_source(&choice.source).into());
        }
        Ok(version)
    }
}

fn refuse_other_release(component: &Component, asked: &Version, kubernetes: &Version) -> Finding {
    let name = &component.definition.name;
    Finding::new(
        Code::COMPONENT_FOLLOWS,
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
    let (mut below, mut above) = (None, None);
    for pin in component.pins.list() {
        if !pin.is_usable() || !choice.allowed.contains(&pin.version) {
            continue;
        }
        let version = pin.version;
        if version < *asked {
            below = below.max(Some(version));
        } else if version > *asked && above.as_ref().is_none_or(|nearest| version < *nearest) {
            above = Some(version);
        }
    }
    above.or(below).unwrap_or_else(|| choice.default.clone())
}
