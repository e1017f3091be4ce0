//! The page of many images: by Kubernetes line and Windows release, with age, holes and newer releases.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::attest::report::{FleetGroup, FleetPage, FleetRow};
use crate::base::program::ProgramVersion;
use crate::base::text::format_path;
use crate::base::version::Version;
use crate::catalog::{Catalog, Trees};
use crate::diagnostic::Result;
use crate::io::clock;
use crate::model::line::Minor;
use crate::model::support::Day;
use crate::selection::read_time;

use super::super::bill::{format_time, parse_time};
use super::super::history::{BuildHistory, BuildState, HistoryEntry, RecordSource, find_workspace};
use super::super::image::ImageRecord;

/// A workspace of one source; records that are alone at a URL have the name of their image instead.
type ImageKey<'a> = (&'a RecordSource, PathBuf);

/// The last build and the last image of one workspace.
struct Newest<'a> {
    last: &'a HistoryEntry,
    image: Option<&'a HistoryEntry>,
}

/// The page of the newest image of each workspace.
///
/// # Errors
/// The catalog cannot be read, or `SOURCE_DATE_EPOCH` is no time.
pub fn describe_fleet(history: &BuildHistory, trees: &Trees) -> Result<FleetPage> {
    let now = read_time()?;
    let today = Day::from_time(now);
    let mut groups: BTreeMap<(Option<Minor>, String), Vec<FleetRow>> = BTreeMap::new();
    let mut page = FleetPage {
        time: format_time(now).unwrap_or_default(),
        program: ProgramVersion::current().format_line(),
        ..FleetPage::default()
    };
    for (name, newest) in name_images(find_newest(history)) {
        let record = &newest.image.unwrap_or(newest.last).record;
        let version: Option<Version> = record.kubernetes.parse().ok();
        let minor = version.as_ref().and_then(Minor::from_release);
        let row = describe_row(&name, &newest, version.as_ref(), now, trees);
        page.failed += usize::from(newest.last.record.error.is_some());
        page.outdated += usize::from(!row.newer.is_empty());
        page.built += usize::from(newest.image.is_some());
        page.missing += usize::from(newest.image.is_none());
        groups
            .entry((minor, record.windows.clone()))
            .or_default()
            .push(row);
    }
    for ((minor, windows), images) in groups.into_iter().rev() {
        let (support, tone) = judge_line(minor, today.as_ref(), &trees.catalog);
        let line = minor.map_or_else(|| "unknown".to_owned(), |minor| minor.to_string());
        page.groups.push(FleetGroup {
            line,
            windows,
            support,
            tone,
            images,
        });
    }
    Ok(page)
}

/// The newest build and the newest image by workspace; records of URLs by image, target, release and line.
fn find_newest(history: &BuildHistory) -> BTreeMap<ImageKey<'_>, Newest<'_>> {
    let mut found: BTreeMap<ImageKey<'_>, Newest<'_>> = BTreeMap::new();
    for entry in &history.builds {
        let newest = found.entry(find_key(entry)).or_insert(Newest {
            last: entry,
            image: None,
        });
        // The newest stand first.
        let has_image = matches!(entry.state(), BuildState::Built | BuildState::Retired);
        if newest.image.is_none() && has_image {
            newest.image = Some(entry);
        }
    }
    found
}

fn find_key(entry: &HistoryEntry) -> ImageKey<'_> {
    let place = Path::new(&entry.place);
    let record = &entry.record;
    if entry.place.contains("://") {
        let line = format!(
            "{}-{}-k8s-{}",
            record.target, record.windows, record.kubernetes
        );
        let name = record.image.as_ref();
        let name = name.map_or(line.clone(), |name| format!("{name} {line}"));
        return (&RecordSource::Folder, name.into());
    }
    let workspace = find_workspace(place).unwrap_or(place);
    (&entry.source, workspace.to_owned())
}

/// Each image with the name of its workspace; where several have it, with the whole path, and the list that names it.
fn name_images<'a>(newest: BTreeMap<ImageKey<'a>, Newest<'a>>) -> Vec<(String, Newest<'a>)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (_, workspace) in newest.keys() {
        *counts.entry(shorten_name(workspace)).or_default() += 1;
    }
    let mut named = Vec::new();
    for ((source, workspace), newest) in newest {
        let short = shorten_name(&workspace);
        let name = match source {
            _ if counts[&short] == 1 => short,
            RecordSource::Folder => format_path(&workspace),
            RecordSource::List(list) => format!("{} ({list})", format_path(&workspace)),
        };
        named.push((name, newest));
    }
    named.sort_by(|one, other| one.0.cmp(&other.0));
    named
}

fn shorten_name(workspace: &Path) -> String {
    let name = workspace.file_name().unwrap_or(workspace.as_os_str());
    name.to_string_lossy().into_owned()
}

fn describe_row(
    name: &str,
    newest: &Newest<'_>,
    version: Option<&Version>,
    now: u64,
    trees: &Trees,
) -> FleetRow {
    let image = newest.image.unwrap_or(newest.last);
    let record: &ImageRecord = &image.record;
    let mut row = FleetRow {
        name: name.to_owned(),
        target: record.target.clone(),
        kubernetes: record.kubernetes.clone(),
        version: record.image_version.to_string(),
        built: record.finished.clone(),
        age: format_age(&record.finished, now),
        last: newest.last.state().to_string(),
        last_time: String::new(),
        tone: "good",
        newer: version.map_or_else(String::new, |version| find_newer(version, trees)),
    };
    if let Some(error) = &newest.last.record.error {
        row.last = format!("failed: {}", error.code);
        row.last_time.clone_from(&newest.last.record.started);
        row.tone = "bad";
    }
    if newest.image.is_none() {
        // A failed build has a time and a lockfile, and nothing that anybody runs.
        row.version.clear();
        "never".clone_into(&mut row.built);
        row.age.clear();
        row.newer.clear();
        return row;
    }
    row
}

/// The newest release of the same line that the catalog knows; empty if the image has it.
fn find_newer(version: &Version, trees: &Trees) -> String {
    let minor = Minor::from_release(version);
    let line = minor.and_then(|minor| trees.catalog.load_kubernetes_line(minor).ok());
    match line {
        Some(line) if line.latest > *version => line.latest.to_string(),
        _ => String::new(),
    }
}

/// Until when Kubernetes supports the line.
fn judge_line(
    minor: Option<Minor>,
    today: Option<&Day>,
    catalog: &Catalog,
) -> (String, &'static str) {
    let line = minor.and_then(|minor| catalog.load_kubernetes_line(minor).ok());
    let end = line.as_ref().and_then(|line| line.end_of_support.as_ref());
    let Some(date) = end.map(|end| &end.date) else {
        return ("support is not known".to_owned(), "quiet");
    };
    if today.is_some_and(|today| date < today) {
        return (format!("end of life since {date}"), "bad");
    }
    (format!("supported until {date}"), "quiet")
}

/// Whole days from the end of the build.
fn format_age(finished: &str, now: u64) -> String {
    let Some(time) = parse_time(finished) else {
        return String::new();
    };
    let days = now.saturating_sub(time) / clock::DAY;
    match days {
        1 => "1 day".to_owned(),
        days => format!("{days} days"),
    }
}
