//! When each path comes and goes while a plan is applied, for rules about order.

use std::collections::BTreeMap;

use crate::model::resource::{Ensure, EnsureDirectory, Resource, ResourceKind};

use super::{inbox, paths};

enum Change {
    Make,
    /// Made together with the directories above it.
    MakeWithParents,
    Remove,
    RemoveTree,
    Empty,
}

/// What a resource does to paths, in order.
fn changes(kind: &ResourceKind) -> Vec<(&str, Change)> {
    let ensured = |ensure: Ensure| match ensure {
        Ensure::Present => Change::Make,
        Ensure::Absent => Change::Remove,
    };
    match kind {
        ResourceKind::Directory(it) => match it.ensure {
            EnsureDirectory::Present => vec![(&it.path, Change::MakeWithParents)],
            EnsureDirectory::Absent => vec![(&it.path, Change::RemoveTree)],
            EnsureDirectory::Empty => vec![(&it.path, Change::Empty), (&it.path, Change::MakeWithParents)],
        },
        ResourceKind::File(it) => vec![(&it.path, ensured(it.ensure))],
        ResourceKind::Symlink(it) => vec![(&it.path, ensured(it.ensure))],
        ResourceKind::Artifact(it) => vec![(&it.path, Change::Make)],
        ResourceKind::Archive(it) => std::iter::once((it.cache.as_str(), Change::MakeWithParents))
            .chain(it.members.iter().map(|member| (member.path.as_str(), Change::Make)))
            .collect(),
        ResourceKind::Msi(it) => {
            vec![(&it.cache, Change::MakeWithParents), (&it.creates, Change::MakeWithParents)]
        }
        ResourceKind::Hotfix(it) => vec![(&it.cache, Change::MakeWithParents)],
        ResourceKind::RegistryValue(_)
        | ResourceKind::EnvironmentVariable(_)
        | ResourceKind::PathEntry(_)
        | ResourceKind::Service(_)
        | ResourceKind::WindowsFeature(_)
        | ResourceKind::FirewallRule(_)
        | ResourceKind::PortRange(_)
        | ResourceKind::DefenderExclusion(_)
        | ResourceKind::WinrmListener(_)
        | ResourceKind::WinrmSetting(_)
        | ResourceKind::LocalUser(_)
        | ResourceKind::ContainerImage(_)
        | ResourceKind::Assertion(_)
        | ResourceKind::Sysprep(_)
        | ResourceKind::WindowsUpdate(_)
        | ResourceKind::WindowsCapability(_)
        | ResourceKind::ScheduledTask(_)
        | ResourceKind::HnsNetwork(_)
        | ResourceKind::PowerPlan(_)
        | ResourceKind::PageFile(_)
        | ResourceKind::Certificate(_)
        | ResourceKind::Script(_) => Vec::new(),
    }
}

pub(super) struct History {
    /// Key → index of a resource and whether the path is there after it, in order.
    events: BTreeMap<String, Vec<(usize, bool)>>,
    target: String,
}

impl History {
    pub(super) fn of(resources: &[Resource], target: &str) -> Self {
        let mut history = Self { events: BTreeMap::new(), target: target.to_owned() };
        for (index, resource) in resources.iter().enumerate() {
            for (path, change) in changes(&resource.kind) {
                history.note(index, &paths::key(path), &change);
            }
        }
        history
    }

    fn note(&mut self, index: usize, key: &str, change: &Change) {
        match change {
            Change::Make => self.push(key, index, true),
            Change::MakeWithParents => {
                self.push(key, index, true);
                for above in paths::ancestors(key) {
                    self.push(&above, index, true);
                }
            }
            Change::Remove => self.push(key, index, false),
            Change::RemoveTree => {
                self.empty(key, index);
                self.push(key, index, false);
            }
            Change::Empty => self.empty(key, index),
        }
    }

    fn empty(&mut self, above: &str, index: usize) {
        for (key, events) in &mut self.events {
            if paths::is_below(key, above) {
                events.push((index, false));
            }
        }
    }

    fn push(&mut self, key: &str, index: usize, is_there: bool) {
        self.events.entry(key.to_owned()).or_default().push((index, is_there));
    }

    /// Whether the path is there when the resource at `index` begins.
    pub(super) fn is_there_before(&self, path: &str, index: usize) -> bool {
        let key = paths::key(path);
        let last = self.events.get(&key).and_then(|events| {
            events.iter().rev().find(|(at, _)| *at < index).map(|(_, is_there)| *is_there)
        });
        last.unwrap_or_else(|| self.is_inbox(&key))
    }

    pub(super) fn is_there_at_the_end(&self, path: &str) -> bool {
        self.is_there_before(path, usize::MAX)
    }

    /// The first resource that makes the path.
    pub(super) fn maker(&self, path: &str) -> Option<usize> {
        let events = self.events.get(&paths::key(path))?;
        events.iter().find(|(_, is_there)| *is_there).map(|(at, _)| *at)
    }

    fn is_inbox(&self, key: &str) -> bool {
        inbox::is_file(key) || inbox::directory(key, &self.target).is_some()
    }
}
