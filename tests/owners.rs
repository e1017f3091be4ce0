//! Images for nodes that something else owns: `--join none` leaves out what their owners refuse, and an image with a
//! kubelet has it. `--join templates` adds what published templates call.

use imagegen::base::choice::Join;
use imagegen::catalog::Trees;
use imagegen::guest::format_plan;
use imagegen::model::definition::ImageDefinition;
use imagegen::model::rules::NodeOwner;
use imagegen::planning::{predict_machine, resolve_plan};
use imagegen::selection::read_trees;
use serde_json::Value;

use crate::support::Test;
use crate::support::targets::all_targets;

fn select(target: &str, kubernetes: &str, join: Join) -> ImageDefinition {
    ImageDefinition {
        target: Some(target.to_owned()),
        kubernetes: Some(kubernetes.to_owned()),
        join: Some(join),
        ..ImageDefinition::default()
    }
}

fn resources(selection: &ImageDefinition, trees: &Trees) -> Vec<Value> {
    let plan =
        resolve_plan(selection, trees).unwrap_or_else(|error| panic!("{selection:?}: {error:#}"));
    let (guest, _) =
        predict_machine(&plan, trees).unwrap_or_else(|error| panic!("{selection:?}: {error:#}"));
    let plan: Value = serde_json::from_str(&format_plan(&guest.plan)).expect("a plan is JSON");
    let all = plan["resources"].as_array().expect("resources").iter();
    all.filter(|it| it["properties"]["ensure"] != "absent")
        .cloned()
        .collect()
}

/// What of the owner's list the machine has.
fn find_refused(owner: &NodeOwner, resources: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    for resource in resources {
        let service = resource["properties"]["serviceName"].as_str();
        let service = service.filter(|name| owner.services.iter().any(|it| it == name));
        found.extend(service.map(str::to_owned));
        let paths = list_paths(resource).into_iter();
        found.extend(paths.filter(|path| owner.paths.iter().any(|it| is_below(path, it))));
    }
    found
}

/// Paths that a resource makes.
fn list_paths(resource: &Value) -> Vec<String> {
    let properties = &resource["properties"];
    let members = properties["members"].as_array().into_iter().flatten();
    let all = members.chain([properties]);
    all.filter_map(|it| it["path"].as_str().map(str::to_owned))
        .collect()
}

fn is_below(path: &str, above: &str) -> bool {
    let (path, above) = (path.to_lowercase(), above.to_lowercase());
    path == above || path.starts_with(&format!("{above}\\"))
}

#[test]
fn a_bare_image_has_nothing_that_an_owner_refuses() {
    let trees = read_trees(None).expect("the catalog");
    let owners = &trees.catalog.load_rules().expect("rules").owners;
    let targets = all_targets();
    for (at, minor) in trees.catalog.kubernetes_minors().into_iter().enumerate() {
        // Each target meets some line, and each line some target.
        let target = &targets[at % targets.len()].name;
        let selection = select(target, &minor.to_string(), Join::None);
        let resources = resources(&selection, &trees);
        for owner in owners {
            let found = find_refused(owner, &resources);
            assert!(
                found.is_empty(),
                "{minor} {target} {}: {found:?}",
                owner.name
            );
        }
    }
}

#[test]
fn an_image_with_a_kubelet_has_what_owners_refuse() {
    let trees = read_trees(None).expect("the catalog");
    let resources = resources(&select("azure", "1.36.4", Join::Kubeadm), &trees);
    for owner in &trees.catalog.load_rules().expect("rules").owners {
        let found = find_refused(owner, &resources);
        let is_refused = owner.services.iter().any(|name| name == "kubelet");
        assert_eq!(!found.is_empty(), is_refused, "{}: {found:?}", owner.name);
    }
}

#[test]
fn explain_says_what_an_owner_refuses() {
    for (name, said) in [
        ("rke2", "service containerd"),
        ("rancher", "--join none"),
        ("k0s", "service kube-proxy"),
        ("wmco", "without containerd"),
        ("eks", "Start-EKSBootstrap.ps1"),
        ("aks", "own images"),
        ("gke", "service kubelet"),
    ] {
        let ran = Test::new().line(&format!("explain {name}")).succeeds();
        assert!(ran.stdout.contains(said), "{name}: {}", ran.stdout);
    }
}

#[test]
fn a_bare_image_refuses_what_needs_a_kubelet() {
    let digest = "a".repeat(64);
    for (flags, said) in [
        ("--cni calico".to_owned(), "[bare-network]"),
        ("--component nerdctl=2.3.5".to_owned(), "[bare-components]"),
        (
            format!("--image example.com/a@sha256:{digest}"),
            "[join-images]",
        ),
    ] {
        let line = format!("plan --target azure --k8s 1.36.4 --join none {flags}");
        Test::new().line(&line).fails(3, &[said]);
    }
}

#[test]
fn a_bare_image_has_no_join_data() {
    let hash = "a".repeat(64);
    let line = format!(
        "join-data --config bare.json --endpoint 10.0.0.1:6443 --ca-cert-hash sha256:{hash} --token-env JOIN_TOKEN"
    );
    Test::new()
        .file(
            "bare.json",
            r#"{"target": "azure", "kubernetes": "1.36.4", "join": "none"}"#,
        )
        .env("JOIN_TOKEN", "abcdef.0123456789abcdef")
        .line(&line)
        .fails(3, &["[join-none]", "has no kubeadm"]);
    let plan = Test::new().line("plan --target azure --k8s 1.36.4 --join none");
    assert!(plan.succeeds().stdout.contains("\njoin none\n"));
}

/// NSSM is a tool there and not what starts the kubelet, whose service stays Windows' own.
#[test]
fn templates_find_what_they_call() {
    let trees = read_trees(None).expect("the catalog");
    for kubernetes in ["1.20.0", "1.24.17", "1.36.4"] {
        let resources = resources(&select("azure", kubernetes, Join::Templates), &trees);
        let paths: Vec<String> = resources.iter().flat_map(list_paths).collect();
        for path in [
            r"C:\k\nssm.exe",
            r"C:\k\RestartKubelet.ps1",
            r"C:\k\start-kubelet.cmd",
        ] {
            assert!(paths.iter().any(|it| it == path), "{kubernetes}: {path}");
        }
        let mut services = resources.iter().map(|it| &it["properties"]);
        let kubelet = services.find(|it| it["serviceName"] == "kubelet");
        let line = kubelet.expect("the kubelet")["commandLine"].to_string();
        assert!(line.contains("cmd.exe"), "{kubernetes}: {line}");
    }
}
