//! The lines that Docker runs: which name of it each program gets, and what their kubelets need beside it.

use imagegen::model::definition::ImageDefinition;
use imagegen::planning::resolve_plan;
use imagegen::selection::read_trees;
use serde_json::Value;

use super::{list_facts, make_node, read_life, select, text};
use crate::support::Test;

fn select_docker(kubernetes: &str) -> ImageDefinition {
    ImageDefinition {
        runtime: "docker".parse().ok(),
        ..select("azure", kubernetes)
    }
}

/// The kubelet serves crictl's pipe itself, and kubeadm takes every other name than Docker's own for a remote runtime,
/// whose pipe the kubelet then dials.
#[test]
fn docker_has_a_name_for_kubeadm_and_a_pipe_for_crictl() {
    let (life, trees) = (read_life(), read_trees(None).expect("the catalog"));
    let known = life.socket.known.as_str();
    for minor in 17..=23 {
        let selection = select_docker(&format!("1.{minor}"));
        let plan = resolve_plan(&selection, &trees).expect("a plan");
        let runtime = &list_facts(&plan, &trees)["runtime"];
        assert_eq!(runtime["kubeadmSocket"], known, "1.{minor}");
        let pipe = &runtime["endpoint"];
        assert_eq!(*pipe, "npipe:////./pipe/dockershim", "1.{minor}");
        let node = make_node(&selection, &trees).expect("a plan");
        assert_eq!(node.facts("criSocket"), [known], "1.{minor}");

        let data = Test::new()
            .env("T", "abcdef.0123456789abcdef")
            .line("join-data --endpoint api.example.com:6443 --token-env T --runtime docker --k8s")
            .line(&format!(
                "1.{minor} --ca-cert-hash sha256:{}",
                "a".repeat(64)
            ))
            .succeeds();
        let data: Value = serde_yaml_ng::from_str(&data.stdout).expect("YAML");
        let socket = &data["nodeRegistration"]["criSocket"];
        assert_eq!(socket, known, "1.{minor}");
    }
}

/// kubernetes/kubernetes#97759: dockershim of these releases compares the driver of the cluster's configuration with
/// Docker's, which names none on Windows. The fix is in patch releases (#98384, #98385, #98383).
#[test]
fn a_driver_is_named_to_the_kubelets_that_compare_it() {
    let trees = read_trees(None).expect("the catalog");
    for (kubernetes, compares) in [
        ("1.17.0", true),
        ("1.17.17", true),
        ("1.18.15", true),
        ("1.18.16", false),
        ("1.18.20", false),
        ("1.19.0", true),
        ("1.19.7", true),
        ("1.19.8", false),
        ("1.20.0", true),
        ("1.20.2", true),
        ("1.20.4", false),
        ("1.23.17", false),
    ] {
        let node = make_node(&select_docker(kubernetes), &trees).expect("a plan");
        let service = node.find("service", "serviceName", "kubelet");
        let line = service.map_or("", |it| text(it, "commandLine"));
        assert_eq!(
            line.contains("--cgroup-driver=cgroupfs"),
            compares,
            "{kubernetes}: {line}"
        );
    }
}
