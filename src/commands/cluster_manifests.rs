//! `imagegen cluster-manifests` and `imagegen conformance`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use crate::cli::{ClusterArgs, ClusterManifestsArgs, ConformanceArgs, SelectionArgs};
use crate::cluster::{self, ClusterInput, Manifest};
use crate::diagnostic::Result;
use crate::io::fs;
use crate::model::cluster::Runner;
use crate::model::plan::Plan;
use crate::ui::Printer;

use crate::catalog::Trees;
use crate::selection::{read_trees, resolve_node_plan};

/// One file, as `cluster-manifests --format json` prints it.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManifestOutput {
    pub file: String,
    pub summary: String,
    pub content: String,
}

pub(super) fn cluster_manifests(
    args: &ClusterManifestsArgs,
    manifests: Option<&Path>,
    printer: &Printer,
) -> Result<()> {
    let trees = read_trees(manifests)?;
    let plan = nodes(&args.cluster, &trees)?;
    let mut input = input(&args.cluster);
    input.images = args.images.iter().cloned().collect();
    input.metadata_route = args.metadata_route;
    input.pipe_accounts.clone_from(&args.pipe_account);
    input.with = args.with.iter().cloned().collect();
    let files = cluster::manifests(&input, &plan, &trees.catalog, &paths(&trees)?)?;
    printer.note(&format!(
        "for Kubernetes {}, host access {}, CNI {}",
        plan.kubernetes, plan.host_access, plan.cni
    ));
    for image in by_tag(&files) {
        printer.note(&format!("by tag alone, which its publisher can move: {image}"));
    }
    let Some(out) = &args.out else { return print(&files, printer) };
    let index = trees.catalog.cluster()?;
    let ours: Vec<&str> = index.files.iter().filter_map(|file| file.file.split('/').next()).collect();
    let contents: BTreeMap<String, Vec<u8>> =
        files.iter().map(|file| (file.file.clone(), file.content.clone().into_bytes())).collect();
    fs::place(out, &contents, &ours, &[], args.force)?;
    printer.result(&outputs(&files), || {
        files.iter().map(|file| format!("{}: {}\n", out.join(&file.file).display(), file.summary)).collect()
    })
}

/// One stream without smoke workloads: what is to be applied.
fn print(files: &[Manifest], printer: &Printer) -> Result<()> {
    let applied: Vec<Manifest> = files.iter().filter(|file| !file.is_smoke()).cloned().collect();
    printer.result(&outputs(&applied), || {
        applied.iter().map(|file| file.content.as_str()).collect::<Vec<_>>().join("---\n")
    })
}

/// Images that no digest pins.
fn by_tag(files: &[Manifest]) -> std::collections::BTreeSet<&str> {
    files
        .iter()
        .filter(|file| !file.is_smoke())
        .flat_map(|file| file.content.lines())
        .filter_map(|line| line.trim().strip_prefix("image: "))
        .map(|image| image.trim_matches('"'))
        .filter(|image| !image.contains("@sha256:"))
        .collect()
}

fn outputs(files: &[Manifest]) -> Vec<ManifestOutput> {
    let output = |file: &Manifest| ManifestOutput {
        file: file.file.clone(),
        summary: file.summary.clone(),
        content: file.content.clone(),
    };
    files.iter().map(output).collect()
}

pub(super) fn conformance(args: &ConformanceArgs, manifests: Option<&Path>, printer: &Printer) -> Result<()> {
    let trees = read_trees(manifests)?;
    let plan = nodes(&args.cluster, &trees)?;
    let checks = cluster::conformance(&input(&args.cluster), &plan, &trees.catalog, &paths(&trees)?)?;
    printer.result(&checks, || {
        let mut text = String::new();
        for (number, check) in checks.iter().enumerate() {
            let who = match check.who {
                Runner::Node => "on the node, as administrator",
                Runner::Cluster => "with kubectl, as administrator of the cluster",
                Runner::Developer => "with Kubernetes' test programs",
            };
            let _ = writeln!(text, "{}. {} [{}] ({who})", number + 1, check.title, check.id);
            for line in &check.run {
                let _ = writeln!(text, "   $ {line}");
            }
            let _ = writeln!(text, "   expect: {}", check.expect);
        }
        text
    })
}

fn nodes(args: &ClusterArgs, trees: &Trees) -> Result<Plan> {
    let selection = SelectionArgs {
        config: args.config.clone(),
        k8s: args.k8s.clone(),
        runtime: args.runtime,
        cni: args.cni,
        host_access: args.host_access,
        component: args.component.clone(),
        ..SelectionArgs::default()
    };
    resolve_node_plan(&selection, trees)
}

fn input(args: &ClusterArgs) -> ClusterInput {
    ClusterInput {
        endpoint: args.endpoint.clone(),
        pod_subnet: args.pod_subnet.clone(),
        service_subnet: args.service_subnet.clone(),
        dns: args.dns.clone(),
        domain: args.domain.clone(),
        node_subnets: args.node_subnet.clone(),
        hns_network: args.hns_network.clone(),
        flannel_namespace: args.flannel_namespace.clone(),
        metadata_route: false,
        pipe_accounts: Vec::new(),
        images: BTreeMap::new(),
        with: std::collections::BTreeSet::new(),
    }
}

fn paths(trees: &Trees) -> Result<Value> {
    Ok(trees.provisioners.json("paths.json")?.unwrap_or_default())
}
