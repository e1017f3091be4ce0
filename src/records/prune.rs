//! Old records of builds, removed from their workspaces.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::diagnostic::{Error, Result};
use crate::io::fs;
use crate::ui::Printer;
use crate::workspace::WORKSPACES;

use super::history::{
    BuildState, HistoryEntry, find_current_record, find_workspace, read_folder, sort_newest_first,
};

const PRUNE_SCHEMA: &str = "imagegen.dev/history-prune/v1";

/// `imagegen history prune --format json`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PrunedHistory {
    pub schema: &'static str,
    /// Folders that were removed, or would be.
    pub removed: Vec<String>,
    pub kept: usize,
    pub dry_run: bool,
}

/// Removes all but the newest records of each workspace and result. The newest build with an image and the record of the
/// image that lies in the workspace stay.
///
/// # Errors
/// The folder does not exist, or a record cannot be removed.
pub fn prune_history(
    from: Option<&Path>,
    keep: usize,
    dry_run: bool,
    printer: &Printer,
) -> Result<PrunedHistory> {
    let root = from.unwrap_or(Path::new(WORKSPACES));
    if !root.is_dir() {
        let message = format!("{} does not exist", root.display());
        let remedy = "name the folder of your workspaces: `--from DIR`";
        return Err(Error::value(message, remedy));
    }

    let (mut removed, mut kept) = (Vec::new(), 0);
    for ((workspace, state), entries) in group_records(read_folder(root, printer)?) {
        let current = find_current_record(&workspace)?;
        let keep = match state {
            BuildState::Built => keep.max(1),
            BuildState::Failed | BuildState::Retired | BuildState::Deleted => keep,
        };
        for (at, entry) in entries.iter().enumerate() {
            let folder = Path::new(&entry.place);
            if at < keep || current.as_deref() == Some(folder) {
                kept += 1;
                continue;
            }
            if !dry_run {
                fs::remove_folder(folder)?;
            }
            removed.push(entry.place.clone());
        }
    }
    Ok(PrunedHistory {
        schema: PRUNE_SCHEMA,
        removed,
        kept,
        dry_run,
    })
}

/// Records that are counted together, the newest first. Builds without an image take no place among those that have one.
fn group_records(entries: Vec<HistoryEntry>) -> BTreeMap<(PathBuf, BuildState), Vec<HistoryEntry>> {
    let mut groups: BTreeMap<(PathBuf, BuildState), Vec<HistoryEntry>> = BTreeMap::new();
    for entry in entries {
        if let Some(workspace) = find_workspace(Path::new(&entry.place)) {
            let group = (workspace.to_owned(), entry.state());
            groups.entry(group).or_default().push(entry);
        }
    }
    for entries in groups.values_mut() {
        sort_newest_first(entries);
    }
    groups
}
