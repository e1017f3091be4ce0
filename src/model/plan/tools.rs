//! Packer and its plugins in a plan.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::version::Version;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PlannedPacker {
    pub version: Version,
    pub plugins: Vec<PlannedPlugin>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PlannedPlugin {
    pub name: String,
    pub source: String,
    pub version: Version,
}
