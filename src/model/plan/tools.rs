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

impl PlannedPacker {
    /// Packer, then its plugins, by component.
    pub fn list_tools(&self) -> Vec<(String, &Version)> {
        let mut tools = vec![("packer".to_owned(), &self.version)];
        for plugin in &self.plugins {
            tools.push((plugin.component(), &plugin.version));
        }
        tools
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PlannedPlugin {
    pub name: String,
    pub source: String,
    pub version: Version,
}

impl PlannedPlugin {
    /// The name of its component in the catalog.
    pub fn component(&self) -> String {
        format!("packer-plugin-{}", self.name)
    }
}
