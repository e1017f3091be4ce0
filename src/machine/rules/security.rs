//! Programs must lie where ordinary users cannot put others: services, the runtime and its
//! network plugins run with all rights.

use std::collections::BTreeSet;

use super::super::command::Command;
use super::super::inbox::{self, Children};
use super::super::problem::Rule;
use super::super::{fold, paths, sddl};
use super::{Context, Problems};

const EXECUTABLE: [&str; 7] = [".bat", ".cmd", ".dll", ".exe", ".ps1", ".psm1", ".sys"];
const REMEDY: &str = "give that directory a protected `sddl` that lets users read at most";

pub(super) fn programs(context: &Context<'_>, problems: &mut Problems<'_>) {
    let mut run = BTreeSet::new();
    for service in &context.machine.services {
        let behind = Command::of(service).map(|command| command.program);
        for program in service.program.as_deref().into_iter().chain(behind) {
            if run.insert(paths::key(program))
                && let Some(open) = open_place(context, program)
            {
                let name = &service.name;
                let message = format!("service `{name}` runs {program} as LocalSystem, but {}", told(&open));
                problems.add(Rule::InsecureProgram, &service.origin, message, REMEDY);
            }
        }
    }
    for file in &context.machine.files {
        let is_program = EXECUTABLE.iter().any(|suffix| file.path.to_lowercase().ends_with(suffix));
        if is_program
            && run.insert(paths::key(&file.path))
            && let Some(open) = open_place(context, &file.path)
        {
            let message = format!("puts the program {} there, but {}", file.path, told(&open));
            problems.add(Rule::InsecureProgram, &file.origin, message, REMEDY);
        }
    }
}

/// Whoever may write into a directory on the PATH decides what a name means.
pub(super) fn search_path(context: &Context<'_>, problems: &mut Problems<'_>) {
    for entry in &context.machine.path {
        let inside = format!(r"{}\x", entry.entry);
        if let Some(open) = open_place(context, &inside) {
            let message = format!("{} is on the PATH of all, but {}", entry.entry, told(&open));
            problems.add(Rule::InsecureProgram, &entry.origin, message, REMEDY);
        }
    }
}

fn told(open: &str) -> String {
    format!("ordinary users may change {open}")
}

/// The first place on the way to the file that ordinary users may change: who may rename a
/// directory above can put another in its place.
fn open_place(context: &Context<'_>, file: &str) -> Option<String> {
    let file = paths::normal(file);
    let mut way: Vec<String> = paths::ancestors(&file).collect();
    way.reverse();
    let mut inherited = Children::Open;
    for directory in way {
        let given = access(context, &directory, inherited);
        if let Some(children) = inbox::directory(&paths::key(&directory), context.expectations.target) {
            inherited = given.unwrap_or(children);
            continue;
        }
        inherited = given.unwrap_or(inherited);
        if inherited == Children::Open {
            return Some(directory);
        }
    }
    let known = context.machine.files.iter().find(|known| fold::same(&known.path, &file));
    let own = known.and_then(|known| known.sddl.as_deref());
    let open = own.map_or(inherited, |text| with_own(text, inherited)) == Children::Open;
    open.then_some(file)
}

/// What the plan says about the directory's access control, if anything.
fn access(context: &Context<'_>, path: &str, inherited: Children) -> Option<Children> {
    let known = context.machine.directories.iter().find(|known| fold::same(&known.path, path))?;
    known.sddl.as_deref().map(|text| with_own(text, inherited))
}

/// A descriptor that cannot be read is a problem of its own, and guards nothing.
fn with_own(text: &str, inherited: Children) -> Children {
    match sddl::parse(text) {
        Ok(access) if !access.open_to_users && (access.protected || inherited == Children::Guarded) => {
            Children::Guarded
        }
        _ => Children::Open,
    }
}
