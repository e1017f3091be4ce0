//! Conditions that a `when` is asked about.

use std::collections::{BTreeMap, BTreeSet};

use super::step::When;
use crate::base::choice::{Delivery, HostAccess, Join, Runtime};
use crate::base::version::{Version, VersionRange};
use crate::windows::resource::WinrmTransport;

/// The choices of a plan, as far as conditions name them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conditions {
    pub target: String,
    /// Whether the target's builds make images.
    pub image: bool,
    pub windows: String,
    pub kubernetes: Version,
    pub runtime: Runtime,
    pub runtime_version: Option<Version>,
    /// Name of the pod network.
    pub cni: String,
    /// Whether that is an overlay.
    pub overlay: bool,
    /// Whether the Windows release supports direct server return at every update level.
    pub dsr: bool,
    pub host_access: HostAccess,
    pub join: Join,
    pub delivery: Delivery,
    /// How Packer reaches the machine.
    pub winrm: Option<WinrmTransport>,
    /// Optional features that were asked for.
    pub features: BTreeSet<String>,
    /// Groups and components that are part of the plan.
    pub components: BTreeMap<String, Version>,
}

impl Conditions {
    /// Whether every condition that `when` gives holds. A range that cannot be read never holds.
    #[must_use]
    pub fn holds(&self, when: &When) -> bool {
        is_listed(when.target.as_ref(), &self.target)
            && when.image.is_none_or(|image| image == self.image)
            && is_listed(when.windows.as_ref(), &self.windows)
            && in_range(when.kubernetes.as_ref(), Some(&self.kubernetes))
            && is_listed(when.runtime.as_ref(), self.runtime.as_str())
            && in_range(when.runtime_version.as_ref(), self.runtime_version.as_ref())
            && is_listed(when.cni.as_ref(), &self.cni)
            && when.overlay.is_none_or(|overlay| overlay == self.overlay)
            && when.dsr.is_none_or(|dsr| dsr == self.dsr)
            && is_listed(when.host_access.as_ref(), self.host_access.as_str())
            && is_listed(when.join.as_ref(), self.join.as_str())
            && is_listed(when.delivery.as_ref(), self.delivery.as_str())
            && when
                .winrm
                .is_none_or(|transport| self.winrm == Some(transport))
            && match_names(when.feature.as_ref(), |name| self.features.contains(name))
            && match_names(when.component.as_ref(), |name| {
                self.components.contains_key(name)
            })
    }
}

/// Whether every name is there, and none of those with a leading `!`. Of names joined by `|`, one is enough.
fn match_names(names: Option<&Vec<String>>, is_there: impl Fn(&str) -> bool) -> bool {
    let mut names = names.into_iter().flatten();
    names.all(|name| {
        name.split('|').any(|name| match name.strip_prefix('!') {
            Some(name) => !is_there(name),
            None => is_there(name),
        })
    })
}

fn is_listed(names: Option<&Vec<String>>, name: &str) -> bool {
    let Some(names) = names else {
        return true;
    };
    names.iter().any(|known| match known.strip_prefix('!') {
        Some(other) => other != name,
        None => known == name,
    })
}

fn in_range(range: Option<&VersionRange>, version: Option<&Version>) -> bool {
    match (range, version) {
        (None, _) => true,
        (Some(range), Some(version)) => range.contains(version),
        (Some(_), None) => false,
    }
}
