//! An error as one JSON value: the last line of stderr with `--format json`, and the error in the record of a build.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Error, Finding, Severity};
use crate::base::json::JsonError;
use crate::base::secret::mask_text;

/// Name of the schema of an error.
pub const ERROR_SCHEMA: &str = "imagegen.dev/error/v1";

/// An error for programs. Texts hold no secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ErrorReport {
    pub schema: String,
    /// Stable, kebab-case: `imagegen explain CODE` describes it.
    pub code: String,
    /// `usage`, `value`, `download`, `verification`, `render`, `packer`, `checks`, `interrupted` or `internal`.
    pub class: String,
    /// Exit code of the program.
    pub exit_code: u8,
    /// As the text form prints it behind `error:`.
    pub message: String,
    /// Name of the image, if a verb works on several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The thing that the error is about: a component, a file, a resource. May be empty.
    pub subject: String,
    /// Where to change something; null if it is not in a file.
    pub location: Option<Location>,
    /// Remedies, one on each line. May be empty.
    pub remedy: String,
    /// Where the rule comes from. May be empty.
    pub source: String,
    /// Everything that is wrong, if the error is a list of findings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Location {
    pub file: String,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// From 1, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// JSON pointer (RFC 6901) of the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
}

impl Location {
    pub fn from_file(file: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            line: None,
            column: None,
            pointer: None,
        }
    }

    pub fn from_json(error: &JsonError) -> Self {
        Self {
            file: error.file.clone(),
            line: Some(error.fault.line),
            column: Some(error.fault.column),
            pointer: Some(error.fault.path.to_pointer()),
        }
    }
}

impl ErrorReport {
    /// The name of the image in front of a message; nothing if a verb works on one.
    pub fn name_image(&self) -> String {
        let image = self.image.as_ref();
        image.map_or_else(String::new, |image| format!("{image}: "))
    }

    /// The error with what its findings say of it: the first that is an error decides code, subject and source.
    pub fn from_error(error: &Error) -> Self {
        let findings: Vec<Finding> = error.findings().iter().map(mask_finding).collect();
        let first = findings
            .iter()
            .find(|finding| finding.severity == Severity::Error);
        let code = first.map_or(error.code().as_str(), |finding| &finding.code);
        let in_file = first
            .filter(|finding| !finding.file.is_empty())
            .map(|finding| Location::from_file(&finding.file));
        let location = error.location().or(in_file);
        let named = first.map_or_else(String::new, |finding| finding.subject.clone());
        let subject = match &location {
            Some(location) if named.is_empty() => location.file.clone(),
            _ => named,
        };

        let class = error.class();
        Self {
            schema: ERROR_SCHEMA.to_owned(),
            code: code.to_owned(),
            class: class.name().to_owned(),
            exit_code: class.exit_code(),
            message: mask_text(&error.to_string()).into_owned(),
            image: None,
            subject,
            location,
            remedy: mask_text(&error.remedies().join("\n")).into_owned(),
            source: first.map_or_else(String::new, |finding| finding.source.clone()),
            findings,
        }
    }
}

/// The finding without secrets.
fn mask_finding(finding: &Finding) -> Finding {
    Finding {
        subject: mask_text(&finding.subject).into_owned(),
        message: mask_text(&finding.message).into_owned(),
        remedy: mask_text(&finding.remedy).into_owned(),
        ..finding.clone()
    }
}
