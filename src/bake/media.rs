//! Files of the store under the names that builders need: boot media, and with delivery by media the artifacts in
//! a folder, from which the builder makes a disc.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::acquire::ProvenPlan;
use crate::base::choice::Delivery;
use crate::io::fs::Scratch;
use crate::model::plan::ArtifactRole;
use crate::model::target::ImageTarget;

use super::BakeError;

/// The folder under Packer's name for the variable.
pub(super) const VARIABLE: &str = "PKR_VAR_artifact_folder";

/// Name of the folder on the disc, where the engine looks for it.
const FOLDER: &str = "artifacts";

/// A folder with every artifact, if the delivery is by media. Names are the first 32 characters of the pinned
/// digests, since names on a disc may have 64 characters at most; the guest compares the whole digest.
pub(super) fn gather_artifacts(proven: &ProvenPlan) -> Result<Option<MediaFolder>, BakeError> {
    if proven.plan().delivery != Delivery::Media {
        return Ok(None);
    }
    let scratch = Scratch::new("media")?;
    scratch.add_folder(FOLDER)?;
    let place = |digest: &str, path: &Path| {
        let name: String = digest.chars().take(32).collect();
        scratch.add_file(&format!("{FOLDER}/{name}"), path)
    };
    for verified in proven
        .artifacts()
        .iter()
        .filter(|it| it.artifact().role != ArtifactRole::BootMedia)
    {
        if let Some(pin) = verified.artifact().digest() {
            place(pin.digest.as_str(), verified.fetched().path())?;
        }
    }
    for file in proven.user_files() {
        place(file.sha256(), file.path())?;
    }
    let path = scratch.path().join(FOLDER);
    Ok(Some(MediaFolder {
        path,
        _scratch: scratch,
    }))
}

/// The folder goes with the value.
#[derive(Debug)]
pub(super) struct MediaFolder {
    path: PathBuf,
    _scratch: Scratch,
}

impl MediaFolder {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Verified boot media. Their names end with `.iso`, as platforms ask for.
#[derive(Debug)]
pub(super) struct BootMedia {
    /// Variable of the path, and the path.
    paths: Vec<(String, PathBuf)>,
    _scratch: Option<Scratch>,
}

impl BootMedia {
    /// Paths by the names that Packer gives to the variables in its environment.
    pub(super) fn list_variables(&self) -> impl Iterator<Item = (String, OsString)> {
        self.paths
            .iter()
            .map(|(name, path)| (format!("PKR_VAR_{name}"), path.clone().into_os_string()))
    }
}

pub(super) fn gather_boot_media(proven: &ProvenPlan) -> Result<BootMedia, BakeError> {
    let media = proven
        .plan()
        .target
        .image()
        .map(ImageTarget::media)
        .unwrap_or_default();
    let scratch = if media.is_empty() {
        None
    } else {
        Some(Scratch::new("boot")?)
    };
    let mut paths = Vec::new();
    for (medium, scratch) in media.iter().zip(scratch.iter().cycle()) {
        let found = proven
            .artifacts()
            .iter()
            .find(|it| it.artifact().component == medium.name);
        if let Some(verified) = found {
            // The name is that of the content: a platform may keep the file for the next build.
            let name = format!("{}.iso", &verified.fetched().sha256()[..32]);
            scratch.add_file(&name, verified.fetched().path())?;
            paths.push((medium.path.clone(), scratch.path().join(name)));
        }
    }
    Ok(BootMedia {
        paths,
        _scratch: scratch,
    })
}
