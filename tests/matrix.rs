//! Every Kubernetes line on every Windows release: what is supported is planned, predicted and
//! rendered; what is not is refused with its reason.

use std::collections::BTreeMap;
use std::sync::Arc;

use imagegen::catalog::Catalog;
use imagegen::embedded::Tree;
use imagegen::model::kubernetes::KubernetesLine;
use imagegen::model::line::Minor;
use serde_json::{Value, json};

use crate::support::{Test, present};

fn lines() -> Vec<Arc<KubernetesLine>> {
    let catalog = Catalog::new(Tree::embedded_manifests());
    catalog
        .kubernetes_minors()
        .into_iter()
        .map(|minor| catalog.load_kubernetes_line(minor).expect("line"))
        .collect()
}

#[test]
fn supported_pairs_are_planned_predicted_and_rendered() {
    let lines = lines();
    let mut pairs = 0;
    for line in &lines {
        for (index, windows) in line.windows.iter().enumerate() {
            // The first is the default, which is asked for by the line's number alone.
            let selection = match index {
                0 => format!("--target azure --k8s {}", line.minor),
                _ => format!(
                    "--target azure --k8s {} --windows {} --runtime containerd",
                    line.latest, windows.value
                ),
            };
            let state = Test::new()
                .line("plan --state --format json")
                .line(&selection)
                .succeeds()
                .stdout;
            let machine: Value = serde_json::from_str(&state).expect("JSON");
            check_arguments(&machine, line.minor, &selection);
            let built = Test::new().line("build --no-bake --out o").line(&selection);
            built.succeeds();
            assert!(built.exists("o/payload.zip"), "{selection}");
            if index == 0 {
                let lock = serde_json::from_str(&built.text("o/imagegen.lock.json")).expect("JSON");
                check_default(line, &lock);
            }
            pairs += 1;
        }
    }
    assert!(
        lines.len() >= 20 && pairs >= 50,
        "{} lines, {pairs} pairs",
        lines.len()
    );
}

/// Who names a line alone gets its newest release, and no byte that a later `lock` would have to pin.
fn check_default(line: &KubernetesLine, lock: &Value) {
    let newest = line.patches.iter().max().expect("a release");
    assert_eq!(lock["kubernetes"], newest.as_str(), "{}", line.minor);
    let artifacts = lock["artifacts"].as_array().expect("artifacts");
    for artifact in artifacts {
        let digests = artifact["digests"].as_array().map_or(0, Vec::len);
        assert!(digests > 0, "{}: {}", line.minor, artifact["component"]);
    }
    assert!(artifacts.len() >= 4, "{}: {artifacts:#?}", line.minor);
}

/// Every flag and gate that a service of the machine starts with is known to the real program.
fn check_arguments(machine: &Value, minor: Minor, selection: &str) {
    let catalog = Catalog::new(Tree::embedded_manifests());
    let programs = catalog
        .load_programs()
        .expect("programs")
        .list_programs(minor);
    if programs.is_empty() {
        return;
    }
    // What the join adds to kube-proxy's.
    let files = present(machine, "file");
    let conf = files
        .iter()
        .find(|file| file["path"] == r"C:\imagegen\node.conf")
        .expect("node.conf");
    let told = conf["content"].as_str().expect("content").lines();
    let told: Vec<&str> = told
        .filter_map(|line| line.strip_prefix("proxyArgument="))
        .collect();
    let mut checked = BTreeMap::new();
    for service in present(machine, "service") {
        let mut words: Vec<&str> = service["program"].as_str().into_iter().collect();
        words.extend(
            service["arguments"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str),
        );
        for program in ["kubelet", "kube-proxy"] {
            let Some(start) = words
                .iter()
                .position(|word| word.ends_with(&format!("\\{program}.exe")))
            else {
                continue;
            };
            let known_program = &programs[program];
            let more: &[&str] = if program == "kube-proxy" { &told } else { &[] };
            for word in words[start + 1..].iter().chain(more) {
                let (flag, value) = word.split_once('=').unwrap_or((word, ""));
                let mut known = known_program.flags.iter();
                assert!(
                    known.any(|known| known == flag.trim_start_matches('-')),
                    "{selection}: {program} {flag}"
                );
                if flag == "--feature-gates" {
                    let faults = known_program.find_gate_faults(value);
                    assert_eq!(faults, [], "{selection}: {program}");
                }
                *checked.entry(program).or_insert(0) += 1;
            }
        }
    }
    assert!(
        checked.get("kubelet").is_some_and(|count| *count > 5),
        "{selection}: {checked:?}"
    );
}

#[test]
fn services_start_with_flags_their_programs_know() {
    let lines = lines();
    for line in &lines {
        for cni in ["none", "flannel-overlay", "win-bridge"] {
            let selection = format!(
                "--target azure --k8s {} --host-access services --cni {cni}",
                line.latest
            );
            let ran = Test::new()
                .line("plan --state --format json")
                .line(&selection)
                .succeeds();
            check_arguments(
                &serde_json::from_str(&ran.stdout).expect("JSON"),
                line.minor,
                &selection,
            );
        }
    }
}

#[test]
fn unsupported_pairs_are_refused_with_the_reason() {
    let catalog = Catalog::new(Tree::embedded_manifests());
    for line in lines() {
        for windows in catalog.windows_names() {
            if line
                .windows
                .iter()
                .any(|supported| supported.value == windows)
            {
                continue;
            }
            let selection = format!("--target azure --k8s {} --windows {windows}", line.latest);
            Test::new().line("plan").line(&selection).fails(
                3,
                &[
                    "windows-unsupported",
                    &format!("does not support Windows {windows}"),
                    "choose `--windows ",
                ],
            );
        }
    }
}

#[test]
fn impossible_combinations_are_refused_with_the_nearest_good_choice() {
    for (selection, rule, instead) in [
        (
            "--k8s 1.24.0 --runtime docker",
            "dockershim-removed",
            "--runtime containerd",
        ),
        (
            "--k8s 1.36.4 --windows 2025 --component pause=3.5",
            "pause-build",
            "pause=3.6",
        ),
        (
            "--k8s 1.20.0 --windows 2022",
            "windows-unsupported",
            "--windows 2019",
        ),
        (
            "--k8s 1.21.0 --host-access hostprocess",
            "host-access-unsupported",
            "1.22 to 1.37",
        ),
        (
            "--k8s 1.30.0 --host-access wins",
            "host-access-unsupported",
            "1.17 to 1.25",
        ),
        (
            "--k8s 1.20.0 --runtime containerd --component containerd=2.0.4",
            "containerd-cri-v1alpha2",
            "containerd 1.7",
        ),
        (
            "--k8s 1.26.0 --component containerd=1.5.18",
            "containerd-cri-v1",
            "1.6",
        ),
        (
            "--k8s 1.23.0 --runtime docker --host-access hostprocess",
            "hostprocess-runtime",
            "--host-access wins",
        ),
        (
            "--k8s 1.20.0 --windows 2019 --cni win-overlay --var image_version=17763.253.190108",
            "minimum-update",
            "image_version",
        ),
        (
            "--k8s 1.20.0 --runtime containerd --cni win-overlay --component cni-plugins=0.8.7",
            "win-overlay-hcn",
            "sdnoverlay",
        ),
        (
            "--k8s 1.36.4 --component wins=0.0.4",
            "component-unused",
            "remove",
        ),
        (
            "--k8s 1.36.4 --component containerd=9.9.9",
            "component-range",
            "containerd=2.3.4",
        ),
        (
            "--k8s 1.36.4 --var machine=confidential",
            "variable-combination",
            "output=gallery",
        ),
        (
            "--k8s 1.36.4 --delivery media",
            "delivery",
            "--delivery mirror",
        ),
    ] {
        let ran = Test::new()
            .line("plan --target azure")
            .line(selection)
            .fails(3, &[rule]);
        let hints: Vec<&str> = ran
            .stderr
            .lines()
            .filter(|line| line.starts_with("hint:"))
            .collect();
        assert!(
            hints.iter().any(|hint| hint.contains(instead)),
            "{selection}: {hints:?}"
        );
    }
}

/// cloudbase-init asks the metadata service of Amazon without a token, so no clone would find its user-data.
#[test]
fn metadata_that_cloudbase_init_cannot_ask_are_refused() {
    let line = "plan --target aws --k8s 1.36.4 --var imds_support=v2.0";
    let ran = Test::new().line(line).fails(3, &["variable-combination"]);
    assert!(
        ran.stderr.contains("ec2service.EC2Service"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("remove the variable"), "{}", ran.stderr);
}

#[test]
fn a_lock_holds_the_end_of_support_and_no_judgement() {
    let lock = |epoch: &str| {
        let test = Test::new()
            .env("SOURCE_DATE_EPOCH", epoch)
            .line("lock --target azure --k8s 1.36.0 --host-access services");
        (test.succeeds().stderr, test.text("imagegen.lock.json"))
    };
    let (supported, early) = lock("1795316081");
    let (ended, late) = lock("1893456000");
    assert!(!supported.contains("support has ended"), "{supported}");
    assert!(ended.contains("kubernetes 1.36 on 2027-06-28"), "{ended}");
    assert_eq!(early, late);

    let lock: Value = serde_json::from_str(&early).expect("JSON");
    let ends = lock["support"].as_array().expect("a list");
    let kubernetes = json!({"name": "kubernetes", "release": "1.36", "date": "2027-06-28"});
    assert!(ends.contains(&kubernetes), "{ends:?}");
}

#[test]
fn a_flaw_that_a_rule_knows_is_a_warning_of_its_releases_only() {
    let plan = |version: &str| {
        Test::new()
            .line("plan --target azure")
            .args(["--k8s", version])
            .succeeds()
            .stdout
    };
    let flawed = plan("1.31.0");
    assert!(
        flawed.contains("kubelet 1.31.0 does not start again"),
        "{flawed}"
    );
    assert!(!plan("1.31.1").contains("does not start again"));
    assert!(plan("1.35.0").contains("kubeadm 1.35.0 does not upgrade"));
    assert!(!plan("1.35.1").contains("does not upgrade"));
    let explained = Test::new()
        .line("explain kubelet-socket-left")
        .succeeds()
        .stdout;
    assert!(explained.contains("warning: kubelet 1.31.0"), "{explained}");
}
