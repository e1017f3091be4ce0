//! Resource types of Windows itself: updates, tasks, host networks, power, the page file, scripts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::words::{CertificateStore, Ensure, PinAlgorithm, TaskTrigger};

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

/// A feature on demand (`OpenSSH.Server~~~~0.0.1.0`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct WindowsCapability {
    pub capability: String,
    pub installed: bool,
}

/// A task that runs as SYSTEM, without time limit, and is tried again each minute when it fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ScheduledTask {
    pub task_name: String,
    pub ensure: Ensure,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<TaskTrigger>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// A network of the host network service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct HnsNetwork {
    pub network_name: String,
    pub ensure: Ensure,
    /// `NAT`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// The active power plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PowerPlan {
    /// Lower-case GUID.
    pub plan: String,
}

/// The one page file of the machine, from the next restart on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PageFile {
    pub path: String,
    /// With the maximum 0 as well, Windows chooses.
    pub initial_megabytes: u32,
    pub maximum_megabytes: u32,
}

/// A certificate in a store of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Certificate {
    pub store: CertificateStore,
    /// Of the certificate.
    pub sha256: String,
    pub ensure: Ensure,
    /// The certificate in DER, in base64.
    pub content: String,
}

/// What no other type can say: PowerShell 5.1 that reads, and PowerShell 5.1 that changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Script {
    /// Prints what is now; nothing may be changed by it.
    pub test: String,
    /// What it is to print, without blanks at both ends.
    pub expected: String,
    /// Changes the machine so that it does.
    pub set: String,
}
