//! Features of Windows, and its updates.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::value::{KbId, LiteralName, PlainGuid, WindowsPath};
use super::{Artifact, Identity, PinnedUrl, ResourceType};

/// A role or feature of Windows Server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct WindowsFeature {
    pub feature: LiteralName,
    pub installed: bool,
}

/// A feature on demand (`OpenSSH.Server~~~~0.0.1.0`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct WindowsCapability {
    pub capability: LiteralName,
    pub installed: bool,
}

/// A pinned update package (`.msu`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Hotfix {
    pub kb: KbId,
    #[serde(flatten)]
    pub download: PinnedUrl,
    pub cache: WindowsPath,
}

/// Updates that Windows Update offers: some by name, and all of some categories. The search runs
/// as SYSTEM, because the update agent refuses remote sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct WindowsUpdate {
    pub kbs: Vec<KbId>,
    /// Ids of categories: their names are in the language of the system.
    pub categories: Vec<PlainGuid>,
    /// Updates that are left out, unless `kbs` names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<KbId>,
}

impl ResourceType for WindowsFeature {
    fn identity(&self) -> Identity {
        Identity::new("feature", &["feature"], self.feature.as_str())
    }
}

impl ResourceType for WindowsCapability {
    fn identity(&self) -> Identity {
        Identity::new("capability", &["capability"], self.capability.as_str())
    }
}

impl ResourceType for Hotfix {
    fn identity(&self) -> Identity {
        Identity::new("hotfix", &["kb"], self.kb.as_str())
    }
    fn paths(&self) -> Vec<&str> {
        vec![&self.cache]
    }
    fn download(&self) -> Option<Artifact> {
        Some(self.download.to_artifact(&self.cache))
    }
}

impl ResourceType for WindowsUpdate {
    fn identity(&self) -> Identity {
        Identity::new(
            "update search",
            &[],
            self.kbs
                .iter()
                .map(KbId::as_str)
                .chain(self.categories.iter().map(PlainGuid::as_str))
                .collect::<Vec<_>>()
                .join(" "),
        )
    }
}
