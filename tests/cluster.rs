//! `imagegen cluster-manifests` and `imagegen conformance`: every situation, read back as YAML and
//! held against what each Kubernetes line serves.

mod templates;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::LazyLock;

use imagegen::base::choice::{HostAccess, Runtime};
use imagegen::catalog::{Catalog, load_target};
use imagegen::cluster::{ClusterError, ClusterInput, ClusterManifest, render_manifests};
use imagegen::embedded::Tree;
use imagegen::model::definition::ImageDefinition;
use imagegen::model::kubernetes::KubernetesLine;
use imagegen::model::plan::Plan;
use imagegen::render;
use imagegen::resolve::{World, resolve_selection};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::support::{Test, files, golden, root};

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
        metadata_route: false,
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
            if matches!(cni, "none" | "sdnoverlay" | "ovn-kubernetes" | "l3") {
                input.hns_network = Some("mine".to_owned());
            }
            match render_manifests(&input, &plan, &catalog, &paths) {
                Ok(files) => cases.push(Case {
                    line: KubernetesLine::clone(&line),
                    runtime,
                    access,
                    cni: cni.to_owned(),
                    input,
                    files,
                }),
                Err(ClusterError::Refused(imagegen::diagnostic::Refusal {
                    findings: problems,
                    ..
                })) => {
                    let codes: Vec<&str> = problems
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
            minor <= 24,
            "{}",
            case.name()
        );
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
            has("33-flannel-linux.yaml"),
            case.cni == "flannel-overlay",
            "{}",
            case.name()
        );
    }
}

/// Everything that a document refers to is in the same set, or is Kubernetes' own.
#[test]
fn references_lead_somewhere() {
    for case in matrix() {
        let all: Vec<(String, Value)> = case.documents().collect();
        let exists = |kind: &str, namespace: &str, name: &str| {
            all.iter().any(|(_, document)| {
                document["kind"] == kind
                    && document["metadata"]["name"] == name
                    && (namespace.is_empty() || document["metadata"]["namespace"] == namespace)
            })
        };
        for (at, document) in &all {
            let namespace = document["metadata"]["namespace"]
                .as_str()
                .unwrap_or_default();
            if !namespace.is_empty() {
                let given = namespace == "kube-system" || exists("Namespace", "", namespace);
                // The Linux side's own manifest makes its namespace.
                assert!(
                    given || document["metadata"]["name"] == "kube-flannel-cfg",
                    "{at}: namespace {namespace}"
                );
            }
            for subject in document["subjects"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|s| s["kind"] == "ServiceAccount")
            {
                let text = |name: &str| subject[name].as_str().expect("text");
                assert!(
                    exists("ServiceAccount", text("namespace"), text("name")),
                    "{at}: {subject}"
                );
            }
            let spec = if document["kind"] == "Pod" {
                &document["spec"]
            } else {
                &document["spec"]["template"]["spec"]
            };
            if spec.is_null() {
                continue;
            }
            if let Some(account) = spec["serviceAccountName"].as_str() {
                assert!(
                    exists("ServiceAccount", namespace, account),
                    "{at}: account {account}"
                );
            }
            if let Some(class) = spec["runtimeClassName"].as_str() {
                assert!(exists("RuntimeClass", "", class), "{at}: class {class}");
            }
            let volumes: BTreeSet<&str> = spec["volumes"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|v| v["name"].as_str())
                .collect();
            let mut mounted = BTreeSet::new();
            let first = spec["initContainers"].as_array().into_iter().flatten();
            for container in first.chain(spec["containers"].as_array().expect("containers")) {
                mounted.extend(
                    container["volumeMounts"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(|m| m["name"].as_str()),
                );
            }
            assert_eq!(volumes, mounted, "{at}");
            for source in spec["volumes"]
                .as_array()
                .into_iter()
                .flatten()
                .flat_map(|volume| {
                    let projected = volume["projected"]["sources"]
                        .as_array()
                        .cloned()
                        .unwrap_or_default();
                    projected.into_iter().chain([volume.clone()])
                })
            {
                for (field, kind) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
                    if let Some(name) = source[field]["name"]
                        .as_str()
                        .filter(|name| *name != "kube-root-ca.crt")
                    {
                        assert!(exists(kind, namespace, name), "{at}: {kind} {name}");
                    }
                }
            }
            let labels = &document["spec"]["template"]["metadata"]["labels"];
            assert_eq!(&document["spec"]["selector"]["matchLabels"], labels, "{at}");
        }
    }
}

/// Agents tolerate every taint and go to Windows alone; images have a tag that is not `latest`.
#[test]
fn pods_go_to_windows_with_images_that_are_fixed() {
    for case in matrix() {
        for (at, document) in case.documents() {
            let spec = &document["spec"]["template"]["spec"];
            if spec.is_null() {
                continue;
            }
            for container in spec["containers"].as_array().expect("containers") {
                let image = container["image"].as_str().expect("image");
                let tag = image
                    .rsplit('/')
                    .next()
                    .and_then(|last| last.split_once(':'))
                    .map(|(_, tag)| tag);
                assert!(
                    tag.is_some_and(|tag| !tag.is_empty() && tag != "latest"),
                    "{at}: {image}"
                );
                assert!(
                    image.split('/').next().expect("registry").contains('.'),
                    "{at}: {image} names no registry"
                );
            }
            if document["kind"] == "DaemonSet" {
                assert_eq!(spec["nodeSelector"]["kubernetes.io/os"], "windows", "{at}");
                assert_eq!(spec["tolerations"], json!([{"operator": "Exists"}]), "{at}");
                let options = &spec["securityContext"]["windowsOptions"];
                let host_process = case.access == HostAccess::Hostprocess;
                assert_eq!(options["hostProcess"] == json!(true), host_process, "{at}");
                assert!(
                    !host_process || spec["hostNetwork"] == json!(true),
                    "{at}: HostProcess pods use the host's network"
                );
                let paths = spec["volumes"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|v| v["hostPath"]["path"].as_str());
                for path in paths {
                    assert!(!host_process, "{at}: {path}");
                    assert!(path.len() > 4, "{at}: the whole disk is mounted");
                }
            } else {
                assert!(spec["runtimeClassName"].is_string(), "{at}");
            }
        }
    }
}

/// Arguments of kube-proxy are flags and gates that the program of the line has.
#[test]
fn arguments_are_known_to_the_programs() {
    let catalog = Catalog::new(Tree::embedded_manifests());
    let table = catalog.load_programs().expect("programs");
    let mut checked = 0;
    for case in matrix() {
        let Some((at, map)) = case.documents().find(|(_, d)| {
            d["kind"] == "ConfigMap" && d["metadata"]["name"] == "kube-proxy-windows"
        }) else {
            assert_eq!(case.access, HostAccess::Services, "{}", case.name());
            continue;
        };
        let text = |name: &str| {
            map["data"][name]
                .as_str()
                .unwrap_or_else(|| panic!("{at}: no {name}"))
                .to_owned()
        };
        let arguments: Vec<String> = serde_json::from_str(&text("arguments.json")).expect("JSON");
        // Programs of the nearest surveyed line stand for those of a line that is not surveyed.
        let survey = table
            .surveyed
            .find_nearest(case.line.minor)
            .expect("a surveyed line");
        let program = table
            .list_programs(survey.minor)
            .remove("kube-proxy")
            .expect("program");
        for argument in &arguments {
            let (flag, value) = argument
                .trim_start_matches('-')
                .split_once('=')
                .expect("value");
            assert!(
                program.flags.iter().any(|known| known == flag),
                "{at}: {flag}"
            );
            if flag == "feature-gates" {
                let gate = value.split('=').next().expect("gate").to_owned();
                assert!(program.feature_gates.contains(&gate), "{at}: {gate}");
            }
            checked += 1;
        }
        let overlay = catalog.network(&case.cni).expect("a network").overlay;
        // The same as the service of an image for the default Windows release.
        let windows = &case.line.windows.first().expect("a release").value;
        let release = catalog.load_windows_release(windows).expect("a release");
        assert_eq!(
            arguments.contains(&"--enable-dsr=true".to_owned()),
            overlay && release.dsr,
            "{at}: direct server return"
        );
        assert_eq!(
            arguments.contains(&"--source-vip=${SOURCE_VIP}".to_owned()),
            overlay,
            "{at}"
        );
        assert!(
            arguments.contains(&"--hostname-override=${NODE_NAME}".to_owned()),
            "{at}"
        );
        let config = documents(&text("kubeconfig.conf")).remove(0);
        assert_eq!(
            config["clusters"][0]["cluster"]["server"],
            "https://api.example.com:6443"
        );
        assert_eq!(
            config["users"][0]["user"],
            json!({"tokenFile": "token"}),
            "no secret stands in a ConfigMap"
        );
    }
    assert!(checked > 1000, "{checked}");
}

/// The pod network's configuration has the shape of the runtime's HNS generation, and the name
/// that kube-proxy is given.
#[test]
fn pod_networks_are_configured() {
    let mut seen = BTreeSet::new();
    for case in matrix() {
        let found = case.documents().find_map(|(at, document)| {
            let data = &document["data"];
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

const FLANNEL: &str = "cluster-manifests --cni flannel-overlay --endpoint api.example.com:6443";

#[test]
fn a_directory_is_written_whole_and_a_stream_is_one() {
    let test = Test::new().line(FLANNEL).line("--k8s 1.36.4 --out o");
    let ran = test.succeeds();
    assert!(
        ran.stdout.contains("o/smoke/20-iis.yaml: IIS"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stderr.contains("not pinned by digest"),
        "{}",
        ran.stderr
    );
    assert!(
        test.exists("o/22-kube-proxy-hostprocess.yaml") && test.exists("o/smoke/00-namespace.yaml")
    );
    // What imagegen wrote it may write again, for another cluster too; another's files stay.
    test.line("--host-access services").succeeds();
    let taken = Test::new()
        .file("o/mine.yaml", "mine")
        .line(FLANNEL)
        .line("--out o");
    taken.fails(6, &["mine.yaml", "choose another `--out`"]);
    assert_eq!(taken.text("o/mine.yaml"), "mine");

    let stream = Test::new()
        .line(FLANNEL)
        .line("--k8s 1.36.4")
        .succeeds()
        .stdout;
    let all = documents(&stream);
    assert!(all.len() > 10 && all.iter().all(|document| document["kind"].is_string()));
    assert!(!stream.contains("imagegen-smoke"));
}

#[test]
fn what_is_wanted_is_added_or_refused() {
    let digest = format!("registry.example/logs@sha256:{}", "a".repeat(64));
    let test = Test::new()
        .line(FLANNEL)
        .line("--k8s 1.30 --with csi-proxy --with hypervisor --pipe-account kube-system:csi-smb --metadata-route --out o --image")
        .args([&*format!("log-monitor={digest}")]);
    test.succeeds();
    assert!(
        test.exists("o/40-csi-proxy.yaml") && test.exists("o/51-runtime-class-hypervisor.yaml")
    );
    assert!(test.text("o/smoke/30-log-monitor.yaml").contains(&digest));
    assert!(
        test.text("o/61-pipe-admission.yaml")
            .contains("variables.account in [\"kube-system:csi-smb\"] ||")
    );
    for (line, code, said) in [
        ("--with csi-proxi", 3, "did you mean `csi-proxy`?"),
        (
            "--k8s 1.36.4 --with csi-proxy",
            3,
            "--component csi-proxy=VERSION",
        ),
        (
            "--k8s 1.30 --with csi-proxy --component csi-proxy=1.3.0",
            3,
            "extra-impossible",
        ),
        ("--with log-monitor", 3, "--image log-monitor=REFERENCE"),
        ("--image kube-proxy=a/b:1", 3, "image-unknown"),
        ("--image hostprocess-base=a/b:latest", 3, "image-floating"),
        (
            "--image hostprocess-base=a/b",
            3,
            "REGISTRY/NAME@sha256:DIGEST",
        ),
        (
            "--pod-subnet 10.244.0.1/16",
            3,
            "a prefix length without host bits",
        ),
        ("--pod-subnet fd00::/64", 3, "is not an IPv4 network"),
        ("--pod-subnet 10.96.0.0/16", 3, "network-overlap"),
        ("--node-subnet 10.244.7.0/24", 3, "network-overlap"),
        ("--dns 10.0.0.10", 3, "dns-outside"),
        ("--domain Cluster_Local", 3, "is not a DNS name"),
        ("--dns 10.96.0", 3, "is not an IPv4 address"),
        ("--force", 2, "unexpected argument"),
        ("--flannel-namespace a.b", 3, "name-format"),
        ("--pipe-account x", 3, "NAMESPACE:NAME"),
        ("--hns-network a;b", 3, "name-format"),
        ("--host-access wins", 3, "host-access"),
        ("--k8s 1.99", 3, "unknown Kubernetes version"),
    ] {
        let test = Test::new().line(FLANNEL).line("--out out").line(line);
        test.fails(code, &[said]);
        assert!(!test.exists("out"), "{line}");
    }
    for (line, said) in [
        (
            "--cni flannel-hostgw --endpoint a:1",
            "--node-subnet NETWORK",
        ),
        ("--cni flannel-overlay", "--endpoint HOST:PORT"),
        (
            "--cni flannel-overlay --endpoint https://a",
            "endpoint-format",
        ),
        ("--endpoint a:1", "--hns-network NAME"),
        (
            "--k8s 1.20 --cni calico --host-access wins --endpoint a:1",
            "source-address-unknown",
        ),
    ] {
        Test::new()
            .line("cluster-manifests")
            .line(line)
            .fails(3, &[said]);
    }
}

/// The test plan fits the situation; every check says who, how and what to expect.
#[test]
fn conformance_is_derived() {
    let run = |line: &str| -> Vec<Value> {
        let planned: Value = serde_json::from_str(
            &Test::new()
                .line("conformance --format json")
                .line(line)
                .succeeds()
                .stdout,
        )
        .expect("JSON");
        planned["items"].as_array().expect("checks").clone()
    };
    let ids = |checks: &[Value]| -> BTreeSet<String> {
        checks
            .iter()
            .map(|check| check["id"].as_str().expect("id").to_owned())
            .collect()
    };
    let (new, old) = (
        run("--k8s 1.36.4 --cni flannel-overlay"),
        run("--k8s 1.20.0 --host-access services"),
    );
    let difference: Vec<String> = ids(&new).difference(&ids(&old)).cloned().collect();
    assert_eq!(difference, ["agents", "flannel", "network", "pipes"]);
    for check in new.iter().chain(&old) {
        assert!(
            ["node", "cluster", "developer"].contains(&check["who"].as_str().expect("who")),
            "{check}"
        );
        assert!(
            check["run"]
                .as_array()
                .is_some_and(|lines| !lines.is_empty())
                && !check["expect"].as_str().expect("text").is_empty()
        );
        assert!(!check.to_string().contains("{{"), "{check}");
    }
    let text = Test::new()
        .line("conformance --k8s 1.36.4 --cni flannel-overlay")
        .succeeds()
        .stdout;
    golden("cluster/conformance-1.36.4.txt", &text);
}

#[test]
fn manifests_are_as_reviewed() {
    for (line, name) in [
        (format!("{FLANNEL} --k8s 1.36.4"), "flannel-overlay-1.36.4.yaml"),
        (
            "cluster-manifests --k8s 1.20.0 --cni flannel-hostgw --endpoint 10.0.0.4:6443 --node-subnet 10.0.0.0/24".to_owned(),
            "flannel-hostgw-wins-1.20.0.yaml",
        ),
    ] {
        golden(&format!("cluster/{name}"), &Test::new().line(&line).succeeds().stdout);
    }
    let test = Test::new().line(FLANNEL).line("--k8s 1.36.4 --out o");
    test.succeeds();
    let mut smoke = String::new();
    for (name, bytes) in files(&test.folder.join("o/smoke")) {
        let _ = writeln!(
            smoke,
            "### {name}\n{}",
            String::from_utf8(bytes).expect("UTF-8")
        );
    }
    golden("cluster/smoke-1.36.4.txt", &smoke);
}
