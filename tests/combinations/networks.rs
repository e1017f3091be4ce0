//! Configurations of pod networks, and what they let through.

use std::collections::BTreeSet;

use imagegen::base::choice::HostAccess;
use imagegen::model::definition::{ImageDefinition, Network};
use imagegen::selection::read_trees;
use imagegen::windows::resource::FirewallRule;
use imagegen::windows::value::{AccountSid, Ports};
use serde_json::Value;

use super::{azure, files, json, made};

/// Marks that the join replaces.
fn marks(text: &str) -> BTreeSet<&str> {
    let word =
        |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    text.split('@').skip(1).step_by(2).filter(word).collect()
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
