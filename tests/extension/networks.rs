//! Pod networks of a user.

use serde_json::json;

use super::{OWN, component, content, edit, exported, lint, machine, pins, step};
use crate::support::{Test, present};

fn with_mesh() -> Test {
    let network = json!({
        "name": "mesh", "title": "A network of a user", "overlay": true, "components": ["mesh-cni"],
        "hnsNetwork": "Mesh", "node": { "configuration": "10-mesh.conf", "sourceEndpoint": "Mesh_ep" },
        "cluster": {
            "sourceVip": { "hostprocess": "Mesh_ep" },
            "files": [{
                "file": "36-mesh.yaml", "summary": "the network's settings", "when": { "hostAccess": ["hostprocess"] },
                "source": "https://example.com",
            }],
        },
        "source": "https://example.com",
    });
    let manifest = "apiVersion: {{ api.ConfigMap | json }}\nkind: ConfigMap\nmetadata:\n  name: mesh\n  \
                    namespace: kube-system\ndata:\n  pods: {{ network.pods | json }}\n";
    let configuration = json!({
        "name": "configuration", "type": "file", "source": "https://example.com",
        "properties": {
            "path": "{{ paths.cniTemplates }}\\10-mesh.conf", "ensure": "present",
            "content": { "template": "mesh.conf" },
        },
    });
    exported()
        .file("catalog/networks/mesh.json", &network.to_string())
        .file("catalog/cluster/36-mesh.yaml", manifest)
        .file("catalog/components/mesh-cni.json", &component("mesh-cni"))
        .file("catalog/pins/mesh-cni.json", &pins("mesh-cni"))
        .file("steps/081-mesh.json", &step("mesh", "mesh-cni", &[configuration]))
        .file(
            "steps/templates/mesh.conf",
            r#"{ "cniVersion": "0.3.0", "name": "{{ cni.hnsNetwork }}", "type": "mesh", "subnet": "@NODE_POD_NETWORK@" }"#,
        )
}

#[test]
fn a_pod_network_is_an_entry_with_components_a_step_and_templates() {
    let test = with_mesh();
    lint(&test);
    assert!(
        test.prints(&format!("list networks {OWN}"))
            .contains("A network of a user")
    );
    assert!(
        test.prints(&format!("explain mesh {OWN}"))
            .contains("components: mesh-cni")
    );
    let selection = "--target azure --k8s 1.36.4 --cni mesh --host-access services";
    assert!(
        test.prints(&format!("plan {selection} {OWN}"))
            .contains("CNI mesh")
    );
    let machine = machine(&test, selection);
    let joined = content(&machine, r"C:\imagegen\node.conf");
    for line in [
        r"network=C:\k\cni\10-mesh.conf",
        "sourceEnd=Mesh_ep",
        "proxyArgument=--source-vip=@SOURCE_VIP@",
    ] {
        assert!(
            joined.lines().any(|found| found == line),
            "no {line} in {joined}"
        );
    }
    assert!(content(&machine, r"C:\k\cni\10-mesh.conf").contains(r#""name": "Mesh""#));
    let services = present(&machine, "service");
    let proxy = services
        .iter()
        .find(|service| service["serviceName"] == "kube-proxy")
        .expect("kube-proxy");
    let arguments = proxy["arguments"].as_array().expect("arguments");
    assert!(
        arguments.contains(&json!("--network-name=Mesh")),
        "{arguments:?}"
    );
    assert!(
        present(&machine, "artifact")
            .iter()
            .any(|it| it["path"] == r"C:\k\mesh-cni.exe")
    );
    assert!(
        present(&machine, "firewallRule")
            .iter()
            .any(|it| it["localPort"] == json!(["4789"]))
    );
    test.prints(&format!("build --no-bake --out o {selection} {OWN}"));
    assert!(
        test.text("o/guest-plan.json")
            .contains("mesh/configuration")
    );
    let cluster = format!("--k8s 1.36.4 --cni mesh {OWN}");
    let manifests = test.prints(&format!(
        "cluster-manifests --endpoint api.example.com:6443 {cluster}"
    ));
    assert!(
        manifests.contains("name: mesh") && manifests.contains("--network-name=Mesh"),
        "{manifests}"
    );
    assert!(
        test.prints(&format!("conformance {cluster}"))
            .contains("kube-proxy")
    );
    let misspelt = test.line(&format!("plan --target host --k8s 1.36.4 --cni mehs {OWN}"));
    misspelt.fails(3, &["unknown pod network `mehs`", "did you mean `mesh`?"]);
}

#[test]
fn the_lint_knows_what_a_pod_network_needs() {
    let test = edit(with_mesh(), "catalog/networks/mesh.json", |network| {
        network["components"] = json!(["mesh-cni", "nssm", "nothing"]);
        network["cluster"]["configurations"] =
            json!([{ "file": "cni/none.json", "source": "https://example.com" }]);
    });
    let ran = test.line(&format!("catalog lint {OWN}")).fails(3, &[]);
    for part in [
        "nssm is neither a group",
        "nothing is neither a group",
        "no cluster/cni/none.json",
    ] {
        assert!(ran.stdout.contains(part), "{}", ran.stdout);
    }
    assert!(!ran.stdout.contains("mesh-cni is"), "{}", ran.stdout);
}

/// The node would join, and then look for a file that no step has made.
#[test]
fn a_configuration_that_no_step_makes_is_refused() {
    for verb in ["plan", "build --no-bake --out o"] {
        let test = edit(with_mesh(), "steps/081-mesh.json", |step| {
            let resources = step["resources"].as_array_mut().expect("resources");
            resources.retain(|resource| resource["name"] != "configuration");
        });
        let line = format!("{verb} --target azure --k8s 1.36.4 --cni mesh {OWN}");
        let parts = [
            "[fact-path-missing]",
            r"`network` of node.conf names C:\k\cni\10-mesh.conf, which no resource creates",
            "create the file",
        ];
        test.line(&line).fails(3, &parts);
    }
}

#[test]
fn a_pod_network_of_others_says_what_to_do_instead() {
    for (name, parts) in [
        (
            "cilium",
            [
                "Linux nodes only",
                "--cni flannel-overlay",
                "docs.cilium.io",
            ],
        ),
        ("antrea", ["HostProcess", "--cni none", "antrea-io/antrea"]),
    ] {
        let line = format!("plan --target host --k8s 1.36.4 --cni {name}");
        Test::new().line(&line).fails(3, &parts);
    }
}
