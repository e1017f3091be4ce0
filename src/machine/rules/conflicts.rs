//! Two resources that demand different things of one.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::base::code::Code;
use crate::windows::resource::{DirectoryState, Effect, Identity, Resource, ResourceKind, Scope};

use super::super::history::Act;
use super::Context;

pub(super) fn check_resource_names(context: &Context<'_>) {
    let mut seen = BTreeMap::new();
    for resource in context.resources {
        if let Some(first) = seen.insert(resource.name.as_str(), resource) {
            let message = format!("the name is used twice, first in step `{}`", first.step);
            let remedy = "give each resource its own name; with `each`, put `item` into it";
            context.add_problem(Code::DUPLICATE_RESOURCE, resource, message, remedy);
        }
    }
}

pub(super) fn check_claims(context: &Context<'_>) {
    let mut standing: BTreeMap<&Identity, Vec<&Act<'_>>> = BTreeMap::new();
    for act in context.acts {
        let Act {
            resource,
            effect,
            identity,
            ..
        } = act;
        let earlier = standing.entry(identity).or_default();
        if let Some((first, fact)) = find_disagreement(earlier, effect) {
            context.add_problem(
                if identity.is_path() { Code::PATH_CONFLICT } else { Code::NAME_CONFLICT },
                *resource,
                format!("disagrees with `{}` about `{fact}` of {identity}", first.name),
                "keep one of the two, or give the earlier one `scope: build` if a later one replaces it",
            );
        }
        earlier.push(act);
    }
}

/// The first fact that an earlier resource states differently. A later one may replace what is part of the build.
fn find_disagreement<'a>(
    earlier: &[&'a Act<'_>],
    later: &Effect<'_>,
) -> Option<(&'a Resource, String)> {
    let mut claims = None;
    for act in earlier {
        if act.resource.scope == Scope::Build {
            continue;
        }
        // Most things have one resource: claims are collected only where there are two.
        let claims = claims.get_or_insert_with(|| collect_claims(&later.kind));
        for (name, value) in collect_claims(&act.effect.kind) {
            if claims.get(&name).is_some_and(|other| *other != value) {
                return Some((act.resource, name));
            }
        }
    }
    None
}

/// Facts of files are comparable whichever type makes the file.
fn collect_claims(kind: &ResourceKind) -> Map<String, Value> {
    let properties = kind.properties();
    if !properties.identity().is_path() {
        return kind.facts();
    }

    let mut claims = Map::new();
    if kind.is_absent() {
        claims.insert("ensure".to_owned(), "absent".into());
        return claims;
    }
    claims.insert("ensure".to_owned(), "present".into());
    let (name, mut own) = kind.to_json();
    let type_name = match properties.file() {
        Some(_) => "file",
        None => name.as_str(),
    };
    claims.insert("type".to_owned(), type_name.into());
    if let Some(bytes) = properties.bytes() {
        claims.insert("content".to_owned(), bytes.into());
    }
    for name in ["sddl", "target"] {
        if let Some(value) = own.shift_remove(name) {
            claims.insert(name.to_owned(), value);
        }
    }
    claims
}

/// A directory that a resource empties or removes loses what an earlier resource put into it.
pub(super) fn check_removals(context: &Context<'_>) {
    for (index, resource) in context.resources.iter().enumerate() {
        let ResourceKind::Directory(it) = &resource.kind else {
            continue;
        };
        if matches!(it.state, DirectoryState::Present { .. }) {
            continue;
        }

        let above = resource.kind.properties().identity();
        let mut earlier = context.acts.iter().take_while(|act| act.index < index);
        if let Some(act) = earlier.find(|act| creates_path(act) && act.identity.is_below(&above)) {
            let message = format!(
                "removes {}, which `{}` creates for the image",
                act.identity.name(),
                act.resource.name
            );
            let remedy = "remove less, or give the other resource `scope: build`";
            context.add_problem(Code::PATH_CONFLICT, resource, message, remedy);
        }
    }
}

/// Whether it makes a path that stays for the image: downloads and what only the build needs do not.
fn creates_path(act: &Act<'_>) -> bool {
    let lasts = act.resource.scope != Scope::Build && !act.effect.is_download;
    lasts && act.identity.is_path() && !act.is_absent()
}
