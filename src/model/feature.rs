//! Optional features: what a node gets only where it was asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::step::When;

/// `manifests/features.json`
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Features {
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    pub features: Vec<Feature>,
}

/// Steps name it in `when.feature`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Feature {
    pub name: String,
    pub summary: String,
    /// Where it can be had.
    #[serde(default, skip_serializing_if = "When::is_empty")]
    pub when: When,
    /// Why nowhere else; wanted with `when`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The update level that it needs, by its name in the Windows release's `minimumUpdates`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
    /// Whether it needs a hypervisor of the node, which not every machine of a target can run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hypervisor: bool,
    /// Whether it needs a serial console of the platform.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub serial_console: bool,
    pub source: String,
}
