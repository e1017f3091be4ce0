//! Guest scripts of a workspace.

use std::collections::BTreeMap;
use std::path::Path;

use crate::diagnostic::Result;
use crate::embedded::Tree;
use crate::guest::GUEST_PLAN_FILE;
use crate::io::fs;
use crate::scripts::{INSTALL, collect_scripts};
use crate::verify::archive::{self, Limits, WantedMembers};
use crate::windows::resource::ArchiveFormat;

/// Guest scripts of a workspace: in its payload, or beside its plan.
pub(super) fn read_scripts(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut scripts = BTreeMap::new();
    let provisioners = Tree::embedded_provisioners();
    let install = provisioners.get(INSTALL).unwrap_or_default().to_vec();
    let payload = folder.join("payload.zip");
    if payload.symlink_metadata().is_ok() {
        let wanted = WantedMembers::all_files();
        let file = fs::open_file(&payload)?;
        archive::read_members(
            file,
            ArchiveFormat::Zip,
            &wanted,
            &Limits::default(),
            &mut |entry, content| {
                scripts.insert(
                    entry.name.clone(),
                    archive::read_member_bytes(entry, content)?,
                );
                Ok(())
            },
        )?;
        scripts.remove(GUEST_PLAN_FILE);
        scripts.insert(INSTALL.to_owned(), install);
        return Ok(scripts);
    }
    for path in collect_scripts(&provisioners).into_keys() {
        let place = if path == INSTALL {
            "Install.ps1"
        } else {
            &path
        };
        if let Some(bytes) = fs::read_if_exists(&folder.join(place))? {
            scripts.insert(path, bytes);
        }
    }
    // A preview holds no installer.
    scripts.entry(INSTALL.to_owned()).or_insert(install);
    Ok(scripts)
}
