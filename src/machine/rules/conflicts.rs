//! Two resources that demand different things of one.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::model::resource::{DirectoryState, Effect, Identity, Resource, ResourceKind, Scope};

use super::super::rule::Rule;
use super::{Context, Problems};

pub(super) fn check_resource_names(context: &Context<'_>, problems: &mut Problems<'_>) {
    let mut seen = BTreeMap::new();
    for resource in context.resources {
        if let Some(first) = seen.insert(resource.name.as_str(), resource) {
            let message = format!("the name is used twice, first in step `{}`", first.step);
            let remedy = "give each resource its own name; with `each`, put `item` into it";
            problems.add_problem(Rule::DuplicateResource, resource, message, remedy);
        }
    }
}

/// A thing that a resource is about, and the resource.
type Claim<'a> = (Effect<'a>, &'a Resource);

pub(super) fn check_claims(context: &Context<'_>, problems: &mut Problems<'_>) {
    let mut standing: BTreeMap<Identity, Vec<Claim<'_>>> = BTreeMap::new();
    for resource in context.resources {
        for effect in resource.kind.effects() {
            let earlier = standing.entry(effect.kind.properties().identity()).or_default();
            if let Some((first, fact)) = find_disagreement(earlier, &effect) {
                let identity = effect.kind.properties().identity();
                problems.add_problem(
                    if identity.is_path() { Rule::PathConflict } else { Rule::NameConflict },
                    resource,
                    format!("disagrees with `{}` about `{fact}` of {identity}", first.name),
                    "keep one of the two, or give the earlier one `scope: build` if a later one replaces it",
                );
            }
            earlier.push((effect, resource));
        }
    }
}

/// The first fact that an earlier resource states differently. A later one may replace what is part of the build.
fn find_disagreement<'a>(earlier: &[Claim<'a>], later: &Effect<'_>) -> Option<(&'a Resource, String)> {
    let mut lasting = earlier.iter().filter(|(_, by)| by.scope != Scope::Build).peekable();
    // Most things have one resource: facts are compared only where there are two.
    lasting.peek()?;
    let facts = collect_claims(&later.kind);
    lasting.find_map(|(first, by)| {
        let stated = collect_claims(&first.kind).into_iter();
        let mut differing =
            stated.filter(|(name, value)| facts.get(name).is_some_and(|other| other != value));
        differing.next().map(|(name, _)| (*by, name))
    })
}

/// Facts of files are comparable whichever type makes the file.
fn collect_claims(kind: &ResourceKind) -> Map<String, Value> {
    let properties = kind.properties();
    let mut facts = Map::new();
    if !properties.identity().is_path() {
        return kind.facts();
    }
    facts.insert("ensure".to_owned(), if properties.is_absent() { "absent" } else { "present" }.into());
    if properties.is_absent() {
        return facts;
    }
    let (name, mut own) = kind.to_json();
    let type_name = if properties.file().is_some() { "file" } else { name.as_str() };
    facts.insert("type".to_owned(), type_name.into());
    let stated = ["sddl", "target"].into_iter().filter_map(|name| Some((name, own.shift_remove(name)?)));
    let bytes = properties.bytes().map(|bytes| ("content", Value::String(bytes)));
    facts.extend(bytes.into_iter().chain(stated).map(|(name, value)| (name.to_owned(), value)));
    facts
}

/// A directory that a resource empties or removes loses what an earlier resource put into it.
pub(super) fn check_removals(context: &Context<'_>, problems: &mut Problems<'_>) {
    let mut created: Vec<(&Resource, Identity)> = Vec::new();
    for resource in context.resources {
        if removes_content(resource) {
            let above = resource.kind.properties().identity();
            if let Some((earlier, path)) = created.iter().find(|(_, path)| path.is_below(&above)) {
                problems.add_problem(
                    Rule::PathConflict,
                    resource,
                    format!("removes {}, which `{}` creates for the image", path.name(), earlier.name),
                    "remove less, or give the other resource `scope: build`",
                );
            }
        }
        if resource.scope != Scope::Build {
            created.extend(list_created_paths(resource).map(|path| (resource, path)));
        }
    }
}

fn removes_content(resource: &Resource) -> bool {
    matches!(&resource.kind, ResourceKind::Directory(it) if !matches!(it.state, DirectoryState::Present { .. }))
}

/// Paths that the resource creates for as long as it lives: not its download.
fn list_created_paths(resource: &Resource) -> impl Iterator<Item = Identity> {
    let effects = resource.kind.effects().into_iter();
    let lasting = effects.filter(|effect| !effect.is_download && !effect.kind.properties().is_absent());
    lasting.map(|effect| effect.kind.properties().identity()).filter(Identity::is_path)
}
