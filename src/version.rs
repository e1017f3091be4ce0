//! What this program is: version, commit, date, system, and the digest of its built-in catalog.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use crate::embedded::{Tree, sha256_hex};

/// Which imagegen made something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProgramVersion {
    pub version: &'static str,
    /// Empty for a development build.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub commit: &'static str,
    /// Date of the commit.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub date: &'static str,
    pub system: &'static str,
    /// SHA-256 of the built-in catalog: its files by path and digest.
    pub catalog: String,
}

impl ProgramVersion {
    #[must_use]
    pub fn read() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            commit: env!("IMAGEGEN_COMMIT"),
            date: env!("IMAGEGEN_DATE"),
            system: env!("IMAGEGEN_TARGET"),
            catalog: digest_catalog(&Tree::embedded_manifests()),
        }
    }

    /// As `imagegen --version` prints it behind the name.
    #[must_use]
    pub fn format(&self) -> String {
        let mut text = format!("{}\n", self.version);
        let (commit, date) = (self.commit, self.date);
        let commit = if commit.is_empty() { "none: a development build" } else { commit };
        let _ = writeln!(text, "commit:  {commit}");
        if !date.is_empty() {
            let _ = writeln!(text, "date:    {date}");
        }
        let _ = writeln!(text, "system:  {}", self.system);
        let _ = write!(text, "catalog: sha256:{}", self.catalog);
        text
    }
}

/// A catalog's digest: the SHA-256 of one line `SHA256  PATH` for each file, in the order of the paths. The same as
/// `sha256sum` prints in an exported catalog.
#[must_use]
pub fn digest_catalog(tree: &Tree) -> String {
    let lines = tree.files().into_iter().map(|(path, bytes)| format!("{}  {path}\n", sha256_hex(&bytes)));
    sha256_hex(lines.collect::<String>().as_bytes())
}
