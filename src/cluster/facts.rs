//! Facts that the templates of the cluster's manifests may name.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::base::choice::{HostAccess, Runtime};
use crate::base::code::Code;
use crate::base::json::parse_foreign;
use crate::base::names::format_suggestion;
use crate::base::text::{is_alphanumeric_or, is_hex, last_segment};
use crate::base::version::Version;
use crate::catalog::Catalog;
use crate::diagnostic::{CodedError, Finding, Result};
use crate::embedded::Tree;
use crate::guest::{StepRenderer as Values, format_arguments, select_flags};
use crate::model::cluster::ClusterIndex;
use crate::model::kubernetes::BakedFlags;
use crate::model::plan::Plan;
use crate::model::pod_network::NetworkAgent;

use super::{ClusterInput, ManifestRenderer, names_network, network};

/// Every fact, always with all names: what is absent is empty.
///
/// # Errors
/// The catalog's data are wrong.
pub fn collect_facts(
    input: &ClusterInput,
    plan: &Plan,
    catalog: &Catalog,
    index: &ClusterIndex,
    paths: &Value,
    problems: &mut Vec<Finding>,
) -> Result<Value> {
    let (hns, source_vip) = choose_hns_network(input, plan, problems);
    let agent = plan.network.agent.as_ref();
    let agents = plan.host_access != HostAccess::Services;
    let mut facts = json!({
        "kubernetes": {
            "version": plan.kubernetes, "minor": plan.line.minor,
            "podSecurityVersion": format!("v{}", plan.line.minor),
        },
        "windows": collect_windows(plan, catalog, index)?,
        "runtime": { "name": plan.runtime, "handler": select_runtime_handler(plan.runtime) },
        "hostAccess": plan.host_access,
        "cni": { "name": plan.network.name, "overlay": plan.network.overlay, "conf": "" },
        "network": collect_network(input),
        "hns": { "network": hns },
        "flannel": { "namespace": input.flannel_namespace, "netConf": render_net_conf(input, plan.network.overlay) },
        "kubeProxy": { "sourceVip": source_vip, "argumentsJson": "" },
        "paths": paths,
        "places": collect_host_paths(paths, agent),
        "scripts": read_scripts(catalog)?,
        "api": collect_api_versions(index, &plan.kubernetes),
        "agents": list_agents(input, plan, agent),
        "wins": { "hostPaths": collect_wins_paths(paths, plan.network.overlay, agent) },
        "pipes": { "names": index.pipes.names, "accounts": input.pipe_accounts },
        "has": {
            "podSecurity": plan.kubernetes >= Version::from_literal("1.23.0"),
            "podOs": plan.kubernetes >= Version::from_literal("1.25.0"),
            // Tokens that the kubelet projects need flags of the API server that kubeadm sets from 1.20 on.
            "tokenSecret": !agents || plan.kubernetes < Version::from_literal("1.20.0"),
            "hostProcess": plan.host_access == HostAccess::Hostprocess,
            "wins": plan.host_access == HostAccess::Wins,
            "networkAgent": agent.is_some() && agents,
        },
    });
    let images = choose_images(input, index, &facts, problems)?;
    facts["images"] = images;
    let flags = catalog.load_baked_flags()?;
    facts["kubeProxy"]["argumentsJson"] =
        json!(render_proxy_arguments(plan, index, &flags, &facts)?);
    facts["cni"]["conf"] = json!(render_cni_configuration(plan, catalog, &facts)?);
    Ok(facts)
}

fn select_runtime_handler(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::Containerd => "runhcs-wcow-process",
        Runtime::Docker => "docker",
    }
}

fn collect_network(input: &ClusterInput) -> Value {
    let endpoint = input.endpoint.clone().unwrap_or_default();
    let (host, port) = endpoint.rsplit_once(':').unwrap_or((&endpoint, ""));
    let metadata: Vec<String> = input.metadata.iter().map(ToString::to_string).collect();
    let mut exceptions = vec![input.pod_subnet.clone(), input.service_subnet.clone()];
    exceptions.extend(input.node_subnets.iter().cloned());
    json!({
        "pods": input.pod_subnet, "services": input.service_subnet, "dns": network::choose_dns_address(input),
        "search": format!("svc.{}", input.domain), "exceptions": exceptions,
        "server": format!("https://{endpoint}"), "host": host.trim_matches(['[', ']']), "port": port,
        "metadata": metadata.join(","),
    })
}

/// The releases that this Kubernetes runs on, each with the names and images of its workloads.
fn collect_windows(plan: &Plan, catalog: &Catalog, index: &ClusterIndex) -> Result<Value> {
    let names = plan.line.windows.iter().filter(|windows| {
        windows
            .versions
            .as_ref()
            .is_none_or(|range| range.contains(&plan.kubernetes))
    });
    let mut releases = Vec::new();
    for windows in names {
        let release = catalog.load_windows_release(&windows.value)?;
        let class = format!("windows-{}", release.release.to_lowercase());
        let tag = index
            .workloads
            .tags
            .get(&release.container_tag)
            .unwrap_or(&release.container_tag);
        let renderer = ManifestRenderer::new(&json!({ "tag": tag }));
        let servercore = renderer.render_file("cluster/index.json", &index.workloads.servercore)?;
        let iis = renderer.render_file("cluster/index.json", &index.workloads.iis)?;
        releases.push(json!({
            "release": release.release, "title": release.title, "build": release.build,
            "osBuild": format!("10.0.{}", release.build),
            "webServer": format!("web-server-{class}"), "iisServer": format!("iis-{class}"), "class": class,
            "servercore": servercore, "iis": iis,
        }));
    }
    Ok(releases.into())
}

/// The HNS network and how kube-proxy finds its source address.
fn choose_hns_network(
    input: &ClusterInput,
    plan: &Plan,
    problems: &mut Vec<Finding>,
) -> (String, String) {
    let name = network::find_hns_network(input, plan).unwrap_or_default();
    if plan.host_access == HostAccess::Services || name.is_empty() {
        return (name.to_owned(), String::new());
    }
    let access = plan.host_access.as_str();
    let source = plan.network.cluster.source_vip.get(access).cloned();
    if source.is_none() && plan.network.overlay {
        problems.push(Finding::new(
            Code::SOURCE_ADDRESS_UNKNOWN,
            format!("kube-proxy needs a source address on the overlay `{}`, and `{access}` has no way to find one", plan.network.name),
            "choose `--cni flannel-overlay`, or `--host-access services`",
        ));
    }
    (name.to_owned(), source.unwrap_or_default())
}

fn render_net_conf(input: &ClusterInput, overlay: bool) -> String {
    // Windows takes VNIs from 4096 on, and no other port than 4789.
    let backend = if overlay {
        json!({ "Type": "vxlan", "VNI": 4096, "Port": 4789 })
    } else {
        json!({ "Type": "host-gw" })
    };
    crate::base::json::format_json(&json!({ "Network": input.pod_subnet, "Backend": backend }))
}

/// Places on the host; the projected volume is always called `config`.
fn collect_host_paths(paths: &Value, agent: Option<&NetworkAgent>) -> Value {
    let kubernetes = find_path(paths, "kubernetes");
    let kubelet = find_path(paths, "kubelet");
    let folder = agent
        .map(|agent| format!("{kubernetes}\\{}", agent.folder))
        .unwrap_or_default();
    let program = agent
        .map(|agent| format!("{folder}\\{}", agent.program))
        .unwrap_or_default();
    json!({
        "config": format!("{kubelet}\\pods\\$(POD_UID)\\volumes\\kubernetes.io~projected\\config"),
        "kubeProxy": {
            "image": format!("{kubernetes}\\kube-proxy.exe"),
            "folder": format!("{kubernetes}\\kube-proxy"),
            "program": format!("{kubernetes}\\kube-proxy\\kube-proxy.exe"),
        },
        "agent": { "folder": folder, "program": program },
    })
}

fn collect_wins_paths(paths: &Value, overlay: bool, agent: Option<&NetworkAgent>) -> Value {
    let kubernetes = find_path(paths, "kubernetes");
    let mut list = vec![
        format!("{kubernetes}\\kube-proxy"),
        find_path(paths, "cniConf").to_owned(),
        "\\\\.\\pipe\\rancher_wins".to_owned(),
    ];
    if let Some(agent) = agent {
        list.push(format!("{kubernetes}\\{}", agent.folder));
    }
    if overlay {
        for name in ["cniBin", "cniState", "flannelRun"] {
            list.push(find_path(paths, name).to_owned());
        }
    }
    json!(list)
}

fn find_path<'a>(paths: &'a Value, name: &str) -> &'a str {
    paths[name].as_str().unwrap_or_default()
}

fn list_agents(input: &ClusterInput, plan: &Plan, agent: Option<&NetworkAgent>) -> Value {
    let mut list = Vec::new();
    if plan.host_access != HostAccess::Services {
        if names_network(input, plan) {
            list.push(json!({ "namespace": "kube-system", "account": "kube-proxy-windows" }));
        }
        list.extend(agent.map(
            |agent| json!({ "namespace": input.flannel_namespace, "account": agent.account }),
        ));
    }
    list.into()
}

fn read_scripts(catalog: &Catalog) -> Result<Value> {
    let mut scripts = Map::new();
    for path in catalog.files_in("cluster/scripts") {
        let name = last_segment(&path).to_owned();
        scripts.insert(name, json!(catalog.read_text(&path)?));
    }
    Ok(scripts.into())
}

fn collect_api_versions(index: &ClusterIndex, kubernetes: &Version) -> Value {
    let apis = index
        .apis
        .iter()
        .filter(|api| api.kubernetes.contains(kubernetes));
    apis.map(|api| (api.kind.clone(), json!(api.api_version)))
        .collect::<Map<_, _>>()
        .into()
}

fn choose_images(
    input: &ClusterInput,
    index: &ClusterIndex,
    facts: &Value,
    problems: &mut Vec<Finding>,
) -> Result<Value> {
    let renderer = ManifestRenderer::new(facts);
    let mut images = Map::new();
    for image in &index.images {
        let reference = match input.images.get(&image.name) {
            Some(reference) => reference.clone(),
            None => renderer.render_file(
                "cluster/index.json",
                image.reference.as_deref().unwrap_or_default(),
            )?,
        };
        images.insert(image.name.clone(), json!(reference));
    }
    for (name, reference) in &input.images {
        if !images.contains_key(name) {
            let suggestion =
                format_suggestion(name, index.images.iter().map(|image| image.name.as_str()));
            let message = format!("no manifest uses an image `{name}`");
            problems.push(Finding::new(Code::IMAGE_UNKNOWN, message, suggestion));
        }
        if !is_fixed(reference) {
            let message = format!(
                "the image reference `{reference}` has neither a digest nor a tag other than `latest`"
            );
            let remedy = "write it as REGISTRY/NAME@sha256:DIGEST or REGISTRY/NAME:TAG";
            problems.push(Finding::new(Code::IMAGE_FLOATING, message, remedy));
        }
    }
    Ok(images.into())
}

/// The images of the facts: name → reference.
pub(super) fn list_images(facts: &Value) -> BTreeMap<String, String> {
    let images = facts["images"].as_object().into_iter().flatten();
    images
        .map(|(name, image)| (name.clone(), image.as_str().unwrap_or_default().to_owned()))
        .collect()
}

/// Refuses agents whose images nobody publishes for the nodes' Windows.
pub(super) fn check_builds(
    input: &ClusterInput,
    plan: &Plan,
    index: &ClusterIndex,
    problems: &mut Vec<Finding>,
) {
    let (conditions, windows) = (plan.conditions(), &plan.windows);
    for image in &index.images {
        let runs = windows.runs_images_of.iter();
        let is_published =
            image.builds.is_empty() || runs.clone().any(|build| image.builds.contains(build));
        let is_used = image.agent && conditions.holds(&image.when);
        if is_published || !is_used || input.images.contains_key(&image.name) {
            continue;
        }
        let name = &image.name;
        let message = format!(
            "the image `{name}` is not published for Windows {} (build {})",
            windows.release, windows.build
        );
        let remedy = format!(
            "choose another Windows release, or build the image and name it: `--image {name}=REFERENCE`"
        );
        let finding = Finding::new(Code::IMAGE_BUILD, message, remedy);
        problems.push(finding.with_source(&image.source));
    }
}

fn is_fixed(reference: &str) -> bool {
    let (name, digest) = reference.split_once("@sha256:").unwrap_or((reference, ""));
    let last = last_segment(name);
    let tag = last.split_once(':').map_or("latest", |(_, tag)| tag);
    let is_pinned = digest.len() == 64 && is_hex(digest);
    let has_release = digest.is_empty() && !tag.is_empty() && tag != "latest";
    is_alphanumeric_or(reference, "._-/:@") && !name.is_empty() && (is_pinned || has_release)
}

/// kube-proxy's arguments as a JSON list: those of every kube-proxy, and those of one that is a container.
fn render_proxy_arguments(
    plan: &Plan,
    index: &ClusterIndex,
    flags: &BakedFlags,
    facts: &Value,
) -> Result<String> {
    let mut table = flags.clone();
    table.flags.retain(|rule| rule.when.host_access.is_none());
    table.flags.extend(index.flags.iter().cloned());
    table
        .feature_gates
        .extend(index.feature_gates.iter().cloned());

    let none = Tree::from_files(String::new(), BTreeMap::new());
    let applied = select_flags(
        &table,
        "kube-proxy",
        &plan.conditions(),
        &Values::new(facts, &none),
    )?;
    Ok(crate::base::json::format_json(&format_arguments(&applied)))
}

/// The CNI configuration of the situation, checked to be JSON; empty where the cluster's own agents bring it.
fn render_cni_configuration(plan: &Plan, catalog: &Catalog, facts: &Value) -> Result<String> {
    let conditions = plan.conditions();
    let Some(found) = plan
        .network
        .cluster
        .configurations
        .iter()
        .find(|found| conditions.holds(&found.when))
    else {
        return Ok(String::new());
    };
    let path = format!("cluster/{}", found.file);
    let file = catalog.file_label(&path);
    let text = ManifestRenderer::new(facts).render_file(&file, catalog.read_text(&path)?)?;
    match parse_foreign::<Value>(text.as_bytes()) {
        Ok(value) => Ok(crate::base::json::format_json(&value)),
        Err(error) => {
            let message = format!("{file}: {error}");
            Err(CodedError::in_file(Code::RENDER, file, message).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_fixed;

    #[test]
    fn references_that_move_are_told_apart() {
        let digest = format!("registry.example/a/b@sha256:{}", "0".repeat(64));
        for (reference, fixed) in [
            (digest.as_str(), true),
            ("registry.example:5000/a/b:1.0", true),
            ("registry.example:5000/a/b", false),
            ("a/b:latest", false),
            ("a/b@sha256:12", false),
            ("a b:1", false),
            ("", false),
            ("a\n:1", false),
        ] {
            assert_eq!(is_fixed(reference), fixed, "{reference}");
        }
    }
}
