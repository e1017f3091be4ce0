//! Guest scripts of a workspace.

use std::collections::BTreeMap;
use std::path::Path;

use crate::diagnostic::Result;
use crate::embedded::Tree;
use crate::io::fs;
use crate::scripts::{INSTALL, collect_scripts};
use crate::verify::archive::{self, Limits, WantedMembers};
use crate::windows::resource::ArchiveFormat;

/// Guest scripts of a workspace: in its payload, or beside its plan.
pub(super) fn read_scripts(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut scripts = BTreeMap::new();
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
        scripts.remove("guest-plan.json");
        let install = Tree::embedded_provisioners()
            .get(INSTALL)
            .map(<[u8]>::to_vec);
        scripts.extend(install.map(|bytes| (INSTALL.to_owned(), bytes)));
        return Ok(scripts);
    }
    for path in collect_scripts(&Tree::embedded_provisioners()).into_keys() {
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
    let install = Tree::embedded_provisioners()
        .get(INSTALL)
        .map(<[u8]>::to_vec);
    scripts
        .entry(INSTALL.to_owned())
        .or_insert_with(|| install.unwrap_or_default());
    Ok(scripts)
}
