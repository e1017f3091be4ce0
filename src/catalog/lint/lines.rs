//! Kubernetes lines and the tables that hold for ranges of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::code::Code;
use crate::catalog::{Catalog, SUPPORT};
use crate::model::kubernetes::{ApiVersion, LineFile, Support};
use crate::model::line::{LineRange, Minor};
use crate::model::windows::WindowsRelease;

use super::{Report, check_reference};

pub(super) fn lint_lines(report: &mut Report<'_>) {
    let catalog = report.catalog;
    let minors = catalog.kubernetes_minors();
    for minor in &minors {
        let path = format!("kubernetes/lines/{minor}.json");
        if let Some(line) = report.accept_file(&path, catalog.load_line_file(*minor)) {
            lint_line(report, &path, &line);
        }
    }
    if let Some(support) = report.accept_file(SUPPORT, catalog.load_support()) {
        lint_support(report, &support);
    }
    if let Some(releases) = read_windows(report) {
        for minor in &minors {
            check_windows_default(report, *minor, &releases);
        }
    }
}

fn lint_line(report: &mut Report<'_>, path: &str, line: &LineFile) {
    if line.patches.is_empty() {
        report.add_error(
            Code::UNREACHABLE_DEFAULT,
            path,
            "no patch release is known".to_owned(),
        );
    }
    if line
        .patches
        .iter()
        .any(|patch| Minor::from_release(patch.version()) != Some(line.minor))
    {
        report.add_error(
            Code::DANGLING_REFERENCE,
            path,
            format!("a patch release does not belong to {}", line.minor),
        );
    }
    if !line.patches.is_sorted_by(|a, b| a < b) {
        report.add_error(
            Code::ORDER,
            path,
            "patch releases are not ascending".to_owned(),
        );
    }
}

fn lint_support(report: &mut Report<'_>, support: &Support) {
    let mut runtimes = Vec::new();
    for entry in &support.runtimes {
        runtimes.push((entry.name.as_str(), entry.kubernetes));
    }
    check_table(report, "runtimes", &runtimes);
    let mut access = Vec::new();
    for entry in &support.host_access {
        access.push((entry.name.as_str(), entry.kubernetes));
    }
    check_table(report, "hostAccess", &access);
    check_table(report, "cri", &list_api_ranges(&support.cri));
    check_table(report, "kubeadmApi", &list_api_ranges(&support.kubeadm_api));
    let mut pause = Vec::new();
    for entry in &support.pause {
        pause.push(("pause image", entry.kubernetes));
    }
    check_table(report, "pause", &pause);
    check_runtime_versions(report, support);
}

fn list_api_ranges(entries: &[ApiVersion]) -> Vec<(&str, LineRange)> {
    entries
        .iter()
        .map(|entry| (entry.api.as_str(), entry.kubernetes))
        .collect()
}

/// Every known line has an entry, besides the rules of [`check_ranges`].
fn check_table(report: &mut Report<'_>, table: &str, ranges: &[(&str, LineRange)]) {
    check_ranges(report, SUPPORT, table, ranges);
    for minor in report.catalog.kubernetes_minors() {
        if !ranges.iter().any(|(_, range)| range.contains(minor)) {
            report.add_error(
                Code::MISSING_RANGE,
                SUPPORT,
                format!("`{table}` has no entry for Kubernetes {minor}"),
            );
        }
    }
}

/// Ranges of one name do not overlap, and no known line between the first and the last is missing.
pub(super) fn check_ranges(
    report: &mut Report<'_>,
    path: &str,
    table: &str,
    ranges: &[(&str, LineRange)],
) {
    for (index, (name, range)) in ranges.iter().enumerate() {
        for (other, later) in &ranges[index + 1..] {
            if other == name && range.overlaps(later) {
                let message = format!("`{table}`: {name}: `{range}` and `{later}` overlap");
                report.add_error(Code::OVERLAPPING_RANGES, path, message);
            }
        }
    }

    let mut by_name: BTreeMap<&str, Vec<&LineRange>> = BTreeMap::new();
    for (name, range) in ranges {
        by_name.entry(name).or_default().push(range);
    }
    for (name, ranges) in by_name {
        for minor in list_gaps(&report.catalog.kubernetes_minors(), &ranges) {
            let message = format!("`{table}`: {name}: no entry for Kubernetes {minor}");
            report.add_error(Code::MISSING_RANGE, path, message);
        }
    }
}

/// Lines between the first and the last of the ranges that none of them contains.
fn list_gaps(minors: &[Minor], ranges: &[&LineRange]) -> Vec<Minor> {
    let mut gaps = Vec::new();
    let mut since_last = Vec::new();
    let mut has_begun = false;
    for minor in minors {
        if ranges.iter().any(|range| range.contains(*minor)) {
            has_begun = true;
            gaps.append(&mut since_last);
        } else if has_begun {
            since_last.push(*minor);
        }
    }
    gaps
}

/// Each runtime of a line is a component with a version for that line.
fn check_runtime_versions(report: &mut Report<'_>, support: &Support) {
    for entry in &support.runtimes {
        check_reference(report, SUPPORT, "runtimes", &entry.name);
        let Ok(component) = report.catalog.load_component(&entry.name) else {
            continue;
        };
        for minor in report.catalog.kubernetes_minors() {
            if entry.kubernetes.contains(minor) && component.find_choice(minor).is_none() {
                let message = format!(
                    "runtime {} has no version for Kubernetes {minor}",
                    entry.name
                );
                report.add_error(
                    Code::MISSING_RANGE,
                    &format!("components/{}.json", entry.name),
                    message,
                );
            }
        }
    }
}

fn read_windows(report: &mut Report<'_>) -> Option<Vec<Arc<WindowsRelease>>> {
    let catalog: &Catalog = report.catalog;
    let mut releases = Vec::new();
    let mut complete = true;
    for name in catalog.windows_names() {
        let path = format!("windows/{name}.json");
        match report.accept_file(&path, catalog.load_windows_release(&name)) {
            Some(release) => {
                lint_windows(report, &path, &release);
                releases.push(release);
            }
            None => complete = false,
        }
    }
    complete.then_some(releases)
}

fn lint_windows(report: &mut Report<'_>, path: &str, release: &WindowsRelease) {
    for (index, entry) in release.kubernetes.iter().enumerate() {
        for later in release.kubernetes[index + 1..]
            .iter()
            .filter(|later| entry.versions.overlaps(&later.versions))
        {
            let message = format!(
                "`kubernetes`: `{}` and `{}` overlap",
                entry.versions, later.versions
            );
            report.add_error(Code::OVERLAPPING_RANGES, path, message);
        }
    }
    if release.runs_images_of.first() != Some(&release.build) {
        let message = format!(
            "`runsImagesOf` does not begin with its own build {}",
            release.build
        );
        report.add_error(Code::ORDER, path, message);
    }
    let builds = &release.runs_images_of;
    let is_without_pause = report
        .catalog
        .load_support()
        .is_ok_and(|support| support.pause_images.find_oldest(builds).is_none());
    if !release.kubernetes.is_empty() && is_without_pause {
        let message =
            "no pause image contains a build that it runs, but Kubernetes lines support it";
        report.add_error(Code::UNREACHABLE_DEFAULT, path, message.to_owned());
    }
}

/// Each patch release of a line has the same default Windows release, and only one.
fn check_windows_default(report: &mut Report<'_>, minor: Minor, releases: &[Arc<WindowsRelease>]) {
    let Ok(line) = report.catalog.load_line_file(minor) else {
        return;
    };
    for patch in &line.patches {
        let mut names = Vec::new();
        for release in releases {
            let mut entries = release.kubernetes.iter();
            if entries.any(|entry| entry.default && entry.versions.contains(patch.version())) {
                names.push(release.release.as_str());
            }
        }
        let (rule, message) = match names.as_slice() {
            [_] => continue,
            [] => (
                Code::MISSING_RANGE,
                format!("no Windows release is the default of Kubernetes {patch}"),
            ),
            _ => (
                Code::OVERLAPPING_RANGES,
                format!("Kubernetes {patch} has the defaults {}", names.join(", ")),
            ),
        };
        report.add_error(rule, "windows", message);
        return;
    }
}
