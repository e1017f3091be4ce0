//! Pinned files: used as they were published, taken out of an archive, or run as an installer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::member::MemberName;
use super::super::value::{PinAlgorithm, Sha256};
use super::{Identity, ResourceKind, ResourceType};

/// Stands in previews for a digest that the lockfile does not pin yet.
pub const UNPINNED: &str = "unpinned";

/// A pinned file that is used as it was published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Artifact {
    pub path: String,
    pub url: String,
    pub algorithm: PinAlgorithm,
    /// Lower-case hexadecimal.
    pub digest: String,
}

/// Files out of a pinned archive. The archive itself is kept in `cache` during the build only:
/// the engine remembers, by the archive's digest, what each member was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Archive {
    pub url: String,
    pub algorithm: PinAlgorithm,
    pub digest: String,
    pub format: ArchiveFormat,
    /// Path of the downloaded archive.
    pub cache: String,
    pub members: Vec<ArchiveMember>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ArchiveFormat {
    #[serde(rename = "zip")]
    Zip,
    #[serde(rename = "tar.gz")]
    TarGz,
}

/// One file taken out of an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ArchiveMember {
    /// Name inside the archive, exactly as listed there.
    pub member: MemberName,
    /// Windows path of the file it becomes.
    pub path: String,
    /// SHA-256 that the member had when the archive was verified: compared after unpacking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Sha256>,
}

/// A pinned Windows Installer package, known as installed by a file that it creates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Msi {
    pub url: String,
    pub algorithm: PinAlgorithm,
    pub digest: String,
    pub cache: String,
    pub creates: String,
    /// `NAME=value` properties and switches after `/i PACKAGE /qn /norestart`.
    pub arguments: Vec<String>,
}

/// What stands for an artifact's bytes: without a digest, only the address is known.
fn pinned_bytes(url: &str, digest: &str) -> String {
    if digest == UNPINNED { url.to_owned() } else { digest.to_owned() }
}

impl ResourceType for Artifact {
    fn identity(&self) -> Identity {
        Identity::from_path(&["path"], &self.path)
    }
    fn paths(&self) -> Vec<&str> {
        vec![&self.path]
    }
    fn digest(&self) -> Option<(&str, usize)> {
        Some((&self.digest, self.algorithm.hex_length()))
    }
    fn file(&self) -> Option<&str> {
        Some(&self.path)
    }
    fn bytes(&self) -> Option<String> {
        Some(pinned_bytes(&self.url, &self.digest))
    }
}

impl ResourceType for Archive {
    /// On a machine each member is a thing of its own: see [`ResourceType::parts`].
    fn identity(&self) -> Identity {
        Identity::from_path(&["cache"], self.members.first().map_or(&self.cache, |member| &member.path))
    }
    fn paths(&self) -> Vec<&str> {
        let members = self.members.iter().map(|member| member.path.as_str());
        members.chain([self.cache.as_str()]).collect()
    }
    fn digest(&self) -> Option<(&str, usize)> {
        Some((&self.digest, self.algorithm.hex_length()))
    }
    fn file(&self) -> Option<&str> {
        self.members.first().map(|member| member.path.as_str())
    }
    fn bytes(&self) -> Option<String> {
        let member = &self.members.first()?.member;
        Some(format!("{} {member}", pinned_bytes(&self.url, &self.digest)))
    }
    fn download(&self) -> Option<Artifact> {
        Some(download(&self.cache, &self.url, self.algorithm, &self.digest))
    }
    fn parts(&self) -> Option<Vec<ResourceKind>> {
        let part = |member: &ArchiveMember| {
            ResourceKind::Archive(Self { members: vec![member.clone()], ..self.clone() })
        };
        Some(self.members.iter().map(part).collect())
    }
}

impl ResourceType for Msi {
    fn identity(&self) -> Identity {
        Identity::from_path(&["creates"], &self.creates)
    }
    fn paths(&self) -> Vec<&str> {
        vec![&self.cache, &self.creates]
    }
    fn digest(&self) -> Option<(&str, usize)> {
        Some((&self.digest, self.algorithm.hex_length()))
    }
    fn file(&self) -> Option<&str> {
        Some(&self.creates)
    }
    fn download(&self) -> Option<Artifact> {
        Some(download(&self.cache, &self.url, self.algorithm, &self.digest))
    }
    fn creates_parents(&self) -> bool {
        true
    }
}

/// The file in the cache that a resource is installed from.
pub(super) fn download(path: &str, url: &str, algorithm: PinAlgorithm, digest: &str) -> Artifact {
    let [path, url, digest] = [path, url, digest].map(str::to_owned);
    Artifact { path, url, algorithm, digest }
}
