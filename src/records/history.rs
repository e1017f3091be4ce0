//! Records of builds, read from folders and URLs: listed, found by version, and pruned.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::acquire::{NetworkOptions, open_fetcher};
use crate::base::json::parse_foreign;
use crate::base::text::format_path;
use crate::base::url::{HttpUrl, strip_secrets};
use crate::diagnostic::{Error, InputError, Result};
use crate::io::fs;
use crate::model::policy::Policy;
use crate::ui::Printer;
use crate::workspace::{BUILDS, IMAGE_RECORD, WORKSPACES};

use super::image::{ImageRecord, read_line, refuse_record};
use super::read_family;

/// Name of the schema of `imagegen history --format json`.
pub const HISTORY_SCHEMA: &str = "imagegen.dev/history/v1";
const PRUNE_SCHEMA: &str = "imagegen.dev/history-prune/v1";
/// Folders below a place that are looked into.
const DEPTH: usize = 12;
/// Largest answer of a URL.
const LARGEST: u64 = 64 << 20;

/// `imagegen history --format json`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct BuildHistory {
    pub schema: String,
    /// The newest first.
    pub builds: Vec<HistoryEntry>,
}

/// A record, and where it lies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct HistoryEntry {
    /// The folder of the record, or the URL that it comes from.
    #[serde(deserialize_with = "read_line")]
    pub place: String,
    pub record: ImageRecord,
}

/// `imagegen history prune --format json`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PrunedHistory {
    pub schema: &'static str,
    /// Folders that were removed, or would be.
    pub removed: Vec<String>,
    pub kept: usize,
    pub dry_run: bool,
}

/// Where records lie.
#[derive(Debug, Clone, Default)]
pub struct HistoryPlace {
    /// Folders, files and URLs.
    pub from: Vec<String>,
    pub network: NetworkOptions,
}

/// The records of folders and URLs; without one, those of the default folder of workspaces.
///
/// # Errors
/// A place that is named does not exist, cannot be read, or has something else than records.
pub fn read_history(
    from: &[String],
    network: &NetworkOptions,
    printer: &Printer,
) -> Result<BuildHistory> {
    let mut builds = Vec::new();
    if from.is_empty() && Path::new(WORKSPACES).is_dir() {
        builds.extend(read_folder(Path::new(WORKSPACES), printer)?);
    }
    for place in from {
        if place.contains("://") {
            builds.extend(read_url(place, network)?);
        } else if Path::new(place).is_dir() {
            builds.extend(read_folder(Path::new(place), printer)?);
        } else if fs::is_file(Path::new(place)) {
            let bytes = fs::read_file(Path::new(place))?;
            builds.extend(parse_records(place, &bytes)?);
        } else {
            let message = format!("{place} does not exist");
            let remedy = "name a folder with workspaces or records, a file, or a URL";
            return Err(InputError::new(message, remedy).into());
        }
    }
    sort_newest_first(&mut builds);
    // The record of the image that lies in a workspace is the copy of one in `builds`, which stands first.
    let mut distinct: Vec<HistoryEntry> = Vec::new();
    for entry in builds {
        let mut same = distinct.iter().filter(|it| it.record == entry.record);
        if same.all(|it| are_two_builds(it, &entry)) {
            distinct.push(entry);
        }
    }
    Ok(BuildHistory {
        schema: HISTORY_SCHEMA.to_owned(),
        builds: distinct,
    })
}

/// Records in folders, the newest first; without a folder, those of the default folder of workspaces. What cannot be
/// read is left out.
pub fn list_local_builds(folders: &[String]) -> Vec<HistoryEntry> {
    let default = [WORKSPACES.to_owned()];
    let folders = if folders.is_empty() {
        &default
    } else {
        folders
    };
    let mut builds = Vec::new();
    for folder in folders {
        builds.extend(collect_records(Path::new(folder)).unwrap_or_default().0);
    }
    sort_newest_first(&mut builds);
    builds
}

fn read_folder(folder: &Path, printer: &Printer) -> Result<Vec<HistoryEntry>> {
    let (found, refused) = collect_records(folder)?;
    for error in refused {
        printer.print_warning(&format!("not listed: {error}"));
    }
    Ok(found)
}

/// Records below a folder, at any depth, and why others cannot be read.
fn collect_records(folder: &Path) -> Result<(Vec<HistoryEntry>, Vec<Error>)> {
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    for path in fs::find_files(folder, IMAGE_RECORD, DEPTH)? {
        let bytes = fs::read_file(&path)?;
        if read_family(&bytes) != "imagegen.dev/image" {
            continue;
        }
        let place = format_path(path.parent().unwrap_or(folder));
        match ImageRecord::decode(&path.display().to_string(), &bytes) {
            Ok(record) => found.push(HistoryEntry { place, record }),
            Err(error) => refused.push(error),
        }
    }
    Ok((found, refused))
}

/// Of builds that started in the same second, the higher version and then the later numbered folder counts as newer.
fn sort_newest_first(builds: &mut [HistoryEntry]) {
    builds.sort_by(|one, other| {
        let (a, b) = (&one.record, &other.record);
        let by_time = b.started.cmp(&a.started);
        let by_version = by_time.then(b.image_version.cmp(&a.image_version));
        let in_builds = |entry: &HistoryEntry| find_workspace(Path::new(&entry.place)).is_some();
        by_version
            .then(in_builds(other).cmp(&in_builds(one)))
            .then(other.place.cmp(&one.place))
    });
}

/// The folder in `builds` that keeps the record of the image that lies in a workspace.
///
/// # Errors
/// A record cannot be read.
pub(super) fn find_current_record(workspace: &Path) -> Result<Option<PathBuf>> {
    let Some(current) = fs::read_if_exists(&workspace.join(IMAGE_RECORD))? else {
        return Ok(None);
    };
    let builds = workspace.join(BUILDS);
    for name in fs::list_folders(&builds)? {
        let folder = builds.join(name);
        if fs::read_if_exists(&folder.join(IMAGE_RECORD))?.as_ref() == Some(&current) {
            return Ok(Some(folder));
        }
    }
    Ok(None)
}

/// Whether these are two builds of one workspace: those of one second may have equal records.
fn are_two_builds(one: &HistoryEntry, other: &HistoryEntry) -> bool {
    let (one, other) = (Path::new(&one.place), Path::new(&other.place));
    one != other && find_workspace(one).is_some() && one.parent() == other.parent()
}

/// The workspace whose `builds` holds this folder of a record; none for a folder elsewhere.
pub fn find_workspace(folder: &Path) -> Option<&Path> {
    let builds = folder.parent()?;
    builds.parent().filter(|_| builds.ends_with(BUILDS))
}

fn read_url(place: &str, network: &NetworkOptions) -> Result<Vec<HistoryEntry>> {
    let url: HttpUrl = place.parse()?;
    let fetcher = open_fetcher(network, &Policy::from_hosts(&[]))?;
    let name = strip_secrets(place);
    let bytes = fetcher.fetch_small(&name, &url, LARGEST, &[])?;
    parse_records(&name, &bytes)
}

/// A record, or the output of `history --format json`.
fn parse_records(place: &str, bytes: &[u8]) -> Result<Vec<HistoryEntry>> {
    match read_family(bytes).as_str() {
        "imagegen.dev/history" => {
            let history = parse_foreign::<BuildHistory>(bytes);
            Ok(history
                .map_err(|error| refuse_record(place, &error))?
                .builds)
        }
        "imagegen.dev/image" => Ok(vec![HistoryEntry {
            place: place.to_owned(),
            record: ImageRecord::decode(place, bytes)?,
        }]),
        _ => {
            let message = format!("{place} has no records of builds");
            let remedy = "name an `image.json`, or what `imagegen history --format json` prints";
            Err(InputError::new(message, remedy).into())
        }
    }
}

impl BuildHistory {
    /// The record with this image version, or in the folder of this name.
    ///
    /// # Errors
    /// There is none, or several workspaces have one.
    pub fn find_build(&self, version: &str) -> Result<&HistoryEntry> {
        let (mut named, mut versions) = (Vec::new(), Vec::new());
        for entry in &self.builds {
            let name = Path::new(&entry.place).file_name();
            if name.is_some_and(|name| name == version) {
                named.push(entry);
            }
            // Builds of one second may have equal records: either says what the other does.
            let is_other = versions
                .iter()
                .all(|it: &&HistoryEntry| it.record != entry.record);
            if entry.record.image_version == version && is_other {
                versions.push(entry);
            }
        }
        let found = if named.is_empty() { versions } else { named };
        match found.as_slice() {
            [only] => Ok(only),
            [] => {
                let known = self
                    .builds
                    .iter()
                    .map(|entry| entry.record.image_version.as_str());
                let near = if self.builds.is_empty() {
                    "no build is recorded there; name its workspace with `--from`".to_owned()
                } else {
                    crate::base::names::format_suggestion(version, known)
                };
                let message = format!("no record of the image version `{version}`");
                Err(InputError::new(message, near).into())
            }
            several => {
                let places: Vec<&str> = several.iter().map(|entry| entry.place.as_str()).collect();
                let message = format!(
                    "{} builds have the image version `{version}`",
                    several.len()
                );
                let remedy = format!("name the folder of one: {}", places.join(", "));
                Err(InputError::new(message, remedy).into())
            }
        }
    }
}

/// Removes all but the newest records of each workspace, and the record of the image that lies in it.
///
/// # Errors
/// The folder does not exist, or a record cannot be removed.
pub fn prune_history(
    from: Option<&Path>,
    keep: usize,
    dry_run: bool,
    printer: &Printer,
) -> Result<PrunedHistory> {
    let root = from.unwrap_or(Path::new(WORKSPACES));
    if !root.is_dir() {
        let message = format!("{} does not exist", root.display());
        let remedy = "name the folder of your workspaces: `--from DIR`";
        return Err(InputError::new(message, remedy).into());
    }
    let mut by_workspace: BTreeMap<PathBuf, Vec<HistoryEntry>> = BTreeMap::new();
    for entry in read_folder(root, printer)? {
        let folder = PathBuf::from(&entry.place);
        let builds = folder.parent();
        if let Some(builds) = builds.filter(|_| find_workspace(&folder).is_some()) {
            by_workspace
                .entry(builds.to_owned())
                .or_default()
                .push(entry);
        }
    }

    let (mut removed, mut kept) = (Vec::new(), 0);
    for (builds, mut entries) in by_workspace {
        sort_newest_first(&mut entries);
        let current = find_current_record(builds.parent().unwrap_or(&builds))?;
        for (at, entry) in entries.iter().enumerate() {
            let folder = Path::new(&entry.place);
            if at < keep || current.as_deref() == Some(folder) {
                kept += 1;
                continue;
            }
            if !dry_run {
                fs::remove_folder(folder)?;
            }
            removed.push(entry.place.clone());
        }
    }
    Ok(PrunedHistory {
        schema: PRUNE_SCHEMA,
        removed,
        kept,
        dry_run,
    })
}
