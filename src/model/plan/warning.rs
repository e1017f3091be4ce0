//! Warnings of a plan.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that does not stop a build and must be known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Warning {
    /// `security-floor`, `unpinned`, …
    pub id: String,
    /// What it is about: a CVE, a component.
    pub subject: String,
    pub message: String,
}

impl Warning {
    pub fn new(
        id: impl Into<String>,
        subject: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            subject: subject.into(),
            message: message.into(),
        }
    }
}
