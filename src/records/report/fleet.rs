//! The page of many images: by Kubernetes line and Windows release, with age, holes and newer releases.

use std::collections::BTreeMap;
use std::path::Path;

use crate::attest::report::{FlawRow, FleetGroup, FleetPage, FleetRow};
use crate::base::program::ProgramVersion;
use crate::base::version::Version;
use crate::catalog::Trees;
use crate::diagnostic::Result;
use crate::io::{clock, fs};
use crate::lock::{LOCK_FILE, Lock};
use crate::model::image_version::ImageVersion;
use crate::model::line::Minor;
use crate::model::vulnerability::Vulnerability;
use crate::selection::read_source_date;

use super::super::bill::{format_time, parse_time};
use super::super::history::{BuildHistory, HistoryEntry, find_workspace};
use super::super::image::ImageRecord;
use super::list_flaws;

/// Kubernetes supports its three newest lines (<https://kubernetes.io/releases/version-skew-policy/#supported-versions>).
const SUPPORTED_LINES: usize = 3;

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
    let now = match read_source_date()? {
        Some(ImageVersion::Time(seconds)) => seconds,
        _ => clock::current_time(),
    };
    let known = &trees.catalog.load_vulnerabilities()?.vulnerabilities;
    let minors = trees.catalog.kubernetes_minors();
    let mut groups: BTreeMap<(Option<Minor>, String), Vec<FleetRow>> = BTreeMap::new();
    let mut page = FleetPage {
        time: format_time(now).unwrap_or_default(),
        program: ProgramVersion::current().format_line(),
        ..FleetPage::default()
    };
    for (name, newest) in find_newest(history) {
        let record = &newest.image.unwrap_or(newest.last).record;
        let version: Option<Version> = record.kubernetes.parse().ok();
        let minor = version.as_ref().and_then(Minor::from_release);
        let row = describe_row(&name, &newest, version.as_ref(), now, known, trees)?;
        page.failed += usize::from(newest.last.record.error.is_some());
        page.affected += usize::from(!row.flaws.is_empty());
        page.outdated += usize::from(!row.newer.is_empty());
        page.built += usize::from(newest.image.is_some());
        page.missing += usize::from(newest.image.is_none());
        groups
            .entry((minor, record.windows.clone()))
            .or_default()
            .push(row);
    }
    for ((minor, windows), images) in groups.into_iter().rev() {
        let (support, tone) = judge_line(minor, &minors);
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

/// The newest build and the newest image by workspace; records from elsewhere by target, release and line.
fn find_newest(history: &BuildHistory) -> BTreeMap<String, Newest<'_>> {
    let mut found: BTreeMap<String, Newest<'_>> = BTreeMap::new();
    for entry in &history.builds {
        let newest = found.entry(name_image(entry)).or_insert(Newest {
            last: entry,
            image: None,
        });
        // The newest stand first.
        if newest.image.is_none() && entry.record.error.is_none() {
            newest.image = Some(entry);
        }
    }
    found
}

/// The name of the workspace of a record.
fn name_image(entry: &HistoryEntry) -> String {
    let place = Path::new(&entry.place);
    let record = &entry.record;
    let described = format!(
        "{}-{}-k8s-{}",
        record.target, record.windows, record.kubernetes
    );
    if entry.place.contains("://") {
        return described;
    }
    let name = find_workspace(place).unwrap_or(place).file_name();
    name.map_or(described, |name| name.to_string_lossy().into_owned())
}

fn describe_row(
    name: &str,
    newest: &Newest<'_>,
    version: Option<&Version>,
    now: u64,
    known: &[Vulnerability],
    trees: &Trees,
) -> Result<FleetRow> {
    let image = newest.image.unwrap_or(newest.last);
    let record: &ImageRecord = &image.record;
    let mut row = FleetRow {
        name: name.to_owned(),
        target: record.target.clone(),
        kubernetes: record.kubernetes.clone(),
        version: record.image_version.to_string(),
        built: record.finished.clone(),
        age: format_age(&record.finished, now),
        last: "built".to_owned(),
        last_time: String::new(),
        tone: "good",
        flaws: Vec::new(),
        flaw_note: String::new(),
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
        "no image".clone_into(&mut row.flaw_note);
        return Ok(row);
    }
    let lock = Path::new(&image.place).join(LOCK_FILE);
    match fs::read_text_if_exists(&lock)? {
        Some(bytes) => match Lock::decode(&lock.display().to_string(), &bytes) {
            Ok(lock) => row.flaws = list_affected(&lock, known),
            Err(error) => row.flaw_note = format!("not known: {error}"),
        },
        None => "not known: no lockfile".clone_into(&mut row.flaw_note),
    }
    if row.flaws.is_empty() && row.flaw_note.is_empty() {
        "none known".clone_into(&mut row.flaw_note);
    }
    Ok(row)
}

/// Each vulnerability once, whatever number of components it is in.
fn list_affected(lock: &Lock, known: &[Vulnerability]) -> Vec<FlawRow> {
    let mut rows = list_flaws(lock, known);
    rows.retain(|row| row.state == "affected");
    rows.dedup_by(|one, other| one.id == other.id);
    rows
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

/// Whether Kubernetes still supports the line, by the newest line that the catalog knows.
fn judge_line(minor: Option<Minor>, minors: &[Minor]) -> (String, &'static str) {
    let newest = minors.iter().max();
    let (Some(minor), Some(newest)) = (minor, newest) else {
        return ("support is not known".to_owned(), "quiet");
    };
    let newer = minors.iter().filter(|other| **other > minor).count();
    if newer >= SUPPORTED_LINES {
        let text =
            format!("end of life: Kubernetes supports its three newest lines, up to {newest}");
        return (text, "bad");
    }
    let text = match newer {
        0 => "supported; the newest line".to_owned(),
        1 => "supported; 1 newer line".to_owned(),
        newer => format!("supported; {newer} newer lines"),
    };
    (text, "quiet")
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
