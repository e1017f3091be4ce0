//! Each rule of a life finds its defect.

use imagegen::model::definition::ImageDefinition;
use imagegen::selection::read_trees;
use serde_json::{Value, json};

use super::{Node, apply_rules, make_node, read_life, select};

fn with_node(node: &Node, edit: impl FnOnce(&mut Vec<Value>)) -> Node {
    let mut node = node.clone();
    edit(&mut node.resources);
    node
}

fn named<'a>(resources: &'a mut [Value], name: &str) -> &'a mut Value {
    resources
        .iter_mut()
        .find(|it| it["name"] == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

/// Each defect that once was in every image, put back into a plan.
#[test]
fn each_rule_finds_its_defect() {
    let (life, trees) = (read_life(), read_trees(None).expect("the catalog"));
    let make = |selection: ImageDefinition| make_node(&selection, &trees).expect("a plan");
    let old = make(select("azure", "1.31.14"));
    let google = make(select("gcp", "1.36.4"));
    let amazon = make(select("aws", "1.36.4"));
    let docker = make(ImageDefinition {
        runtime: "docker".parse().ok(),
        ..select("azure", "1.20.0")
    });
    let services = ImageDefinition {
        host_access: "services".parse().ok(),
        cni: Some("flannel-overlay".to_owned()),
        ..select("azure", "1.20.0")
    };
    let services = make(services);
    let bridge = make(ImageDefinition {
        cni: Some("win-bridge".to_owned()),
        ..select("azure", "1.36.4")
    });
    let overlay = make(ImageDefinition {
        cni: Some("win-overlay".to_owned()),
        ..select("azure", "1.36.4")
    });
    let flannel = make(ImageDefinition {
        host_access: "services".parse().ok(),
        cni: Some("flannel-overlay".to_owned()),
        ..select("azure", "1.36.4")
    });
    let drop_field = |field: &'static str, name: &'static str, node: &Node| {
        with_node(node, |all| {
            named(all, name)
                .as_object_mut()
                .expect("an object")
                .remove(field)
                .expect("the field");
        })
    };
    let set = |name: &'static str, property: &'static str, value: Value, node: &Node| {
        with_node(node, |all| named(all, name)["properties"][property] = value)
    };
    let conf = |line: &'static str, node: &Node| {
        with_node(node, |all| {
            let content = &mut named(all, "node/facts")["properties"]["content"];
            let text = content.as_str().expect("text").replace(line, "x=");
            assert_ne!(*content, json!(text), "{line}");
            *content = json!(text);
        })
    };
    let forget = |name: &'static str, node: &Node| {
        with_node(node, |all| all.retain(|it| it["name"] != name))
    };
    let cases: Vec<(&str, Node)> = vec![
        (
            "compared: \"directories/log-containers\" `sddl`",
            drop_field("volatile", "directories/log-containers", &old),
        ),
        (
            "compared: \"directories/kubelet-1.31\" `sddl`",
            drop_field("volatile", "directories/kubelet-1.31", &old),
        ),
        (
            "compared: \"cloudbase-init/service\"",
            drop_field("scope", "cloudbase-init/service", &old),
        ),
        (
            "compared: \"cloudbase-init/setup-complete\"",
            drop_field("scope", "cloudbase-init/setup-complete", &old),
        ),
        (
            "compared: \"checks/containerd-running\"",
            drop_field("scope", "checks/containerd-running", &old),
        ),
        (
            "arguments: kubelet does not read",
            set(
                "kubernetes/kubelet-service-logged",
                "commandLine",
                json!(r"C:\k\kube-log-runner.exe C:\k\kubelet.exe"),
                &old,
            ),
        ),
        (
            "arguments: kubelet does not end quietly",
            set(
                "kubernetes/start-kubelet",
                "content",
                json!("KUBELET_KUBEADM_ARGS"),
                &old,
            ),
        ),
        (
            "arguments: kubelet does not start by itself",
            set(
                "kubernetes/kubelet-service-logged",
                "startType",
                json!("manual"),
                &old,
            ),
        ),
        (
            "arguments: kube-proxy does not read",
            forget("kubernetes/start-kube-proxy", &services),
        ),
        (
            "unasked: kubernetes/start-kubelet: who else writes",
            set(
                "kubernetes/start-kubelet",
                "path",
                json!(r"D:\start-kubelet.cmd"),
                &flannel,
            ),
        ),
        (
            "unasked: directories/log-containers `sddl` has no reason",
            with_node(&old, |all| {
                named(all, "directories/log-containers")["volatile"] = json!({"sddl": ""});
            }),
        ),
        (
            "plugin: \"disk/system-volume\"",
            drop_field("scope", "disk/system-volume", &old),
        ),
        (
            "plugin: nobody says what no.such.Plugin changes",
            Node {
                plugins: vec!["no.such.Plugin".to_owned()],
                ..old.clone()
            },
        ),
        (
            "compared: \"cloudbase-init/setup-complete-platform\"",
            drop_field("scope", "cloudbase-init/setup-complete-platform", &google),
        ),
        (
            "account: ",
            set("firstboot/build-user", "ensure", json!("disabled"), &amazon),
        ),
        (
            "account: \"firstboot/build-user\" leaves the build's account open",
            set("firstboot/build-user", "ensure", json!("closed"), &old),
        ),
        (
            "metadata: \"firewall/platform-address imagegen-wireserver\" blocks",
            forget("firstboot/platform-address imagegen-wireserver", &docker),
        ),
        (
            "metadata: \"firstboot/platform-address imagegen-wireserver\" blocks",
            set(
                "firstboot/platform-address imagegen-wireserver",
                "exceptAccount",
                json!(["S-1-5-19"]),
                &old,
            ),
        ),
        (
            "metadata: \"firstboot/platform-address imagegen-wireserver\" blocks",
            set(
                "firstboot/platform-address imagegen-wireserver",
                "exceptUser",
                json!([]),
                &old,
            ),
        ),
        (
            "name: ip-172-31-16-100",
            set(
                "cloudbase-init/configuration",
                "content",
                json!("[DEFAULT]\nnetbios_host_name_compatibility=true\n"),
                &amazon,
            ),
        ),
        (
            "build: nothing takes \"containerd/running\" back",
            forget("seal/containerd", &old),
        ),
        (
            "reset: C:\\etc\\kubernetes\\pki\\ca.crt",
            conf(r"joined=C:\etc\kubernetes\pki\ca.crt", &old),
        ),
        (
            "second join: kubeadm refuses",
            conf(r"joined=C:\etc\kubernetes\bootstrap-kubelet.conf", &old),
        ),
        (
            "reset: C:\\var\\lib\\kubelet\\config.yaml",
            conf(r"empty=C:\var\lib\kubelet", &old),
        ),
        (
            "restart: \"cni/flanneld\"",
            set("cni/flanneld", "trigger", json!("startup"), &services),
        ),
        (
            "restart: \"docker/host-network\"",
            set("docker/host-network", "trigger", json!("startup"), &docker),
        ),
        (
            "restart: nothing brings the bridge back",
            forget("cni/bridge", &bridge),
        ),
        (
            "restart: the pod network keeps an address",
            forget("cni/address", &overlay),
        ),
        (
            "restart: the pod network keeps an address",
            forget("cni/address-flannel", &flannel),
        ),
        (
            "pause: ",
            set(
                "kubernetes/start-kubelet",
                "content",
                json!("if not exist"),
                &docker,
            ),
        ),
        (
            "socket: ",
            conf("criSocket=npipe:////./pipe/docker_engine", &docker),
        ),
        (
            "user-data: the password",
            set(
                "cloudbase-init/configuration",
                "content",
                json!("[DEFAULT]\nnetbios_host_name_compatibility=false\n"),
                &old,
            ),
        ),
        (
            "user-data: the account has no SeDenyNetworkLogonRight",
            forget("firstboot/user-data-rights", &old),
        ),
        (
            "user-data: the account is not disabled",
            forget("seal/user-data-account", &docker),
        ),
        (
            "user-data: the account is not present",
            forget("firstboot/user-data-account", &docker),
        ),
        (
            "user-data: the account has no SeDenyNetworkLogonRight",
            set("firstboot/user-data-rights", "set", json!(""), &docker),
        ),
        (
            "user-data: the account is enabled before",
            with_node(&docker, |all| {
                let at = all
                    .iter()
                    .position(|it| it["name"] == "firstboot/user-data-rights");
                let rights = all.remove(at.expect("the rights"));
                all.push(rights);
            }),
        ),
        (
            "emptyDir: ",
            set(
                "directories/kubelet-pods",
                "sddl",
                json!("O:BAG:SYD:PAI(A;OICI;0x1200a9;;;BU)"),
                &docker,
            ),
        ),
    ];
    for (expected, node) in cases {
        let found = apply_rules(&life, &node);
        assert!(
            found.iter().any(|it| it.starts_with(expected)),
            "{expected}: {found:?}"
        );
    }
}
