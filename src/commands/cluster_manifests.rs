//! `imagegen cluster-manifests`.

use std::collections::BTreeMap;

use crate::cli::ClusterManifestsArgs;
use crate::cluster::{self, ClusterInput, ClusterManifest};
use crate::diagnostic::Result;
use crate::io::fs;
use crate::trust::{Subject, check_subjects};
use crate::ui::Printer;
use crate::view::ManifestsOutput;

use crate::planning::resolve_node_plan;
use crate::selection::{SourceFolders, read_one_image};

use super::flags::{cluster_flags, cluster_input};

pub(super) fn run_cluster_manifests(
    args: &ClusterManifestsArgs,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<()> {
    let (image, trees) = read_one_image(args.cluster.config.as_deref(), sources)?;
    let (plan, policy) = resolve_node_plan(&cluster_flags(&args.cluster)?, &image, &trees)?;
    let input = ClusterInput {
        images: args.images.iter().cloned().collect(),
        metadata_route: args.metadata_route,
        pipe_accounts: args.pipe_account.clone(),
        with: args.with.iter().cloned().collect(),
        ..cluster_input(&args.cluster)
    };
    let files = cluster::render_manifests(&input, &plan, &trees.catalog, &*trees.read_paths()?)?;
    let images = cluster::list_images(&files);
    let mirrors = &plan.selection.list_registry_urls();
    let subjects: Vec<Subject<'_>> = images
        .iter()
        .map(|image| Subject::from_image(image, mirrors))
        .collect();
    check_subjects(
        &policy,
        &subjects,
        plan.governance.policy.is_some(),
        &trees.catalog,
    )?;
    printer.print_note(&format!(
        "for Kubernetes {}, host access {}, CNI {}",
        plan.kubernetes, plan.host_access, plan.network.name
    ));
    let warnings = plan.list_survey_warnings();
    for warning in &warnings {
        printer.print_warning(warning);
    }
    for image in cluster::list_floating_images(&files) {
        printer.print_note(&format!("not pinned by digest: {image}"));
    }
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

/// One stream without smoke workloads: what is to be applied.
fn print_stream(files: &[ClusterManifest], warnings: Vec<String>, printer: &Printer) -> Result<()> {
    let applied = files.iter().filter(|file| !file.is_smoke());
    let output = ManifestsOutput::new(warnings, applied.cloned().collect());
    printer.print_result(&output, || {
        let files = output.items.iter();
        let texts: Vec<&str> = files
            .map(|file: &ClusterManifest| file.content.as_str())
            .collect();
        texts.join("---\n")
    })
}
