//! `cluster-manifests` and `conformance` as a user runs them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

use super::documents;
use crate::support::{Test, files, golden};

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
        .line("--k8s 1.30 --with csi-proxy --with hypervisor --pipe-account kube-system:csi-smb --out o --image")
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
        ("--service-subnet 10.200.0.0/30", 3, "dns-outside"),
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
        (
            "--endpoint a:1 --hns-network foo",
            "nothing makes an HNS network `foo`",
        ),
        (
            "--k8s 1.20 --cni calico --runtime containerd --config w.json --endpoint a:1",
            "image-build",
        ),
        (
            "--k8s 1.20 --cni calico --host-access wins --endpoint a:1",
            "source-address-unknown",
        ),
    ] {
        Test::new()
            .file(
                "w.json",
                r#"{ "kubernetes": "1.20", "windows": "20H2", "hostAccess": "wins", "cni": "calico", "runtime": "containerd" }"#,
            )
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
        run("--k8s 1.20.0 --host-access services --cni none"),
    );
    let difference: Vec<String> = ids(&new).difference(&ids(&old)).cloned().collect();
    assert_eq!(
        difference,
        ["agents", "flannel", "flannel-linux", "network", "pipes"]
    );
    assert_eq!(new[0]["id"], "flannel-linux", "the cluster is asked first");
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

/// Who brings a pod network of their own gets everything but the network and kube-proxy, and one line that says so.
#[test]
fn without_a_pod_network_there_is_no_kube_proxy_unless_its_network_is_named() {
    let test = Test::new().line("cluster-manifests --k8s 1.36.4 --cni none --endpoint a:1 --out o");
    let ran = test.succeeds();
    assert!(ran.stderr.contains("without kube-proxy"), "{}", ran.stderr);
    let written = files(&test.folder.join("o"));
    let has = |part: &str| written.keys().any(|name| name.contains(part));
    assert!(!has("kube-proxy") && !has("flannel") && has("50-runtime-classes.yaml"));
    let named = Test::new().line(
        "cluster-manifests --k8s 1.36.4 --cni none --hns-network mine --endpoint a:1 --out o",
    );
    let ran = named.succeeds();
    assert!(!ran.stderr.contains("without kube-proxy"), "{}", ran.stderr);
    let config = named.text("o/21-kube-proxy-config.yaml");
    assert!(config.contains("--network-name=mine"), "{config}");
    assert!(named.exists("o/22-kube-proxy-hostprocess.yaml"));
    let planned = Test::new()
        .line("conformance --k8s 1.36.4 --cni none --format json")
        .succeeds();
    assert!(!planned.stdout.contains("daemonset/kube-proxy-windows"));
}

/// An image and the manifests of its cluster are compared: what does not fit is refused by name.
#[test]
fn an_image_that_does_not_fit_its_cluster_is_refused() {
    let image = |line: &str| {
        let test = Test::new().line(&format!(
            "build --target azure --k8s 1.36.0 {line} --no-bake --out w"
        ));
        test.succeeds();
        test
    };
    let bare = image("--cni none");
    let own = image("");
    let manifests = "cluster-manifests --endpoint a:1";
    let run = |test: &Test, line: &str| -> Test {
        let other = Test::new();
        std::fs::create_dir(other.folder.join("w")).expect("a folder");
        for (name, bytes) in files(&test.folder.join("w")) {
            if name == "imagegen.lock.json" {
                std::fs::write(other.folder.join("w").join(name), bytes).expect("a lockfile");
            }
        }
        other.line(line)
    };
    for place in ["w", "w/imagegen.lock.json"] {
        let ran = run(&own, &format!("{manifests} --config {place}")).succeeds();
        assert!(ran.stderr.contains("CNI flannel-overlay"), "{}", ran.stderr);
        assert!(!ran.stderr.contains("is assumed"), "{}", ran.stderr);
        run(
            &bare,
            &format!("{manifests} --config {place} --cni flannel-overlay"),
        )
        .fails(
            3,
            &[
                "image-unfit",
                "firewall/vxlan",
                "cni/flannel-cni-plugin",
                "cni/defender-host-local",
            ],
        );
    }
    run(&own, &format!("{manifests} --config w --k8s 1.30"))
        .fails(3, &["has Kubernetes 1.36, not 1.30"]);
    run(&own, "conformance --config w --host-access services")
        .fails(3, &["host access hostprocess, not services"]);
    run(&own, "conformance --config w").succeeds();
    let hash = format!("sha256:{}", "a".repeat(64));
    let join = "join-data --config w --endpoint a:1 --token-env T --ca-cert-hash";
    run(&own, join)
        .args([&*hash])
        .env("T", "abcdef.0123456789abcdef")
        .succeeds();
    run(&own, join)
        .args([&*hash])
        .env("T", "abcdef.0123456789abcdef")
        .line("--k8s 1.30")
        .fails(3, &["has Kubernetes 1.36, not 1.30"]);
    let ran = Test::new().line(FLANNEL).succeeds();
    assert!(ran.stderr.contains("is assumed"), "{}", ran.stderr);
}

/// What replaces an object of the cluster, and what gives rights to others, lies apart and is told.
#[test]
fn what_is_not_only_ours_lies_apart() {
    let test = Test::new().line("cluster-manifests --k8s 1.20.0 --endpoint a:1 --out o");
    let ran = test.succeeds();
    assert!(
        test.exists("o/linux/33-flannel-linux.yaml")
            && test.exists("o/samples/60-pod-security-policy.yaml")
    );
    for said in [
        "replaces the cluster's ConfigMap kube-flannel-cfg",
        "rollout restart daemonset/kube-flannel-ds",
        "in the namespace kube-flannel",
        "--image NAME=REFERENCE@sha256:",
        "kube-proxy-wins (docker.io/sigwindowstools/kube-proxy:v1.20.0-nanoserver)",
    ] {
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
    }
    let told = ran.stderr.lines().take_while(|line| *line != "next:");
    let last = told.last().expect("a note");
    assert!(last.contains("UDP 4789 between all nodes"), "{last}");
    let hostprocess = Test::new()
        .line("cluster-manifests --k8s 1.36.4 --endpoint a:1")
        .succeeds();
    assert!(
        hostprocess.stdout.contains(r"C:\\k\\flannel\\flanneld.exe"),
        "{}",
        hostprocess.stdout
    );
    assert!(!hostprocess.stdout.contains("sigwindowstools"));
}
