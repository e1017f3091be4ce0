//! Every Kubernetes line × Windows release × runtime × pod network × host access that the tables
//! allow: planned and predicted in this process, and every configuration file read by a parser of
//! its format.

use std::collections::BTreeSet;

use imagegen::base::choice::{HostAccess, Runtime};
use imagegen::base::version::Version;
use imagegen::catalog::Trees;
use imagegen::guest::Guest;
use imagegen::machine::Machine;
use imagegen::model::component::Pin;
use imagegen::model::definition::{ImageDefinition, Network};
use imagegen::planning::{predict_machine, resolve_plan};
use imagegen::selection::read_trees;
use imagegen::windows::resource::{
    File, FirewallRule, RegistryValue, ResourceKind, ScheduledTask, WindowsUpdate,
};
use imagegen::windows::value::{AccountSid, Ports};
use serde_json::Value;

use crate::support::{Test, root};

fn azure(kubernetes: &str) -> ImageDefinition {
    ImageDefinition {
        target: Some("azure".to_owned()),
        kubernetes: Some(kubernetes.to_owned()),
        ..ImageDefinition::default()
    }
}

fn made(selection: &ImageDefinition, trees: &Trees) -> Option<(Guest, Machine)> {
    let plan = resolve_plan(selection, trees).ok()?;
    let (guest, prediction) =
        predict_machine(&plan, trees).unwrap_or_else(|error| panic!("{selection:?}: {error:#}"));
    Some((guest, prediction.machine))
}

fn files(guest: &Guest) -> impl Iterator<Item = &File> {
    guest
        .plan
        .resources
        .iter()
        .filter_map(|resource| match &resource.kind {
            ResourceKind::File(file) => Some(file),
            _ => None,
        })
}

/// The file of that name as JSON.
fn json(guest: &Guest, name: &str) -> Value {
    let file = files(guest)
        .find(|file| file.path.ends_with(name))
        .unwrap_or_else(|| panic!("no {name}"));
    serde_json::from_str(file.content().expect("content"))
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Marks that the join replaces.
fn marks(text: &str) -> BTreeSet<&str> {
    let word =
        |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    text.split('@').skip(1).step_by(2).filter(word).collect()
}

#[test]
fn everything_that_the_tables_allow_is_planned_and_predicted() {
    let trees = read_trees(None).expect("the catalog");
    let mut made_of: BTreeSet<String> = BTreeSet::new();
    for minor in trees.catalog.kubernetes_minors() {
        let line = trees.catalog.load_kubernetes_line(minor).expect("line");
        for (at, cni) in trees.catalog.network_names().iter().enumerate() {
            for (turn, access) in line.host_access.iter().enumerate() {
                for runtime in &line.runtimes {
                    // Every release meets every other choice in some line; every line every release.
                    let windows = &line.windows[(at + turn) % line.windows.len()].value;
                    let selection = ImageDefinition {
                        windows: Some(windows.clone()),
                        cni: Some(cni.clone()),
                        host_access: access.name.parse().ok(),
                        runtime: runtime.name.parse().ok(),
                        ..azure(line.latest.as_str())
                    };
                    let Some((guest, machine)) = made(&selection, &trees) else {
                        continue;
                    };
                    check(&selection, &machine);
                    check_join(&selection, &guest, &machine);
                    for part in [
                        minor.to_string().as_str(),
                        cni.as_str(),
                        windows,
                        &access.name,
                        &runtime.name,
                    ] {
                        made_of.insert(part.to_owned());
                    }
                }
            }
        }
    }
    let minors = trees.catalog.kubernetes_minors();
    let all = minors
        .iter()
        .map(ToString::to_string)
        .chain(trees.catalog.network_names());
    let all = all.chain(HostAccess::ALL.iter().map(ToString::to_string));
    let all = all.chain(Runtime::ALL.iter().map(ToString::to_string));
    let missing: Vec<String> = all.filter(|name| !made_of.contains(name)).collect();
    assert_eq!(missing, [""; 0]);
}

fn is_overlay(network: &str) -> bool {
    [
        "flannel-overlay",
        "win-overlay",
        "sdnoverlay",
        "calico",
        "ovn-kubernetes",
    ]
    .contains(&network)
}

fn check(selection: &ImageDefinition, machine: &Machine) {
    let cni = selection.cni.as_deref().expect("a network");
    let opened = machine
        .present_resources::<FirewallRule>()
        .any(|rule| matches!(&rule.settings.local_port[..], [port] if port.as_str() == "4789"));
    assert_eq!(opened, is_overlay(cni), "{selection:?}: the port of VXLAN");
    let service = |name: &str| machine.find_service(name);
    assert_eq!(
        service("kube-proxy").is_some(),
        selection.host_access == Some(HostAccess::Services) && cni != "none",
        "{selection:?}"
    );
    assert_eq!(
        service("rancher-wins").is_some(),
        selection.host_access == Some(HostAccess::Wins),
        "{selection:?}"
    );
    if let (Some(proxy), true) = (service("kube-proxy"), cni != "none") {
        assert!(
            proxy
                .settings
                .arguments
                .iter()
                .any(|word| word.starts_with("--network-name=")),
            "{selection:?}"
        );
    }
}

/// What the join is told to do: for kube-proxy where that is a service, for a bridge where nobody else makes it.
fn check_join(selection: &ImageDefinition, guest: &Guest, machine: &Machine) {
    let conf = files(guest)
        .find(|file| file.path.ends_with(r"\node.conf"))
        .expect("node.conf");
    let lines: Vec<&str> = conf.content().expect("content").lines().collect();
    let told = |start: &str| lines.iter().any(|line| line.starts_with(start));
    let cni = selection.cni.as_deref().expect("a network");
    let services = selection.host_access == Some(HostAccess::Services) && cni != "none";
    assert_eq!(
        told("proxyArgument=--hostname-override=@NODE_NAME@"),
        services,
        "{selection:?}"
    );
    assert_eq!(
        told("proxyArgument=--source-vip="),
        services && is_overlay(cni),
        "{selection:?}"
    );
    assert_eq!(
        told("sourceNetwork=") || told("sourceEnd="),
        services && is_overlay(cni),
        "{selection:?}: nobody knows the address"
    );
    let task = |name: &str| {
        machine
            .present_resources::<ScheduledTask>()
            .any(|it| it.it.task_name == name && it.settings.enabled == Some(true))
    };
    let bridged = matches!(cni, "win-bridge" | "sdnbridge" | "l3");
    assert_eq!(
        (told("bridge=cbr0"), task("imagegen-bridge")),
        (bridged, bridged),
        "{selection:?}"
    );
    let flannel = services && matches!(cni, "flannel-hostgw" | "flannel-overlay");
    assert_eq!(
        (told("flannel="), task("imagegen-flanneld")),
        (flannel, flannel),
        "{selection:?}"
    );
}

/// Pod network, runtime, file, and what stands where in it.
type Configuration = (
    &'static str,
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const CONFIGURATIONS: &[Configuration] = &[
    (
        "flannel-hostgw",
        "containerd",
        "10-flannel.conf",
        &[
            ("/type", "flannel"),
            ("/name", "cbr0"),
            ("/delegate/type", "win-bridge"),
            ("/delegate/apiVersion", "2"),
            (
                "/delegate/policies/0/value/Settings/Exceptions/2",
                "@NODE_NETWORK@",
            ),
            (
                "/delegate/policies/1/value/Settings/DestinationPrefix",
                "@NODE_ADDRESS@/32",
            ),
        ],
    ),
    (
        "flannel-hostgw",
        "docker",
        "10-flannel.conf",
        &[
            ("/cniVersion", "0.2.0"),
            (
                "/delegate/policies/0/value/ExceptionList/0",
                "@POD_NETWORK@",
            ),
            ("/delegate/policies/2/value/Type", "ROUTE"),
        ],
    ),
    (
        "flannel-overlay",
        "containerd",
        "10-flannel.conf",
        &[
            ("/name", "flannel.4096"),
            ("/delegate/type", "win-overlay"),
            ("/delegate/policies/1/value/Type", "ProviderAddress"),
            (
                "/delegate/policies/2/value/Settings/DestinationPrefix",
                "@SERVICE_NETWORK@",
            ),
        ],
    ),
    (
        "flannel-overlay",
        "docker",
        "10-flannel.conf",
        &[("/delegate/policies/1/value/Type", "ROUTE")],
    ),
    (
        "win-bridge",
        "containerd",
        "10-win-bridge.conf",
        &[
            ("/type", "win-bridge"),
            ("/ipam/dataDir", "C:/var/lib/cni/networks"),
            ("/ipam/rangeStart", "@NODE_POD_FIRST@"),
            ("/policies/1/Value/Type", "SDNRoute"),
        ],
    ),
    (
        "win-bridge",
        "docker",
        "10-win-bridge.conf",
        &[("/policies/1/value/Type", "ROUTE")],
    ),
    (
        "win-overlay",
        "containerd",
        "10-win-overlay.conf",
        &[("/policies/1/Value/Type", "ProviderAddress")],
    ),
    (
        "sdnbridge",
        "containerd",
        "10-sdnbridge.conf",
        &[
            ("/type", "sdnbridge"),
            ("/AdditionalArgs/0/Name", "EndpointPolicy"),
            ("/optionalFlags/forceBridgeGateway", "true"),
        ],
    ),
    (
        "sdnoverlay",
        "containerd",
        "10-sdnoverlay.conf",
        &[("/AdditionalArgs/1/Value/Type", "ProviderAddress")],
    ),
    (
        "azure-cni",
        "containerd",
        "10-azure.conflist",
        &[
            ("/plugins/0/type", "azure-vnet"),
            (
                "/plugins/0/AdditionalArgs/2/Value/RemoteAddresses",
                "168.63.129.16/32",
            ),
        ],
    ),
    (
        "calico",
        "containerd",
        "10-calico.conf",
        &[
            ("/vxlan_vni", "4096"),
            ("/windows_loopback_DSR", "false"),
            ("/policies/1/Value/Type", "SDNROUTE"),
        ],
    ),
    (
        "calico",
        "docker",
        "10-calico.conf",
        &[("/policies/1/Value/Type", "ROUTE")],
    ),
    (
        "ovn-kubernetes",
        "containerd",
        "10-ovn-kubernetes.conf",
        &[
            ("/name", "OVNKubernetesHybridOverlayNetwork"),
            ("/type", "win-overlay"),
        ],
    ),
    (
        "l3",
        "containerd",
        "10-l3.conf",
        &[
            ("/type", "win-bridge"),
            ("/ipam/routes/0/gw", "@NODE_POD_GATEWAY@"),
        ],
    ),
];

#[test]
fn configurations_of_pod_networks_are_json_of_the_right_shape() {
    let trees = read_trees(None).expect("the catalog");
    for (cni, runtime, name, values) in CONFIGURATIONS {
        let selection = ImageDefinition {
            cni: Some((*cni).to_owned()),
            runtime: runtime.parse().ok(),
            host_access: Some(HostAccess::Services),
            ..azure("1.20.0")
        };
        let (guest, _) =
            made(&selection, &trees).unwrap_or_else(|| panic!("{cni} with {runtime} is refused"));
        let found = json(&guest, name);
        for (pointer, wanted) in *values {
            let value = found
                .pointer(pointer)
                .unwrap_or_else(|| panic!("{cni} {runtime}: no {pointer}"));
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            assert_eq!(text, *wanted, "{cni} {runtime}: {pointer}");
        }
    }
    let covered: BTreeSet<&str> = CONFIGURATIONS.iter().map(|(cni, ..)| *cni).collect();
    let mut networks = trees.catalog.network_names();
    networks.retain(|name| name != "none");
    assert_eq!(covered, networks.iter().map(String::as_str).collect());
}

/// Who asks Azure's 168.63.129.16 gets the machine's settings and certificates (CVE-2021-27075): on the node the
/// platform's own programs alone may, and pods may not. A rule for pods makes HNS deny all that no rule allows.
#[test]
fn addresses_of_the_platform_are_for_its_own_programs() {
    let trees = read_trees(None).expect("the catalog");
    for (cni, runtime, name, _) in CONFIGURATIONS.iter().filter(|(cni, ..)| *cni != "calico") {
        for target in ["azure", "aws"] {
            let selection = ImageDefinition {
                target: Some(target.to_owned()),
                cni: Some((*cni).to_owned()),
                runtime: runtime.parse().ok(),
                host_access: Some(HostAccess::Services),
                ..azure("1.20.0")
            };
            let Some((guest, machine)) = made(&selection, &trees) else {
                continue;
            };
            let rule = machine.present_resources::<FirewallRule>().find(|it| {
                it.settings.remote_address == ["168.63.129.16"]
                    && it
                        .settings
                        .remote_port
                        .iter()
                        .map(Ports::as_str)
                        .eq(["80", "32526"])
                    && it
                        .settings
                        .except_account
                        .iter()
                        .map(AccountSid::as_str)
                        .eq(["S-1-5-18"])
            });
            assert_eq!(rule.is_some(), target == "azure", "{selection:?}");
            let configuration = json(&guest, name);
            assert_eq!(
                find_acls(&configuration),
                expected_acls(target == "azure"),
                "{selection:?}"
            );
        }
    }
}

fn expected_acls(blocks: bool) -> Vec<String> {
    let all = [
        "Block Out 168.63.129.16/32 6 80",
        "Block Out 168.63.129.16/32 6 32526",
        "Allow In",
        "Allow Out",
    ];
    all.iter()
        .filter(|_| blocks)
        .map(|it| (*it).to_owned())
        .collect()
}

/// The access rules of a network's configuration, in whichever form it has them.
fn find_acls(configuration: &Value) -> Vec<String> {
    let places = [
        "/policies",
        "/AdditionalArgs",
        "/delegate/policies",
        "/plugins/0/AdditionalArgs",
    ];
    let policies = places
        .iter()
        .filter_map(|place| configuration.pointer(place)?.as_array())
        .flatten();
    let values = policies.filter_map(|policy| policy.get("Value").or_else(|| policy.get("value")));
    let acls = values.filter(|value| value["Type"] == "ACL");
    acls.map(|value| {
        let settings = value.get("Settings").unwrap_or(value);
        let names = [
            "Action",
            "Direction",
            "RemoteAddresses",
            "Protocols",
            "RemotePorts",
        ];
        names
            .iter()
            .filter_map(|name| settings[name].as_str())
            .collect::<Vec<_>>()
            .join(" ")
    })
    .collect()
}

#[test]
fn a_known_network_leaves_only_the_nodes_own_addresses_open() {
    let trees = read_trees(None).expect("the catalog");
    let mut selection = ImageDefinition {
        cni: Some("flannel-overlay".to_owned()),
        ..azure("1.36.4")
    };
    let open = |selection: &ImageDefinition| {
        let (guest, _) = made(selection, &trees).expect("planned");
        let file = files(&guest)
            .find(|file| file.path.ends_with("10-flannel.conf"))
            .expect("a file")
            .clone();
        marks(file.content().expect("content"))
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        open(&selection),
        [
            "DNS_DOMAIN",
            "DNS_SERVER",
            "NODE_ADDRESS",
            "POD_NETWORK",
            "SERVICE_NETWORK"
        ]
    );
    selection.network = Some(Network {
        pods: "10.244.0.0/16".parse().ok(),
        services: "10.96.0.0/12".parse().ok(),
        nodes: "10.0.0.0/24".parse().ok(),
        dns: "10.96.0.10".parse().ok(),
        domain: "cluster.local".parse().ok(),
    });
    assert_eq!(open(&selection), ["NODE_ADDRESS"]);
}

#[test]
fn programs_that_are_looked_for_by_name_have_it() {
    let trees = read_trees(None).expect("the catalog");
    let selection = ImageDefinition {
        cni: Some("flannel-overlay".to_owned()),
        ..azure("1.36.4")
    };
    let (_, machine) = made(&selection, &trees).expect("planned");
    let has = |path: &str| machine.present_files().any(|file| file.path == path);
    assert!(has(r"C:\opt\cni\bin\flannel.exe") && !has(r"C:\opt\cni\bin\flannel-amd64.exe"));
}

#[test]
fn what_is_asked_for_gets_its_step() {
    let trees = read_trees(None).expect("the catalog");
    let contents = trees.catalog.load_contents().expect("contents");
    let mut seen = 0;
    for group in contents.groups.iter().filter(|group| group.on_request) {
        let component = trees
            .catalog
            .load_component(&group.name)
            .expect("component");
        let Some(pin) = component.pins.list().into_iter().rfind(Pin::is_usable) else {
            continue;
        };
        let mut selection = azure("1.36.4");
        selection
            .components
            .insert(group.name.to_string(), pin.version.clone());
        let Some((guest, _)) = made(&selection, &trees) else {
            continue;
        };
        assert!(
            guest
                .plan
                .resources
                .iter()
                .any(|it| it.name.contains(group.name.as_str())),
            "{}",
            group.name
        );
        seen += 1;
    }
    assert!(seen >= 4, "{seen}");
}

#[test]
fn nssm_runs_the_kubelet_where_it_is_asked_for() {
    let trees = read_trees(None).expect("the catalog");
    let mut selection = azure("1.20.0");
    selection
        .components
        .insert("nssm".to_owned(), "2.24".parse().expect("version"));
    let (_, machine) = made(&selection, &trees).expect("planned");
    let kubelet = machine.find_service("kubelet").expect("kubelet").settings;
    assert_eq!(kubelet.program.as_deref(), Some(r"C:\k\nssm.exe"));
    let value = |name: &str| {
        let found = machine
            .present_resources::<RegistryValue>()
            .find(|value| value.it.value_name == name)
            .expect(name);
        serde_json::to_value(&found.settings.data).expect("data")["data"].clone()
    };
    assert_eq!(value("Application"), r"C:\Windows\System32\cmd.exe");
    let arguments = value("AppParameters");
    let arguments = arguments.as_str().expect("text");
    assert!(
        arguments.contains(r"--config=C:\var\lib\kubelet\config.yaml"),
        "{arguments}"
    );
    assert!(
        !arguments.contains("--windows-service"),
        "nssm answers the service manager: {arguments}"
    );
}

/// `table` and `key` of each assignment of a TOML text, quotes left out.
fn assignments(text: &str) -> BTreeSet<(String, String)> {
    let mut table = String::new();
    let mut found = BTreeSet::new();
    for line in text
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with('#'))
    {
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            table = name.replace(['"', '\''], "");
        } else if let Some((key, _)) = line.split_once(" = ") {
            found.insert((table.clone(), key.replace(['"', '\''], "")));
        }
    }
    found
}

/// A key that containerd does not know is dropped in silence: each of ours is among the defaults
/// that the program itself prints.
#[test]
fn containerd_knows_every_key_of_its_configuration() {
    let trees = read_trees(None).expect("the catalog");
    for (kubernetes, version) in [
        ("1.20.0", "1.5.18"),
        ("1.22.0", "1.6.38"),
        ("1.26.0", "1.7.27"),
        ("1.30.0", "2.0.4"),
        ("1.33.0", "2.1.0"),
        ("1.34.0", "2.2.0"),
    ] {
        let path = root().join(format!("tests/fixtures/containerd/{version}.toml"));
        let defaults = assignments(&std::fs::read_to_string(&path).expect("defaults"));
        for feature in [None, Some("hyper-v")] {
            let mut selection = azure(kubernetes);
            selection
                .components
                .insert("containerd".to_owned(), version.parse().expect("version"));
            selection.features = feature.into_iter().map(str::to_owned).collect();
            selection.runtime = Some(Runtime::Containerd);
            let plan = resolve_plan(&selection, &trees)
                .unwrap_or_else(|error| panic!("{version}: {error:#}"));
            let (guest, _) = predict_machine(&plan, &trees).expect("a machine");
            let file = files(&guest)
                .find(|file| file.path.ends_with("config.toml"))
                .expect("a file");
            let ours = assignments(file.content().expect("content"));
            let own = |table: &str| table.contains(".runtimes.runhcs-wcow-");
            let unknown: Vec<_> = ours
                .iter()
                .filter(|(table, key)| {
                    !own(table) && !defaults.contains(&(table.clone(), key.clone()))
                })
                .collect();
            assert_eq!(unknown, Vec::<&(String, String)>::new(), "{version}");
            let hypervisor = ours
                .iter()
                .any(|(table, _)| table.ends_with("runtimes.runhcs-wcow-hypervisor"));
            assert_eq!(hypervisor, feature.is_some(), "{version}");
            let process = ours
                .iter()
                .any(|(table, _)| table.ends_with("runtimes.runhcs-wcow-process"));
            assert!(
                process,
                "{version}: naming one runtime takes the default away"
            );
        }
    }
}

#[test]
fn optional_features_are_all_used_and_refused_where_they_cannot_be_had() {
    let trees = read_trees(None).expect("the catalog");
    for feature in &trees.catalog.load_features().expect("features").features {
        let cni = feature
            .when
            .cni
            .as_ref()
            .and_then(|names| names.first().cloned());
        let with = |features: Vec<String>| ImageDefinition {
            features,
            cni: cni.clone(),
            ..azure("1.20.0")
        };
        let (_, without) = made(&with(Vec::new()), &trees).expect("planned");
        // A name that people ask for, refused with its reason.
        if feature.when.cni.as_ref().is_some_and(Vec::is_empty) {
            let refused = resolve_plan(&with(vec![feature.name.clone()]), &trees);
            assert!(format!("{:#}", refused.expect_err("a refusal")).contains(&feature.reason));
            continue;
        }
        let (_, machine) = made(&with(vec![feature.name.clone()]), &trees)
            .unwrap_or_else(|| panic!("{}", feature.name));
        assert!(
            !crate::machine::difference::compare_machines(&without, &machine).is_empty(),
            "{} changes nothing",
            feature.name
        );
    }
    for (line, said) in [
        ("--k8s 1.36 --feature static-address", "feature-unsupported"),
        (
            "--k8s 1.20 --runtime docker --feature hyper-v",
            "feature-unsupported",
        ),
        (
            "--k8s 1.20 --feature gmsa --var image_version=17763.1000.200101",
            "minimum-update",
        ),
        (
            "--k8s 1.36 --cni sdnbridge --feature dual-stack",
            "feature-unsupported",
        ),
    ] {
        Test::new()
            .line("plan --target azure")
            .line(line)
            .fails(3, &[said]);
    }
}

#[test]
fn updates_come_first_and_are_frozen_later() {
    let trees = read_trees(None).expect("the catalog");
    let text = r#"{
        "target": "azure", "kubernetes": "1.20.0",
        "updates": {
            "files": [{ "kb": "KB5001407", "url": "https://updates.example/kb5001407.msu", "sha256": "SHA" }],
            "kbs": ["KB5000822"], "categories": ["SecurityUpdates"]
        }
    }"#;
    let definition = text.replace("SHA", &"a".repeat(64));
    let selection: ImageDefinition = serde_json::from_str(&definition).expect("a definition");
    let (guest, machine) = made(&selection, &trees).expect("planned");
    let names: Vec<&str> = guest
        .plan
        .resources
        .iter()
        .map(|resource| resource.name.as_str())
        .collect();
    let at = |name: &str| {
        names
            .iter()
            .position(|known| *known == name)
            .unwrap_or_else(|| panic!("{name}: {names:?}"))
    };
    assert!(at("updates/KB5001407") < at("updates/search"));
    assert!(at("updates/search") < at("os-baseline/containers-feature"));
    // Nothing of Windows' own may run beside the build's updates.
    assert!(at("os-baseline/no-automatic-updates") < at("updates/search"));
    let (search, _) = machine
        .resources_of::<WindowsUpdate>()
        .next()
        .expect("a search");
    assert_eq!(search.categories, ["0fa1201d-4330-4fa8-8ae9-b877473b6441"]);
    let searched = Test::new()
        .file("imagegen.json", &definition)
        .line("build --no-bake --out o");
    searched.succeeds();
    let rounds = |built: &Test| {
        built
            .text("o/build.pkr.hcl")
            .matches("-Phase 'prepare'")
            .count()
    };
    assert_eq!(
        rounds(&searched),
        4,
        "Windows Update offers more after a restart"
    );
    let plain = Test::new().line("build --target azure --no-bake --out o");
    plain.succeeds();
    assert_eq!(rounds(&plain), 2, "a feature may wait for a restart");
}

/// FlexVolume plugins are a provider's own files: laid where the kubelet looks, by digest.
#[test]
fn volume_plugins_are_laid_by_digest_or_refused() {
    let trees = read_trees(None).expect("the catalog");
    let define = |plugin: &str, file: &str, url: &str, sha256: &str| -> ImageDefinition {
        let plugins =
            serde_json::json!({ plugin: [{ "file": file, "url": url, "sha256": sha256 }] });
        let definition = serde_json::json!({ "kubernetes": "1.20.0", "volumePlugins": plugins });
        let definition: ImageDefinition = serde_json::from_value(definition).expect("a definition");
        definition.merge_over(azure("1.20.0"))
    };
    let (digest, url) = ("a".repeat(64), "https://plugins.example/iscsi.ps1");
    let selection = define("microsoft.com~iscsi.cmd", "iscsi.ps1", url, &digest);
    let (guest, _) = made(&selection, &trees).expect("planned");
    let laid = guest
        .plan
        .resources
        .iter()
        .find(|it| it.name.ends_with("iscsi.ps1"))
        .expect("laid");
    let properties = serde_json::to_value(laid).expect("JSON")["properties"].clone();
    let folder = r"C:\usr\libexec\kubernetes\kubelet-plugins\volume\exec\microsoft.com~iscsi.cmd";
    assert_eq!(properties["path"], format!(r"{folder}\iscsi.ps1"));
    assert_eq!(
        (&properties["url"], &properties["digest"]),
        (&url.into(), &digest.as_str().into())
    );
}

/// The kubelet asks for credentials where and as its line does.
#[test]
fn credential_providers_are_configured_as_the_line_reads_them() {
    let trees = read_trees(None).expect("the catalog");
    for (kubernetes, api, both) in [
        ("1.22.0", "v1alpha1", true),
        ("1.25.0", "v1beta1", true),
        ("1.36.4", "v1", false),
    ] {
        let mut selection = azure(kubernetes);
        selection.components.insert(
            "azure-acr-credential-provider".to_owned(),
            "1.33.3".parse().expect("version"),
        );
        let (guest, machine) = made(&selection, &trees).expect("planned");
        let file = files(&guest)
            .find(|file| file.path.ends_with(r"credential-providers\config.yaml"))
            .expect("a file");
        assert!(
            file.content()
                .expect("content")
                .contains(&format!("kubelet.config.k8s.io/{api}\n"))
        );
        let bare = machine
            .present_files()
            .any(|file| file.path.ends_with(r"\azure-acr-credential-provider"));
        assert_eq!(bare, both, "{kubernetes}");
        let kubelet = machine.find_service("kubelet").expect("kubelet").settings;
        assert!(
            kubelet
                .arguments
                .iter()
                .any(|word| word.starts_with("--image-credential-provider-bin-dir="))
        );
    }
}

/// Google's digests are those of Kubernetes' scripts for its cloud and of the promotion to Kubernetes' servers, Amazon's
/// those of that promotion.
#[test]
fn registries_get_their_program_and_its_configuration() {
    let trees = read_trees(None).expect("the catalog");
    for (name, version, registry) in [
        ("auth-provider-gcp", "0.0.2-gke.4", "\"*.pkg.dev\""),
        ("auth-provider-gcp", "35.1.0", "\"gcr.io\""),
        (
            "ecr-credential-provider",
            "1.31.7",
            "\"*.dkr.ecr.*.amazonaws.com\"",
        ),
        (
            "ecr-credential-provider",
            "1.26.1",
            "\"*.dkr.ecr.*.amazonaws.com.cn\"",
        ),
    ] {
        let version: Version = version.parse().expect("version");
        let mut selection = azure("1.36.4");
        selection
            .components
            .insert(name.to_owned(), version.clone());
        let plan = resolve_plan(&selection, &trees).expect("planned");
        assert!(
            plan.unpinned_artifacts()
                .all(|artifact| artifact.component != name),
            "{name} {version}"
        );
        let (guest, machine) = made(&selection, &trees).expect("planned");
        let configurations: Vec<_> = files(&guest)
            .filter(|file| file.path.ends_with(r"credential-providers\config.yaml"))
            .collect();
        assert_eq!(configurations.len(), 1, "{name}");
        let text = configurations[0].content().expect("content");
        assert!(
            text.contains(&format!("name: {name}.exe\n")) && text.contains(registry),
            "{text}"
        );
        let program = format!(r"C:\k\credential-providers\{name}.exe");
        assert!(
            machine.present_files().any(|file| *file.path == *program),
            "{program}"
        );
        let kubelet = machine.find_service("kubelet").expect("kubelet").settings;
        for flag in [
            "--image-credential-provider-config=",
            "--image-credential-provider-bin-dir=",
        ] {
            assert_eq!(
                kubelet
                    .arguments
                    .iter()
                    .filter(|word| word.starts_with(flag))
                    .count(),
                1,
                "{flag}"
            );
        }
        let mut old = azure("1.25.0");
        old.components.insert(name.to_owned(), version);
        assert!(
            made(&old, &trees).is_none(),
            "its configuration is of an API that 1.25 does not know"
        );
    }
}

/// The kubelet reads one configuration, so two programs are refused together.
#[test]
fn one_image_has_one_credential_provider() {
    let trees = read_trees(None).expect("the catalog");
    let all = [
        ("azure-acr-credential-provider", "1.33.3"),
        ("auth-provider-gcp", "35.1.0"),
        ("ecr-credential-provider", "1.31.7"),
    ];
    for left_out in 0..all.len() {
        let mut selection = azure("1.36.4");
        for (_, (name, version)) in all.iter().enumerate().filter(|(at, _)| *at != left_out) {
            selection
                .components
                .insert((*name).to_owned(), version.parse().expect("version"));
        }
        let refusal = format!(
            "{:#}",
            resolve_plan(&selection, &trees).expect_err("two programs")
        );
        assert!(refusal.contains("credential-providers"), "{refusal}");
    }
}

/// The kubelet's file for EKS names the program alone, so it lies in a folder of the PATH under that name.
#[test]
fn the_authenticator_of_eks_is_an_option() {
    let trees = read_trees(None).expect("the catalog");
    let mut selection = azure("1.36.4");
    selection.components.insert(
        "aws-iam-authenticator".to_owned(),
        "0.7.4".parse().expect("version"),
    );
    let (_, machine) = made(&selection, &trees).expect("planned");
    assert!(
        machine
            .present_files()
            .any(|file| *file.path == *r"C:\k\aws-iam-authenticator.exe")
    );
    // EKS Distro's archives have digests, and nobody recorded what is in them.
    selection.components.insert(
        "aws-iam-authenticator".to_owned(),
        "0.5.2+eksd.1-19-4".parse().expect("version"),
    );
    assert!(made(&selection, &trees).is_none());
}

/// A key that this wins does not read leaves the list empty, and an empty list lets everything
/// start.
#[test]
fn wins_gets_its_list_under_the_key_that_it_reads() {
    let trees = read_trees(None).expect("the catalog");
    for version in ["0.0.4", "0.1.1", "0.1.2", "0.1.3"] {
        let version: Version = version.parse().expect("version");
        let mut selection = ImageDefinition {
            host_access: Some(HostAccess::Wins),
            ..azure("1.20.0")
        };
        selection
            .components
            .insert("wins".to_owned(), version.clone());
        let (guest, machine) =
            made(&selection, &trees).unwrap_or_else(|| panic!("{version} is refused"));
        let file = files(&guest)
            .find(|file| file.path.ends_with(r"wins\config"))
            .expect("a configuration");
        let text = file.content().expect("content");
        let old = version < "0.1.3".parse().expect("version");
        let key = if old { "whiteList:" } else { "white_list:" };
        assert!(text.starts_with(key), "{version}: {text}");
        let listed: Vec<&str> = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("- "))
            .collect();
        let allowed = [
            r"'C:\k\kube-proxy\kube-proxy.exe'",
            r"'C:\k\flannel\flanneld.exe'",
            r"'C:\k\flannel\setup.exe'",
        ];
        assert_eq!(listed, allowed, "{version}");
        assert!(
            text.contains("upgrade:\n  mode: none"),
            "{version}: it would replace itself"
        );
        for folder in [r"C:\k\kube-proxy", r"C:\k\flannel", r"C:\etc\rancher\wins"] {
            let own = machine
                .find_at_path(folder)
                .and_then(|it| it.properties().descriptor());
            assert!(
                own.is_some(),
                "{version}: who may write to {folder} starts what he likes"
            );
        }
    }
}
