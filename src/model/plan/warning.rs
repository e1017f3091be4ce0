//! Warnings of a plan, and the variables that nobody gave.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::code::Code;
use crate::diagnostic::Finding;

/// A variable of the target that a bake needs and that nobody gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MissingVariable {
    /// One name, or several of which one is enough.
    pub names: Vec<String>,
    pub description: String,
    pub sensitive: bool,
    /// How to give it, as short imperatives.
    pub from: Vec<String>,
}

/// Something that does not stop a build and must be known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Warning {
    /// `lacking`, `unpinned`, …
    pub id: String,
    /// Subject of the warning, such as a component.
    pub subject: String,
    pub message: String,
}

impl Warning {
    pub fn new(id: Code, subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            subject: subject.into(),
            message: message.into(),
        }
    }

    /// The same as something that does stop a build.
    pub fn refuse(&self, code: Code, remedy: impl Into<String>) -> Finding {
        Finding::new(code, self.message.as_str(), remedy).with_subject(self.subject.as_str())
    }
}
