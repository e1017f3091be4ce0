//! Packer and its plugin out of the store: proven like any artifact, laid out where Packer finds
//! them, run from there. A fresh machine needs no other install.

use std::io;
use std::path::{Path, PathBuf};

use crate::catalog::Trees;
use crate::diagnostic::{Classify, Error, ErrorClass, InternalError, Result};
use crate::embedded::sha256_hex;
use crate::io::fs::{self, FileError};
use crate::io::store::Store;
use crate::model::plan::{Plan, PlannedArtifact, PlannedPlugin};
use crate::model::version::Version;
use crate::resolve::{Platform, plan_tool, refuse_image};
use crate::trust::check_artifact;
use crate::verify::ProofError;
use crate::verify::archive::{self, Limits, Wanted};

use super::{Acquirer, ProofScope, VerifiedArtifact, absolute_path};

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

impl Classify for ToolError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Archive { .. } => ErrorClass::Verification,
            Self::File(error) => error.class(),
        }
    }
}

/// Packer and its plugins as artifacts for this machine, by component name and version.
pub type PlannedTools<'a> = Vec<(String, &'a Version, Result<PlannedArtifact>)>;

/// The programs that an image is baked with; none if its target needs no Packer.
#[must_use]
pub fn plan_tools<'a>(plan: &'a Plan, trees: &Trees) -> PlannedTools<'a> {
    let Some(packer) = &plan.packer else { return Vec::new() };
    let plugins = packer.plugins.iter().map(|it| (format!("packer-plugin-{}", it.name), &it.version));
    std::iter::once(("packer".to_owned(), &packer.version))
        .chain(plugins)
        .map(|(name, version)| {
            let planned = trees.catalog.load_component(&name).map_err(Error::from).and_then(|component| {
                plan_tool(&component, version, Platform::host(), &plan.selection.overrides)
                    .map_err(|refusal| refuse_image(vec![refusal]).into())
            });
            (name, version, planned)
        })
        .collect()
}

/// The user's own Packer, or the pinned one with its plugins, fetched, proven and installed into the store.
///
/// # Errors
/// A tool is not in the catalog, or cannot be fetched or proven.
pub fn acquire_tools(own: Option<&PathBuf>, plan: &Plan, acquirer: &Acquirer<'_>) -> Result<Tools> {
    if let Some(packer) = own {
        // A bare name is looked up in the PATH.
        let bare = packer.components().count() == 1 && !packer.is_absolute();
        let packer = if bare { packer.clone() } else { absolute_path(packer)? };
        return Ok(Tools { packer, plugins: None });
    }
    let Some(packer) = &plan.packer else {
        return Err(InternalError(format!("target {} is not built by Packer", plan.target.name)).into());
    };
    let planned = plan_tools(plan, acquirer.trees).into_iter().map(|(_, _, artifact)| artifact);
    let artifacts = planned.collect::<Result<Vec<PlannedArtifact>>>()?;
    for artifact in &artifacts {
        check_artifact(acquirer.policy, artifact)?;
    }
    let verified = acquirer.prove_artifacts(&artifacts.iter().collect::<Vec<_>>(), ProofScope::Bytes)?;
    let plugins: Vec<_> = packer.plugins.iter().zip(&verified[1..]).collect();
    Ok(install_tools(acquirer.fetcher.store(), &verified[0], &plugins)?)
}

/// Lays verified tools out in the store: `tools/<digest>/packer`, and plugins in a directory of
/// their own for this set of them.
///
/// # Errors
/// An archive does not hold its program, or the store cannot be written.
pub fn install_tools(
    store: &Store,
    packer: &VerifiedArtifact,
    plugins: &[(&PlannedPlugin, &VerifiedArtifact)],
) -> Result<Tools, ToolError> {
    let digests: String = plugins.iter().map(|(_, verified)| verified.fetched().sha256()).collect();
    let plugin_root = store.root().join("plugins").join(sha256_hex(digests.as_bytes()));
    let program = install_program(packer, &store.root().join("tools").join(packer.fetched().sha256()))?;
    for (plugin, verified) in plugins {
        let installed = install_program(verified, &plugin_root.join(&plugin.source))?;
        let sum = fs::digest_file(&installed)?.sha256;
        let mut name = installed.into_os_string();
        name.push("_SHA256SUM");
        fs::write_file(Path::new(&name), sum.as_bytes())?;
    }
    Ok(Tools { packer: program, plugins: Some(plugin_root) })
}

/// The one program of an archive, under its own name.
fn install_program(verified: &VerifiedArtifact, folder: &Path) -> Result<PathBuf, ToolError> {
    let artifact = verified.artifact();
    let named = |error: ProofError| ToolError::Archive { name: artifact.title(), error };
    let malformed = |reason: String| named(ProofError::new("archive-unreadable", reason));
    let format = artifact
        .kind
        .archive_format()
        .ok_or_else(|| malformed("a tool is published as an archive".to_owned()))?;
    let wanted = Wanted::from_names(artifact.members.iter().map(|member| member.member.as_str()));
    let [program] = artifact.members.as_slice() else {
        return Err(malformed("one program must be listed for it".to_owned()));
    };
    // Packer knows a plugin by the name that its publisher gave it.
    let name = program.member.as_str();
    let path = folder.join(name.rsplit('/').next().unwrap_or(name));
    // Compared and not taken for granted: it is what will run.
    let there = if fs::is_file(&path) { Some(fs::digest_file(&path)?.sha256) } else { None };
    if there.is_some() && there.as_deref() == program.sha256.as_deref() {
        return Ok(path);
    }
    let archive = fs::open_file(verified.fetched().path())?;
    fs::write_program_with(&path, |file| {
        archive::read_members(archive, format, &wanted, &Limits::default(), &mut |entry, content| {
            io::copy(content, file).map(drop).map_err(|error| archive::unreadable_error(entry, &error))
        })
        .map(drop)
        .map_err(named)
    })?;
    Ok(path)
}
