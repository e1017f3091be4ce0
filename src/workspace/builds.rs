//! The folder `builds` of a workspace: a record of each build, which no later build overwrites.

use std::path::{Path, PathBuf};

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

/// The last build of a workspace, whose files were moved to its record.
#[derive(Debug, Default)]
pub(super) struct ArchivedBuild {
    /// Whether the result that lies in the workspace has a record.
    pub is_recorded: bool,
    /// Folders that were moved, from and to.
    moved: Vec<(PathBuf, PathBuf)>,
}

impl ArchivedBuild {
    /// Moves the folders back: no build took their place.
    ///
    /// # Errors
    /// A folder cannot be moved.
    pub(super) fn restore(&self) -> Result<()> {
        for (from, to) in &self.moved {
            fs::move_folder(to, from)?;
        }
        Ok(())
    }

    /// Moves a folder of the workspace to a record. The record may have one already: Packer can be run by hand.
    fn move_to_record(&mut self, folder: &Path, name: &str, record: &Path) -> Result<()> {
        let from = folder.join(name);
        if fs::is_folder(&from) {
            let to = fs::move_folder_into(&from, record, name)?;
            self.moved.push((from, to));
        }
        Ok(())
    }
}

/// Moves the files of the last image and the statements about it to its record, so that the next build finds their
/// place free.
///
/// # Errors
/// A folder cannot be read or moved.
pub(super) fn archive_last_build(folder: &Path, plan: &Plan) -> Result<ArchivedBuild> {
    let builds = folder.join(BUILDS);
    let names = fs::list_folders(&builds)?;
    if names.is_empty() {
        return Ok(ArchivedBuild::default());
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

    let mut archived = ArchivedBuild {
        is_recorded: current.is_none() || owner.is_some(),
        moved: Vec::new(),
    };
    if let Some(owner) = &owner {
        archived.move_to_record(folder, ATTESTATIONS, &builds.join(owner))?;
    }
    let output = plan.target.output_folder(&plan.selectors);
    if let (Some(output), Some(owner)) = (output, owner.or(newest.1)) {
        archived.move_to_record(folder, output, &builds.join(owner))?;
    }
    Ok(archived)
}

/// When the build of a record started; empty if it does not say.
fn read_start(record: &[u8]) -> String {
    let record: Value = parse_foreign(record).unwrap_or_default();
    record["started"].as_str().unwrap_or_default().to_owned()
}
