//! Lines on stderr for programs: JSON with `--format json`, and the annotations of pipelines.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::warnings::WarnedImages;
use crate::base::choice::{Format, words};
use crate::base::json;
use crate::base::secret::mask_text;
use crate::base::text::escape_json_controls;
use crate::diagnostic::{ErrorReport, Location};

/// Name of the schema of an event.
pub const EVENT_SCHEMA: &str = "imagegen.dev/event/v1";

words!(
    /// The kind of a line on stderr.
    EventKind {
        /// Something worth knowing that is no result.
        Note = "note",
        /// A line that `-v` adds.
        Detail = "detail",
        /// The present state of something long.
        Progress = "progress",
        Warning = "warning",
        /// A remedy.
        Hint = "hint",
        /// A line of another program.
        Foreign = "foreign",
    }
);

/// One line on stderr with `--format json`. The last line of a run that fails is an error instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct OutputEvent {
    pub schema: String,
    pub kind: EventKind,
    pub message: String,
    /// The image of a verb that works on several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The images of a warning that several of them have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<WarnedImages>,
}

/// How lines on stderr are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineForm {
    Text,
    Json,
}

impl From<Format> for LineForm {
    fn from(format: Format) -> Self {
        match format {
            Format::Json => Self::Json,
            Format::Text | Format::Markdown => Self::Text,
        }
    }
}

/// An event without secrets.
pub(super) fn create_event(kind: EventKind, text: &str, image: Option<String>) -> OutputEvent {
    OutputEvent {
        schema: EVENT_SCHEMA.to_owned(),
        kind,
        message: mask_text(text).into_owned(),
        image,
        images: None,
    }
}

/// A value as one line of JSON.
pub(super) fn format_line<T: Serialize>(value: &T) -> String {
    let bytes = json::to_bytes(value);
    escape_json_controls(&String::from_utf8_lossy(&bytes)).into_owned()
}

/// Systems that show errors beside the changed lines, known by their environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PipelineKind {
    /// <https://docs.github.com/actions/reference/workflow-commands-for-github-actions>
    GitHub,
    /// <https://learn.microsoft.com/azure/devops/pipelines/scripts/logging-commands>
    DevOps,
}

/// The annotation of an error for a pipeline, as one line.
pub(super) fn format_annotation(pipeline: PipelineKind, report: &ErrorReport) -> String {
    let location = report.location.as_ref();
    let line = location.and_then(|location| location.line);
    let column = location.and_then(|location| location.column);
    let file = location.map(|location| location.file.as_str());
    let message = format!("{}{}", report.name_image(), report.message);
    let text = match report.remedy.as_str() {
        "" => message,
        remedy => format!("{message}\nhint: {remedy}"),
    };
    let mut properties = String::new();
    let mut add = |name: &str, value: &str, end: &str| {
        // Writing to a String cannot fail.
        let _ = write!(properties, "{name}={}{end}", escape_property(value));
    };
    match pipeline {
        PipelineKind::GitHub => {
            if let Some(file) = file {
                add("file", file, ",");
            }
            if let Some(line) = line {
                add("line", &line.to_string(), ",");
            }
            if let Some(column) = column {
                add("col", &column.to_string(), ",");
            }
            add("title", &format!("imagegen {}", report.code), "");
            format!("::error {properties}::{}", escape_data(&text))
        }
        PipelineKind::DevOps => {
            add("type", "error", ";");
            if let Some(file) = file {
                add("sourcepath", file, ";");
            }
            if let Some(line) = line {
                add("linenumber", &line.to_string(), ";");
            }
            if let Some(column) = column {
                add("columnnumber", &column.to_string(), ";");
            }
            add("code", &report.code, ";");
            format!("##vso[task.logissue {properties}]{}", escape_data(&text))
        }
    }
}

fn escape_data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// Beside line ends, what ends a property in either system.
fn escape_property(text: &str) -> String {
    escape_data(text)
        .replace(':', "%3A")
        .replace(',', "%2C")
        .replace(';', "%3B")
        .replace(']', "%5D")
}

/// An entry of a Code Quality report (<https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format>),
/// which GitLab shows in a merge request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QualityEntry {
    pub description: String,
    pub check_name: String,
    pub fingerprint: String,
    pub severity: String,
    pub location: QualityLocation,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QualityLocation {
    /// Relative to the repository.
    pub path: String,
    pub lines: QualityLines,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QualityLines {
    pub begin: usize,
}

/// The entry of an error. An error without a file stands at the image definition.
pub(super) fn describe_quality(report: &ErrorReport) -> QualityEntry {
    let location = report.location.clone();
    let Location { file, line, .. } =
        location.unwrap_or_else(|| Location::from_file("imagegen.json"));
    let description = format!("{}{}", report.name_image(), report.message);
    let seed = format!("{}\n{description}\n{file}", report.code);
    QualityEntry {
        description,
        check_name: report.code.clone(),
        fingerprint: crate::base::digest::sha256_hex(seed.as_bytes())[..32].to_owned(),
        severity: "blocker".to_owned(),
        location: QualityLocation {
            path: file.trim_start_matches("./").to_owned(),
            lines: QualityLines {
                begin: line.unwrap_or(1),
            },
        },
    }
}
