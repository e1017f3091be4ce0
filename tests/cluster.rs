//! `imagegen cluster-manifests` and `imagegen conformance`: every situation, read back as YAML and
//! held against what each Kubernetes line serves.

mod commands;
mod references;
mod road;
mod templates;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use imagegen::base::choice::{HostAccess, Runtime};
use imagegen::catalog::{Catalog, load_target};
use imagegen::cluster::{ClusterInput, ClusterManifest, render_manifests};
use imagegen::embedded::Tree;
use imagegen::model::definition::ImageDefinition;
use imagegen::model::kubernetes::KubernetesLine;
use imagegen::model::plan::Plan;
use imagegen::render;
use imagegen::resolve::{World, resolve_selection};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::support::{files, root};

fn documents(text: &str) -> Vec<Value> {
    serde_yaml_ng::Deserializer::from_str(text)
        .map(|document| {
            Value::deserialize(document).unwrap_or_else(|error| panic!("{error}\n{text}"))
        })
        .collect()
}

fn input() -> ClusterInput {
    ClusterInput {
        endpoint: Some("api.example.com:6443".to_owned()),
        pod_subnet: "10.244.0.0/16".parse().expect("a value"),
        service_subnet: "10.96.0.0/12".parse().expect("a value"),
        dns: None,
        domain: "cluster.local".parse().expect("a value"),
        node_subnets: vec!["10.0.0.0/24".parse().expect("a network")],
        hns_network: None,
        flannel_namespace: "kube-flannel".to_owned(),
        metadata: BTreeSet::new(),
        pipe_accounts: Vec::new(),
        images: BTreeMap::new(),
        with: BTreeSet::new(),
    }
}

/// One situation with what it gives.
struct Case {
    line: KubernetesLine,
    runtime: Runtime,
    access: HostAccess,
    cni: String,
    input: ClusterInput,
    files: Vec<ClusterManifest>,
}

impl Case {
    fn name(&self) -> String {
        format!(
            "{} {} {} {}",
            self.line.minor, self.runtime, self.access, self.cni
        )
    }

    fn documents(&self) -> impl Iterator<Item = (String, Value)> + '_ {
        self.files.iter().flat_map(|file| {
            documents(&file.content)
                .into_iter()
                .map(|document| (format!("{}: {}", self.name(), file.file), document))
        })
    }
}

fn plan(
    catalog: &Catalog,
    line: &KubernetesLine,
    runtime: Runtime,
    access: HostAccess,
    cni: &str,
) -> Option<Plan> {
    let packer = Tree::embedded_packer();
    let selection = ImageDefinition {
        kubernetes: Some(line.minor.to_string()),
        runtime: Some(runtime),
        host_access: Some(access),
        cni: Some(cni.to_owned()),
        ..ImageDefinition::default()
    };
    let target = load_target(&packer, "azure").expect("target");
    let base = render::read_packer_base(&packer).expect("packer");
    resolve_selection(
        catalog,
        target,
        &base.version,
        &selection,
        &World::default(),
    )
    .ok()
}

/// Every line × runtime × host access × pod network that the tables allow.
fn matrix() -> &'static [Case] {
    static CASES: LazyLock<Vec<Case>> = LazyLock::new(cases);
    &CASES
}

fn cases() -> Vec<Case> {
    let catalog = Catalog::new(Tree::embedded_manifests());
    let paths: Value = serde_json::from_slice(
        Tree::embedded_provisioners()
            .get("paths.json")
            .expect("paths"),
    )
    .expect("JSON");
    let mut cases = Vec::new();
    let mut refused = BTreeSet::new();
    let networks = catalog.network_names();
    for minor in catalog.kubernetes_minors() {
        let line = catalog.load_kubernetes_line(minor).expect("line");
        for (runtime, access, cni) in situations(&networks) {
            let known = line
                .host_access
                .iter()
                .any(|choice| choice.name == access.as_str())
                && line
                    .runtimes
                    .iter()
                    .any(|choice| choice.name == runtime.as_str());
            if !known {
                continue;
            }
            let Some(plan) = plan(&catalog, &line, runtime, access, cni) else {
                continue;
            };
            let mut input = input();
            if plan.network.hns_network.is_none() {
                input.hns_network = Some("mine".to_owned());
            }
            match render_manifests(&input, &plan, &catalog, &paths) {
                Ok(files) => cases.push(Case {
                    line: KubernetesLine::clone(&line),
                    runtime,
                    access,
                    cni: cni.to_owned(),
                    input,
                    files: files.files,
                }),
                Err(error) if !error.findings().is_empty() => {
                    let codes: Vec<&str> = error
                        .findings()
                        .iter()
                        .map(|problem| problem.code.as_str())
                        .collect();
                    assert_eq!(codes, ["source-address-unknown"], "{minor} {access} {cni}");
                    refused.insert((access, cni.to_owned()));
                }
                Err(error) => panic!("{minor} {runtime} {access} {cni}: {error}"),
            }
        }
    }
    let expected = [
        (HostAccess::Wins, "ovn-kubernetes"),
        (HostAccess::Wins, "win-overlay"),
        (HostAccess::Wins, "sdnoverlay"),
        (HostAccess::Wins, "calico"),
    ];
    assert_eq!(
        refused,
        expected
            .map(|(access, cni)| (access, cni.to_owned()))
            .into()
    );
    cases
}

fn situations(networks: &[String]) -> impl Iterator<Item = (Runtime, HostAccess, &str)> {
    Runtime::ALL.iter().flat_map(move |runtime| {
        HostAccess::ALL.iter().flat_map(move |access| {
            networks
                .iter()
                .map(move |cni| (*runtime, *access, cni.as_str()))
        })
    })
}

/// Which versions serve a kind, as the project's own history of removals has it.
fn served(kind: &str, api: &str, minor: u32) -> bool {
    let always = [
        (
            "v1",
            "ConfigMap Namespace Pod Secret Service ServiceAccount",
        ),
        ("apps/v1", "DaemonSet Deployment"),
        (
            "rbac.authorization.k8s.io/v1",
            "ClusterRole ClusterRoleBinding RoleBinding",
        ),
    ];
    if always
        .iter()
        .any(|(group, kinds)| *group == api && kinds.split(' ').any(|known| known == kind))
    {
        return true;
    }
    let admission = [
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    ]
    .contains(&kind);
    match (kind, api) {
        ("PodSecurityPolicy", "policy/v1beta1") | ("RuntimeClass", "node.k8s.io/v1beta1") => {
            minor <= 24
        }
        ("RuntimeClass", "node.k8s.io/v1") => minor >= 20,
        (_, "admissionregistration.k8s.io/v1") => admission && minor >= 30,
        (_, "admissionregistration.k8s.io/v1beta1") => admission && (28..=33).contains(&minor),
        _ => false,
    }
}

#[test]
fn every_situation_gives_manifests_that_its_kubernetes_serves() {
    let cases = matrix();
    assert!(cases.len() > 300, "{}", cases.len());
    for case in cases {
        let minor: u32 = case.line.minor.to_string()[2..].parse().expect("number");
        let mut seen = BTreeSet::new();
        for (at, document) in case.documents() {
            let text = |name: &str| {
                document[name]
                    .as_str()
                    .unwrap_or_else(|| panic!("{at}: no {name}"))
            };
            let (kind, api) = (text("kind"), text("apiVersion"));
            assert!(served(kind, api, minor), "{at}: {kind} of {api}");
            let metadata = &document["metadata"];
            let name = metadata["name"]
                .as_str()
                .unwrap_or_else(|| panic!("{at}: {kind} without name"));
            assert!(
                seen.insert((
                    kind.to_owned(),
                    metadata["namespace"].to_string(),
                    name.to_owned()
                )),
                "{at}: {kind} {name} twice"
            );
        }
        let names: Vec<&str> = case.files.iter().map(|file| file.file.as_str()).collect();
        let has = |name: &str| names.contains(&name);
        assert_eq!(
            has("60-pod-security-policy.yaml"),
            minor <= 24 && case.access != HostAccess::Services,
            "{}",
            case.name()
        );
        assert_eq!(
            has("samples/60-pod-security-policy.yaml"),
            minor <= 24,
            "{}",
            case.name()
        );
        // What is applied first gives nobody else rights, and replaces no object of the cluster.
        for file in case.files.iter().filter(|file| file.is_applied()) {
            for word in ["system:authenticated", "kube-flannel-cfg"] {
                let has = file.content.contains(word);
                assert!(!has, "{}: {} has {word}", case.name(), file.file);
            }
        }
        assert_eq!(
            has("61-pipe-admission.yaml"),
            minor >= 28,
            "{}",
            case.name()
        );
        assert_eq!(
            has("22-kube-proxy-wins.yaml"),
            case.access == HostAccess::Wins,
            "{}",
            case.name()
        );
        assert_eq!(
            has("22-kube-proxy-hostprocess.yaml"),
            case.access == HostAccess::Hostprocess,
            "{}",
            case.name()
        );
        assert_eq!(
            has("linux/33-flannel-linux.yaml"),
            case.cni == "flannel-overlay",
            "{}",
            case.name()
        );
    }
}

/// The pod network's configuration has the shape of the runtime's HNS generation, and the name
/// that kube-proxy is given.
#[test]
fn pod_networks_are_configured() {
    let mut seen = BTreeSet::new();
    for case in matrix() {
        let found = case.documents().find_map(|(at, document)| {
            let data = &document["data"];
            // That of Linux nodes is flannel's own.
            if document["metadata"]["name"] == "kube-flannel-cfg" {
                return None;
            }
            let text = data["cni-conf.json"]
                .as_str()
                .or_else(|| data["10-windows.conf"].as_str())?;
            Some((at, serde_json::from_str::<Value>(text).expect("JSON")))
        });
        let Some((at, conf)) = found else { continue };
        seen.insert(case.cni.as_str());
        let delegate = if conf["delegate"].is_object() {
            &conf["delegate"]
        } else {
            &conf
        };
        let list = delegate["policies"]
            .as_array()
            .or_else(|| delegate["AdditionalArgs"].as_array())
            .expect("policies");
        for policy in list {
            let value = policy
                .get("value")
                .or_else(|| policy.get("Value"))
                .expect("value");
            assert_eq!(
                value["Settings"].is_object(),
                case.runtime == Runtime::Containerd,
                "{at}: {value}"
            );
        }
        let text = conf.to_string();
        assert!(
            text.contains(&*case.input.pod_subnet),
            "{at}: no exception from NAT for pods"
        );
        assert!(text.contains(&*case.input.service_subnet), "{at}");
        if matches!(
            case.cni.as_str(),
            "flannel-hostgw" | "win-bridge" | "sdnbridge"
        ) {
            assert!(
                text.contains("10.0.0.0/24") && text.contains("${HOST_IP}/32"),
                "{at}"
            );
        }
        let arguments = case
            .documents()
            .find_map(|(_, d)| d["data"]["arguments.json"].as_str().map(str::to_owned));
        let name = conf["name"].as_str().expect("name");
        assert!(
            arguments.is_none_or(|text| text.contains(&format!("--network-name={name}\""))),
            "{at}"
        );
    }
    assert_eq!(seen.len(), 6, "{seen:?}");
}

/// Linux and Windows use the same VNI and port.
#[test]
fn both_sides_of_the_overlay_agree() {
    let case = matrix()
        .iter()
        .find(|case| case.cni == "flannel-overlay" && case.access == HostAccess::Hostprocess)
        .expect("case");
    let confs: Vec<Value> = case
        .documents()
        .filter_map(|(_, d)| {
            d["data"]["net-conf.json"]
                .as_str()
                .map(|text| serde_json::from_str(text).expect("JSON"))
        })
        .collect();
    assert_eq!(confs.len(), 2);
    assert_eq!(confs[0], confs[1]);
    assert_eq!(
        confs[0]["Backend"],
        json!({"Type": "vxlan", "VNI": 4096, "Port": 4789})
    );
}

/// Each value of a template is JSON or a block of lines, and each name of a condition is a fact: an
/// unknown one would be silently false.
#[test]
fn templates_interpolate_values_only() {
    let known = [
        "has.",
        "loop.",
        "pipes.accounts",
        "agents",
        "cni.overlay",
        "kubeProxy.sourceVip",
        "network.metadata",
    ];
    let mut conditions = 0;
    for (name, bytes) in files(&root().join("manifests/cluster")) {
        let text = String::from_utf8(bytes).expect("UTF-8");
        if std::path::Path::new(&name)
            .extension()
            .is_some_and(|extension| extension == "ps1")
            || name == "index.json"
        {
            continue;
        }
        for value in text
            .split("{{")
            .skip(1)
            .map(|rest| rest.split("}}").next().expect("end"))
        {
            let filtered =
                value.trim_end().ends_with("| json") || value.trim_end().ends_with("| lines");
            assert!(filtered, "{name}: {value}");
        }
        for condition in text
            .split("{%- if ")
            .skip(1)
            .map(|rest| rest.split("%}").next().expect("end").trim())
        {
            let condition = condition.trim_start_matches("not ");
            assert!(
                known.iter().any(|known| condition.starts_with(known)),
                "{name}: {condition}"
            );
            if let Some(flag) = condition.strip_prefix("has.") {
                let facts =
                    std::fs::read_to_string(root().join("src/cluster/facts.rs")).expect("facts");
                assert!(
                    facts.contains(&format!("\"{flag}\":")),
                    "{name}: has.{flag}"
                );
            }
            conditions += 1;
        }
    }
    assert!(conditions > 20, "{conditions}");
}

/// Every file of the folder is in the index, and every entry is a file.
#[test]
fn index_and_folder_agree() {
    let index = Catalog::new(Tree::embedded_manifests())
        .load_cluster_index()
        .expect("index");
    let mut listed: BTreeSet<String> = index.files.iter().map(|file| file.file.clone()).collect();
    let catalog = Catalog::new(Tree::embedded_manifests());
    for name in catalog.network_names() {
        let cluster = catalog.network(&name).expect("network").cluster.clone();
        listed.extend(cluster.configurations.into_iter().map(|it| it.file));
        listed.extend(cluster.files.into_iter().map(|it| it.file));
    }
    let mut there: BTreeSet<String> = files(&root().join("manifests/cluster"))
        .into_keys()
        .collect();
    there.retain(|name| {
        name != "index.json" && name != "README.md" && !name.starts_with("scripts/")
    });
    assert_eq!(listed, there);
    let order: Vec<&String> = index.files.iter().map(|file| &file.file).collect();
    assert!(
        order.is_sorted(),
        "kubectl applies a folder in the order of names"
    );
}

/// A start that was interrupted has reserved an address and noted nothing: host-local refuses a second one
/// (rancher/rke2#5704), so the script gives it back first, and no half-written note stays under the note's name.
#[test]
fn kube_proxy_gets_its_address_after_an_interrupted_start() {
    let path = root().join("manifests/cluster/scripts/Start-KubeProxy.ps1");
    let text = std::fs::read_to_string(path).expect("the script");
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("no `{part}`"));
    let (given, taken) = (place("-Command 'DEL'"), place("-Command 'ADD'"));
    let (written, named) = (
        place("WriteAllText(\"$note.partial\""),
        place("Move-Item -LiteralPath \"$note.partial\" -Destination $note"),
    );
    assert!(given < taken && taken < written && written < named);
    let read = &text[place("function Get-KeptAddress")..given];
    assert!(
        read.contains("try {") && read.contains("} catch {"),
        "{read}"
    );
}
