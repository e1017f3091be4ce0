//! Features of Windows, and its updates.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::value::PinAlgorithm;
use super::artifact::download;
use super::{Artifact, Identity, ResourceType};

/// A role or feature of Windows Server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct WindowsFeature {
    pub feature: String,
    pub installed: bool,
}

/// A feature on demand (`OpenSSH.Server~~~~0.0.1.0`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct WindowsCapability {
    pub capability: String,
    pub installed: bool,
}

/// A pinned update package (`.msu`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Hotfix {
    /// `KB5058411`
    pub kb: String,
    pub url: String,
    pub algorithm: PinAlgorithm,
    pub digest: String,
    pub cache: String,
}

/// Updates that Windows Update offers: some by name, and all of some categories. The search runs
/// as SYSTEM, because the update agent refuses remote sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct WindowsUpdate {
    pub kbs: Vec<String>,
    /// Ids of categories: their names are in the language of the system.
    pub categories: Vec<String>,
}

impl ResourceType for WindowsFeature {
    fn identity(&self) -> Identity {
        Identity::new("feature", &["feature"], &self.feature)
    }
}

impl ResourceType for WindowsCapability {
    fn identity(&self) -> Identity {
        Identity::new("capability", &["capability"], &self.capability)
    }
}

impl ResourceType for Hotfix {
    fn identity(&self) -> Identity {
        Identity::new("hotfix", &["kb"], &self.kb)
    }
    fn paths(&self) -> Vec<&str> {
        vec![&self.cache]
    }
    fn digest(&self) -> Option<(&str, usize)> {
        Some((&self.digest, self.algorithm.hex_length()))
    }
    fn download(&self) -> Option<Artifact> {
        Some(download(&self.cache, &self.url, self.algorithm, &self.digest))
    }
}

impl ResourceType for WindowsUpdate {
    fn identity(&self) -> Identity {
        Identity::new(
            "update search",
            &[],
            self.kbs.iter().chain(&self.categories).cloned().collect::<Vec<_>>().join(" "),
        )
    }
}
