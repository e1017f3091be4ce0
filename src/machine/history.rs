//! When each path comes and goes while a plan is applied, for rules about order.

use std::collections::BTreeMap;

use crate::model::platform::Platform;
use crate::windows::paths;
use crate::windows::resource::{Effect, Identity, Resource, ResourceKind};

use super::inbox;
use crate::windows::inbox::is_inbox_file;

/// One effect of a resource.
pub(super) struct Act<'a> {
    /// Place of the resource in the plan.
    pub index: usize,
    pub resource: &'a Resource,
    pub effect: Effect<'a>,
    /// The thing that the effect is about.
    pub identity: Identity,
}

impl Act<'_> {
    pub(super) fn is_absent(&self) -> bool {
        self.effect.kind.is_absent()
    }
}

/// Acts of every resource, in order: computed once, for the history and all rules.
pub(super) fn list_acts(resources: &[Resource]) -> Vec<Act<'_>> {
    let mut acts = Vec::new();
    for (index, resource) in resources.iter().enumerate() {
        for effect in resource.kind.effects() {
            let identity = effect.kind.properties().identity();
            acts.push(Act {
                index,
                resource,
                effect,
                identity,
            });
        }
    }
    acts
}

pub(super) struct History {
    /// Key → index of a resource and whether the path is there after it, in order.
    events: BTreeMap<String, Vec<(usize, bool)>>,
    platform: Platform,
}

impl History {
    pub(super) fn from_acts(acts: &[Act<'_>], platform: &Platform) -> Self {
        let mut history = Self {
            events: BTreeMap::new(),
            platform: platform.clone(),
        };
        for act in acts.iter().filter(|act| act.identity.is_path()) {
            history.add_act(act);
        }
        history
    }

    fn add_act(&mut self, act: &Act<'_>) {
        let Act {
            index,
            effect,
            identity,
            ..
        } = act;
        let index = *index;
        if let ResourceKind::Directory(it) = &*effect.kind
            && it.clears_content()
        {
            self.remove_below(identity.key(), index);
        }
        self.push_event(identity.key(), index, !act.is_absent());
        if effect.creates_parents {
            for above in paths::list_ancestors(identity.key()) {
                self.push_event(&above, index, true);
            }
        }
    }

    fn remove_below(&mut self, above: &str, index: usize) {
        for (key, events) in &mut self.events {
            if paths::is_below(key, above) {
                events.push((index, false));
            }
        }
    }

    fn push_event(&mut self, key: &str, index: usize, is_there: bool) {
        self.events
            .entry(key.to_owned())
            .or_default()
            .push((index, is_there));
    }

    /// Whether the path is there when the resource at `index` begins.
    pub(super) fn exists_before(&self, path: &str, index: usize) -> bool {
        let key = paths::normalize_key(path);
        let events = self.events.get(&key).map_or(&[][..], Vec::as_slice);
        match events.iter().rfind(|(at, _)| *at < index) {
            Some((_, is_there)) => *is_there,
            None => self.is_inbox(&key),
        }
    }

    pub(super) fn exists_at_end(&self, path: &str) -> bool {
        self.exists_before(path, usize::MAX)
    }

    /// The first resource that makes the path.
    pub(super) fn find_maker(&self, path: &str) -> Option<usize> {
        let events = self.events.get(&paths::normalize_key(path))?;
        events
            .iter()
            .find(|(_, is_there)| *is_there)
            .map(|(at, _)| *at)
    }

    fn is_inbox(&self, key: &str) -> bool {
        is_inbox_file(key) || inbox::find_directory(key, &self.platform).is_some()
    }
}
