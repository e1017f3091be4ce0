//! Faults of a catalog that is not malformed.
//!
//! Most rules come from mistakes that were seen: versions bumped and digests not, a SHA-256 made
//! up behind a real SHA-1. Each rule has a failing example in the tests.

mod components;
mod lines;
mod programs;
mod sources;
mod targets;

use crate::base::code::Code;
use crate::diagnostic::{Finding, Severity};
use crate::model::kubernetes::FlagTable;
use crate::model::rules::Contents;

use super::{Catalog, CatalogError, FLAGS, SUPPORT};

pub use sources::{lint_sources, names_notes};
pub use targets::lint_targets;

struct Report<'a> {
    catalog: &'a Catalog,
    findings: Vec<Finding>,
}

impl Report<'_> {
    fn add_error(&mut self, rule: Code, path: &str, message: String) {
        self.findings
            .push(Finding::new(rule, message, "").with_subject(self.catalog.file_label(path)));
    }

    /// The value of a file, or a finding that it cannot be read.
    fn accept_file<T>(&mut self, path: &str, read: Result<T, CatalogError>) -> Option<T> {
        read.map_err(|error| self.add_error(Code::UNREADABLE, path, error.to_string()))
            .ok()
    }

    fn add_warning(&mut self, rule: Code, path: &str, message: String) {
        let finding = Finding::new(rule, message, "").with_subject(self.catalog.file_label(path));
        self.findings.push(Finding {
            severity: Severity::Warning,
            ..finding
        });
    }
}

/// Everything that is wrong with a catalog, in the order of its files.
#[must_use]
pub fn lint_catalog(catalog: &Catalog) -> Vec<Finding> {
    let mut report = Report {
        catalog,
        findings: Vec::new(),
    };
    for name in catalog.component_names() {
        let path = format!("components/{name}.json");
        if let Some(component) = report.accept_file(&path, catalog.load_component(&name)) {
            components::lint_component(&mut report, &name, &component);
        }
    }
    for name in catalog.pinned_names() {
        check_reference(
            &mut report,
            &format!("pins/{name}.json"),
            "component",
            &name,
        );
    }
    lines::lint_lines(&mut report);
    programs::lint_programs(&mut report);
    if let Some(contents) = report.accept_file("contents.json", catalog.load_contents()) {
        lint_contents(&mut report, &contents);
    }
    lint_networks(&mut report);
    report.accept_file("features.json", catalog.load_features());
    if let Some(rules) = report.accept_file("rules.json", catalog.load_rules()) {
        for rule in rules.refusals.iter().chain(&rules.warnings) {
            for component in rule.components.keys() {
                check_reference(&mut report, "rules.json", &rule.id, component);
            }
        }
    }
    if let Some(flags) = report.accept_file(FLAGS, catalog.load_flags()) {
        lint_flags(&mut report, &flags);
    }
    let mut findings = report.findings;
    findings.extend(lint_sources(catalog.tree()));
    findings
}

/// Each component of a pod network has a file and says when an image holds it; each file of the cluster is there.
fn lint_networks(report: &mut Report<'_>) {
    let catalog = report.catalog;
    let groups = catalog
        .load_contents()
        .map(|contents| contents.groups.clone())
        .unwrap_or_default();
    let support = catalog.load_support();
    for default in support
        .iter()
        .flat_map(|support| support.networks.as_slice())
    {
        report.accept_file(SUPPORT, catalog.network(&default.name));
    }
    for name in catalog.network_names() {
        let path = format!("networks/{name}.json");
        let Some(network) = report.accept_file(&path, catalog.network(&name)) else {
            continue;
        };
        for component in &network.components {
            let stands_alone = catalog
                .load_component(component)
                .is_ok_and(|found| found.definition.contents.is_some());
            let mut groups = groups.iter();
            let is_group = groups.any(|group| group.by_network && group.name == *component);
            if !stands_alone && !is_group {
                let message = format!(
                    "{component} is neither a group with `byNetwork` nor a component with `contents`"
                );
                report.add_error(Code::DANGLING_REFERENCE, &path, message);
            }
        }
        let configurations = network.cluster.configurations.iter().map(|it| &it.file);
        for file in configurations.chain(network.cluster.files.iter().map(|it| &it.file)) {
            if catalog.read_text(&format!("cluster/{file}")).is_err() {
                report.add_error(
                    Code::DANGLING_REFERENCE,
                    &path,
                    format!("no cluster/{file}"),
                );
            }
        }
    }
}

fn lint_contents(report: &mut Report<'_>, contents: &Contents) {
    for group in &contents.groups {
        for part in group.alternatives.iter().flatten() {
            check_reference(report, "contents.json", &group.name, &part.component);
        }
    }
}

fn lint_flags(report: &mut Report<'_>, flags: &FlagTable) {
    for (index, rule) in flags.flags.iter().enumerate() {
        for later in &flags.flags[index + 1..] {
            let is_same = rule.program == later.program && rule.flag == later.flag;
            if is_same && rule.when == later.when && rule.versions.overlaps(&later.versions) {
                let message = format!(
                    "{} {}: `{}` and `{}` overlap",
                    rule.program, rule.flag, rule.versions, later.versions
                );
                report.add_error(Code::OVERLAPPING_RANGES, FLAGS, message);
            }
        }
    }
}

fn check_reference(report: &mut Report<'_>, path: &str, by: &str, component: &str) {
    if !report
        .catalog
        .component_names()
        .iter()
        .any(|name| name == component)
    {
        report.add_error(
            Code::DANGLING_REFERENCE,
            path,
            format!("{by}: no components/{component}.json"),
        );
    }
}
