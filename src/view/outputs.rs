//! Results of verbs that write or name files.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::digest::sha256_hex;
use crate::base::program::{ProgramVersion, SYSTEM};
use crate::cluster::ClusterManifest;
use crate::join::Form;
use crate::model::definition::ImageDefinition;
use crate::model::evidence::Evidence;

/// Output of `scripts export`, `catalog export` and `man`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WrittenFolder {
    pub schema: &'static str,
    pub folder: String,
    /// Path in the folder → SHA-256 of the file as it is now.
    pub files: BTreeMap<String, String>,
}

impl WrittenFolder {
    pub fn new(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> Self {
        let digests = files
            .iter()
            .map(|(path, bytes)| (path.clone(), sha256_hex(bytes)));
        Self {
            schema: "imagegen.dev/written-folder/v1",
            folder: folder.display().to_string(),
            files: digests.collect(),
        }
    }
}

/// Entry of `imagegen fetch`: a file in the store.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FetchOutput {
    pub component: String,
    pub version: String,
    pub url: String,
    pub sha256: String,
    pub size: u64,
    /// The file in the store.
    pub path: String,
    pub evidence: Vec<Evidence>,
}

/// Output of `imagegen store`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoreOutput {
    pub schema: &'static str,
    pub store: String,
    /// Files that `store add` added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<StoredFile>,
    /// Number of files that `store verify` read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<usize>,
    /// Digests of files that are not what their names say; they were taken out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<String>,
    /// Paths that `store gc` removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
}

impl StoreOutput {
    /// The path of the store, and nothing done to it.
    pub fn new(store: String) -> Self {
        Self {
            schema: "imagegen.dev/store/v1",
            store,
            added: Vec::new(),
            files: None,
            damaged: Vec::new(),
            removed: Vec::new(),
        }
    }
}

/// File that `store add` added.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoredFile {
    pub sha256: String,
    /// The path that the user named.
    pub file: String,
}

/// Output of `imagegen join-data`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JoinOutput {
    pub schema: &'static str,
    pub kubernetes: String,
    pub api_version: String,
    pub form: Form,
    pub warnings: Vec<String>,
    /// Holds secrets; absent where it was written to a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// Output of `imagegen cluster-manifests`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ManifestsOutput {
    pub schema: &'static str,
    pub warnings: Vec<String>,
    pub items: Vec<ClusterManifest>,
}

impl ManifestsOutput {
    pub fn new(warnings: Vec<String>, items: Vec<ClusterManifest>) -> Self {
        Self {
            schema: "imagegen.dev/cluster-manifests/v1",
            warnings,
            items,
        }
    }
}

/// Output of `imagegen init`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitOutput {
    pub schema: &'static str,
    /// The file that was written.
    pub file: String,
    /// Its content: `imagegen schema image-definition` describes it.
    pub definition: ImageDefinition,
}

/// Output of `imagegen completions`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompletionsOutput {
    pub schema: &'static str,
    pub shell: String,
    pub script: String,
}

/// Output of `imagegen --version`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionOutput {
    pub schema: &'static str,
    #[serde(flatten)]
    pub program: ProgramVersion,
    /// Target triple that the program was compiled for.
    pub system: &'static str,
}

impl VersionOutput {
    /// Of this program.
    pub fn current() -> Self {
        Self {
            schema: "imagegen.dev/version/v1",
            program: ProgramVersion::current(),
            system: SYSTEM,
        }
    }
}

/// Results of a verb for several images.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImagesOutput {
    pub schema: &'static str,
    /// Name of each image that has a result → the object that the verb prints for one image; each names its schema.
    /// An image that failed has an error on stderr and no entry.
    pub images: BTreeMap<String, NamedResult>,
}

/// Result of a verb for one of several images.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NamedResult {
    pub schema: String,
    #[serde(flatten)]
    pub members: BTreeMap<String, serde_json::Value>,
}
