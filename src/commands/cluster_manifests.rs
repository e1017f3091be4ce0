//! `imagegen cluster-manifests`.

use std::collections::BTreeMap;
use std::slice;

use crate::base::output_list::OutputList;
use crate::cli::{ClusterManifestsArgs, SourceArgs};
use crate::cluster::{self, ClusterManifest};
use crate::diagnostic::Result;
use crate::io::fs;
use crate::trust::{Subject, check_subjects};
use crate::ui::Printer;

use crate::planning::{cluster_input, read_paths, resolve_cluster_plan};
use crate::selection::{Definitions, read_sources};

const SCHEMA: &str = "imagegen.dev/cluster-manifests/v1";

pub(super) fn run_cluster_manifests(
    args: &ClusterManifestsArgs,
    sources: &SourceArgs,
    printer: &Printer,
) -> Result<()> {
    let image = Definitions::load(args.cluster.config.as_deref())?.require_one()?;
    let trees = read_sources(sources, slice::from_ref(&image))?;
    let (plan, policy) = resolve_cluster_plan(&args.cluster, &image, &trees)?;
    let mut input = cluster_input(&args.cluster);
    input.images = args.images.iter().cloned().collect();
    input.metadata_route = args.metadata_route;
    input.pipe_accounts.clone_from(&args.pipe_account);
    input.with = args.with.iter().cloned().collect();
    let files = cluster::render_manifests(&input, &plan, &trees.catalog, &read_paths(&trees)?)?;
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
    for image in cluster::list_floating_images(&files) {
        printer.print_note(&format!("not pinned by digest: {image}"));
    }
    let Some(out) = &args.out else {
        return print_stream(&files, printer);
    };
    let contents: BTreeMap<String, Vec<u8>> = files
        .iter()
        .map(|file| (file.file.clone(), file.content.clone().into_bytes()))
        .collect();
    fs::place_directory(out, &contents, &[], &[], false)?;
    let output = OutputList::new(SCHEMA, files);
    printer.print_summary(&output, || {
        output
            .items
            .iter()
            .map(|file| format!("{}: {}\n", out.join(&file.file).display(), file.summary))
            .collect()
    })
}

/// One stream without smoke workloads: what is to be applied.
fn print_stream(files: &[ClusterManifest], printer: &Printer) -> Result<()> {
    let applied = files.iter().filter(|file| !file.is_smoke());
    let output = OutputList::new(SCHEMA, applied.cloned().collect());
    printer.print_result(&output, || {
        let files = output.items.iter();
        let texts: Vec<&str> = files
            .map(|file: &ClusterManifest| file.content.as_str())
            .collect();
        texts.join("---\n")
    })
}
