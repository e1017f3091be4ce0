//! Descriptors of targets, from `packer/targets`.

use std::sync::Arc;

use super::CatalogError;
use crate::base::digest::sha256_hex;
use crate::base::json;
use crate::base::names::format_suggestion;
use crate::embedded::Tree;
use crate::model::target::{Target, TargetReleases};

/// Reads a target's descriptor and its sources by Windows release.
///
/// # Errors
/// The target does not exist, has another name than its folder, or one of its files is malformed.
pub fn load_target(packer: &Tree, name: &str) -> Result<Arc<Target>, CatalogError> {
    packer.keep(&format!("target {name}"), || read_target(packer, name))
}

/// Every target of a tree, by the names of their folders.
///
/// # Errors
/// As [`load_target`].
pub fn load_targets(packer: &Tree) -> Result<Vec<Arc<Target>>, CatalogError> {
    let names = packer.list_folders("targets");
    names.iter().map(|name| load_target(packer, name)).collect()
}

fn read_target(packer: &Tree, name: &str) -> Result<Target, CatalogError> {
    let names = packer.list_folders("targets");
    if !names.iter().any(|known| known == name) {
        return Err(CatalogError::Unknown {
            what: "target",
            name: name.to_owned(),
            suggestion: format_suggestion(name, names.iter().map(String::as_str)),
        });
    }

    let path = format!("targets/{name}/target.json");
    let releases = format!("targets/{name}/windows.json");
    let digests = [&path, &releases].map(|path| packer.digest(path));
    let Some(mut target) = packer.read_json::<Target>(&path)? else {
        return Err(CatalogError::NoDescriptor(path));
    };
    // A workspace takes the templates of the folder that `name` names.
    if target.name != name {
        return Err(CatalogError::Name {
            file: packer.file_label(&path),
            field: "name",
            found: target.name,
            place: "folder",
        });
    }

    let file: Option<TargetReleases> = packer.read_json(&releases)?;
    target.digest = sha256_hex(&json::to_bytes(&digests));
    target.releases = file.map(|file| file.releases).unwrap_or_default();
    target.record = packer
        .read_json(&format!("targets/{name}/record.json"))?
        .unwrap_or_default();
    Ok(target)
}
