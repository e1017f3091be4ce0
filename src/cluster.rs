//! Manifests that a cluster needs for Windows nodes. Pure.
//!
//! Which files a situation needs, with which images, flags and APIs, is data of
//! `manifests/cluster/`; this renders it, one JSON value at a time.

mod facts;
mod idle;
mod network;
mod pair;
mod render;

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use serde::Serialize;
use serde_json::Value;

use crate::base::choice::HostAccess;
use crate::base::code::Code;
use crate::base::names::format_suggestion;
use crate::base::value::{Cidr, DnsName, Ipv4Address};
use crate::catalog::Catalog;
use crate::diagnostic::{Finding, Result};
use crate::join::refuse_input;
use crate::model::cluster::{ClusterFile, ClusterIndex, Runner};
use crate::model::plan::Plan;

pub use facts::collect_facts;
pub use idle::refuse_idle_options;
pub use pair::{NodeImage, check_image};
pub use render::ManifestRenderer;

/// flannel's network of pods, where nobody chose another one.
pub const POD_NETWORK: &str = "10.244.0.0/16";

/// kubeadm's domain, where nobody chose another one.
pub const DOMAIN: &str = "cluster.local";

/// The namespace of flannel's own manifest.
pub const FLANNEL_NAMESPACE: &str = "kube-flannel";

/// The user's cluster, as flags describe it.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterInput {
    /// `HOST:PORT` of the API server.
    pub endpoint: Option<String>,
    pub pod_subnet: Cidr,
    pub service_subnet: Cidr,
    /// Address of the cluster's DNS; the tenth of the service network where it is not said.
    pub dns: Option<Ipv4Address>,
    pub domain: DnsName,
    pub node_subnets: Vec<Cidr>,
    /// Name of the HNS network where the pod network does not tell.
    pub hns_network: Option<String>,
    pub flannel_namespace: String,
    /// Addresses of clouds' metadata services, to which nodes keep their routes.
    pub metadata: BTreeSet<Ipv4Addr>,
    /// `NAMESPACE:NAME` of accounts whose pods may mount pipes of the host.
    pub pipe_accounts: Vec<String>,
    /// Image → reference, instead of the catalog's.
    pub images: BTreeMap<String, String>,
    /// `csi-proxy`, `hypervisor`, `log-monitor`.
    pub with: BTreeSet<String>,
}

/// A rendered file of manifests, as `cluster-manifests --format json` prints it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterManifest {
    /// `smoke/20-iis.yaml`
    pub file: String,
    pub summary: String,
    pub content: String,
}

impl ClusterManifest {
    /// Whether it is for every cluster of this kind. A folder has what is applied by itself: samples, what replaces an
    /// object of the cluster, and what only tries the cluster out.
    pub fn is_applied(&self) -> bool {
        !self.file.contains('/')
    }
}

/// Manifests, and what their user must know.
#[derive(Debug)]
pub struct RenderedManifests {
    pub files: Vec<ClusterManifest>,
    /// The cluster that they are for, and the traffic between its nodes.
    pub notes: Vec<String>,
    /// Name, for `--image` → reference.
    pub images: BTreeMap<String, String>,
}

impl RenderedManifests {
    /// Images of the agents that no digest pins, with their names.
    pub fn list_floating_images(&self) -> Vec<String> {
        let applied = self.files.iter().filter(|file| file.is_applied());
        let applied: BTreeSet<&str> = find_images(applied).collect();
        let mut floating = Vec::new();
        for (name, reference) in &self.images {
            if applied.contains(reference.as_str()) && !reference.contains("@sha256:") {
                floating.push(format!("{name} ({reference})"));
            }
        }
        floating
    }

    /// Every image that the manifests name.
    pub fn list_images(&self) -> BTreeSet<&str> {
        find_images(self.files.iter()).collect()
    }
}

fn find_images<'a>(
    files: impl Iterator<Item = &'a ClusterManifest>,
) -> impl Iterator<Item = &'a str> {
    let lines = files.flat_map(|file| file.content.lines());
    lines.filter_map(|line| Some(line.trim().strip_prefix("image: ")?.trim_matches('"')))
}

/// An entry of the test plan, concrete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedCheck {
    pub id: String,
    pub title: String,
    pub who: Runner,
    pub run: Vec<String>,
    pub expect: String,
    pub source: String,
}

/// Renders every file that the situation asks for.
///
/// # Errors
/// All that is wrong with the input, at once; the catalog's data or a template are wrong.
pub fn render_manifests(
    input: &ClusterInput,
    plan: &Plan,
    catalog: &Catalog,
    paths: &Value,
) -> Result<RenderedManifests> {
    let index = catalog.load_cluster_index()?;
    let mut problems = Vec::new();
    let known = list_files(&index, plan);
    let files = choose_files(input, plan, &known, &mut problems);
    network::check_network(input, plan, &mut problems);
    facts::check_builds(input, plan, &index, &mut problems);
    let facts = collect_facts(input, plan, catalog, &index, paths, &mut problems)?;
    if !problems.is_empty() {
        return Err(refuse_input(problems).into());
    }
    let renderer = ManifestRenderer::new(&facts);
    let mut manifests = Vec::new();
    for file in files {
        let path = format!("cluster/{}", file.file);
        let content =
            renderer.render_file(&catalog.file_label(&path), catalog.read_text(&path)?)?;
        manifests.push(ClusterManifest {
            file: file.file.clone(),
            summary: file.summary.clone(),
            content,
        });
    }
    Ok(RenderedManifests {
        files: manifests,
        notes: list_notes(input, plan, catalog, &renderer)?,
        images: facts::list_images(&facts),
    })
}

/// The way between the nodes comes last.
fn list_notes(
    input: &ClusterInput,
    plan: &Plan,
    catalog: &Catalog,
    renderer: &ManifestRenderer,
) -> Result<Vec<String>> {
    let network = &plan.network;
    let file = catalog.file_label(&format!("networks/{}.json", network.name));
    let mut notes = Vec::new();
    for note in &network.cluster.notes {
        notes.push(renderer.render_file(&file, &note.text)?);
    }
    if !names_network(input, plan) {
        notes.push(format!(
            "without kube-proxy: the pod network `{}` does not tell the name of its HNS network; `--hns-network NAME` adds kube-proxy",
            network.name
        ));
    }
    if let Some(passage) = &network.cluster.passage {
        let text = renderer.render_file(&file, &passage.text)?;
        notes.push(format!(
            "the network must let through {text} ({})",
            passage.source
        ));
    }
    Ok(notes)
}

/// Whether what is kube-proxy's can be made. A service of the node finds the name there.
fn names_network(input: &ClusterInput, plan: &Plan) -> bool {
    plan.host_access == HostAccess::Services || network::find_hns_network(input, plan).is_some()
}

/// Manifests of every cluster and of this pod network, in the order in which they are applied.
fn list_files<'a>(index: &'a ClusterIndex, plan: &'a Plan) -> Vec<&'a ClusterFile> {
    let mut files: Vec<&ClusterFile> = index
        .files
        .iter()
        .chain(&plan.network.cluster.files)
        .collect();
    files.sort_by_key(|file| (file.file.contains('/'), file.file.as_str()));
    files
}

fn choose_files<'a>(
    input: &ClusterInput,
    plan: &Plan,
    known_files: &[&'a ClusterFile],
    problems: &mut Vec<Finding>,
) -> Vec<&'a ClusterFile> {
    let conditions = plan.conditions();
    let mut wanted = input.with.clone();
    if input.images.contains_key("log-monitor") {
        wanted.insert("log-monitor".to_owned());
    }
    let mut known = BTreeSet::new();
    for file in known_files {
        known.extend(file.needs.as_deref());
    }
    for name in wanted.iter().filter(|name| !known.contains(name.as_str())) {
        let suggestion = format_suggestion(name, known.iter().copied());
        let message = format!("unknown optional manifest `{name}`");
        problems.push(Finding::new(Code::EXTRA_UNKNOWN, message, suggestion));
    }
    for file in known_files {
        let Some(needs) = file.needs.as_ref().filter(|needs| wanted.contains(*needs)) else {
            continue;
        };
        let imageless = needs == "log-monitor" && !input.images.contains_key(needs);
        if !conditions.holds(&file.when) || imageless {
            let instead = file.instead.clone().unwrap_or_default();
            let message = format!("`{needs}` is not available for this cluster");
            problems.push(Finding::new(Code::EXTRA_IMPOSSIBLE, message, instead));
        }
    }
    let mut files = Vec::new();
    for file in known_files {
        let needs = file.needs.as_ref();
        if file.names_network && !names_network(input, plan) {
            continue;
        }
        if conditions.holds(&file.when) && needs.is_none_or(|needs| wanted.contains(needs)) {
            files.push(*file);
        }
    }
    files
}

/// The test plan of the situation.
///
/// # Errors
/// As [`render_manifests`].
pub fn plan_conformance(
    input: &ClusterInput,
    plan: &Plan,
    catalog: &Catalog,
    paths: &Value,
) -> Result<Vec<PlannedCheck>> {
    let index = catalog.load_cluster_index()?;
    // A test plan names no address of the cluster: what is missing for manifests is no matter here.
    let facts = collect_facts(input, plan, catalog, &index, paths, &mut Vec::new())?;
    let renderer = ManifestRenderer::new(&facts);
    let conditions = plan.conditions();
    let file = catalog.file_label("cluster/index.json");

    let mut checks = Vec::new();
    for check in &index.checks {
        if !conditions.holds(&check.when) || check.names_network && !names_network(input, plan) {
            continue;
        }
        let mut run = Vec::new();
        for line in &check.run {
            run.push(renderer.render_file(&file, line)?);
        }
        checks.push(PlannedCheck {
            id: check.id.clone(),
            title: check.title.clone(),
            who: check.who,
            run,
            expect: renderer.render_file(&file, &check.expect)?,
            source: check.source.clone(),
        });
    }
    Ok(checks)
}
