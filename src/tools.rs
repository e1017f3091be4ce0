//! Packer and its plugin out of the store: proven like any artifact, laid out where Packer finds
//! them, run from there. A fresh machine needs no other install.

use std::path::{Path, PathBuf};

use crate::embedded::sha256;
use crate::io::fs::{self, FileError};
use crate::io::store::Store;
use crate::model::plan::PlannedPlugin;
use crate::prove::VerifiedArtifact;
use crate::verify::ProofError;
use crate::verify::archive::{self, Limits, Wanted};

/// Programs to bake with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tools {
    pub packer: PathBuf,
    /// What `PACKER_PLUGIN_PATH` is to say; none where the user's own is used.
    pub plugins: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    #[error("{name}: {error}")]
    Archive { name: String, error: ProofError },
    #[error(transparent)]
    File(#[from] FileError),
}

/// Lays verified tools out in the store: `tools/<digest>/packer`, and plugins in a directory of
/// their own for this set of them.
///
/// # Errors
/// An archive does not hold its program, or the store cannot be written.
pub fn install(
    store: &Store,
    packer: &VerifiedArtifact,
    plugins: &[(&PlannedPlugin, &VerifiedArtifact)],
) -> Result<Tools, ToolError> {
    let digests: String = plugins.iter().map(|(_, verified)| verified.fetched().sha256()).collect();
    let plugin_root = store.root().join("plugins").join(sha256(digests.as_bytes()));
    let program = program(packer, &store.root().join("tools").join(packer.fetched().sha256()))?;
    for (plugin, verified) in plugins {
        let installed = self::program(verified, &plugin_root.join(&plugin.source))?;
        let sum = sha256(&fs::read(&installed)?);
        let mut name = installed.into_os_string();
        name.push("_SHA256SUM");
        fs::write(Path::new(&name), sum.as_bytes())?;
    }
    Ok(Tools { packer: program, plugins: Some(plugin_root) })
}

/// The one program of an archive, under its own name.
fn program(verified: &VerifiedArtifact, folder: &Path) -> Result<PathBuf, ToolError> {
    let artifact = verified.artifact();
    let named = |error: ProofError| ToolError::Archive { name: artifact.title(), error };
    let malformed = |reason: String| named(ProofError::new("archive-unreadable", reason));
    let format = artifact
        .kind
        .archive_format()
        .ok_or_else(|| malformed("a tool is published as an archive".to_owned()))?;
    let wanted = Wanted::names(artifact.members.iter().map(|member| &member.member));
    let file = fs::open(verified.fetched().path())?;
    let mut programs = Vec::new();
    archive::members(file, format, &wanted, &Limits::default(), &mut |entry, content| {
        programs.push((entry.name.clone(), archive::whole(entry, content)?));
        Ok(())
    })
    .map_err(named)?;
    let Some((name, bytes)) = programs.into_iter().next() else {
        return Err(malformed("no program is listed for it".to_owned()));
    };
    let path = folder.join(name.rsplit('/').next().unwrap_or(&name));
    // Compared and not taken for granted: it is what will run.
    if fs::read_if_there(&path)?.is_none_or(|there| sha256(&there) != sha256(&bytes)) {
        fs::write_program(&path, &bytes)?;
    }
    Ok(path)
}
