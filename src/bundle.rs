//! The bundle: one zip that carries everything a build needs across the air gap.
//!
//! ```text
//! bundle.json               every other file with digest and size, where artifacts came from, images
//! imagegen.lock.json        the lock
//! objects/sha256/<digest>   artifacts, Packer with its plugins, and the checksum files and signatures that proved them
//! scripts/…                 what runs in the guest
//! images/…                  container images, an OCI layout
//! ```
//!
//! The same lock and the same files give the same bytes. Nothing here opens a socket.

mod gather;
pub mod images;
mod kept;
mod mirror;
mod output;
pub mod platform;
mod read;
mod registry;
mod tags;
mod tools;
mod write;

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::code::Code;
use crate::base::value::ImageReference;
use crate::diagnostic::{Classify, ErrorClass, Location};
use crate::io::fs::FileError;
use crate::lock::Lock;
use crate::model::plan::PlannedArtifact;
use crate::verify::ProofError;

pub use gather::{CarriedExtras, gather_bundle};
pub use kept::list_kept_objects;
pub use mirror::{Mirrored, extract_mirror};
pub(crate) use read::proof_error;
pub use read::{OpenedBundle, extract_bundle, verify_bundle};
pub use registry::{CarriedImage, FetchedImages, ImageSource};
pub use tools::IndexedTool;
pub use write::{ArchivePart, Content, create_bundle, write_zip};

/// Name of the schema of `bundle.json`.
pub const SCHEMA: &str = "imagegen.dev/bundle/v1";

pub(crate) const INDEX: &str = "bundle.json";
/// Folder of artifacts, tools and what proves them.
pub const OBJECTS: &str = "objects/sha256/";
pub(crate) const SCRIPTS: &str = "scripts/";
/// Folder of container images.
pub const BLOBS: &str = "images/blobs/sha256/";

/// Bytes at the start of a file that tell a bundle: a local header (APPNOTE 4.3.7) and the name of the index.
pub const MARK: usize = 30 + INDEX.len();

/// Whether a file begins as bundles do: with the index. Whatever else is wrong with it is wrong with a bundle.
pub fn is_bundle(head: &[u8]) -> bool {
    let length = head
        .get(26..28)
        .map(|bytes| bytes[0] as usize | (bytes[1] as usize) << 8);
    head.starts_with(b"PK\x03\x04")
        && length == Some(INDEX.len())
        && head.get(30..MARK) == Some(INDEX.as_bytes())
}

/// `bundle.json`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct BundleIndex {
    pub schema: String,
    /// Every file but this one, by path.
    pub files: Vec<IndexedFile>,
    /// URL → SHA-256 of what came from there.
    pub origins: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<IndexedImage>,
    /// Images of the lockfile that are not here: nodes pull them from their registries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<ImageReference>,
    /// Packer and its plugins, for each machine that bakes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<IndexedTool>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct IndexedFile {
    pub path: String,
    pub sha256: String,
    pub size: u64,
}

/// A container image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct IndexedImage {
    /// `registry/name@sha256:…`, as it was asked for.
    pub name: String,
    /// Digest of the manifest that fits the Windows release.
    pub manifest: String,
    /// Its `os.version`, where the registry says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os_version: Option<String>,
    /// Digests of layers that the publisher does not let others distribute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign_layers: Vec<String>,
}

/// Message about a container image of the lockfile that was left out of a bundle.
pub fn describe_omitted(name: &ImageReference) -> String {
    format!("{name} is not in the bundle, so a node pulls it from its registry")
}

/// A line for each container image of a bundle that its lockfile does not name, and for each that was left out.
pub fn format_differences<'a>(
    added: impl Iterator<Item = &'a str>,
    omitted: &[ImageReference],
) -> String {
    let mut lines = String::new();
    for name in added {
        lines.push_str(name);
        lines.push_str(" is not an image of the lockfile: it was added to the bundle\n");
    }
    for name in omitted {
        lines.push_str(&describe_omitted(name));
        lines.push('\n');
    }
    lines
}

/// Output of `imagegen bundle`.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BundleOutput {
    pub schema: &'static str,
    pub bundle: String,
    pub files: usize,
    /// Bytes of the files.
    pub size: u64,
    pub artifacts: usize,
    /// Packer and its plugins: `packer 1.16.0 linux/amd64`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<IndexedImage>,
    /// Images of the bundle that its lockfile does not name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
    /// Images of the lockfile that the bundle does not contain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<ImageReference>,
    /// Where the files were put: a store, or the folder of a mirror.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
}

impl BundleOutput {
    pub fn new(file: &Path, index: &BundleIndex, lock: &Lock, store: Option<String>) -> Self {
        let added = images::list_extra_images(index, lock);
        Self {
            schema: "imagegen.dev/bundle-output/v1",
            bundle: file.display().to_string(),
            files: index.files.len(),
            size: index.files.iter().map(|file| file.size).sum(),
            artifacts: lock.artifacts.len(),
            tools: index.tools.iter().map(IndexedTool::title).collect(),
            images: index.images.clone(),
            added: added.map(str::to_owned).collect(),
            omitted: index.omitted.clone(),
            store,
        }
    }

    pub fn format_summary(&self) -> String {
        let place = self
            .store
            .as_ref()
            .map(|store| format!(", now in {store}"))
            .unwrap_or_default();
        let (artifacts, images, size) = (self.artifacts, self.images.len(), self.size);
        let tools = if self.tools.is_empty() {
            String::new()
        } else {
            format!("with {}\n", self.tools.join(", "))
        };
        let added = self.added.iter().map(String::as_str);
        let differences = format_differences(added, &self.omitted);
        format!(
            "{}: {artifacts} artifacts, {images} images, {size} bytes{place}\n{tools}{differences}",
            self.bundle
        )
    }
}

#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    #[error("{file}: {error} [{}]", .error.code)]
    Proof { file: String, error: ProofError },
    #[error("{file} has nothing for a mirror: overrides give URLs of their own to {}", .elsewhere.join(", "))]
    NoMirror {
        file: String,
        elsewhere: Vec<String>,
    },
    #[error("writing {file}: {reason}")]
    Write { file: String, reason: String },
    #[error(transparent)]
    File(#[from] FileError),
}

impl Classify for BundleError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::File(error) => error.class(),
            _ => self.code().class(),
        }
    }

    fn remedies(&self) -> Vec<String> {
        match self {
            Self::NoMirror { .. } => {
                vec![
                    "extract it into a store (`--store DIR`), or lock the image without these URLs"
                        .to_owned(),
                ]
            }
            Self::Proof { error, .. } if error.code == Code::BUNDLE_IMAGE_EXTRA => {
                vec![
                    "if it belongs there, name it with its digest: `--image` of `bundle verify` and `bundle extract`"
                        .to_owned(),
                ]
            }
            _ => Vec::new(),
        }
    }

    fn code(&self) -> Code {
        match self {
            Self::Proof { error, .. } => error.code,
            Self::NoMirror { .. } => Code::BUNDLE_NO_MIRROR,
            Self::File(error) => error.code(),
            Self::Write { .. } => Code::INTERNAL,
        }
    }

    fn location(&self) -> Option<Location> {
        match self {
            Self::Proof { file, .. } | Self::NoMirror { file, .. } | Self::Write { file, .. } => {
                Some(Location::from_file(file))
            }
            Self::File(error) => error.location(),
        }
    }
}

/// Every URL that a lock speaks of: only for these may a bundle say what came from there.
pub(crate) fn collect_urls(lock: &Lock) -> Vec<String> {
    let artifacts = lock
        .artifacts
        .iter()
        .flat_map(list_artifact_urls)
        .map(str::to_owned);
    artifacts
        .chain(lock.selection.user_files().map(|file| file.url.to_string()))
        .collect()
}

/// The URLs of an artifact and of what proves it.
pub(crate) fn list_artifact_urls(artifact: &PlannedArtifact) -> Vec<&str> {
    let mut urls = vec![artifact.url.public_url()];
    urls.extend(artifact.list_proof_urls());
    urls
}
