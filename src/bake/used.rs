//! Programs that baked an image, by their digests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::acquire::InstalledTools;
use crate::diagnostic::Result;
use crate::io::fs;
use crate::model::plan::Plan;

use super::Environment;
use super::environment::find_own_plugins;

/// A program that built the image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ToolUsed {
    /// `packer`, or `packer-plugin-` with the name of a plugin
    pub name: String,
    /// Absent for a program of the user's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    pub sha256: String,
}

/// Packer and its plugins with their digests.
///
/// # Errors
/// A program cannot be read.
pub(super) fn describe_tools(
    tools: &InstalledTools,
    plan: &Plan,
    environment: &Environment,
) -> Result<Vec<ToolUsed>> {
    let Some(packer) = &plan.packer else {
        return Ok(Vec::new());
    };
    let pinned = tools.plugins.is_some();
    let mut used = vec![ToolUsed {
        name: "packer".to_owned(),
        version: pinned.then(|| packer.version.to_string()),
        sha256: fs::digest_file(&tools.packer)?.sha256,
    }];
    let given = tools.plugins.clone();
    let Some(folder) = given.or_else(|| find_own_plugins(environment)) else {
        return Ok(used);
    };
    for plugin in &packer.plugins {
        let place = folder.join(&plugin.source);
        if !fs::is_folder(&place) {
            continue;
        }
        let version = format!("_v{}_", plugin.version);
        for name in fs::list_names(&place)? {
            if name.contains(&version) && !name.ends_with("SHA256SUM") {
                used.push(ToolUsed {
                    name: plugin.component(),
                    version: Some(plugin.version.to_string()),
                    sha256: fs::digest_file(&place.join(name))?.sha256,
                });
            }
        }
    }
    Ok(used)
}
