//! `imagegen build` and `imagegen render`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::acquire::{Acquirer, ProvenPlan, acquire_tools, open_fetcher, pin_plan, prove_plan};
use crate::bake::{self, Bake, BakedImage};
use crate::bundle::{Content, Part, pack};
use crate::catalog::Trees;
use crate::cli::{BuildArgs, RenderArgs, WorkspaceArgs};
use crate::diagnostic::Result;
use crate::fetch::Fetched;
use crate::io::fs;
use crate::lock::{Lock, PinnedPlan};
use crate::model::choice::Delivery;
use crate::model::plan::{MissingVariable, Plan, PlannedArtifact, Warning};
use crate::render::{self, Workspace};
use crate::selection::{predict_machine, read_trees, resolve_locked_plan};
use crate::trust::admit;
use crate::ui::Printer;

use super::scripts::own_scripts;

/// What `build --no-bake` and `render` say.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RenderOutput {
    pub workspace: String,
    /// File → SHA-256.
    pub files: BTreeMap<String, String>,
    pub unpinned: Vec<String>,
    pub missing: Vec<MissingVariable>,
    pub warnings: Vec<Warning>,
}

pub(super) fn render(args: &RenderArgs, manifests: Option<&Path>, printer: &Printer) -> Result<()> {
    let mut trees = read_trees(manifests)?;
    let (mut plan, policy) = resolve_locked_plan(&args.selection, &args.lock, &trees)?;
    own_scripts(&args.scripts, &mut plan, &policy, &mut trees)?;
    write(&plan, &args.workspace, &trees, printer)?.say(&plan, printer)
}

pub(super) fn build(args: &BuildArgs, manifests: Option<&Path>, printer: &Printer) -> Result<()> {
    let mut trees = read_trees(manifests)?;
    let (mut plan, policy) = resolve_locked_plan(&args.selection, &args.lock, &trees)?;
    own_scripts(&args.scripts, &mut plan, &policy, &mut trees)?;
    if args.no_bake {
        return write(&plan, &args.workspace, &trees, printer)?.say(&plan, printer);
    }
    bake::require_variables(&plan)?;
    let open = || open_fetcher(&args.network, &policy);
    let jobs = args.network.jobs;
    let mut earlier = Vec::new();
    // With `--locked` nothing is pinned here: the lock is what was reviewed.
    if !args.lock.locked && plan.unpinned().next().is_some() {
        let fetcher = open()?;
        let acquirer = Acquirer { trees: &trees, policy: &policy, fetcher: &fetcher, jobs, printer };
        earlier = pin_plan(&mut plan, false, &acquirer)?;
    }
    let written = write(&plan, &args.workspace, &trees, printer)?;
    printer.note(&format!("workspace: {}", written.folder.display()));
    let admitted = admit(PinnedPlan::new(plan)?, &policy)?;
    let packs = admitted.pinned().plan().target.image.is_none();
    if packs && admitted.pinned().plan().delivery != Delivery::Media {
        // The machine itself downloads, and checks every digest.
        return written.bundle(admitted.pinned().plan(), &[], printer);
    }
    let fetcher = open()?;
    let acquirer = Acquirer { trees: &trees, policy: &policy, fetcher: &fetcher, jobs, printer };
    let proven = prove_plan(admitted, &earlier, &acquirer)?;
    if packs {
        return written.bundle(proven.plan(), &media(&proven), printer);
    }
    let tools = acquire_tools(args.packer.as_ref(), proven.plan(), &acquirer)?;
    let environment =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect();
    let image = Bake {
        proven: &proven,
        folder: &written.folder,
        tools: &tools,
        on_error: args.on_error,
        environment: &environment,
        printer,
    }
    .run()?;
    say_image(&image, &written.folder, printer)
}

/// Files beside the plan, so that the machine needs no network: by the digests that the plan names.
fn media(proven: &ProvenPlan) -> Vec<Part> {
    let part = |digest: &str, file: &Fetched| Part::fetched(format!("artifacts/{digest}"), file);
    let artifacts = proven.artifacts().iter().filter_map(|verified| {
        let pin = verified.artifact().digest()?;
        Some(part(&pin.digest, verified.fetched()))
    });
    artifacts.chain(proven.user_files().iter().map(|file| part(file.sha256(), file))).collect()
}

fn say_image(image: &BakedImage, folder: &Path, printer: &Printer) -> Result<()> {
    printer.note(&format!("image: {}", folder.join("image.json").display()));
    printer.result(image, || image.artifacts.iter().map(|artifact| format!("{}\n", artifact.id)).collect())
}

/// What `build` says of a bundle for an existing machine.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BundleOutput {
    pub workspace: String,
    /// The archive, which holds the workspace's files, and with delivery by media the artifacts.
    pub bundle: String,
    pub sha256: String,
    pub size: u64,
}

struct Written {
    folder: PathBuf,
    workspace: Workspace,
}

/// Everything up to the workspace on disk. The plan is resolved, folded and rendered whole before
/// the first file is written.
fn write(plan: &Plan, workspace: &WorkspaceArgs, trees: &Trees, printer: &Printer) -> Result<Written> {
    let lock = Lock::from_plan(plan);
    let (guest, _) = predict_machine(plan, trees)?;
    let rendered = render::render(plan, &lock, &guest, &trees.packer, &trees.provisioners)?;
    let folder = workspace.out.clone().unwrap_or_else(|| {
        let name = format!("{}-{}-k8s-{}", plan.target.name, plan.windows.release, plan.kubernetes);
        Path::new("imagegen-out").join(name)
    });
    // The same lock gives the same archive, so an older one is no loss.
    let archive = render::archive_names(plan);
    let traces: Vec<&str> = bake::TRACES.iter().copied().chain(archive.iter().map(String::as_str)).collect();
    fs::place(&folder, &rendered.files, &traces, bake::RESULTS, workspace.force)?;
    for warning in &plan.warnings {
        printer.warning(&warning.message);
    }
    Ok(Written { folder, workspace: rendered })
}

impl Written {
    /// Packs the workspace of a target without images, and what the machine is to have besides.
    fn bundle(&self, plan: &Plan, media: &[Part], printer: &Printer) -> Result<()> {
        let [name, checksum] = render::archive_names(plan);
        let path = self.folder.join(&name);
        let files = self.workspace.files.iter();
        let mut parts: Vec<Part> = files
            .map(|(path, bytes)| Part { path: path.clone(), content: Content::Text(bytes.clone()) })
            .chain(media.iter().cloned())
            .collect();
        parts.sort_by(|one, other| one.path.cmp(&other.path));
        // Two components may be one file.
        parts.dedup_by(|one, other| one.path == other.path);
        pack(&path, &parts)?;
        let found = fs::digests(&path)?;
        fs::write(&self.folder.join(checksum), format!("{}  {name}\n", found.sha256).as_bytes())?;
        let output = BundleOutput {
            workspace: self.folder.display().to_string(),
            bundle: path.display().to_string(),
            sha256: found.sha256,
            size: found.size,
        };
        printer.result(&output, || format!("{}  {}\n", output.sha256, output.bundle))
    }

    fn say(&self, plan: &Plan, printer: &Printer) -> Result<()> {
        let output = RenderOutput {
            workspace: self.folder.display().to_string(),
            files: self
                .workspace
                .files
                .iter()
                .map(|(name, bytes)| (name.clone(), crate::embedded::sha256(bytes)))
                .collect(),
            unpinned: plan.unpinned().map(PlannedArtifact::title).collect(),
            missing: plan.missing.clone(),
            warnings: plan.warnings.clone(),
        };
        printer.result(&output, || self.tree(&output))
    }

    fn tree(&self, output: &RenderOutput) -> String {
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
            let _ = writeln!(text, "missing: {} ({})", missing.names.join(" or "), missing.from.join("; "));
        }
        text
    }
}
