//! What a catalog can get wrong without being malformed.
//!
//! Most rules come from mistakes that were seen: versions bumped and digests not, a SHA-256 made
//! up behind a real SHA-1. Each rule has a failing example in the tests.

use std::collections::BTreeMap;

use crate::diagnostic::Finding;
use crate::model::component::{Component, Confidence, Pin, Release};
use crate::model::kubernetes::{FlagRule, FlagTable, KubernetesLine};
use crate::model::rules::Contents;

use super::Catalog;

struct Report<'a> {
    catalog: &'a Catalog,
    findings: Vec<Finding>,
}

impl Report<'_> {
    fn add(&mut self, rule: &'static str, path: &str, message: String) {
        self.findings.push(Finding::new(rule, message, "").with_subject(self.catalog.file(path)));
    }
}

/// Everything that is wrong with a catalog, in the order of its files.
#[must_use]
pub fn lint(catalog: &Catalog) -> Vec<Finding> {
    let mut report = Report { catalog, findings: Vec::new() };
    for name in catalog.component_names() {
        let path = format!("components/{name}.json");
        match catalog.component(&name) {
            Ok(component) => lint_component(&mut report, &path, &component),
            Err(error) => report.add("unreadable", &path, error.to_string()),
        }
    }
    for minor in catalog.kubernetes_minors() {
        let path = format!("kubernetes/{minor}.json");
        match catalog.kubernetes(&minor) {
            Ok(line) => lint_line(&mut report, &path, &line),
            Err(error) => report.add("unreadable", &path, error.to_string()),
        }
    }
    for release in catalog.windows_names() {
        if let Err(error) = catalog.windows(&release) {
            report.add("unreadable", &format!("windows/{release}.json"), error.to_string());
        }
    }
    match catalog.contents() {
        Ok(contents) => lint_contents(&mut report, &contents),
        Err(error) => report.add("unreadable", "contents.json", error.to_string()),
    }
    if let Err(error) = catalog.features() {
        report.add("unreadable", "features.json", error.to_string());
    }
    match catalog.rules() {
        Ok(rules) => {
            for rule in &rules.refusals {
                for component in rule.components.keys() {
                    reference(&mut report, "rules.json", &rule.id, component);
                }
            }
        }
        Err(error) => report.add("unreadable", "rules.json", error.to_string()),
    }
    match catalog.flags() {
        Ok(flags) => lint_flags(&mut report, &flags),
        Err(error) => report.add("unreadable", "kubernetes/flags.json", error.to_string()),
    }
    report.findings
}

fn lint_component(report: &mut Report<'_>, path: &str, component: &Component) {
    for (index, pin) in component.pins.iter().enumerate() {
        lint_pin(report, path, index, pin);
    }
    shared_digests(report, path, component);
    invented_digests(report, path, component);
    overlapping_releases(report, path, &component.releases);
    for pin in &component.pins {
        let published = component.releases.iter().any(|release| release.versions.contains(&pin.version));
        if !published && pin.url.is_none() {
            let message = format!("no release entry says where {} is published", pin.version);
            report.add("dangling-reference", path, message);
        }
    }
}

fn lint_pin(report: &mut Report<'_>, path: &str, index: usize, pin: &Pin) {
    let expected = pin.algorithm.hex_length();
    if pin.digest.len() != expected {
        let message = format!(
            "pins[{index}] ({}): a {:?} digest has {expected} digits, this has {}",
            pin.version,
            pin.algorithm,
            pin.digest.len()
        );
        report.add("digest-length", path, message);
    }
    if !pin.digest.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
        let message = format!("pins[{index}] ({}): digests are lower-case hexadecimal", pin.version);
        report.add("digest-case", path, message);
    }
    if pin.source.iter().all(|source| source.trim().is_empty()) {
        let message = format!("pins[{index}] ({}): a digest without source proves nothing", pin.version);
        report.add("pin-without-source", path, message);
    }
}

/// The commonest mistake in the field: the version was bumped, the digest was not. Records that
/// tell only drift are known to be wrong somewhere and stay.
fn shared_digests(report: &mut Report<'_>, path: &str, component: &Component) {
    let mut seen: BTreeMap<&str, &Pin> = BTreeMap::new();
    for pin in component.pins.iter().filter(|pin| pin.confidence > Confidence::Mutable) {
        match seen.get(pin.digest.as_str()) {
            Some(first) if first.version != pin.version && pin.note.is_none() => {
                let message =
                    format!("{} and {} have the same digest {}", first.version, pin.version, pin.digest);
                report.add("shared-digest", path, message);
            }
            Some(_) => {}
            None => {
                seen.insert(&pin.digest, pin);
            }
        }
    }
}

fn invented_digests(report: &mut Report<'_>, path: &str, component: &Component) {
    for pin in &component.pins {
        for weaker in component.pins.iter().filter(|other| other.algorithm < pin.algorithm) {
            if weaker.digest.len() >= 32 && pin.digest.starts_with(&weaker.digest) && pin.usable() {
                let message = format!(
                    "{}: the {:?} digest starts with the {:?} digest of {}: it is made up",
                    pin.version, pin.algorithm, weaker.algorithm, weaker.version
                );
                report.add("invented-digest", path, message);
            }
        }
    }
}

fn overlapping_releases(report: &mut Report<'_>, path: &str, releases: &[Release]) {
    for (index, release) in releases.iter().enumerate() {
        for later in &releases[index + 1..] {
            if release.versions.overlaps(&later.versions) {
                let message = format!("releases `{}` and `{}` overlap", release.versions, later.versions);
                report.add("overlapping-ranges", path, message);
            }
        }
    }
}

fn lint_line(report: &mut Report<'_>, path: &str, line: &KubernetesLine) {
    if !line.patches.contains(&line.latest) {
        report.add("unreachable-default", path, format!("latest {} is not one of patches", line.latest));
    }
    if line.patches.iter().chain([&line.latest]).any(|patch| patch.minor() != line.minor) {
        report.add("dangling-reference", path, format!("a patch release is not of {}", line.minor));
    }
    let known = report.catalog.windows_names();
    for windows in line.windows.iter().filter(|windows| !known.contains(&windows.value)) {
        let message = format!("no windows/{}.json", windows.value);
        report.add("dangling-reference", path, message);
    }
    for name in line.components.keys().chain(line.runtimes.iter().map(|runtime| &runtime.name)) {
        reference(report, path, &line.minor, name);
    }
    for runtime in line.runtimes.iter().filter(|runtime| !line.components.contains_key(&runtime.name)) {
        let message = format!("runtime {} has no version in components", runtime.name);
        report.add("unreachable-default", path, message);
    }
    for (name, choice) in &line.components {
        if !choice.allowed.contains(&choice.default) {
            let message = format!("{name}: the default {} is outside `{}`", choice.default, choice.allowed);
            report.add("unreachable-default", path, message);
        }
        let Ok(component) = report.catalog.component(name) else { continue };
        if !component.releases.iter().any(|release| release.versions.contains(&choice.default)) {
            let message = format!("{name}: no release entry holds the default {}", choice.default);
            report.add("unreachable-default", path, message);
        }
    }
}

fn lint_contents(report: &mut Report<'_>, contents: &Contents) {
    for group in &contents.groups {
        for part in group.alternatives.iter().flatten() {
            reference(report, "contents.json", &group.name, &part.component);
        }
    }
}

fn lint_flags(report: &mut Report<'_>, flags: &FlagTable) {
    let key = |rule: &FlagRule| (rule.program.clone(), rule.flag.clone());
    for (index, rule) in flags.flags.iter().enumerate() {
        for later in flags.flags[index + 1..].iter().filter(|later| key(later) == key(rule)) {
            if rule.when == later.when && rule.versions.overlaps(&later.versions) {
                let message = format!(
                    "{} {}: `{}` and `{}` overlap",
                    rule.program, rule.flag, rule.versions, later.versions
                );
                report.add("overlapping-ranges", "kubernetes/flags.json", message);
            }
        }
    }
}

fn reference(report: &mut Report<'_>, path: &str, by: &str, component: &str) {
    if !report.catalog.component_names().iter().any(|name| name == component) {
        report.add("dangling-reference", path, format!("{by}: no components/{component}.json"));
    }
}
