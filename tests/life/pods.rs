//! Agents, images and the pause image of a node.

use imagegen::model::definition::ImageDefinition;
use imagegen::planning::resolve_plan;
use imagegen::selection::read_trees;
use serde_json::{Value, json};

use super::{make_node, select, text};
use crate::support::root;

/// containerd gives the host's network to `HostProcess` pods alone, so pods of agents that come through wins need a
/// network to start with, which the image has.
#[test]
fn agents_without_the_network_of_the_host_can_start() {
    let trees = read_trees(None).expect("the catalog");
    for minor in ["1.19", "1.20.0", "1.21", "1.22"] {
        for cni in ["none", "flannel-hostgw", "flannel-overlay", "calico"] {
            let selection = ImageDefinition {
                cni: cni.parse().ok(),
                host_access: "wins".parse().ok(),
                runtime: "containerd".parse().ok(),
                ..select("azure", minor)
            };
            let node = make_node(&selection, &trees).expect("a plan");
            let path = r"C:\k\cni\0-containerd-nat.json";
            assert_eq!(node.facts("startNetwork"), [path], "{minor} {cni}");
            let file = node.find("file", "path", path).expect("the configuration");
            assert!(
                text(file, "content").contains(r#""type": "nat""#),
                "{minor} {cni}"
            );
            let plugin = node
                .resources
                .iter()
                .any(|it| it["properties"].to_string().contains("nat.exe"));
            assert!(plugin, "{minor} {cni}");
        }
    }
    for (script, call) in [
        (
            "provisioners/node/Join.ps1",
            "Initialize-StartNetwork -Facts $facts",
        ),
        (
            "manifests/cluster/scripts/Start-Flannel.ps1",
            "Remove-Item -LiteralPath $start",
        ),
    ] {
        assert!(
            std::fs::read_to_string(root().join(script))
                .expect(script)
                .contains(call),
            "{script}"
        );
    }
}

/// `ctr image pull NAME:TAG@DIGEST` takes all of that for the name, which the kubelet never asks for, and knows no
/// mirrors (containerd#13529): the CRI pulls, and the tag is a name of its own.
#[test]
fn images_get_the_names_that_the_kubelet_asks_for() {
    let trees = read_trees(None).expect("the catalog");
    let reference = format!("registry.example/pause:3.9@sha256:{}", "a".repeat(64));
    let image = reference.parse().expect("a reference");
    let node = make_node(
        &ImageDefinition {
            container_images: vec![image],
            ..select("azure", "1.36.4")
        },
        &trees,
    );
    let node = node.expect("a plan");
    let image = node
        .find("containerImage", "reference", &reference)
        .expect("the image");
    let client = text(image, "client");
    let archives = node
        .resources
        .iter()
        .filter(|it| it["properties"]["members"].is_array());
    let earlier = |it: &Value| {
        it["properties"]["members"]
            .to_string()
            .contains("crictl.exe")
    };
    assert!(
        client.ends_with(r"\crictl.exe") && archives.clone().any(earlier),
        "{client}"
    );
    let path = root().join("provisioners/resources/containerImage.ps1");
    let script = std::fs::read_to_string(path).expect("the script");
    for call in [
        "-Program $client",
        "'pull', $image.pinned",
        "'tag', '--force', $image.pinned, $image.name",
    ] {
        assert!(script.contains(call), "{call}");
    }
    assert!(!script.contains("'images', 'pull'"));
}

/// The pause image, without which no pod starts, is pulled in advance wherever its digest is known, for each runtime
/// and under the name that the kubelet asks for; where it cannot be, the plan says so.
#[test]
fn the_pause_image_is_on_the_node_or_the_plan_says_why_not() {
    let trees = read_trees(None).expect("the catalog");
    let mut pulled = 0;
    for minor in [
        "1.17", "1.20.0", "1.21", "1.23", "1.26", "1.31", "1.34", "1.36.4",
    ] {
        for runtime in ["docker", "containerd"] {
            let selection = ImageDefinition {
                runtime: runtime.parse().ok(),
                ..select("azure", minor)
            };
            let Ok(plan) = resolve_plan(&selection, &trees) else {
                continue;
            };
            let node = make_node(&selection, &trees).expect("a plan");
            let is_pause = |it: &&Value| {
                it["type"] == "containerImage"
                    && text(it, "reference").starts_with(&format!("{}@", plan.pause))
            };
            let image = node.resources.iter().find(is_pause);
            let told = plan
                .warnings()
                .iter()
                .any(|warning| warning.id == "pause-image");
            assert_eq!(image.is_none(), told, "{minor} {runtime}");
            pulled += usize::from(image.is_some_and(|it| text(it, "runtime") == runtime));
        }
    }
    assert!(pulled >= 7, "{pulled}");
    let mirror = ImageDefinition {
        delivery: "mirror".parse().ok(),
        overrides: serde_json::from_value(json!({"https://": {"url": "https://mirror.example/"}}))
            .expect("overrides"),
        ..select("azure", "1.36.4")
    };
    let warned = |selection: &ImageDefinition| {
        let plan = resolve_plan(selection, &trees).expect("a plan");
        plan.warnings().iter().any(|it| {
            it.id == "pause-image" && it.message.contains("--registry-mirror registry.k8s.io")
        })
    };
    assert!(warned(&mirror));
    let mirrors = serde_json::from_value(json!({"registry.k8s.io": ["https://mirror.example"]}))
        .expect("mirrors");
    assert!(!warned(&ImageDefinition { mirrors, ..mirror }));
}
