//! Records of builds, read from folders and URLs: listed, and found by version.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::acquire::{NetworkOptions, open_fetcher};
use crate::base::choice::words;
use crate::base::json::parse_foreign;
use crate::base::names::format_suggestion;
use crate::base::text::format_path;
use crate::base::url::{HttpUrl, strip_secrets};
use crate::diagnostic::{Error, Result};
use crate::fetch::FetchError;
use crate::io::fs;
use crate::model::policy::Policy;
use crate::ui::Printer;
use crate::workspace::{BUILDS, IMAGE_RECORD, WORKSPACES};

use super::image::{
    IMAGE_SCHEMA, ImageRecord, read_line, read_schema, refuse_record, require_schema,
};
use super::retirement::{Retirement, RetirementState, read_retirement};
use super::{parse_time, read_family, split_family};

/// Name of the schema of `imagegen history --format json`.
pub const HISTORY_SCHEMA: &str = "imagegen.dev/history/v1";
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
    /// Present if the image was taken out of use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retirement: Option<Retirement>,
    #[serde(skip)]
    pub source: RecordSource,
}

/// Where an entry was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordSource {
    /// The folder of the record, on this machine.
    #[default]
    Folder,
    /// A file or URL with records of another place.
    List(String),
}

words!(
    /// Result of a build, and what became of its image.
    BuildState {
        Built = "built",
        Failed = "failed",
        Retired = "retired",
        Deleted = "deleted",
    }
);

impl HistoryEntry {
    pub fn state(&self) -> BuildState {
        if self.record.error.is_some() {
            return BuildState::Failed;
        }
        match &self.retirement {
            None => BuildState::Built,
            Some(retirement) => match retirement.state {
                RetirementState::Retired => BuildState::Retired,
                RetirementState::Deleted => BuildState::Deleted,
            },
        }
    }

    /// Whether the build made an image that was not deleted.
    pub fn has_image(&self) -> bool {
        self.record.has_image() && self.state() != BuildState::Deleted
    }
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
        } else if Path::new(place).exists() {
            let bytes = fs::read_file(Path::new(place))?;
            builds.extend(read_record_file(place, &bytes)?);
        } else {
            let message = format!("{place} does not exist");
            let remedy = "name a folder with workspaces or records, a file, or a URL";
            return Err(Error::value(message, remedy));
        }
    }
    sort_newest_first(&mut builds);
    Ok(BuildHistory {
        schema: HISTORY_SCHEMA.to_owned(),
        builds: drop_copies(builds),
    })
}

/// Each build once. The record of the image that lies in a workspace is the copy of one in `builds`, which stands first.
fn drop_copies(builds: Vec<HistoryEntry>) -> Vec<HistoryEntry> {
    let mut distinct: Vec<HistoryEntry> = Vec::new();
    for entry in builds {
        // Copies have one start and one version, and so stand side by side.
        let other = distinct.iter().rposition(|it| {
            it.record.started != entry.record.started
                || it.record.image_version != entry.record.image_version
        });
        let begin = other.map_or(0, |at| at + 1);
        let copy = distinct[begin..]
            .iter_mut()
            .find(|it| it.record == entry.record && !are_two_builds(it, &entry));
        match copy {
            Some(first) if first.retirement.is_none() => first.retirement = entry.retirement,
            Some(_) => {}
            None => distinct.push(entry),
        }
    }
    distinct
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

pub(super) fn read_folder(folder: &Path, printer: &Printer) -> Result<Vec<HistoryEntry>> {
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
        match read_found_record(folder, &path) {
            Ok(entry) => found.extend(entry),
            Err(error) => refused.push(error),
        }
    }
    Ok((found, refused))
}

/// A file in a folder with the name of a record; none where it is another program's.
fn read_found_record(folder: &Path, path: &Path) -> Result<Option<HistoryEntry>> {
    let bytes = fs::read_file(path)?;
    // What no program can read may be a record that was damaged.
    let schema =
        read_schema(&bytes).map_err(|error| refuse_record(&path.display().to_string(), &error))?;
    if split_family(&schema) != split_family(IMAGE_SCHEMA) {
        return Ok(None);
    }
    let place = format_path(path.parent().unwrap_or(folder));
    read_entry(place, path, &bytes).map(Some)
}

/// A record in a folder of this machine, with what became of its image.
fn read_entry(place: String, path: &Path, bytes: &[u8]) -> Result<HistoryEntry> {
    let record = ImageRecord::decode(&path.display().to_string(), bytes)?;
    Ok(HistoryEntry {
        retirement: read_retirement(path, &record)?,
        source: RecordSource::Folder,
        place,
        record,
    })
}

/// Of builds that started in the same second, the higher version and then the later numbered folder counts as newer. A
/// build whose time cannot be read is the oldest: it takes no place of one that is known to be new.
pub(super) fn sort_newest_first(builds: &mut [HistoryEntry]) {
    builds.sort_by_cached_key(|entry| {
        let record = &entry.record;
        let is_dated = parse_time(&record.started).is_some();
        let by_time = Reverse((
            is_dated,
            record.started.clone(),
            record.image_version.clone(),
        ));
        let is_kept = find_workspace(Path::new(&entry.place)).is_some();
        let by_place = Reverse((is_kept, entry.place.clone()));
        (by_time, entry.source.clone(), by_place)
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

/// The workspace whose `builds` holds this folder of a record; none for a folder elsewhere, such as a workspace in a folder
/// that has this name.
pub fn find_workspace(folder: &Path) -> Option<&Path> {
    let builds = folder.parent()?;
    if !builds.ends_with(BUILDS) || fs::is_written(folder) || fs::is_folder(&folder.join(BUILDS)) {
        return None;
    }
    builds.parent()
}

fn read_url(place: &str, network: &NetworkOptions) -> Result<Vec<HistoryEntry>> {
    let url: HttpUrl = place.parse()?;
    let fetcher = open_fetcher(network, &Policy::from_hosts(&[]))?;
    let name = strip_secrets(place);
    // Errors of a download name the address themselves.
    let answer = fetcher.fetch_small("", &url, LARGEST, &[]);
    parse_records(&name, &answer.map_err(FetchError::of_answer)?)
}

/// The records of a file of this machine: one that lies in its folder, or a list of another place.
fn read_record_file(place: &str, bytes: &[u8]) -> Result<Vec<HistoryEntry>> {
    let path = Path::new(place);
    let is_record = path.file_name().is_some_and(|name| name == IMAGE_RECORD);
    if is_record && read_family(bytes) == "imagegen.dev/image" {
        return Ok(vec![read_entry(place.to_owned(), path, bytes)?]);
    }
    parse_records(place, bytes)
}

/// A record, or the output of `history --format json`.
fn parse_records(place: &str, bytes: &[u8]) -> Result<Vec<HistoryEntry>> {
    match read_family(bytes).as_str() {
        "imagegen.dev/history" => {
            require_schema(place, bytes, HISTORY_SCHEMA)?;
            let history = parse_foreign::<BuildHistory>(bytes);
            let mut builds = history
                .map_err(|error| refuse_record(place, &error))?
                .builds;
            for entry in &mut builds {
                entry.source = RecordSource::List(place.to_owned());
            }
            Ok(builds)
        }
        "imagegen.dev/image" => Ok(vec![HistoryEntry {
            place: place.to_owned(),
            record: ImageRecord::decode(place, bytes)?,
            retirement: None,
            source: RecordSource::List(place.to_owned()),
        }]),
        _ => {
            let message = format!("{place} has no records of builds");
            let remedy = "name an `image.json`, or what `imagegen history --format json` prints";
            Err(Error::value(message, remedy))
        }
    }
}

impl BuildHistory {
    /// The build with this image version: of several the only one that has an image. If no record has the version, the
    /// build in the folder of this name.
    ///
    /// # Errors
    /// There is none, or several have an image.
    pub fn find_build(&self, version: &str) -> Result<&HistoryEntry> {
        let (mut named, mut versions) = (Vec::new(), Vec::new());
        for entry in &self.builds {
            let place = Path::new(&entry.place);
            if entry.place == version || place.file_name().is_some_and(|name| name == version) {
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

        let found = if versions.is_empty() { named } else { versions };
        let mut with_image = found.iter().filter(|entry| entry.has_image());
        match (with_image.next(), with_image.next(), found.as_slice()) {
            (Some(only), None, _) | (None, None, [only]) => Ok(only),
            (_, _, []) => Err(self.refuse_unknown(version)),
            (_, _, several) => Err(refuse_ambiguous(version, several)),
        }
    }

    fn refuse_unknown(&self, version: &str) -> Error {
        let known = self
            .builds
            .iter()
            .map(|entry| entry.record.image_version.as_str());
        let remedy = if self.builds.is_empty() {
            "no build is recorded there; name its workspace with `--from`".to_owned()
        } else {
            format_suggestion(version, known)
        };
        let message = format!("no record of the image version `{version}`");
        Error::value(message, remedy)
    }
}

fn refuse_ambiguous(version: &str, builds: &[&HistoryEntry]) -> Error {
    let mut places = Vec::new();
    for entry in builds {
        places.push(format!("{} ({})", entry.place, entry.state()));
    }
    let count = builds.len();
    let message = format!("{count} builds have the image version `{version}`");
    let remedy = format!("name the folder of one: {}", places.join(", "));
    Error::value(message, remedy)
}
