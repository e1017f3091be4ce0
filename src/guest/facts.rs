//! The facts: everything that expressions in `provisioners/` and the flag table may name.
//!
//! Every name is always there; what does not apply is an empty text, an empty list or false, so
//! that an unknown name is a mistake and never a choice.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::base::choice::{Delivery, HostAccess};
use crate::base::value::{ImageReference, PinAlgorithm, VolumePlugin};
use crate::base::version::Version;
use crate::diagnostic::Result;
use crate::embedded::Tree;
use crate::model::conditions::Conditions;
use crate::model::definition::Network;
use crate::model::kubernetes::{BakedFlags, NameRange, ProgramTable};
use crate::model::line::Minor;
use crate::model::plan::{Plan, PlannedArtifact, PlannedGroup};
use crate::model::pod_network::PodNetwork;
use crate::model::signing::Signing;
use crate::model::stage::{AccountRefusal, RunsAs};
use crate::model::tagged_image::TaggedImage;
use crate::model::variable::EVALUATION;
use crate::windows::resource::UNPINNED;
use crate::windows::value::KbId;

use super::Constants;
use super::flags::{format_arguments, select_flags};
use super::proxy::collect_proxy;
use super::registries::{collect_certificates, collect_registries};
use super::render::StepRenderer;
use super::runtime::collect_runtime;

/// The facts of a plan.
///
/// # Errors
/// A flag's value cannot be rendered.
pub fn collect_facts(
    plan: &Plan,
    conditions: &Conditions,
    flags: &BakedFlags,
    programs: &ProgramTable,
    constants: &Constants<'_>,
) -> Result<Value> {
    let Constants { paths, sddl, .. } = constants;
    let cache = paths
        .get("cache")
        .and_then(Value::as_str)
        .unwrap_or(r"C:\imagegen\cache")
        .to_owned();
    let log_runner = plan.kubernetes >= Version::from_literal("1.26.0");
    let mut facts = json!({
        "target": plan.target.facts(),
        "windows": collect_windows(plan),
        "kubernetes": {
            "version": plan.kubernetes,
            "minor": plan.line.minor,
            "kubeadmApi": plan.line.kubeadm_api.last(),
            "refusedToSystem": list_checks(constants.refusals, RunsAs::System),
        },
        "runtime": collect_runtime(plan, conditions),
        "cni": collect_pod_network(plan, conditions),
        "hostAccess": plan.host_access,
        "join": plan.join,
        "delivery": plan.delivery,
        "pause": plan.pause,
        "paths": **paths,
        "sddl": **sddl,
        "components": collect_components(conditions),
        "downloads": collect_groups(plan, |group| collect_downloads(plan, group, &cache)),
        "archives": collect_groups(plan, |group| collect_archives(plan, group, &cache)),
        "images": list_images(plan),
        "pull": plan.delivery != Delivery::Media,
        "proxy": collect_proxy(&plan.proxy),
        "updates": collect_updates(plan, &cache, &constants.failing),
        "volumePlugins": collect_volume_plugins(plan),
        "network": collect_network(plan.selection.network.as_ref()),
        "ccgPlugins": collect_ccg_plugins(plan, &cache),
        "registries": collect_registries(plan),
        "registryCertificates": collect_certificates(plan),
        "features": conditions.features,
        "scripts": collect_scripts(plan.governance.signing.as_ref()),
        "launchers": collect_launchers(plan, programs, paths, log_runner),
        "kubelet": { "arguments": [], "logRunner": log_runner, "links": list_links(plan, paths) },
        "kubeProxy": { "arguments": [], "logRunner": log_runner },
    });
    // Flags are expressions over the facts themselves.
    let empty = Tree::from_files(String::new(), BTreeMap::new());
    for (program, name) in [("kubelet", "kubelet"), ("kube-proxy", "kubeProxy")] {
        let renderer = StepRenderer::new(&facts, &empty);
        let applied = select_flags(flags, program, conditions, &renderer)?;
        let list = json!(format_arguments(&applied));
        facts[name]["arguments"] = list;
    }
    Ok(facts)
}

/// The checks by which programs refuse an account.
fn list_checks(refusals: &[AccountRefusal], account: RunsAs) -> Vec<&str> {
    let refusals = refusals.iter().filter(|it| it.runs_as == account);
    refusals.map(|refusal| refusal.check.as_str()).collect()
}

/// The services that a batch file starts with the arguments of a file: the path without which it ends quietly, the
/// file and its variable, the flags and feature gates that later versions removed, and whether the program writes its log
/// itself.
fn collect_launchers(
    plan: &Plan,
    programs: &ProgramTable,
    paths: &Value,
    log_runner: bool,
) -> Value {
    let mut launchers = vec![json!({
        "name": "kubelet",
        "ready": join_path(paths, "kubelet", "config.yaml"),
        "file": join_path(paths, "kubelet", "kubeadm-flags.env"),
        "variable": "KUBELET_KUBEADM_ARGS",
        "removed": list_removed(programs, "kubelet"),
        "logsItself": !log_runner,
        "links": list_links(plan, paths),
    })];
    if plan.host_access == HostAccess::Services {
        let file = join_path(paths, "kubeProxy", "kube-proxy-flags.env");
        launchers.push(json!({
            "name": "kube-proxy",
            "ready": file,
            "file": file,
            "variable": "KUBE_PROXY_ARGS",
            "removed": list_removed(programs, "kube-proxy"),
            "logsItself": !log_runner,
            "links": [],
        }));
    }
    json!(launchers)
}

/// Links that the kubelet needs in its own folder, which a reset empties: before 1.23 it finds the certificate of the
/// cluster below this folder.
fn list_links(plan: &Plan, paths: &Value) -> Value {
    if plan.kubernetes >= Version::from_literal("1.23.0") {
        return json!([]);
    }
    json!([{
        "path": join_path(paths, "kubelet", r"etc\kubernetes\pki"),
        "folder": join_path(paths, "kubelet", r"etc\kubernetes"),
        "target": join_path(paths, "kubernetesConf", "pki"),
    }])
}

fn join_path(paths: &Value, folder: &str, file: &str) -> String {
    let folder = paths.get(folder).and_then(Value::as_str);
    format!(r"{}\{file}", folder.unwrap_or_default())
}

/// Flags with `--`, and feature gates, that lines after a surveyed one removed, by the number of the last line that has
/// them.
fn list_removed(programs: &ProgramTable, program: &str) -> Value {
    let flags = group_removed(programs.list_flags(program));
    let gates = group_removed(programs.list_gates(program));
    let mut groups: BTreeMap<Minor, Vec<String>> = BTreeMap::new();
    for (prefix, removed) in [("--", flags), ("", gates)] {
        for (minor, names) in removed {
            let names = names.iter().map(|name| format!("{prefix}{name}"));
            groups.entry(minor).or_default().extend(names);
        }
    }
    let groups = groups.into_iter();
    groups
        .map(|(minor, names)| json!({ "minor": format_number(minor), "names": names.join(" ") }))
        .collect()
}

/// Names by the last line that has them, without those that the newest line has.
fn group_removed<'a>(ranges: impl Iterator<Item = &'a NameRange>) -> BTreeMap<Minor, Vec<&'a str>> {
    let mut last: Vec<(&str, Option<Minor>)> = Vec::new();
    for range in ranges {
        let names = range.names.iter();
        last.extend(names.map(|name| (name.as_str(), range.until)));
    }
    // Of each range the names are in order already.
    last.sort();

    let mut groups: BTreeMap<Minor, Vec<&str>> = BTreeMap::new();
    for ranges in last.chunk_by(|(one, _), (other, _)| one == other) {
        // A name that came back is gone after its last range only. What the newest line has comes first.
        if let ([(_, Some(_)), ..], [.., (name, Some(until))]) = (ranges, ranges) {
            groups.entry(*until).or_default().push(name);
        }
    }
    groups
}

/// `20` of `1.20`
fn format_number(minor: Minor) -> Option<String> {
    minor.to_string().split('.').nth(1).map(str::to_owned)
}

/// The pod network: its name, and what the join does for it.
fn collect_pod_network(plan: &Plan, conditions: &Conditions) -> Value {
    let PodNetwork {
        name,
        overlay,
        agent,
        hns_network,
        node,
        ..
    } = &*plan.network;
    let configuration = node
        .configuration
        .as_ref()
        .filter(|_| conditions.holds(&node.when));
    json!({
        "name": name,
        "overlay": overlay,
        "agent": agent.as_ref().map_or("", |agent| agent.component.as_str()),
        "hnsNetwork": hns_network.as_deref().unwrap_or_default(),
        "configuration": configuration.map_or("", String::as_str),
        "bridge": node.bridge.as_deref().unwrap_or_default(),
        "sourceEndpoint": node.source_endpoint.as_deref().unwrap_or_default(),
    })
}

fn collect_windows(plan: &Plan) -> Value {
    let registry: Vec<Value> = plan
        .windows
        .registry
        .iter()
        .map(|setting| {
            let content = json!(setting.data);
            json!({
                "key": setting.key, "valueName": setting.name, "kind": content["kind"],
                "data": content["data"], "name": plan.windows.name_setting(setting), "source": setting.source,
            })
        })
        .collect();
    json!({
        "release": plan.windows.release,
        "title": plan.windows.title,
        "build": plan.windows.build,
        "containerTag": plan.windows.container_tag,
        "minimumRevision": plan.minimum_revision,
        "dsr": plan.windows.dsr,
        "registry": registry,
        "refusedEditions": list_refused_editions(plan),
    })
}

/// Parts of the names of editions that the build refuses. Media are pinned by digests that say nothing of their edition.
fn list_refused_editions(plan: &Plan) -> Vec<&'static str> {
    let is_asked = plan.variables.get(EVALUATION) == Some(&Value::Bool(true));
    let takes_media = plan.target.find_variable(EVALUATION).is_some();
    if takes_media && !is_asked {
        vec!["Eval"]
    } else {
        Vec::new()
    }
}

/// Files by URL and digest; the search is a list with at most one entry, so that `each` can use it.
fn collect_updates(plan: &Plan, cache: &str, failing: &[KbId]) -> Value {
    let updates = plan.selection.updates.clone().unwrap_or_default();
    let mut files = Vec::new();
    for file in &updates.files {
        let short = shorten_digest(&file.sha256);
        files.push(json!({
            "kb": file.kb, "algorithm": "sha256", "digest": file.sha256,
            "url": plan.locate_download(&file.url),
            "cache": format!("{cache}\\{short}-{}.msu", file.kb),
        }));
    }
    let mut defender = Vec::new();
    for file in &updates.defender {
        let short = shorten_digest(&file.sha256);
        defender.push(json!({
            "part": file.part, "version": file.version, "algorithm": "sha256", "digest": file.sha256,
            "url": plan.locate_download(&file.url),
            "path": format!("{cache}\\{short}-{}.exe", file.part),
        }));
    }
    let categories: Vec<&str> = updates
        .categories
        .iter()
        .map(|category| category.id())
        .collect();
    let known = failing.iter().filter(|kb| !updates.except.contains(kb));
    let except: Vec<&KbId> = updates.except.iter().chain(known).collect();
    let search = json!({ "kbs": updates.kbs, "categories": categories, "except": except });
    let searches = !updates.kbs.is_empty() || !updates.categories.is_empty();
    json!({ "files": files, "defender": defender, "searches": if searches { json!([search]) } else { json!([]) } })
}

/// Images with their digests; those of a preview that nobody pinned have one that no image has.
fn list_images(plan: &Plan) -> Vec<ImageReference> {
    let unpinned = plan.tagged_images.iter().filter(|it| it.pin.is_none());
    let previews = unpinned.map(TaggedImage::preview_reference);
    plan.images.iter().cloned().chain(previews).collect()
}

/// Folders of volume plugins, and their files with the folder of each.
fn collect_volume_plugins(plan: &Plan) -> Value {
    let plugins = &plan.selection.volume_plugins;
    let mut files = Vec::new();
    for (plugin, brought) in plugins {
        for file in brought {
            let url = plan.locate_download(&file.url);
            files.push(json!({
                "plugin": plugin, "file": file.file, "url": url, "algorithm": "sha256", "digest": file.sha256,
            }));
        }
    }
    let folders: Vec<&VolumePlugin> = plugins.keys().collect();
    json!({ "folders": folders, "files": files })
}

/// How the guest's own scripts are started, and what must be trusted for it.
fn collect_scripts(signing: Option<&Signing>) -> Value {
    let policy = if signing.is_some() {
        "AllSigned"
    } else {
        "Bypass"
    };
    let certificates: Vec<Value> = signing
        .iter()
        .flat_map(|signing| &signing.certificates)
        .map(|certificate| {
            let short = shorten_digest(&certificate.sha256);
            let mut value = json!(certificate);
            value["short"] = json!(short);
            value
        })
        .collect();
    json!({ "executionPolicy": policy, "certificates": certificates })
}

/// Facts of the cluster's network; for the rest a mark that the join replaces.
fn collect_network(network: Option<&Network>) -> Value {
    let network = network.cloned().unwrap_or_default();
    json!({
        "pods": network.pods.as_deref().unwrap_or("@POD_NETWORK@"),
        "services": network.services.as_deref().unwrap_or("@SERVICE_NETWORK@"),
        "nodes": network.nodes.as_deref().unwrap_or("@NODE_NETWORK@"),
        "dns": network.dns.as_deref().unwrap_or("@DNS_SERVER@"),
        "domain": network.domain.as_deref().unwrap_or("@DNS_DOMAIN@"),
    })
}

fn collect_components(conditions: &Conditions) -> Value {
    conditions
        .components
        .iter()
        .map(|(name, version)| (name.clone(), json!({ "version": version })))
        .collect::<Map<_, _>>()
        .into()
}

/// A list for every known name, empty where the plan has no such group.
fn collect_groups(plan: &Plan, list: impl Fn(&PlannedGroup) -> Vec<Value>) -> Value {
    let mut lists: Map<String, Value> = plan
        .known
        .iter()
        .map(|name| (name.clone(), Value::Array(Vec::new())))
        .collect();
    for group in &plan.groups {
        lists.insert(group.name.clone(), Value::Array(list(group)));
    }
    Value::Object(lists)
}

fn collect_downloads(plan: &Plan, group: &PlannedGroup, cache: &str) -> Vec<Value> {
    let mut downloads = Vec::new();
    for artifact in &group.artifacts {
        if artifact.kind.archive_format().is_none() {
            let mut value = describe_artifact(plan, artifact, cache);
            value["kind"] = json!(artifact.kind);
            value["file"] = json!(artifact.file);
            downloads.push(value);
        }
    }
    downloads
}

fn collect_archives(plan: &Plan, group: &PlannedGroup, cache: &str) -> Vec<Value> {
    group
        .artifacts
        .iter()
        .filter_map(|artifact| {
            let mut value = describe_artifact(plan, artifact, cache);
            value["format"] = json!(artifact.kind.archive_format()?);
            value["members"] = json!(artifact.members);
            Some(value)
        })
        .collect()
}

/// The plug-ins of the container credential guard: their archives, their files that are none, and their classes.
fn collect_ccg_plugins(plan: &Plan, cache: &str) -> Value {
    let (mut archives, mut files, mut classes) = (Vec::new(), Vec::new(), Vec::new());
    for artifact in plan.artifacts() {
        let Some(plugin) = &artifact.ccg_plugin else {
            continue;
        };
        let mut value = describe_artifact(plan, artifact, cache);
        value["component"] = json!(artifact.component);
        value["source"] = json!(plugin.source);
        if let Some(format) = artifact.kind.archive_format() {
            value["format"] = json!(format);
            value["members"] = json!(artifact.members);
            archives.push(value);
        } else {
            value["library"] = json!(plugin.library);
            files.push(value);
        }
        classes.push(json!({
            "component": artifact.component,
            "clsid": plugin.clsid,
            "appId": plugin.app_id,
            "library": plugin.library,
            "source": plugin.source,
        }));
    }
    json!({ "archives": archives, "files": files, "classes": classes })
}

/// The part of a digest that names of files have.
fn shorten_digest(digest: &str) -> &str {
    digest.get(..16).unwrap_or(digest)
}

fn describe_artifact(plan: &Plan, artifact: &PlannedArtifact, cache: &str) -> Value {
    let (algorithm, digest) = match artifact.digest() {
        Some(pin) => (pin.digest.algorithm(), pin.digest.as_str()),
        None => (PinAlgorithm::Sha256, UNPINNED),
    };
    let short = shorten_digest(digest);
    json!({
        "url": plan.locate_download(&artifact.url),
        "algorithm": algorithm,
        "digest": digest,
        "cache": format!("{cache}\\{short}-{}", artifact.file),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_came_back_is_gone_after_its_last_range() {
        let range = |since: &str, until: Option<&str>, names: &[&str]| NameRange {
            since: since.parse().expect("a minor"),
            until: until.map(|until| until.parse().expect("a minor")),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        };
        let ranges = [
            range("1.28", Some("1.28"), &["Back", "Twice", "Gone"]),
            range("1.30", None, &["Back", "There"]),
            range("1.30", Some("1.32"), &["Twice"]),
        ];

        let groups = group_removed(ranges.iter());
        let [first, second] = ["1.28", "1.32"].map(|minor| minor.parse().expect("a minor"));
        let expected = BTreeMap::from([(first, vec!["Gone"]), (second, vec!["Twice"])]);
        assert_eq!(groups, expected);
    }
}
