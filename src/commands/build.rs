//! `imagegen build` and `imagegen render`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::bake::{self, BakedImage, Options};
use crate::bundle::{Content, Part, pack};
use crate::cli::{BuildArgs, RenderArgs, WorkspaceArgs};
use crate::fetch::Fetched;
use crate::io::fs;
use crate::lock::Lock;
use crate::model::choice::Delivery;
use crate::model::plan::{MissingVariable, Plan, PlannedArtifact, Warning};
use crate::prove::{Depth, VerifiedArtifact};
use crate::render::{self, Workspace};
use crate::ui::Printer;

use super::fetch::{Job, pin_online, tools};
use super::network::fetcher;
use super::prepare::{Trees, locked_plan_and_policy, predicted, trees};
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

pub(super) fn render(args: &RenderArgs, manifests: Option<&Path>, printer: &Printer) -> anyhow::Result<()> {
    let mut trees = trees(manifests)?;
    let (mut plan, policy) = locked_plan_and_policy(&args.selection, &args.lock, &trees)?;
    own_scripts(&args.scripts, &mut plan, &policy, &mut trees)?;
    write(plan, &args.workspace, &trees, printer)?.say(printer)
}

pub(super) fn build(args: &BuildArgs, manifests: Option<&Path>, printer: &Printer) -> anyhow::Result<()> {
    let mut trees = trees(manifests)?;
    let (mut plan, policy) = locked_plan_and_policy(&args.selection, &args.lock, &trees)?;
    own_scripts(&args.scripts, &mut plan, &policy, &mut trees)?;
    // With `--locked` nothing is pinned here: the lock is what was reviewed.
    if !args.no_bake && !args.lock.locked {
        bake::check(&plan)?;
        pin_online(&mut plan, &policy, &trees, &args.network, false, printer)?;
    }
    let written = write(plan, &args.workspace, &trees, printer)?;
    if args.no_bake {
        return written.say(printer);
    }
    printer.note(&format!("workspace: {}", written.folder.display()));
    let pinned = written.lock.pinned()?;
    let packs = written.plan.target.image.is_none();
    if packs && written.plan.delivery != Delivery::Media {
        // Nothing is paid for here: the machine itself fetches, and checks every digest.
        return written.bundle(&[], printer);
    }
    if !packs {
        bake::check(&written.plan)?;
    }
    let fetcher = fetcher(&args.network, &policy)?;
    let job = Job { trees: &trees, policy: &policy, fetcher: &fetcher, jobs: args.network.jobs, printer };
    let artifacts: Vec<&PlannedArtifact> = written.plan.artifacts().collect();
    let verified = job.run(&artifacts, Depth::Bytes)?;
    if packs {
        return written.bundle(&media(&verified, &job.own_files(&written.plan)?), printer);
    }
    let tools = tools(args.packer.as_ref(), &written.plan, &job)?;
    let options = Options { tools, on_error: args.on_error };
    let environment =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect();
    let image =
        bake::bake(&written.plan, pinned, &verified, &written.folder, &options, &environment, printer)?;
    say_image(&image, &written.folder, printer)
}

/// What goes beside the plan, so that the machine needs no network: files under the digests that the
/// plan asks for.
fn media(verified: &[VerifiedArtifact], updates: &[Fetched]) -> Vec<Part> {
    let part = |digest: &str, file: &Fetched| Part::fetched(format!("artifacts/{digest}"), file);
    let artifacts = verified.iter().filter_map(|verified| {
        let pin = verified.artifact().digest()?;
        Some(part(&pin.digest, verified.fetched()))
    });
    artifacts.chain(updates.iter().map(|update| part(update.sha256(), update))).collect()
}

fn say_image(image: &BakedImage, folder: &Path, printer: &Printer) -> anyhow::Result<()> {
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
    plan: Plan,
    lock: Lock,
    folder: PathBuf,
    workspace: Workspace,
}

/// Everything up to the workspace on disk. The plan is resolved, folded and rendered whole before
/// the first file is written.
fn write(plan: Plan, workspace: &WorkspaceArgs, trees: &Trees, printer: &Printer) -> anyhow::Result<Written> {
    let lock = Lock::from_plan(&plan);
    let (guest, _) = predicted(&plan, trees)?;
    let rendered = render::render(&plan, &lock, &guest, &trees.packer, &trees.provisioners)?;
    let folder = workspace.out.clone().unwrap_or_else(|| {
        let name = format!("{}-{}-k8s-{}", plan.target.name, plan.windows.release, plan.kubernetes);
        Path::new("imagegen-out").join(name)
    });
    // The same lock gives the same archive, so an older one is no loss.
    let archive = render::archive_names(&plan);
    let traces: Vec<&str> = bake::TRACES.iter().copied().chain(archive.iter().map(String::as_str)).collect();
    fs::place(&folder, &rendered.files, &traces, bake::RESULTS, workspace.force)?;
    for warning in &plan.warnings {
        printer.warning(&warning.message);
    }
    Ok(Written { plan, lock, folder, workspace: rendered })
}

impl Written {
    /// Packs the workspace of a target without images, and what the machine is to have besides.
    fn bundle(&self, media: &[Part], printer: &Printer) -> anyhow::Result<()> {
        let [name, checksum] = render::archive_names(&self.plan);
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

    fn say(&self, printer: &Printer) -> anyhow::Result<()> {
        let output = RenderOutput {
            workspace: self.folder.display().to_string(),
            files: self
                .workspace
                .files
                .iter()
                .map(|(name, bytes)| (name.clone(), crate::embedded::sha256(bytes)))
                .collect(),
            unpinned: self.plan.unpinned().map(PlannedArtifact::title).collect(),
            missing: self.plan.missing.clone(),
            warnings: self.plan.warnings.clone(),
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
