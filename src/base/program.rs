//! Identity of this program: version, commit, date, system, and the digest of its built-in catalog.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Target triple that this program was compiled for.
pub const SYSTEM: &str = env!("IMAGEGEN_TARGET");

/// Which imagegen wrote a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ProgramVersion {
    pub version: String,
    /// Empty for a development build.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub commit: String,
    /// Date of the commit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub date: String,
    /// SHA-256 of the built-in catalog: its files by path and digest.
    pub catalog: String,
}

impl ProgramVersion {
    /// This program.
    pub fn current() -> Self {
        let facts = [
            env!("CARGO_PKG_VERSION"),
            env!("IMAGEGEN_COMMIT"),
            env!("IMAGEGEN_DATE"),
            env!("IMAGEGEN_CATALOG"),
        ];
        let [version, commit, date, catalog] = facts.map(str::to_owned);
        Self {
            version,
            commit,
            date,
            catalog,
        }
    }

    /// As `imagegen --version` prints it behind the name.
    pub fn format(&self) -> String {
        let mut text = format!("{}\n", self.version);
        let commit = if self.commit.is_empty() {
            "none: a development build"
        } else {
            &self.commit
        };
        let _ = writeln!(text, "commit:  {commit}");
        if !self.date.is_empty() {
            let _ = writeln!(text, "date:    {}", self.date);
        }
        let _ = writeln!(text, "system:  {SYSTEM}");
        let _ = write!(text, "catalog: sha256:{}", self.catalog);
        text
    }

    /// In one line: `0.1.0 (commit 1f2e3d, 2026-11-22)`.
    pub fn format_line(&self) -> String {
        let commit = (!self.commit.is_empty()).then(|| format!("commit {}", self.commit));
        let date = (!self.date.is_empty()).then(|| self.date.clone());
        let origin: Vec<String> = commit.into_iter().chain(date).collect();
        let origin = if origin.is_empty() {
            "development build".to_owned()
        } else {
            origin.join(", ")
        };
        format!("{} ({origin})", self.version)
    }
}
