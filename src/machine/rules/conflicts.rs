//! Two resources that want different things of one.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::model::resource::{Ensure, EnsureDirectory, PortRangeKind, Resource, ResourceKind, Scope};

use super::super::paths;
use super::super::problem::Rule;
use super::forms::UNPINNED;
use super::{Context, Problems};

pub(super) fn resource_names(context: &Context<'_>, problems: &mut Problems<'_>) {
    let mut seen = BTreeMap::new();
    for resource in context.resources {
        if let Some(first) = seen.insert(resource.name.as_str(), resource) {
            let message = format!("the name stands twice, first in step `{}`", first.step);
            let remedy = "give each resource its own name; with `each`, put `item` into it";
            problems.add(Rule::DuplicateResource, resource, message, remedy);
        }
    }
}

/// What one resource says about one thing.
struct Claim<'a> {
    rule: Rule,
    /// For people.
    thing: String,
    facts: Map<String, Value>,
    by: &'a Resource,
}

pub(super) fn claims(context: &Context<'_>, problems: &mut Problems<'_>) {
    let mut standing: BTreeMap<String, Vec<Claim<'_>>> = BTreeMap::new();
    for resource in context.resources {
        for (identity, claim) in claims_of(resource) {
            let earlier = standing.entry(identity).or_default();
            if let Some((first, fact)) = earlier.iter().find_map(|first| disagreement(first, &claim)) {
                problems.add(
                    claim.rule,
                    resource,
                    format!("disagrees with `{}` about {} of {}", first.by.name, fact, claim.thing),
                    "keep one of the two, or give the earlier one `scope: build` if it is taken back",
                );
            }
            earlier.push(claim);
        }
    }
}

/// The first fact that both state differently. What lives during the build may be taken back.
fn disagreement<'a, 'b>(first: &'b Claim<'a>, second: &Claim<'_>) -> Option<(&'b Claim<'a>, String)> {
    if first.by.scope == Scope::Build {
        return None;
    }
    let differs = |(name, value): (&String, &Value)| {
        let other = second.facts.get(name)?;
        (value != other).then(|| format!("`{name}`"))
    };
    first.facts.iter().find_map(differs).map(|fact| (first, fact))
}

fn claims_of(resource: &Resource) -> Vec<(String, Claim<'_>)> {
    match &resource.kind {
        ResourceKind::Directory(_)
        | ResourceKind::File(_)
        | ResourceKind::Symlink(_)
        | ResourceKind::Artifact(_)
        | ResourceKind::Archive(_)
        | ResourceKind::Msi(_) => path_claims(resource),
        _ => named_claim(resource).into_iter().collect(),
    }
}

fn path_claims(resource: &Resource) -> Vec<(String, Claim<'_>)> {
    let claim = |path: &str, kind: Option<&str>, facts: &[(&str, Option<String>)]| {
        let ensure = if kind.is_some() { "present" } else { "absent" };
        let common = [("ensure", Some(ensure.to_owned())), ("type", kind.map(str::to_owned))];
        let facts = common.iter().chain(facts);
        let facts = facts.filter_map(|(name, value)| Some(((*name).to_owned(), value.clone()?.into())));
        let (rule, thing) = (Rule::PathConflict, paths::normal(path));
        (paths::key(path), Claim { rule, thing, facts: facts.collect(), by: resource })
    };
    let file = |path: &str, bytes: String| claim(path, Some("file"), &[("content", Some(bytes))]);
    match &resource.kind {
        ResourceKind::Directory(it) => {
            let kind = (it.ensure != EnsureDirectory::Absent).then_some("directory");
            vec![claim(&it.path, kind, &[("sddl", it.sddl.clone())])]
        }
        ResourceKind::File(it) => {
            let kind = (it.ensure == Ensure::Present).then_some("file");
            vec![claim(&it.path, kind, &[("content", it.content.clone()), ("sddl", it.sddl.clone())])]
        }
        ResourceKind::Symlink(it) => {
            let kind = (it.ensure == Ensure::Present).then_some("symlink");
            vec![claim(&it.path, kind, &[("target", it.target.as_deref().map(paths::key))])]
        }
        ResourceKind::Artifact(it) => vec![file(&it.path, bytes(&it.url, &it.digest))],
        ResourceKind::Archive(it) => {
            let bytes = bytes(&it.url, &it.digest);
            let members = it.members.iter();
            let members = members.map(|member| file(&member.path, format!("{bytes} {}", member.member)));
            members.chain([file(&it.cache, bytes.clone())]).collect()
        }
        ResourceKind::Msi(it) => vec![file(&it.cache, bytes(&it.url, &it.digest))],
        _ => Vec::new(),
    }
}

/// What stands for an artifact's bytes: of one without digest only the address is known.
fn bytes(url: &str, digest: &str) -> String {
    if digest == UNPINNED { url.to_owned() } else { digest.to_owned() }
}

/// The properties that say which thing a resource of the type is about.
fn identity(kind: &ResourceKind) -> &'static [&'static str] {
    match kind {
        ResourceKind::RegistryValue(_) => &["key", "valueName"],
        ResourceKind::EnvironmentVariable(_) => &["variable"],
        ResourceKind::PathEntry(_) => &["entry"],
        ResourceKind::Service(_) => &["serviceName"],
        ResourceKind::WindowsFeature(_) => &["feature"],
        ResourceKind::FirewallRule(_) => &["ruleName"],
        ResourceKind::PortRange(it) => match it.kind {
            PortRangeKind::Dynamic => &["kind", "protocol"],
            PortRangeKind::Excluded => &["kind", "protocol", "start"],
        },
        ResourceKind::DefenderExclusion(_) => &["kind", "value"],
        ResourceKind::WinrmListener(_) => &["transport"],
        ResourceKind::Hotfix(_) => &["kb"],
        ResourceKind::WindowsCapability(_) => &["capability"],
        ResourceKind::ScheduledTask(_) => &["taskName"],
        ResourceKind::HnsNetwork(_) => &["networkName"],
        ResourceKind::Certificate(_) => &["store", "sha256"],
        ResourceKind::Script(_) => &["test"],
        ResourceKind::WinrmSetting(_) => &["setting"],
        ResourceKind::LocalUser(_) => &["userName"],
        ResourceKind::Sysprep(_) => &["imageState"],
        ResourceKind::Directory(_)
        | ResourceKind::File(_)
        | ResourceKind::Symlink(_)
        | ResourceKind::Artifact(_)
        | ResourceKind::Archive(_)
        | ResourceKind::Msi(_)
        | ResourceKind::ContainerImage(_)
        | ResourceKind::WindowsUpdate(_)
        | ResourceKind::PowerPlan(_)
        | ResourceKind::PageFile(_)
        | ResourceKind::Assertion(_) => &[],
    }
}

fn named_claim(resource: &Resource) -> Option<(String, Claim<'_>)> {
    let identity = identity(&resource.kind);
    let value = serde_json::to_value(&resource.kind).expect("a resource is plain data");
    let (kind, mut facts) = match value {
        Value::Object(mut value) => (value.remove("type")?, value.remove("properties")?),
        _ => return None,
    };
    let facts = facts.as_object_mut()?;
    let names: Vec<String> = identity.iter().filter_map(|name| facts.remove(*name)).map(plain).collect();
    if names.is_empty() {
        return None;
    }
    let thing = format!("{} `{}`", kind.as_str()?, names.join(r"\"));
    let claim = Claim { rule: Rule::NameConflict, thing, facts: std::mem::take(facts), by: resource };
    Some((format!("{kind} {}", names.join("\n")).to_lowercase(), claim))
}

fn plain(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// A directory that is emptied or removed takes along what an earlier resource put into it.
pub(super) fn taken_away(context: &Context<'_>, problems: &mut Problems<'_>) {
    for (index, resource) in context.resources.iter().enumerate() {
        let ResourceKind::Directory(it) = &resource.kind else { continue };
        if it.ensure == EnsureDirectory::Present {
            continue;
        }
        let above = paths::key(&it.path);
        let victim = context.resources[..index]
            .iter()
            .filter(|earlier| earlier.scope != Scope::Build)
            .find_map(|earlier| {
                let path = made(earlier)
                    .find(|path| path.len() > above.len() && paths::is_below(&paths::key(path), &above))?;
                Some((earlier, path.to_owned()))
            });
        if let Some((earlier, path)) = victim {
            problems.add(
                Rule::PathConflict,
                resource,
                format!("takes away {path}, which `{}` makes for the image", earlier.name),
                "take away less, or give the other resource `scope: build`",
            );
        }
    }
}

/// Paths that the resource makes for as long as it lives: not its download.
fn made(resource: &Resource) -> impl Iterator<Item = &str> {
    let (one, members): (Option<&str>, &[_]) = match &resource.kind {
        ResourceKind::Directory(it) if it.ensure != EnsureDirectory::Absent => (Some(&it.path), &[]),
        ResourceKind::File(it) if it.ensure == Ensure::Present => (Some(&it.path), &[]),
        ResourceKind::Symlink(it) if it.ensure == Ensure::Present => (Some(&it.path), &[]),
        ResourceKind::Artifact(it) => (Some(&it.path), &[]),
        ResourceKind::Msi(it) => (Some(&it.creates), &[]),
        ResourceKind::Archive(it) => (None, &it.members),
        _ => (None, &[]),
    };
    one.into_iter().chain(members.iter().map(|member| member.path.as_str()))
}
