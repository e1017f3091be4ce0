//! Files of the store under the names that builders need: boot media, and with delivery by media the artifacts in
//! a folder, from which the builder makes a disc.

use std::path::Path;

use crate::acquire::ProvenPlan;
use crate::base::choice::Delivery;
use crate::io::fs::PrivateFolder;
use crate::model::plan::ArtifactRole;
use crate::model::target::ImageTarget;

use super::{BakeError, Environment};

/// The folder under Packer's name for the variable.
const VARIABLE: &str = "PKR_VAR_artifact_folder";

/// The folder of the artifacts. Its name is that on the disc, where the engine looks for it.
const FOLDER: &str = "media/artifacts";

/// The folder with every artifact, if the delivery is by media. Names are the first 32 characters of the pinned
/// digests, since names on a disc may have 64 characters at most; the guest compares the whole digest.
pub(super) fn gather_artifacts(
    proven: &ProvenPlan,
    work: &PrivateFolder,
) -> Result<Environment, BakeError> {
    if proven.plan().delivery != Delivery::Media {
        return Ok(Environment::new());
    }
    let folder = work.add_folder(FOLDER)?;
    let place = |digest: &str, path: &Path| {
        let name: String = digest.chars().take(32).collect();
        work.add_file(&format!("{FOLDER}/{name}"), path)
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
    Ok([(VARIABLE.to_owned(), folder.into_os_string())].into())
}

/// Paths of verified boot media, by the names that Packer gives to the variables in its environment. Their names end
/// with `.iso`, as platforms ask for.
pub(super) fn gather_boot_media(
    proven: &ProvenPlan,
    work: &PrivateFolder,
) -> Result<Environment, BakeError> {
    let image = proven.plan().target.image();
    let mut paths = Environment::new();
    for medium in image.map(ImageTarget::media).unwrap_or_default() {
        let found = proven
            .artifacts()
            .iter()
            .find(|it| it.artifact().component == medium.name);
        let Some(verified) = found else { continue };
        let folder = work.add_folder("boot")?;
        // The name is that of the content: a platform may keep the file for the next build.
        let name = format!("{}.iso", &verified.fetched().sha256()[..32]);
        if !folder.join(&name).exists() {
            work.add_file(&format!("boot/{name}"), verified.fetched().path())?;
        }
        let path = folder.join(&name).into_os_string();
        paths.insert(format!("PKR_VAR_{}", medium.path), path);
    }
    Ok(paths)
}
