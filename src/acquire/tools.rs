//! Packer and its plugin out of the store: proven like any artifact, laid out where Packer finds
//! them, run from there. A fresh machine needs no other install.

use std::io;
use std::path::{Path, PathBuf};

use crate::base::digest::sha256_hex;
use crate::base::version::Version;
use crate::catalog::Trees;
use crate::diagnostic::{Classify, Error, ErrorClass, InternalError, Result};
use crate::io::exec;
use crate::io::fs::{self, FileError};
use crate::io::store::Store;
use crate::model::plan::{Plan, PlannedArtifact, PlannedPlugin};
use crate::model::policy::Policy;
use crate::resolve::{BuildHost, plan_tool, refuse_image};
use crate::trust::{Subject, check_own_tool, check_subjects};
use crate::verify::ProofError;
use crate::verify::archive::{self, Limits, WantedMembers};

use super::{Acquirer, ProofScope, VerifiedArtifact, absolute_path};

/// Programs to bake with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tools {
    pub packer: PathBuf,
    /// Value of `PACKER_PLUGIN_PATH`; none where the user's own is used.
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
    let Some(packer) = &plan.packer else {
        return Vec::new();
    };
    let plugins = packer
        .plugins
        .iter()
        .map(|it| (format!("packer-plugin-{}", it.name), &it.version));
    std::iter::once(("packer".to_owned(), &packer.version))
        .chain(plugins)
        .map(|(name, version)| {
            let planned = trees
                .catalog
                .load_component(&name)
                .map_err(Error::from)
                .and_then(|component| {
                    plan_tool(
                        &component,
                        version,
                        BuildHost::host(),
                        &plan.selection.overrides,
                    )
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
    // Without a policy the user's own Packer brings the user's own plugins.
    if let (Some(packer), None) = (own, &plan.governance.policy) {
        // A bare name is looked up in the PATH.
        let bare = packer.components().count() == 1 && !packer.is_absolute();
        let packer = if bare {
            packer.clone()
        } else {
            absolute_path(packer)?
        };
        let place = packer.display();
        acquirer.printer.print_note(&format!(
            "Packer: {place} with its own plugins, chosen by `--packer`"
        ));
        return Ok(Tools {
            packer,
            plugins: None,
        });
    }
    let Some(packer) = &plan.packer else {
        return Err(InternalError(format!(
            "target {} is not built by Packer",
            plan.target.name
        ))
        .into());
    };
    let mut artifacts = check_tools(plan, acquirer.policy, acquirer.trees)?;
    if own.is_some() {
        artifacts.remove(0);
    }
    let verified = acquirer.prove_artifacts(
        &artifacts.iter().collect::<Vec<_>>(),
        ProofScope::Signatures,
    )?;
    let store = acquirer.fetcher.store();
    let (program, verified) = if let Some(path) = own {
        (
            copy_own_packer(path, acquirer.policy, store)?,
            &verified[..],
        )
    } else {
        let folder = store
            .root()
            .join("tools")
            .join(verified[0].fetched().sha256());
        (install_program(&verified[0], &folder)?, &verified[1..])
    };
    let plugins: Vec<_> = packer.plugins.iter().zip(verified).collect();
    Ok(Tools {
        packer: program,
        plugins: Some(install_plugins(store, &plugins)?),
    })
}

/// The build's tools, which the policy allows as far as that is known before they are fetched.
///
/// # Errors
/// A tool is not in the catalog, or the policy refuses it.
pub fn check_tools(plan: &Plan, policy: &Policy, trees: &Trees) -> Result<Vec<PlannedArtifact>> {
    let planned = plan_tools(plan, trees)
        .into_iter()
        .map(|(_, _, artifact)| artifact);
    let artifacts = planned.collect::<Result<Vec<PlannedArtifact>>>()?;
    let subjects: Vec<Subject<'_>> = artifacts.iter().map(Subject::from_artifact).collect();
    check_subjects(
        policy,
        &subjects,
        plan.governance.policy.is_some(),
        &trees.catalog,
    )?;
    Ok(artifacts)
}

/// Refuses the program of `--packer` before anything is fetched or written.
///
/// # Errors
/// A policy is in force and does not name its digest.
pub fn check_own_packer(own: Option<&Path>, plan: &Plan, policy: &Policy) -> Result<()> {
    if let (Some(path), Some(_)) = (own, &plan.governance.policy) {
        digest_own_packer(&exec::resolve_program(path), policy)?;
    }
    Ok(())
}

/// The digest of the program of `--packer`, which the policy names.
fn digest_own_packer(place: &Path, policy: &Policy) -> Result<String> {
    let sha256 = fs::digest_file(place)?.sha256;
    check_own_tool(policy, &place.display().to_string(), &sha256)?;
    Ok(sha256)
}

/// A copy in the store, which is digested again: what was looked at is what runs.
fn copy_own_packer(path: &Path, policy: &Policy, store: &Store) -> Result<PathBuf> {
    let place = exec::resolve_program(path);
    let sha256 = digest_own_packer(&place, policy)?;
    let copy = store.root().join("tools").join(&sha256).join("packer");
    if !fs::is_file(&copy) || fs::digest_file(&copy)?.sha256 != sha256 {
        fs::write_program_with(&copy, |file| -> Result<()> {
            let mut source = fs::open_file(&place)?;
            let copied = io::copy(&mut source, file);
            copied
                .map_err(|error| InternalError(format!("copying {}: {error}", place.display())))?;
            Ok(())
        })?;
        let found = fs::digest_file(&copy)?.sha256;
        check_own_tool(policy, &place.display().to_string(), &found)?;
    }
    Ok(copy)
}

/// Lays verified plugins out in the store, in a directory of their own for this set of them.
fn install_plugins(
    store: &Store,
    plugins: &[(&PlannedPlugin, &VerifiedArtifact)],
) -> Result<PathBuf, ToolError> {
    let digests: String = plugins
        .iter()
        .map(|(_, verified)| verified.fetched().sha256())
        .collect();
    let plugin_root = store
        .root()
        .join("plugins")
        .join(sha256_hex(digests.as_bytes()));
    for (plugin, verified) in plugins {
        let installed = install_program(verified, &plugin_root.join(&plugin.source))?;
        let sum = fs::digest_file(&installed)?.sha256;
        let mut name = installed.into_os_string();
        name.push("_SHA256SUM");
        fs::write_file(Path::new(&name), sum.as_bytes())?;
    }
    Ok(plugin_root)
}

/// The one program of an archive, under its own name.
fn install_program(verified: &VerifiedArtifact, folder: &Path) -> Result<PathBuf, ToolError> {
    let artifact = verified.artifact();
    let named = |error: ProofError| ToolError::Archive {
        name: artifact.title(),
        error,
    };
    let malformed = |reason: String| named(ProofError::new("archive-unreadable", reason));
    let format = artifact
        .kind
        .archive_format()
        .ok_or_else(|| malformed("a tool is published as an archive".to_owned()))?;
    let wanted =
        WantedMembers::from_names(artifact.members.iter().map(|member| member.member.as_str()));
    let [program] = artifact.members.as_slice() else {
        return Err(malformed(
            "its release must list exactly one program".to_owned(),
        ));
    };
    // Packer knows a plugin by the name that its publisher gave it.
    let name = program.member.as_str();
    let path = folder.join(name.rsplit('/').next().unwrap_or(name));
    // Compared and not taken for granted: it is what will run.
    let there = if fs::is_file(&path) {
        Some(fs::digest_file(&path)?.sha256)
    } else {
        None
    };
    if there.is_some() && there.as_deref() == program.sha256.as_deref() {
        return Ok(path);
    }
    let archive = fs::open_file(verified.fetched().path())?;
    fs::write_program_with(&path, |file| {
        archive::read_members(
            archive,
            format,
            &wanted,
            &Limits::default(),
            &mut |entry, content| {
                io::copy(content, file)
                    .map(drop)
                    .map_err(|error| archive::unreadable_error(entry, &error))
            },
        )
        .map(drop)
        .map_err(named)
    })?;
    Ok(path)
}
