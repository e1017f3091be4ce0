//! Programs that baked an image, by their digests.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::acquire::InstalledTools;
use crate::diagnostic::Result;
use crate::io::fs;
use crate::model::plan::Plan;

use super::Environment;

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
    for plugin in &packer.plugins {
        let version = format!("_v{}_", plugin.version);
        for folder in list_plugin_folders(tools, environment) {
            let place = folder.join(&plugin.source);
            if !fs::is_folder(&place) {
                continue;
            }
            for name in fs::list_names(&place)? {
                if name.contains(&version) && !name.ends_with("SHA256SUM") {
                    used.push(ToolUsed {
                        name: format!("packer-plugin-{}", plugin.name),
                        version: Some(plugin.version.to_string()),
                        sha256: fs::digest_file(&place.join(name))?.sha256,
                    });
                }
            }
            break;
        }
    }
    Ok(used)
}

/// Where Packer looks for plugins, the first one that exists
/// (<https://developer.hashicorp.com/packer/docs/configure#packer-s-plugin-directory>).
fn list_plugin_folders(tools: &InstalledTools, environment: &Environment) -> Vec<PathBuf> {
    let read = |name: &str| environment.get(name).map(PathBuf::from);
    if let Some(folder) = &tools.plugins {
        return vec![folder.clone()];
    }
    if let Some(folder) = read("PACKER_PLUGIN_PATH") {
        return vec![folder];
    }
    let homes = [
        read("PACKER_CONFIG_DIR").map(|home| home.join("plugins")),
        read("XDG_CONFIG_HOME").map(|home| home.join("packer/plugins")),
        read("HOME").map(|home| home.join(".config/packer/plugins")),
        read("APPDATA").map(|home| home.join("packer.d/plugins")),
    ];
    homes
        .into_iter()
        .flatten()
        .filter(|path: &PathBuf| Path::is_dir(path))
        .collect()
}
