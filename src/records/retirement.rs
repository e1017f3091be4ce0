//! `retirement.json`: what became of the image of a record. It lies beside the record, which itself never changes.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::choice::words;
use crate::base::json::{format_json, parse_foreign};
use crate::base::text::parent_folder;
use crate::diagnostic::Result;
use crate::io::fs;
use crate::workspace::{BUILDS, IMAGE_RECORD};

use super::history::{HistoryEntry, RecordSource, find_current_record};
use super::image::{ImageRecord, refuse_record, require_schema};

const RETIREMENT_SCHEMA: &str = "imagegen.dev/retirement/v1";
const RETIREMENT: &str = "retirement.json";

words!(
    /// State of an image that was taken out of use.
    RetirementState {
        Retired = "retired",
        Deleted = "deleted",
    }
);

/// State of an image that was taken out of use, and since when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Retirement {
    pub state: RetirementState,
    /// RFC 3339, in UTC.
    pub at: String,
}

/// `retirement.json`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RetirementFile {
    pub schema: String,
    /// Image version of the record that it belongs to.
    pub image_version: String,
    /// When the build of that record started.
    pub started: String,
    pub state: RetirementState,
    pub at: String,
}

/// The state of the image of a record; none while it is in use. `place` is the record or its folder.
///
/// # Errors
/// A file cannot be read, or is no `retirement.json`.
pub(super) fn read_retirement(place: &Path, record: &ImageRecord) -> Result<Option<Retirement>> {
    let path = find_retirement_file(place)?;
    let Some(bytes) = fs::read_if_exists(&path)? else {
        return Ok(None);
    };
    let name = path.display().to_string();
    require_schema(&name, &bytes, RETIREMENT_SCHEMA)?;
    let file: RetirementFile =
        parse_foreign(&bytes).map_err(|error| refuse_record(&name, &error))?;
    // A workspace without the folder of its last build: a later build has its record there.
    if file.image_version != record.image_version.as_str() || file.started != record.started {
        return Ok(None);
    }
    Ok(Some(Retirement {
        state: file.state,
        at: file.at,
    }))
}

/// Keeps what became of the image of a build, or that it is in use again. Returns false if the record comes from a list,
/// in which nothing can be kept.
///
/// # Errors
/// A file cannot be read, written or removed.
pub fn keep_retirement(entry: &HistoryEntry, retirement: Option<Retirement>) -> Result<bool> {
    if entry.source != RecordSource::Folder {
        return Ok(false);
    }
    let path = find_retirement_file(Path::new(&entry.place))?;
    let Some(Retirement { state, at }) = retirement else {
        fs::remove_if_exists(&path)?;
        return Ok(true);
    };
    let file = RetirementFile {
        schema: RETIREMENT_SCHEMA.to_owned(),
        image_version: entry.record.image_version.to_string(),
        started: entry.record.started.clone(),
        state,
        at,
    };
    fs::write_file(&path, format_json(&file).as_bytes())?;
    Ok(true)
}

/// The file beside a record; for the record of a workspace beside the one that `builds` keeps of it.
fn find_retirement_file(place: &Path) -> Result<PathBuf> {
    let folder = if place.file_name().is_some_and(|name| name == IMAGE_RECORD) {
        parent_folder(place)
    } else {
        place
    };
    let kept = if fs::is_folder(&folder.join(BUILDS)) {
        find_current_record(folder)?
    } else {
        None
    };
    Ok(kept.as_deref().unwrap_or(folder).join(RETIREMENT))
}
