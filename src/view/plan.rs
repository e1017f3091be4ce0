//! Contents of an image, with reasons.

use std::fmt::Write as _;

use serde::Serialize;

use crate::base::choice::Join;
use crate::base::download::{DownloadSize, format_megabytes};
use crate::base::json::format_plain;
use crate::base::url::strip_value;
use crate::guest::{AppliedStep, Guest};
use crate::lock::Lock;
use crate::model::definition::ImageDefinition;
use crate::model::plan::{
    MissingVariable, Plan, PlannedArtifact, PlannedGroup, PlannedPacker, Warning, format_unasked,
};
use crate::model::support::SupportEnd;
use crate::model::tagged_image::TaggedImage;
use crate::trust::list_own_texts;

/// `imagegen plan --format json`
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanOutput<'a> {
    pub schema: &'static str,
    /// The selection, every default written out.
    pub selection: &'a ImageDefinition,
    pub kubernetes: &'a str,
    pub windows_build: u32,
    pub pause: &'a str,
    /// None where no image is baked.
    pub packer: Option<&'a PlannedPacker>,
    pub components: &'a [PlannedGroup],
    /// Container images that were named by tag, with the digests of the lockfile.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub tagged_images: &'a [TaggedImage],
    pub download: DownloadSize,
    pub missing: &'a [MissingVariable],
    /// Components with a digest that only the lockfile states.
    pub unproven: Vec<String>,
    pub steps: &'a [AppliedStep],
    /// Until when its parts are supported.
    pub support: &'a [SupportEnd],
    pub warnings: Vec<Warning>,
}

impl<'a> PlanOutput<'a> {
    pub fn new(plan: &'a Plan, guest: &'a Guest) -> Self {
        Self {
            schema: "imagegen.dev/plan/v1",
            selection: &plan.selection,
            kubernetes: plan.kubernetes.as_str(),
            windows_build: plan.windows.build,
            pause: &plan.pause,
            packer: plan.packer.as_ref(),
            components: &plan.groups,
            tagged_images: &plan.tagged_images,
            download: plan.download_size(),
            missing: &plan.missing,
            unproven: plan
                .unproven_artifacts()
                .map(|artifact| artifact.component.to_string())
                .collect(),
            steps: &guest.steps,
            support: &plan.support,
            warnings: plan.warnings(),
        }
    }
}

/// The plan as `imagegen plan` prints it.
pub fn format_plan(plan: &Plan, guest: &Guest, warnings: &[String]) -> String {
    let mut text = format!(
        "{}, {} (build {}), Kubernetes {}\nruntime {} {}, CNI {}, host access {}, delivery {}, pause {}\n",
        plan.target.title,
        plan.windows.title,
        plan.windows.build,
        plan.kubernetes,
        plan.runtime,
        plan.runtime_version,
        plan.network.name,
        plan.host_access,
        plan.delivery,
        plan.pause,
    );
    if plan.join != Join::Kubeadm {
        let _ = writeln!(text, "join {}", plan.join);
    }
    let ends = plan.support.iter().map(|end| format!("{end} {}", end.date));
    let _ = writeln!(
        text,
        "supported until: {}",
        ends.collect::<Vec<_>>().join(", ")
    );
    for (packer, plugin) in plan
        .packer
        .iter()
        .flat_map(|it| it.plugins.iter().map(move |one| (it, one)))
    {
        let _ = writeln!(
            text,
            "Packer {}, plugin {} {}",
            packer.version, plugin.name, plugin.version
        );
    }
    format_components(&mut text, plan);
    if !plan.tagged_images.is_empty() {
        text.push_str("\nContainer images by tag\n");
    }
    for image in &plan.tagged_images {
        let _ = writeln!(text, "  {}", format_image(image));
    }
    format_unproven(&mut text, plan);
    format_unasked_proofs(&mut text, plan);
    format_variables(&mut text, plan);
    format_own_texts(&mut text, plan);
    text.push_str("\nSteps\n");
    for step in guest.steps.iter().filter(|step| step.resources > 0) {
        let _ = writeln!(
            text,
            "  {:<18} {:>3}  {}",
            step.id, step.resources, step.summary
        );
    }
    if !warnings.is_empty() {
        text.push_str("\nWarnings\n");
    }
    for warning in warnings {
        let _ = writeln!(text, "  {warning}");
    }
    text
}

/// Additions of `-v`: where each artifact comes from, and the resources of each step.
pub fn format_details(plan: &Plan, guest: &Guest) -> String {
    let mut text = "\nArtifacts\n".to_owned();
    for artifact in plan.artifacts() {
        let _ = writeln!(
            text,
            "  {} {}\n    {}",
            artifact.component, artifact.version, artifact.url
        );
        for pin in &artifact.digests {
            let _ = writeln!(
                text,
                "    {}\n    source: {}",
                pin.digest,
                pin.source.join("; ")
            );
        }
    }
    text.push_str("\nResources\n");
    for resource in &guest.plan.resources {
        let source = guest.sources.get(&resource.name).map_or("", String::as_str);
        let _ = writeln!(text, "  {}\n    source: {source}", resource.name);
    }
    text
}

fn format_components(text: &mut String, plan: &Plan) {
    text.push_str("\nComponents\n");
    for group in &plan.groups {
        for artifact in &group.artifacts {
            let line = format!(
                "  {:<18} {:<12} {:<32} {:>9}",
                artifact.component,
                artifact.version,
                artifact.format_pin_state(),
                artifact.size.map_or_else(String::new, format_megabytes)
            );
            let _ = writeln!(text, "{}", line.trim_end());
        }
        let _ = writeln!(text, "    {}", group.reason);
    }
    let _ = writeln!(text, "  download: {}", plan.download_size());
}

/// An image with the digest of its tag, its size and what its publisher reserves.
pub fn format_image(image: &TaggedImage) -> String {
    let Some(pin) = &image.pin else {
        return format!("{}: unpinned", image.name);
    };
    let (index, size) = (&pin.index, format_megabytes(pin.size));
    let version = pin.os_version.as_deref().unwrap_or("every Windows build");
    let foreign = match pin.foreign_layers.len() {
        0 => String::new(),
        count => format!("; {count} layers that its publisher does not let others distribute"),
    };
    format!("{}@sha256:{index} ({version}, {size}{foreign})", image.name)
}

/// Text of `imagegen lock` about the file that it wrote.
pub fn format_lock(file: &str, lock: &Lock) -> String {
    let pinned = lock
        .artifacts
        .iter()
        .filter(|artifact| artifact.is_pinned())
        .count();
    let unasked = format_unasked(lock.artifacts.iter());
    let hint = if unasked.is_empty() {
        ""
    } else {
        "\n`--prove` verifies these declared signatures, and so does each download:"
    };
    let first = format!(
        "{file}: {pinned} of {} artifacts pinned{hint}\n",
        lock.artifacts.len()
    );
    let images = lock.tagged_images.iter().map(format_image);
    let lines = unasked.into_iter().chain(images);
    std::iter::once(first)
        .chain(lines.map(|line| format!("  {line}\n")))
        .collect()
}

/// Digests that the lockfile alone states.
fn format_unproven(text: &mut String, plan: &Plan) {
    let titles: Vec<String> = plan
        .unproven_artifacts()
        .map(PlannedArtifact::title)
        .collect();
    if titles.is_empty() {
        return;
    }
    text.push_str(
        "\nUnproven: only the lockfile states these digests, `imagegen lock --prove` proves them again\n",
    );
    for title in titles {
        let _ = writeln!(text, "  {title}");
    }
}

/// A digest pins these artifacts; signatures that their publishers declare beside it were not asked for.
fn format_unasked_proofs(text: &mut String, plan: &Plan) {
    let pinned = plan.artifacts().filter(|artifact| artifact.is_pinned());
    let unasked = format_unasked(pinned);
    if unasked.is_empty() {
        return;
    }
    text.push_str(
        "\nDeclared signatures, verified by `imagegen lock --prove` and by each download\n",
    );
    for line in unasked {
        let _ = writeln!(text, "  {line}");
    }
}

/// Texts of the definition that reach the node, each with the digest by which a policy trusts it.
fn format_own_texts(text: &mut String, plan: &Plan) {
    let subjects = list_own_texts(&plan.selection);
    if subjects.is_empty() {
        return;
    }
    text.push_str("\nTexts of the definition that reach the node\n");
    for subject in subjects {
        for digest in &subject.digests {
            let _ = writeln!(text, "  {}: SHA-256 {digest}", subject.title);
        }
    }
}

fn format_variables(text: &mut String, plan: &Plan) {
    text.push_str("\nVariables\n");
    for (name, value) in &plan.selectors {
        let _ = writeln!(text, "  {name:<28} {value}");
    }
    for (name, value) in &plan.variables {
        let shown = format_plain(&strip_value(value));
        let _ = writeln!(text, "  {name:<28} {shown}");
    }
    if !plan.missing.is_empty() {
        text.push_str("\nMissing: a bake needs these\n");
        for missing in &plan.missing {
            let _ = writeln!(
                text,
                "  {:<28} {}",
                missing.names.join(" or "),
                missing.description
            );
            for from in &missing.from {
                let _ = writeln!(text, "    {from}");
            }
        }
    }
}
