//! The folder `builds` of a workspace: a record of each build, which no later build overwrites.

use std::path::Path;

use serde_json::Value;

use crate::base::json::parse_foreign;
use crate::diagnostic::Result;
use crate::io::fs;
use crate::model::plan::Plan;

/// Folder of a workspace with a folder for each build.
pub const BUILDS: &str = fs::BUILDS;
/// The record of a build in its folder, and of the last image in the workspace.
pub const IMAGE_RECORD: &str = "image.json";

/// Folder beside a record with the statements that `imagegen attest` writes.
pub const ATTESTATIONS: &str = "attestations";

/// Moves the files of the last image and the statements about it to its record, so that the next build finds their
/// place free. Returns whether the result that lies in the workspace has a record.
///
/// # Errors
/// A folder cannot be read or moved.
pub(super) fn archive_last_build(folder: &Path, plan: &Plan) -> Result<bool> {
    let builds = folder.join(BUILDS);
    let names = fs::list_folders(&builds)?;
    if names.is_empty() {
        return Ok(false);
    }
    let current = fs::read_if_exists(&folder.join(IMAGE_RECORD))?;
    let (mut owner, mut newest) = (None, (String::new(), None));
    for name in names {
        let Some(record) = fs::read_if_exists(&builds.join(&name).join(IMAGE_RECORD))? else {
            continue;
        };
        if current.as_ref() == Some(&record) {
            owner = Some(name.clone());
        }
        let started = read_start(&record);
        if started >= newest.0 {
            newest = (started, Some(name));
        }
    }

    let is_recorded = current.is_none() || owner.is_some();
    if let Some(owner) = &owner {
        move_to_record(folder, ATTESTATIONS, &builds.join(owner))?;
    }
    let output = plan.target.output_folder(&plan.selectors);
    if let (Some(output), Some(owner)) = (output, owner.or(newest.1)) {
        move_to_record(folder, output, &builds.join(owner))?;
    }
    Ok(is_recorded)
}

/// Moves a folder of the workspace to a record. The record may have one already: Packer can be run by hand.
fn move_to_record(folder: &Path, name: &str, record: &Path) -> Result<()> {
    let from = folder.join(name);
    if fs::is_folder(&from) {
        fs::move_folder_into(&from, record, name)?;
    }
    Ok(())
}

/// When the build of a record started; empty if it does not say.
fn read_start(record: &[u8]) -> String {
    let record: Value = parse_foreign(record).unwrap_or_default();
    record["started"].as_str().unwrap_or_default().to_owned()
}
