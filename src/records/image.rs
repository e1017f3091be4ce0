//! `image.json`: the record of a build with its image, origin and times, or with its error.

use std::collections::BTreeMap;
use std::fmt::Display;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use crate::bake::{BuiltArtifact, PhaseRecord, ToolUsed};
use crate::base::json::{JsonFault, parse_foreign};
use crate::base::member::stays_inside;
use crate::base::program::ProgramVersion;
use crate::base::text::find_control;
use crate::diagnostic::{self, Error, ErrorReport};
use crate::lock::LOCK_FILE;
use crate::model::evidence::Evidence;
use crate::model::image_version::RecordedVersion;
use crate::model::policy::{PolicyUsed, Waiver};

/// Name of the schema of `image.json`.
pub const IMAGE_SCHEMA: &str = "imagegen.dev/image/v1";

/// Fields of a record whose texts may have several lines: an error repeats what programs printed, and facts of a proof
/// are texts of its file.
const PROSE: [&str; 4] = ["error", "note", "detail", "facts"];

/// A record that nobody can use.
pub(super) fn refuse_record(file: &str, error: &dyn Display) -> Error {
    let message = format!("{file}: {error}");
    let remedy = "a build writes this file; take an unchanged copy of it";
    Error::value(message, remedy)
}

/// The schema that a JSON file names; empty if it names none.
///
/// # Errors
/// It is no object in JSON.
pub(super) fn read_schema(bytes: &[u8]) -> Result<String, JsonFault> {
    #[derive(Deserialize)]
    #[serde(expecting = "a JSON object")]
    struct Head {
        #[serde(default)]
        schema: Value,
    }
    let head: Head = parse_foreign(bytes)?;
    Ok(head.schema.as_str().unwrap_or_default().to_owned())
}

/// Refuses a file of an earlier or later form: what its fields mean is not known.
///
/// # Errors
/// It names another schema, or is no object in JSON.
pub(super) fn require_schema(file: &str, bytes: &[u8], schema: &str) -> diagnostic::Result<()> {
    let found = read_schema(bytes).map_err(|error| refuse_record(file, &error))?;
    if found == schema {
        return Ok(());
    }
    let message = format!("{file}: unsupported schema `{found}`; this version reads `{schema}`");
    let remedy = "use the version of imagegen that wrote the file";
    Err(Error::value(message, remedy))
}

/// `image.json`. Records come from other machines: only the texts of `PROSE` have several lines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", remote = "Self")]
pub struct ImageRecord {
    pub schema: String,
    /// As the image's name ends.
    #[serde(default = "RecordedVersion::absent")]
    pub image_version: RecordedVersion,
    /// Name of the image in its definition; absent in older records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    pub target: String,
    pub windows: String,
    pub kubernetes: String,
    /// SHA-256 of the lock it was baked from, with what the bake learned, such as the digests of members of archives.
    pub lock: String,
    /// SHA-256 of the lockfile of the definition, as it was before; absent if the build used none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lockfile: Option<String>,
    /// The program that baked it.
    pub built_by: ProgramVersion,
    /// RFC 3339, in UTC.
    #[serde(default)]
    pub started: String,
    #[serde(default)]
    pub finished: String,
    #[serde(default)]
    pub base_image: BaseImageRecord,
    /// Files that the build left beside the record, with their SHA-256; empty in older records.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Empty if the build failed.
    pub artifacts: Vec<BuiltArtifact>,
    /// Proofs of the artifacts before the bake, by component; a proof that is missing and waived by name, too.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub evidence: BTreeMap<String, Vec<Evidence>>,
    /// Proofs that are missing, and that somebody allowed to be missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waived: Vec<Waiver>,
    /// How many resources the machine checked, all of them good.
    pub checked: usize,
    /// Steps of Packer and phases of the guest; `timeline.json` has every event.
    #[serde(default)]
    pub phases: Vec<PhaseRecord>,
    /// Packer and its plugins.
    #[serde(default)]
    pub tools: Vec<ToolUsed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyUsed>,
    /// The repository of the image definition; absent outside of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<GitState>,
    /// The pipeline's page of this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_url: Option<String>,
    /// Why the build failed; absent if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorReport>,
    /// SHA-256 of `image.json`, which `build` prints for `attest --sha256`; absent in the file itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_sha256: Option<String>,
}

/// Origin of the machine that was baked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct BaseImageRecord {
    /// The target's variables that name it.
    pub variables: BTreeMap<String, Value>,
    /// As the platform resolved it; absent if the builder does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `sha256:…` of installation media or a disk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub digests: Vec<String>,
}

/// A commit, and whether tracked files differed from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct GitState {
    pub commit: String,
    pub dirty: bool,
    /// URL of the remote `origin` without credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
}

impl<'de> Deserialize<'de> for ImageRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let record = Self::deserialize(deserializer)?;
        // In a list of records, which has a schema of its own.
        if record.schema != IMAGE_SCHEMA {
            let found = &record.schema;
            let text = format!("unsupported schema `{found}`; this version reads `{IMAGE_SCHEMA}`");
            return Err(de::Error::custom(text));
        }
        let value = serde_json::to_value(&record).map_err(de::Error::custom)?;
        // Records are joined to their folder.
        if let Some((name, _)) = record.list_files().find(|(name, _)| !stays_inside(name)) {
            let name = name.escape_debug();
            let message = format!("`{name}` is no path of a file below the folder of the record");
            return Err(de::Error::custom(message));
        }
        match find_control_in(&value, "") {
            None => Ok(record),
            Some((path, c)) => Err(refuse_control(&path, c)),
        }
    }
}

impl Serialize for ImageRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

/// Path of the first text of one line that has a control character, and the character.
fn find_control_in(value: &Value, path: &str) -> Option<(String, char)> {
    match value {
        Value::String(text) => find_control(text, false).map(|c| (path.to_owned(), c)),
        Value::Array(values) => values.iter().find_map(|value| find_control_in(value, path)),
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            if PROSE.contains(&name.as_str()) {
                return None;
            }
            let in_name = find_control(name, false).map(|c| (path.to_owned(), c));
            in_name.or_else(|| find_control_in(value, name))
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn refuse_control<E: de::Error>(name: &str, c: char) -> E {
    let code = u32::from(c);
    E::custom(format!("`{name}` has the control character U+{code:04X}"))
}

/// Reads a text of one line.
pub(super) fn read_line<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    match find_control(&text, false) {
        None => Ok(text),
        Some(c) => Err(refuse_control("place", c)),
    }
}

impl ImageRecord {
    /// Reads what a build wrote.
    ///
    /// # Errors
    /// It is no record.
    pub fn decode(file: &str, bytes: &[u8]) -> diagnostic::Result<Self> {
        parse_foreign(bytes).map_err(|error| {
            // Why a record of another form cannot be read is no matter.
            let other = require_schema(file, bytes, IMAGE_SCHEMA).err();
            other.unwrap_or_else(|| refuse_record(file, &error))
        })
    }

    /// Whether the build made an image: a failed one has none.
    pub fn has_image(&self) -> bool {
        self.error.is_none() && !self.artifacts.is_empty()
    }

    /// SHA-256 of the lockfiles that it was built from: of the definition and of the workspace.
    pub fn list_locks(&self) -> impl Iterator<Item = &String> {
        self.lockfile.iter().chain([&self.lock])
    }

    /// Files beside the record, with the SHA-256 that it names: its lock, the files of the build, those of the image.
    pub fn list_files(&self) -> impl Iterator<Item = (&str, &str)> {
        let left = self.files.iter();
        let images = self.artifacts.iter().flat_map(|artifact| &artifact.files);
        [(LOCK_FILE, self.lock.as_str())]
            .into_iter()
            .chain(left.map(|(name, sha256)| (name.as_str(), sha256.as_str())))
            .chain(images.map(|file| (file.path.as_str(), file.sha256.as_str())))
    }

    /// The same of a value that was read.
    ///
    /// # Errors
    /// It is no record.
    pub(super) fn parse(file: &str, value: &Value) -> diagnostic::Result<Self> {
        Self::deserialize(value).map_err(|error| refuse_record(file, &error))
    }

    /// `built` or `failed`
    pub fn outcome(&self) -> &'static str {
        if self.error.is_some() {
            "failed"
        } else {
            "built"
        }
    }
}
