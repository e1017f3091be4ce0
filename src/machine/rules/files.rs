//! Paths that something relies on and no resource creates.

use crate::base::code::Code;
use crate::windows::paths;
use crate::windows::resource::{EnvironmentVariable, File, PathEntry, Service, Symlink};

use super::super::state::ResourceOrigin;
use super::{Context, DECLARE};

/// Name of the file that the node's scripts read: one fact a line, `key=value`.
const NODE_FACTS: &str = "node.conf";
const KUBELET: &str = "kubelet";

/// The engine makes directories above a `directory` and above its own downloads only.
pub(super) fn check_parent_directories(context: &Context<'_>) {
    for act in context.acts {
        let name = act.identity.name();
        if !act.identity.is_path() || act.is_absent() || act.effect.creates_parents {
            continue;
        }
        let Some(parent) = paths::parent_path(name) else {
            continue;
        };
        if !context.history.exists_before(&parent, act.index) {
            let message = format!("puts {name} into {parent}, which does not exist at that point");
            let remedy =
                "add a `directory` resource for it before this one, with its access control";
            context.add_problem(
                Code::PARENT_DIRECTORY_MISSING,
                act.resource,
                message,
                remedy,
            );
        }
    }
}

pub(super) fn check_path_entries(context: &Context<'_>) {
    for (it, origin) in context.machine.resources_of::<PathEntry>() {
        if context.is_on_path(&it.entry) && !context.exists(&it.entry) {
            let message = format!(
                "puts {} on the PATH, but the directory does not exist",
                it.entry
            );
            let remedy = "create the directory, or remove the entry";
            context.add_problem(Code::PATH_ENTRY_WITHOUT_DIRECTORY, origin, message, remedy);
        }
    }
}

pub(super) fn check_environment(context: &Context<'_>) {
    for variable in context.machine.present_resources::<EnvironmentVariable>() {
        let (name, value) = (&variable.it.variable, &variable.settings.value);
        check_variable(context, (name, value), variable.origin);
    }
    for service in context.machine.present_resources::<Service>() {
        for pair in service.settings.environment.iter().flatten() {
            if let Some(variable) = pair.split_once('=') {
                check_variable(context, variable, service.origin);
            }
        }
    }
}

fn check_variable(context: &Context<'_>, (name, value): (&str, &str), origin: &ResourceOrigin) {
    let is_file = paths::find_fault(value).is_none() && paths::has_extension(value);
    if is_file && !context.exists(value) && !context.is_created_later(value) {
        let message = format!("sets {name} to {value}, which no resource creates");
        context.add_problem(
            Code::ENVIRONMENT_NAMES_MISSING_FILE,
            origin,
            message,
            DECLARE,
        );
    }
}

pub(super) fn check_link_targets(context: &Context<'_>) {
    for link in context.machine.present_resources::<Symlink>() {
        let target = &link.settings.target;
        if !context.exists(target) && !context.is_created_later(target) {
            let message = format!(
                "links {} to {target}, which no resource creates",
                link.it.path
            );
            let remedy = "add a `directory` resource for the target";
            context.add_problem(Code::LINK_TARGET_MISSING, link.origin, message, remedy);
        }
    }
}

/// Programs that the engine itself runs must be there when it runs them.
pub(super) fn check_tools(context: &Context<'_>) {
    for (index, resource) in context.resources.iter().enumerate() {
        let program = resource.kind.properties().program();
        let Some(program) = program.filter(|program| paths::is_absolute(program)) else {
            continue;
        };
        if !context.history.exists_before(program, index) {
            let message = format!("runs {program}, which does not exist at that point");
            let remedy = "put the program on the machine in an earlier resource";
            context.add_problem(Code::TOOL_MISSING, resource, message, remedy);
        }
    }
}

/// The scripts of the node take these paths as they stand, mostly after the node has joined. Without a kubelet nothing
/// joins, and no script comes so far.
pub(super) fn check_node_facts(context: &Context<'_>) {
    let mut services = context.machine.present_resources::<Service>();
    if !services.any(|service| *service.it.service_name == *KUBELET) {
        return;
    }
    for file in context.machine.present_resources::<File>() {
        if !paths::file_name(&file.it.path).eq_ignore_ascii_case(NODE_FACTS) {
            continue;
        }
        for (key, path) in list_fact_paths(&file.settings.content) {
            if context.exists(path) || context.is_created_later(path) {
                continue;
            }
            let message =
                format!("`{key}` of {NODE_FACTS} names {path}, which no resource creates");
            context.add_problem(Code::FACT_PATH_MISSING, file.origin, message, DECLARE);
        }
    }
}

/// Key and value of each fact that is a path.
fn list_fact_paths(content: &str) -> impl Iterator<Item = (&str, &str)> {
    let facts = content.lines().filter_map(|line| line.split_once('='));
    facts.filter(|(_, value)| paths::is_absolute(value))
}
