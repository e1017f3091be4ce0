//! Packer and its plugin out of the store: proven like any artifact, and laid out where Packer finds
//! them in the folder of one bake. A fresh machine needs no other install.

use std::collections::BTreeSet;
use std::env::consts::EXE_EXTENSION;
use std::path::{Path, PathBuf};

use crate::base::code::Code;
use crate::base::stream::copy_pieces;
use crate::base::text::last_segment;
use crate::base::version::Version;
use crate::catalog::Trees;
use crate::diagnostic::{Classify, Error, ErrorClass, InternalError, Result};
use crate::io::exec;
use crate::io::fs::{self, FileError};
use crate::model::plan::{Plan, PlannedArtifact, PlannedPacker};
use crate::model::policy::Policy;
use crate::resolve::{BuildHost, plan_tool, refuse_image};
use crate::trust::{Subject, check_dropped, check_own_tool, check_subjects};
use crate::verify::ProofError;
use crate::verify::archive::{self, Limits, WantedMembers};

use super::{Acquirer, ProofScope, VerifiedArtifact, absolute_path};

/// Programs to bake with, before they lie where they run.
#[derive(Debug)]
pub struct Tools {
    packer: PackerProgram,
    plugins: Plugins,
}

#[derive(Debug)]
enum PackerProgram {
    /// Of `--packer`, by the digest that a policy admitted; none without a policy.
    Own(PathBuf, Option<String>),
    Published(Box<VerifiedArtifact>),
}

#[derive(Debug)]
enum Plugins {
    /// The user's own, with the user's own Packer.
    Own,
    /// By the address that Packer finds each of them under.
    Published(Vec<(String, VerifiedArtifact)>),
}

/// Programs in the folder of one bake.
#[derive(Debug)]
pub struct InstalledTools {
    pub packer: PathBuf,
    /// The folder of the plugins; none where the user's own are used.
    pub plugins: Option<PathBuf>,
}

impl Tools {
    /// Puts Packer and its plugins into a new folder, out of files that were verified.
    ///
    /// # Errors
    /// An archive is not as it was, the user's own Packer changed since, or the folder cannot be written.
    pub fn install(&self, folder: &Path) -> Result<InstalledTools> {
        let packer = match &self.packer {
            PackerProgram::Own(path, sha256) => copy_own_packer(path, sha256.as_deref(), folder)?,
            PackerProgram::Published(verified) => install_program(verified, folder)?,
        };
        let Plugins::Published(plugins) = &self.plugins else {
            return Ok(InstalledTools {
                packer,
                plugins: None,
            });
        };
        let root = folder.join("plugins");
        for (source, verified) in plugins {
            let installed = install_program(verified, &root.join(source))?;
            let sum = fs::digest_file(&installed)?.sha256;
            let mut name = installed.into_os_string();
            name.push("_SHA256SUM");
            fs::write_file(Path::new(&name), sum.as_bytes())?;
        }
        Ok(InstalledTools {
            packer,
            plugins: Some(root),
        })
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    #[error("{name}: {error}")]
    Archive { name: String, error: ProofError },
    #[error("{}: it changed while it was copied", .0.display())]
    Changed(PathBuf),
    #[error(transparent)]
    File(#[from] FileError),
}

impl Classify for ToolError {
    fn code(&self) -> Code {
        match self {
            Self::Archive { .. } | Self::Changed(_) => Code::VERIFICATION,
            Self::File(error) => error.code(),
        }
    }

    fn class(&self) -> ErrorClass {
        match self {
            Self::Archive { .. } | Self::Changed(_) => self.code().class(),
            Self::File(error) => error.class(),
        }
    }
}

/// Packer and its plugins as artifacts for this machine, by component name and version.
pub type PlannedTools<'a> = Vec<(String, &'a Version, Result<PlannedArtifact>)>;

/// The programs that an image is baked with on a machine; none if its target needs no Packer.
pub fn plan_tools<'a>(plan: &'a Plan, host: BuildHost, trees: &Trees) -> PlannedTools<'a> {
    let tools = plan.packer.iter().flat_map(PlannedPacker::list_tools);
    tools
        .map(|(name, version)| {
            let planned = trees
                .catalog
                .load_component(&name)
                .map_err(Error::from)
                .and_then(|component| {
                    plan_tool(&component, version, host, &plan.selection.overrides)
                        .map_err(|refusal| refuse_image(vec![refusal]).into())
                });
            (name, version, planned)
        })
        .collect()
}

/// The user's own Packer, or the pinned one with its plugins, fetched and proven.
///
/// # Errors
/// A tool is not in the catalog, or cannot be fetched or proven.
pub fn acquire_tools(own: Option<&PathBuf>, plan: &Plan, acquirer: &Acquirer<'_>) -> Result<Tools> {
    // Without a policy the user's own Packer brings the user's own plugins.
    if let (Some(packer), None) = (own, &plan.governance.policy) {
        let packer = absolute_path(&exec::resolve_program(packer))?;
        let place = packer.display();
        acquirer.printer.print_note(&format!(
            "Packer: {place} with its own plugins, chosen by `--packer`"
        ));
        return Ok(Tools {
            packer: PackerProgram::Own(packer, None),
            plugins: Plugins::Own,
        });
    }
    let Some(packer) = &plan.packer else {
        return Err(InternalError(format!(
            "target {} is not built by Packer",
            plan.target.name
        ))
        .into());
    };
    let mut artifacts = check_tools(plan, BuildHost::host(), acquirer.policy, acquirer.trees)?;
    if own.is_some() {
        artifacts.remove(0);
    }
    let verified = acquirer.prove_artifacts(
        &artifacts.iter().collect::<Vec<_>>(),
        ProofScope::Signatures,
    )?;
    let mut verified = verified.into_iter();
    let program = match own {
        Some(path) => {
            let place = exec::resolve_program(path);
            let sha256 = digest_own_packer(&place, acquirer.policy)?;
            Some(PackerProgram::Own(place, Some(sha256)))
        }
        None => verified
            .next()
            .map(|it| PackerProgram::Published(Box::new(it))),
    };
    let sources = packer.plugins.iter().map(|plugin| plugin.source.clone());
    Ok(Tools {
        packer: program.ok_or_else(|| InternalError("no Packer was planned".to_owned()))?,
        plugins: Plugins::Published(sources.zip(verified).collect()),
    })
}

/// A program of a machine that builds, with its proofs.
#[derive(Debug)]
pub struct PlatformTool {
    pub host: BuildHost,
    /// As the catalog and the overrides publish it.
    planned: PlannedArtifact,
    pub verified: VerifiedArtifact,
}

impl PlatformTool {
    /// # Errors
    /// Without its publisher, nothing proves the program: neither a known digest nor signed checksums.
    pub fn require_offline_proof(&self) -> Result<(), UnprovenTool> {
        if self.planned.is_pinned() || self.planned.signs_checksums() {
            return Ok(());
        }
        Err(UnprovenTool {
            title: self.planned.title(),
            component: self.planned.component.to_string(),
            sha256: self.verified.fetched().sha256().to_owned(),
        })
    }
}

/// A program that cannot be proven without network.
#[derive(Debug, thiserror::Error)]
#[error(
    "{title} has no recorded digest, and its publisher signs no checksums: a bundle cannot prove it"
)]
pub struct UnprovenTool {
    title: String,
    component: String,
    sha256: String,
}

impl Classify for UnprovenTool {
    fn remedies(&self) -> Vec<String> {
        let Self {
            component, sha256, ..
        } = self;
        vec![
            format!(
                "record the digest that its checksum file states: `imagegen lock --override {component}.sha256={sha256}`"
            ),
            "leave the tools out with `--for none`".to_owned(),
        ]
    }

    fn code(&self) -> Code {
        Code::UNPROVEN_TOOL
    }
}

/// Packer and its plugins for some machines, fetched and proven; none for a target that needs no Packer.
///
/// # Errors
/// A tool is not published for a machine, or cannot be fetched or proven.
pub fn acquire_platform_tools(
    hosts: &BTreeSet<BuildHost>,
    plan: &Plan,
    acquirer: &Acquirer<'_>,
) -> Result<Vec<PlatformTool>> {
    let mut tools = Vec::new();
    for host in hosts {
        let planned = check_tools(plan, *host, acquirer.policy, acquirer.trees)?;
        let wanted: Vec<&PlannedArtifact> = planned.iter().collect();
        let verified = acquirer.prove_artifacts(&wanted, ProofScope::Signatures)?;
        for (planned, verified) in planned.into_iter().zip(verified) {
            tools.push(PlatformTool {
                host: *host,
                planned,
                verified,
            });
        }
    }
    Ok(tools)
}

/// The build's tools, which the policy allows as far as that is known before they are fetched.
///
/// # Errors
/// A tool is not in the catalog, or the policy refuses it.
pub fn check_tools(
    plan: &Plan,
    host: BuildHost,
    policy: &Policy,
    trees: &Trees,
) -> Result<Vec<PlannedArtifact>> {
    let planned = plan_tools(plan, host, trees)
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
    check_dropped(policy, artifacts.iter(), &trees.catalog)?;
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

/// A copy, whose digest is that of what was looked at: what is beside the program is not beside the copy.
fn copy_own_packer(place: &Path, sha256: Option<&str>, folder: &Path) -> Result<PathBuf> {
    let copy = folder.join("packer").with_extension(EXE_EXTENSION);
    fs::write_program_with(&copy, |file| -> Result<()> {
        let mut source = fs::open_file(place)?;
        let copied = copy_pieces(&mut source, file);
        copied.map_err(|error| InternalError(format!("copying {}: {error}", place.display())))?;
        Ok(())
    })?;
    let found = fs::digest_file(&copy)?.sha256;
    if sha256.is_some_and(|expected| expected != found) {
        return Err(ToolError::Changed(place.to_owned()).into());
    }
    Ok(copy)
}

/// The one program of an archive, under its own name.
fn install_program(verified: &VerifiedArtifact, folder: &Path) -> Result<PathBuf, ToolError> {
    let artifact = verified.artifact();
    let named = |error: ProofError| ToolError::Archive {
        name: artifact.title(),
        error,
    };
    let malformed = |reason: String| named(ProofError::new(Code::ARCHIVE_UNREADABLE, reason));
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
    let path = folder.join(last_segment(name));
    let archive = fs::open_file(verified.fetched().path())?;
    fs::write_program_with(&path, |file| {
        archive::read_members(
            archive,
            format,
            &wanted,
            &Limits::default(),
            &mut |entry, content| {
                copy_pieces(content, file)
                    .map(drop)
                    .map_err(|error| archive::unreadable_error(entry, &error))
            },
        )
        .map(drop)
        .map_err(named)
    })?;
    Ok(path)
}
