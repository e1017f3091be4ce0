//! Pinned files: used as they were published, taken out of an archive, or run as an installer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::value::WindowsPath;
use super::{Identity, ResourceKind, ResourceType};
use crate::base::choice::words;
use crate::base::member::MemberName;
use crate::base::url::HttpUrl;
use crate::base::value::{FileDigest, PinAlgorithm, Sha256, ValueError};

/// Stands in previews for a digest that the lockfile does not pin yet.
pub const UNPINNED: &str = "unpinned";

/// Bytes that the engine downloads. In JSON, `digest` is `unpinned` where nothing pins them yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "DownloadRecord", into = "DownloadRecord")]
#[schemars(with = "DownloadRecord")]
pub struct PinnedUrl {
    pub url: HttpUrl,
    pub digest: Option<FileDigest>,
}

/// The same in JSON.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename = "Download")]
struct DownloadRecord {
    url: HttpUrl,
    algorithm: PinAlgorithm,
    /// Lower-case hexadecimal.
    digest: String,
}

impl TryFrom<DownloadRecord> for PinnedUrl {
    type Error = ValueError;

    fn try_from(record: DownloadRecord) -> Result<Self, ValueError> {
        let DownloadRecord {
            url,
            algorithm,
            digest,
        } = record;
        let digest = if digest == UNPINNED {
            None
        } else {
            Some(FileDigest::new(algorithm, digest)?)
        };
        Ok(Self { url, digest })
    }
}

impl From<PinnedUrl> for DownloadRecord {
    fn from(download: PinnedUrl) -> Self {
        let PinnedUrl { url, digest } = download;
        match digest {
            Some(digest) => Self {
                url,
                algorithm: digest.algorithm(),
                digest: digest.to_string(),
            },
            None => Self {
                url,
                algorithm: PinAlgorithm::Sha256,
                digest: UNPINNED.to_owned(),
            },
        }
    }
}

impl PinnedUrl {
    /// Identity of the bytes: without a digest, only the address is known.
    pub fn identify_bytes(&self) -> &str {
        self.digest
            .as_ref()
            .map_or_else(|| self.url.public_url(), FileDigest::as_str)
    }

    /// The file in the cache that a resource is installed from.
    pub fn to_artifact(&self, cache: &WindowsPath) -> Artifact {
        Artifact {
            path: cache.clone(),
            download: self.clone(),
        }
    }
}

/// A pinned file that is used as it was published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Artifact {
    pub path: WindowsPath,
    #[serde(flatten)]
    pub download: PinnedUrl,
}

/// Files out of a pinned archive. The archive itself is kept in `cache` during the build only:
/// the engine remembers, by the archive's digest, what each member was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Archive {
    #[serde(flatten)]
    pub download: PinnedUrl,
    pub format: ArchiveFormat,
    /// Path of the downloaded archive.
    pub cache: WindowsPath,
    pub members: Vec<ArchiveMember>,
}

words!(
    ArchiveFormat {
        Zip = "zip",
        TarGz = "tar.gz",
    }
);

/// One file taken out of an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ArchiveMember {
    /// Name inside the archive, exactly as listed there.
    pub member: MemberName,
    /// Windows path of the file it becomes.
    pub path: WindowsPath,
    /// SHA-256 that the member had when the archive was verified: compared after unpacking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Sha256>,
}

/// A pinned Windows Installer package, known as installed by a file that it creates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Msi {
    #[serde(flatten)]
    pub download: PinnedUrl,
    pub cache: WindowsPath,
    pub creates: WindowsPath,
    /// `NAME=value` properties and switches after `/i PACKAGE /qn /norestart`.
    pub arguments: Vec<String>,
}

impl ResourceType for Artifact {
    fn identity(&self) -> Identity {
        Identity::from_path(&["path"], &self.path)
    }
    fn paths(&self) -> Vec<&str> {
        vec![&self.path]
    }
    fn file(&self) -> Option<&str> {
        Some(&self.path)
    }
    fn bytes(&self) -> Option<String> {
        Some(self.download.identify_bytes().to_owned())
    }
}

impl ResourceType for Archive {
    /// On a machine each member is a thing of its own: see [`ResourceType::parts`].
    fn identity(&self) -> Identity {
        Identity::from_path(
            &["cache"],
            self.members
                .first()
                .map_or(&self.cache, |member| &member.path),
        )
    }
    fn paths(&self) -> Vec<&str> {
        let members = self.members.iter().map(|member| member.path.as_str());
        members.chain([self.cache.as_str()]).collect()
    }
    fn file(&self) -> Option<&str> {
        self.members.first().map(|member| member.path.as_str())
    }
    fn bytes(&self) -> Option<String> {
        let member = &self.members.first()?.member;
        Some(format!("{} {member}", self.download.identify_bytes()))
    }
    fn download(&self) -> Option<Artifact> {
        Some(self.download.to_artifact(&self.cache))
    }
    fn parts(&self) -> Option<Vec<ResourceKind>> {
        let mut parts = Vec::new();
        for member in &self.members {
            parts.push(ResourceKind::Archive(Self {
                members: vec![member.clone()],
                ..self.clone()
            }));
        }
        Some(parts)
    }
}

impl ResourceType for Msi {
    fn identity(&self) -> Identity {
        Identity::from_path(&["creates"], &self.creates)
    }
    fn paths(&self) -> Vec<&str> {
        vec![&self.cache, &self.creates]
    }
    fn file(&self) -> Option<&str> {
        Some(&self.creates)
    }
    fn download(&self) -> Option<Artifact> {
        Some(self.download.to_artifact(&self.cache))
    }
    fn creates_parents(&self) -> bool {
        true
    }
}
