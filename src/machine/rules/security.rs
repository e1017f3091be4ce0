//! Programs must lie where ordinary users cannot put others: services, the runtime and its
//! network plugins run with all rights.

use std::collections::BTreeSet;

use crate::base::code::Code;
use crate::windows::resource::{PathEntry, ResourceKind};
use crate::windows::{paths, sddl};

use super::super::inbox;
use super::Context;
use crate::windows::inbox::Children;

const EXECUTABLE: [&str; 7] = [".bat", ".cmd", ".dll", ".exe", ".ps1", ".psm1", ".sys"];
const REMEDY: &str = "give that directory a protected `sddl` that lets users read at most";

pub(super) fn check_programs(context: &Context<'_>) {
    let mut run = BTreeSet::new();
    for (service, command) in context.commands() {
        for program in command.programs() {
            if run.insert(paths::normalize_key(program))
                && let Some(open) = find_open_path(context, program)
            {
                let name = &service.it.service_name;
                let message = format!(
                    "service `{name}` runs {program} as LocalSystem, but ordinary users can change {open}"
                );
                context.add_problem(Code::INSECURE_PROGRAM, service.origin, message, REMEDY);
            }
        }
    }
    for file in context.machine.present_files() {
        let key = paths::normalize_key(file.path);
        if EXECUTABLE.iter().any(|suffix| key.ends_with(suffix))
            && run.insert(key)
            && let Some(open) = find_open_path(context, file.path)
        {
            let message = format!(
                "installs the program {}, but ordinary users can change {open}",
                file.path
            );
            context.add_problem(Code::INSECURE_PROGRAM, file.origin, message, REMEDY);
        }
    }
}

/// A user who may write into a directory on the PATH can replace programs that others run by name.
pub(super) fn check_search_path(context: &Context<'_>) {
    for (it, origin) in context
        .machine
        .resources_of::<PathEntry>()
        .filter(|(it, _)| context.is_on_path(&it.entry))
    {
        let inside = format!(r"{}\x", it.entry);
        if let Some(open) = find_open_path(context, &inside) {
            let message = format!(
                "{} is on the PATH, but ordinary users can change {open}",
                it.entry
            );
            context.add_problem(Code::INSECURE_PROGRAM, origin, message, REMEDY);
        }
    }
}

/// The first path on the way to the file that ordinary users may change: a user who may rename a
/// directory above can put another in its place.
fn find_open_path(context: &Context<'_>, file: &str) -> Option<String> {
    let file = paths::normalize_path(file);
    let mut directories: Vec<String> = paths::list_ancestors(&file).collect();
    directories.reverse();
    let mut inherited = Children::Open;
    for directory in directories {
        let given = find_access(context, &directory, inherited);
        if let Some(children) = inbox::find_directory(
            &paths::normalize_key(&directory),
            context.expectations.platform,
        ) {
            inherited = given.unwrap_or(children);
            continue;
        }
        inherited = given.unwrap_or(inherited);
        if inherited == Children::Open {
            return Some(directory);
        }
    }
    let open = find_access(context, &file, inherited).unwrap_or(inherited) == Children::Open;
    open.then_some(file)
}

/// Access control of a path by the plan, if it sets any.
fn find_access(context: &Context<'_>, path: &str, inherited: Children) -> Option<Children> {
    let (text, object) = context
        .machine
        .find_at_path(path)
        .map(ResourceKind::properties)?
        .descriptor()?;
    // A descriptor that cannot be parsed is a problem of its own, and guards nothing.
    Some(match sddl::parse_sddl(text, object) {
        Ok(access)
            if !access.open_to_users && (access.protected || inherited == Children::Guarded) =>
        {
            Children::Guarded
        }
        _ => Children::Open,
    })
}
