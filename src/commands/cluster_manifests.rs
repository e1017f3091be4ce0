//! `imagegen cluster-manifests`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use crate::catalog::{Trees, load_targets};
use crate::cli::ClusterManifestsArgs;
use crate::cluster::{self, ClusterInput, ClusterManifest, refuse_idle_options};
use crate::diagnostic::Result;
use crate::io::fs;
use crate::selection::SourceFolders;
use crate::trust::{Subject, check_subjects};
use crate::ui::Printer;
use crate::view::ManifestsOutput;

use super::flags::{cluster_flags, cluster_input};
use super::node_plan::NodePlan;

pub(super) fn run_cluster_manifests(
    args: &ClusterManifestsArgs,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<()> {
    let nodes = NodePlan::read(
        args.cluster.config.as_deref(),
        &cluster_flags(&args.cluster)?,
        sources,
    )?;
    let (plan, trees) = (&nodes.plan, &nodes.trees);
    let input = ClusterInput {
        images: args.images.iter().cloned().collect(),
        metadata: list_metadata_addresses(trees)?,
        pipe_accounts: args.pipe_account.clone(),
        with: args.with.iter().cloned().collect(),
        ..cluster_input(&args.cluster)
    };
    let paths = trees.read_paths()?;
    let render = |input: &_| cluster::render_manifests(input, plan, &trees.catalog, &paths);
    let made = render(&input)?;
    refuse_idle_options(&input, &made.files, |input| Ok(render(input)?.files))?;
    let mirrors = &plan.selection.list_registry_urls();
    let images = made.list_images().into_iter();
    let subjects: Vec<Subject<'_>> = images
        .map(|image| Subject::from_image(image, mirrors))
        .collect();
    check_subjects(
        &nodes.policy,
        &subjects,
        plan.governance.policy.is_some(),
        &trees.catalog,
    )?;
    printer.print_note(&format!(
        "for Kubernetes {}, host access {}, CNI {}",
        plan.kubernetes, plan.host_access, plan.network.name
    ));
    nodes.print_assumption(printer);
    let warnings = plan.list_survey_warnings();
    for warning in &warnings {
        printer.print_warning(warning);
    }
    let floating = made.list_floating_images();
    if !floating.is_empty() {
        printer.print_note(&format!(
            "not pinned by digest: {}; `--image NAME=REFERENCE@sha256:…` pins one",
            floating.join(", ")
        ));
    }
    write_manifests(made.files, warnings, args, printer)?;
    for note in &made.notes {
        printer.print_note(note);
    }
    Ok(())
}

/// Addresses of every target: a cluster may have nodes of several, and a node keeps the routes that it has.
fn list_metadata_addresses(trees: &Trees) -> Result<BTreeSet<Ipv4Addr>> {
    let mut addresses = BTreeSet::new();
    for target in load_targets(&trees.packer)? {
        let platforms = target.image().into_iter().map(|image| &image.platform);
        addresses.extend(platforms.flat_map(|it| &it.metadata).map(|it| it.address));
    }
    Ok(addresses)
}

fn write_manifests(
    files: Vec<ClusterManifest>,
    warnings: Vec<String>,
    args: &ClusterManifestsArgs,
    printer: &Printer,
) -> Result<()> {
    let Some(out) = &args.out else {
        return print_stream(&files, warnings, printer);
    };
    let contents: BTreeMap<String, Vec<u8>> = files
        .iter()
        .map(|file| (file.file.clone(), file.content.clone().into_bytes()))
        .collect();
    fs::place_directory(out, &contents, &[], &[], false)?;
    let output = ManifestsOutput::new(warnings, files);
    printer.print_summary(&output, || {
        output
            .items
            .iter()
            .map(|file| format!("{}: {}\n", out.join(&file.file).display(), file.summary))
            .collect()
    })
}

/// One stream of what is to be applied, without the files of folders.
fn print_stream(files: &[ClusterManifest], warnings: Vec<String>, printer: &Printer) -> Result<()> {
    let applied = files.iter().filter(|file| file.is_applied());
    let output = ManifestsOutput::new(warnings, applied.cloned().collect());
    printer.print_result(&output, || {
        let files = output.items.iter();
        let texts: Vec<&str> = files
            .map(|file: &ClusterManifest| file.content.as_str())
            .collect();
        texts.join("---\n")
    })
}
