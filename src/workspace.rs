//! Plan → workspace on disk, and the archive of a target that needs no Packer.

mod builds;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::acquire::{Acquirer, ProvenPlan};
use crate::bake;
use crate::base::value::ImageReference;
use crate::bundle::{ArchivePart, Content, ImageSource, write_zip};
use crate::catalog::Trees;
use crate::diagnostic::Result;
use crate::io::fs::{self, PlaceClaim};
use crate::lock::Lock;
use crate::model::plan::{MissingVariable, Plan, Warning};
use crate::planning::predict_machine;
use crate::render::{self, Workspace};

pub use builds::{ATTESTATIONS, BUILDS, IMAGE_RECORD};

/// Folder of the workspaces whose place nobody gave.
pub const WORKSPACES: &str = "imagegen-out";

/// Output of `build --no-bake` and `render`.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RenderOutput {
    pub schema: &'static str,
    pub workspace: String,
    /// File → SHA-256.
    pub files: BTreeMap<String, String>,
    pub unpinned: Vec<String>,
    pub missing: Vec<MissingVariable>,
    pub warnings: Vec<Warning>,
}

/// Files beside the plan for a machine without network: artifacts by digest, and images to import.
///
/// # Errors
/// An image cannot be fetched, is incomplete, or has another Windows build.
pub fn list_media(proven: &ProvenPlan, acquirer: &Acquirer<'_>) -> Result<Vec<ArchivePart>> {
    let mut parts = Vec::new();
    for verified in proven.artifacts() {
        if let Some(pin) = verified.artifact().digest() {
            let name = format!("artifacts/{}", pin.digest.as_str());
            parts.push(ArchivePart::from_fetched(name, verified.fetched()));
        }
    }
    for file in proven.user_files() {
        let name = format!("artifacts/{}", file.sha256());
        parts.push(ArchivePart::from_fetched(name, file));
    }

    let plan = proven.plan();
    let names: Vec<&ImageReference> = plan.images.iter().collect();
    let Acquirer {
        fetcher,
        network,
        printer,
        ..
    } = *acquirer;
    let jobs = network.downloads();
    let images = ImageSource {
        fetcher,
        jobs,
        printer,
    }
    .fetch_images(&names, |name| plan.selects_image(name), plan.windows.build)?;
    for image in &images.carried {
        parts.extend(image.list_parts("artifacts/images/blobs/sha256/"));
    }
    Ok(parts)
}

/// Output of `build` for an archive for an existing machine.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstallerOutput {
    pub schema: &'static str,
    pub workspace: String,
    /// The archive, which holds the workspace's files, and with delivery by media the artifacts.
    pub installer: String,
    pub sha256: String,
    pub size: u64,
}

/// A workspace on disk, which no other run writes as long as this one has the claim.
#[derive(Debug)]
pub struct WrittenWorkspace<'a> {
    claim: &'a PlaceClaim,
    pub workspace: Workspace,
    /// File → SHA-256.
    pub digests: BTreeMap<String, String>,
}

/// Where a workspace is written.
#[derive(Debug, Clone)]
pub struct WorkspacePlace {
    pub folder: PathBuf,
    /// Whether the result of an earlier bake may be replaced.
    pub force: bool,
}

impl WorkspacePlace {
    /// Takes the folder for this run, from the first look at it until the last write.
    ///
    /// # Errors
    /// Another run writes it, or the folder above cannot be written.
    pub fn claim(&self) -> Result<PlaceClaim> {
        Ok(PlaceClaim::take(&self.folder)?)
    }
}

/// The workspace of a named image.
pub fn workspace_path(name: &str) -> PathBuf {
    Path::new(WORKSPACES).join(name)
}

/// The folder of a workspace without a name: `imagegen-out/TARGET-WINDOWS-k8s-VERSION`.
pub fn name_workspace(plan: &Plan) -> PathBuf {
    let name = format!(
        "{}-{}-k8s-{}",
        plan.target.name, plan.windows.release, plan.kubernetes
    );
    workspace_path(&name)
}

/// Resolves, predicts and renders the plan: a workspace that is not yet written.
///
/// # Errors
/// The machine could not work, or a template is wrong.
pub fn render_plan(plan: &Plan, lock: &Lock, trees: &Trees) -> Result<Workspace> {
    let (guest, _) = predict_machine(plan, trees)?;
    let rendered =
        render::render_workspace(plan, lock, &guest, &trees.packer, &trees.provisioners)?;
    Ok(rendered)
}

/// Writes a workspace in the place of the last one, with `force` also over the result of a bake without a record.
///
/// # Errors
/// The folder is not free, or cannot be written.
pub fn write_workspace<'a>(
    plan: &Plan,
    rendered: Workspace,
    claim: &'a PlaceClaim,
    force: bool,
) -> Result<WrittenWorkspace<'a>> {
    // The same lock gives the same archive, so an older one is no loss.
    let archive = render::archive_names(plan);
    let traces = list_traces(&archive);
    let (digests, results) = (rendered.digest_files(), bake::RESULTS);
    let last = builds::archive_last_build(claim.path(), plan)?;
    let placed = fs::place_digested_directory(
        claim,
        &rendered.files,
        &digests,
        &traces,
        results,
        force || last.is_recorded,
    );
    if let Err(error) = placed {
        last.restore()?;
        return Err(error.into());
    }
    Ok(WrittenWorkspace {
        claim,
        workspace: rendered,
        digests,
    })
}

/// Names of files that a workspace may lose when it is written again.
fn list_traces(archive: &[String]) -> Vec<&str> {
    let archive = archive.iter().map(String::as_str);
    bake::TRACES.iter().copied().chain(archive).collect()
}

/// Refuses a folder that cannot be written, before anything is fetched for an archive. The folder stays as it is.
///
/// # Errors
/// It has files that imagegen did not write or that were changed since.
pub fn check_place(plan: &Plan, rendered: &Workspace, claim: &PlaceClaim) -> Result<()> {
    let archive = render::archive_names(plan);
    let traces = list_traces(&archive);
    let last = builds::archive_last_build(claim.path(), plan)?;
    let checked = fs::check_directory(claim, &rendered.digest_files(), &traces, bake::RESULTS);
    last.restore()?;
    Ok(checked?)
}

impl WrittenWorkspace<'_> {
    pub fn folder(&self) -> &Path {
        self.claim.path()
    }

    /// Packs the workspace of a target without images, and what the machine is to have besides.
    ///
    /// # Errors
    /// The archive cannot be written.
    pub fn pack_archive(&self, plan: &Plan, media: &[ArchivePart]) -> Result<InstallerOutput> {
        let [name, checksum] = render::archive_names(plan);
        let path = self.folder().join(&name);
        let mut parts = Vec::new();
        for (path, bytes) in &self.workspace.files {
            parts.push(ArchivePart {
                path: path.clone(),
                content: Content::Bytes(bytes.clone()),
            });
        }
        parts.extend_from_slice(media);
        parts.sort_by(|one, other| one.path.cmp(&other.path));
        // Two components may be one file.
        parts.dedup_by(|one, other| one.path == other.path);
        write_zip(&path, &parts)?;
        let found = fs::digest_file(&path)?;
        fs::write_file(
            &self.folder().join(checksum),
            format!("{}  {name}\n", found.sha256).as_bytes(),
        )?;
        Ok(InstallerOutput {
            schema: "imagegen.dev/installer/v1",
            workspace: self.folder().display().to_string(),
            installer: path.display().to_string(),
            sha256: found.sha256,
            size: found.size,
        })
    }

    /// Output of `build --no-bake` and `render`.
    pub fn describe(&self, plan: &Plan) -> RenderOutput {
        RenderOutput {
            schema: "imagegen.dev/render/v1",
            workspace: self.folder().display().to_string(),
            files: self.digests.clone(),
            unpinned: plan.list_unpinned(),
            missing: plan.missing.clone(),
            warnings: plan.warnings(),
        }
    }

    pub fn format_tree(&self, output: &RenderOutput) -> String {
        let mut text = format!("{}\n", output.workspace);
        let last = self.workspace.files.len().saturating_sub(1);
        // Writing to a String cannot fail, here and below.
        for (index, (name, bytes)) in self.workspace.files.iter().enumerate() {
            let branch = if index == last { "`--" } else { "|--" };
            let _ = writeln!(text, "{branch} {name:<28} {:>9} bytes", bytes.len());
        }
        if !output.unpinned.is_empty() {
            let _ = writeln!(text, "unpinned: {}", output.unpinned.join(", "));
        }
        for missing in &output.missing {
            let _ = writeln!(
                text,
                "missing: {} ({})",
                missing.names.join(" or "),
                missing.from.join("; ")
            );
        }
        text
    }
}
