//! Paths that something relies on and nobody made.

use crate::model::resource::{Ensure, Resource, ResourceKind};

use super::super::paths;
use super::super::problem::Rule;
use super::{Context, Problems};

/// The engine makes directories above a `directory` and above its own downloads only.
pub(super) fn parent_directories(context: &Context<'_>, problems: &mut Problems<'_>) {
    for (index, resource) in context.resources.iter().enumerate() {
        for path in placed(resource) {
            let path = paths::normal(path);
            let Some(parent) = paths::parent(&path) else { continue };
            if !context.history.is_there_before(&parent, index) {
                problems.add(
                    Rule::ParentDirectoryMissing,
                    resource,
                    format!("puts {path} into {parent}, which is not there by then"),
                    "add a `directory` resource for it before this one, with its access control",
                );
            }
        }
    }
}

/// Files and links that a resource puts into a directory which must be there.
fn placed(resource: &Resource) -> Vec<&str> {
    match &resource.kind {
        ResourceKind::File(it) if it.ensure == Ensure::Present => vec![&it.path],
        ResourceKind::Symlink(it) if it.ensure == Ensure::Present => vec![&it.path],
        ResourceKind::Artifact(it) => vec![&it.path],
        ResourceKind::Archive(it) => it.members.iter().map(|member| member.path.as_str()).collect(),
        _ => Vec::new(),
    }
}

pub(super) fn path_entries(context: &Context<'_>, problems: &mut Problems<'_>) {
    for entry in &context.machine.path {
        if !context.exists(&entry.entry) {
            problems.add(
                Rule::PathEntryWithoutDirectory,
                &entry.origin,
                format!("puts {} on the PATH, but there is no such directory", entry.entry),
                "make the directory, or leave the entry out",
            );
        }
    }
}

pub(super) fn environment(context: &Context<'_>, problems: &mut Problems<'_>) {
    let machine_wide = context
        .machine
        .environment
        .iter()
        .map(|variable| (variable.name.as_str(), variable.value.as_str(), &variable.origin));
    let of_services = context.machine.services.iter().flat_map(|service| {
        let pairs = service.environment.iter().filter_map(|pair| pair.split_once('='));
        pairs.map(|(name, value)| (name, value, &service.origin))
    });
    for (name, value, origin) in machine_wide.chain(of_services) {
        let is_file = paths::fault(value).is_none() && paths::has_extension(value);
        if is_file && !context.exists(value) && !context.comes_later(value) {
            problems.add(
                Rule::EnvironmentNamesMissingFile,
                origin,
                format!("sets {name} to {value}, which nobody makes"),
                "make the file, or declare who creates it in provisioners/later.json",
            );
        }
    }
}

pub(super) fn link_targets(context: &Context<'_>, problems: &mut Problems<'_>) {
    for link in &context.machine.links {
        if !context.exists(&link.target) && !context.comes_later(&link.target) {
            problems.add(
                Rule::LinkTargetMissing,
                &link.origin,
                format!("links {} to {}, which nobody makes", link.path, link.target),
                "add a `directory` resource for the target",
            );
        }
    }
}

/// Programs that the engine itself runs must be there when it does.
pub(super) fn tools(context: &Context<'_>, problems: &mut Problems<'_>) {
    for (index, resource) in context.resources.iter().enumerate() {
        let program = match &resource.kind {
            ResourceKind::ContainerImage(it) => Some(it.program.as_str()),
            ResourceKind::Assertion(it) => it.program.as_deref(),
            ResourceKind::ScheduledTask(it) => it.program.as_deref(),
            _ => None,
        };
        let Some(program) = program.filter(|program| paths::is_absolute(program)) else { continue };
        if !context.history.is_there_before(program, index) {
            problems.add(
                Rule::ToolMissing,
                resource,
                format!("runs {program}, which is not there by then"),
                "put the program on the machine in an earlier resource",
            );
        }
    }
}
