//! Images that conditions can tell apart: combinations of the catalog's own targets, lines, releases and networks.

use std::collections::BTreeSet;

use crate::base::choice::{Delivery, HostAccess, Join, Runtime};
use crate::base::version::Version;
use crate::catalog::{Trees, load_targets};
use crate::diagnostic::Result;
use crate::model::conditions::Conditions;
use crate::model::line::Minor;
use crate::model::rules::{Group, GroupMember};
use crate::model::step::When;

/// A member of a group, among all groups.
pub(super) struct Membership<'a> {
    pub group: &'a Group,
    pub part: &'a GroupMember,
    pub groups: &'a [Group],
}

impl Membership<'_> {
    /// Whether an image in that situation has the member.
    pub(super) fn is_part_of(&self, situation: &Conditions) -> bool {
        situation.holds(&self.group.when) && situation.holds(&self.part.when)
    }
}

/// Every image that the conditions tell apart. What no condition names has one value.
pub(super) fn list_situations(
    trees: &Trees,
    member: &Membership<'_>,
    whens: &[&When],
) -> Result<Vec<Conditions>> {
    let mut situations = list_lines(trees, whens)?;
    situations = add_targets(trees, whens, situations)?;
    situations = add_windows(trees, whens, situations)?;
    situations = add_networks(trees, member, whens, situations)?;
    situations = add_joins(whens, situations);
    situations = add_features(whens, situations);
    Ok(add_components(member, whens, situations))
}

/// The values by which a situation differs from others, for a message.
pub(super) fn describe_situation(situation: &Conditions, whens: &[&When]) -> String {
    let mut parts = BTreeSet::new();
    for when in whens {
        if when.target.is_some() || when.image.is_some() {
            parts.insert(format!("target {}", situation.target));
        }
        if when.windows.is_some() {
            parts.insert(format!("Windows {}", situation.windows));
        }
        if when.kubernetes.is_some() {
            parts.insert(format!("Kubernetes {}", situation.kubernetes));
        }
        if when.runtime.is_some() {
            parts.insert(format!("runtime {}", situation.runtime));
        }
        if when.cni.is_some() || when.overlay.is_some() {
            parts.insert(format!("pod network {}", situation.cni));
        }
        if when.host_access.is_some() {
            parts.insert(format!("host access {}", situation.host_access));
        }
        if when.join.is_some() {
            parts.insert(format!("join {}", situation.join));
        }
        if when.delivery.is_some() {
            parts.insert(format!("delivery {}", situation.delivery));
        }
    }
    Vec::from_iter(parts).join(", ")
}

/// Kubernetes releases with their runtimes and ways to reach the host; the newest line alone, where no condition
/// names one of these.
fn list_lines(trees: &Trees, whens: &[&When]) -> Result<Vec<Conditions>> {
    let by_release = whens.iter().any(|when| when.kubernetes.is_some());
    let by_line = whens.iter().any(|when| {
        when.runtime.is_some() || when.runtime_version.is_some() || when.host_access.is_some()
    });
    let mut minors = trees.catalog.kubernetes_minors();
    if !by_release && !by_line {
        minors.drain(..minors.len().saturating_sub(1));
    }
    let mut situations = Vec::new();
    for minor in minors {
        let line = trees.catalog.load_kubernetes_line(minor)?;
        let latest = std::slice::from_ref(&line.latest);
        let releases = if by_release { &line.patches } else { latest };
        for runtime in &line.runtimes {
            let Ok(runtime) = runtime.name.parse::<Runtime>() else {
                continue;
            };
            let runtime_version = find_default(trees, runtime, minor);
            for access in &line.host_access {
                let Ok(access) = access.name.parse::<HostAccess>() else {
                    continue;
                };
                for release in releases {
                    let version = runtime_version.clone();
                    situations.push(start_situation(release, runtime, version, access));
                }
            }
        }
    }
    Ok(situations)
}

fn find_default(trees: &Trees, runtime: Runtime, minor: Minor) -> Option<Version> {
    let component = trees.catalog.load_component(runtime.as_str()).ok()?;
    component
        .find_choice(minor)
        .map(|choice| choice.default.clone())
}

fn start_situation(
    kubernetes: &Version,
    runtime: Runtime,
    runtime_version: Option<Version>,
    host_access: HostAccess,
) -> Conditions {
    Conditions {
        target: String::new(),
        image: true,
        windows: String::new(),
        kubernetes: kubernetes.clone(),
        runtime,
        runtime_version,
        cni: "none".to_owned(),
        overlay: false,
        dsr: false,
        host_access,
        join: Join::Kubeadm,
        delivery: Delivery::Download,
        winrm: None,
        features: BTreeSet::new(),
        components: std::collections::BTreeMap::new(),
    }
}

fn add_targets(
    trees: &Trees,
    whens: &[&When],
    situations: Vec<Conditions>,
) -> Result<Vec<Conditions>> {
    let is_named = whens.iter().any(|when| {
        when.target.is_some()
            || when.image.is_some()
            || when.winrm.is_some()
            || when.delivery.is_some()
    });
    if !is_named {
        return Ok(situations);
    }
    let targets = load_targets(&trees.packer)?;
    let mut result = Vec::new();
    for situation in situations {
        for target in &targets {
            for delivery in target.delivery().as_slice() {
                result.push(Conditions {
                    target: target.name.clone(),
                    image: target.image().is_some(),
                    winrm: target.image().map(|image| image.session().0),
                    delivery: *delivery,
                    ..situation.clone()
                });
            }
        }
    }
    Ok(result)
}

fn add_windows(
    trees: &Trees,
    whens: &[&When],
    situations: Vec<Conditions>,
) -> Result<Vec<Conditions>> {
    if !whens
        .iter()
        .any(|when| when.windows.is_some() || when.dsr.is_some())
    {
        return Ok(situations);
    }
    let mut releases = Vec::new();
    for name in trees.catalog.windows_names() {
        releases.push(trees.catalog.load_windows_release(&name)?);
    }
    let mut result = Vec::new();
    for situation in situations {
        for release in &releases {
            let mut supported = release.kubernetes.iter();
            if supported.any(|entry| entry.versions.contains(&situation.kubernetes)) {
                result.push(Conditions {
                    windows: release.release.clone(),
                    dsr: release.dsr,
                    ..situation.clone()
                });
            }
        }
    }
    Ok(result)
}

/// The networks that name a group with `byNetwork`; all of them, where a condition names one.
fn add_networks(
    trees: &Trees,
    member: &Membership<'_>,
    whens: &[&When],
    situations: Vec<Conditions>,
) -> Result<Vec<Conditions>> {
    let group = member.group;
    if !group.by_network
        && !whens
            .iter()
            .any(|when| when.cni.is_some() || when.overlay.is_some())
    {
        return Ok(situations);
    }
    let mut result = Vec::new();
    for name in trees.catalog.network_names() {
        let network = trees.catalog.network(&name)?;
        if group.by_network && !network.components.contains(&group.name) {
            continue;
        }
        for situation in &situations {
            result.push(Conditions {
                cni: network.name.clone(),
                overlay: network.overlay,
                ..situation.clone()
            });
        }
    }
    Ok(result)
}

fn add_joins(whens: &[&When], situations: Vec<Conditions>) -> Vec<Conditions> {
    if !whens.iter().any(|when| when.join.is_some()) {
        return situations;
    }
    let mut result = Vec::new();
    for situation in situations {
        for join in Join::ALL {
            result.push(Conditions {
                join: *join,
                ..situation.clone()
            });
        }
    }
    result
}

/// Each feature that a condition names, with it and without it.
fn add_features(whens: &[&When], mut situations: Vec<Conditions>) -> Vec<Conditions> {
    for name in list_names(whens, |when| when.feature.as_ref()) {
        let mut with = situations.clone();
        for situation in &mut with {
            situation.features.insert(name.to_owned());
        }
        situations.extend(with);
    }
    situations
}

/// The member and its group, and each other component that a condition names where an image can have it.
fn add_components(
    member: &Membership<'_>,
    whens: &[&When],
    mut situations: Vec<Conditions>,
) -> Vec<Conditions> {
    let own = [member.group.name.as_str(), member.part.component.as_str()];
    for situation in &mut situations {
        for name in own {
            insert_component(situation, name);
        }
    }
    for name in list_names(whens, |when| when.component.as_ref()) {
        if own.contains(&name) {
            continue;
        }
        let mut result = Vec::new();
        for situation in situations {
            let mut with = situation.clone();
            insert_component(&mut with, name);
            match find_presence(member.groups, name, &situation) {
                Presence::Always => result.push(with),
                Presence::Never => result.push(situation),
                Presence::Asked => result.extend([situation, with]),
            }
        }
        situations = result;
    }
    situations
}

/// Whether images have a component.
enum Presence {
    Always,
    Never,
    /// Where the user or the pod network names it.
    Asked,
}

fn find_presence(groups: &[Group], name: &str, situation: &Conditions) -> Presence {
    let named = groups.iter().filter(|group| {
        let mut parts = group.alternatives.iter().flatten();
        group.name == *name || parts.any(|part| part.component == *name)
    });
    let mut presence = Presence::Never;
    for group in named.filter(|group| situation.holds(&group.when)) {
        if !group.on_request && !group.by_network && group.name == *name {
            return Presence::Always;
        }
        presence = Presence::Asked;
    }
    presence
}

/// Rules of versions are not asked: which version it is does not matter.
fn insert_component(situation: &mut Conditions, name: &str) {
    let version = situation.kubernetes.clone();
    situation.components.insert(name.to_owned(), version);
}

/// Names of a condition without the marks of `!a` and `a|b`.
fn list_names<'a>(
    whens: &[&'a When],
    select: fn(&When) -> Option<&Vec<String>>,
) -> BTreeSet<&'a str> {
    let lists = whens.iter().filter_map(|when| select(when));
    let names = lists.flatten().flat_map(|names| names.split('|'));
    names.map(|name| name.trim_start_matches('!')).collect()
}
