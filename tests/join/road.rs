//! The road of README.md: its commands, as they stand there, with the real Packer against a simulated Azure, and with
//! kubeadm and kubelet under Wine. Host names, token and CA are the test's.

use std::fs;
use std::path::Path;
use std::process::Command;

use imagegen::catalog::load_target;
use imagegen::embedded::Tree;
use serde_json::Value;

use super::scenes::{find_upload, write_report};
use super::wine::Wine;
use super::{CONFIG, KUBEADM, Scene, guest, logs, person, text, wait_until_ready};
use crate::support::readme::{Block, read_road};
use crate::support::targets::{executed_versions, link_plugins};
use crate::support::{root, write_program};

/// What the README writes, and what this cluster has in its place.
const ENDPOINT: (&str, &str) = ("api.example.com", "127.0.0.1");

const VERSION: &str = "1.20.0";

/// On the machine this takes the configuration, and calls kubeadm.
const JOIN: &str = r"C:\imagegen\node\Join-Node.ps1";

/// Flannel on Linux nodes: the objects that the commands change.
const CLUSTER: &str = r#"
apiVersion: v1
kind: Namespace
metadata: {name: kube-flannel}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kube-flannel-cfg, namespace: kube-flannel}
data: {net-conf.json: '{"Network": "10.244.0.0/16", "Backend": {"Type": "vxlan"}}'}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: kube-flannel-ds, namespace: kube-flannel}
spec:
  selector: {matchLabels: {app: flannel}}
  template:
    metadata: {labels: {app: flannel}}
    spec:
      nodeSelector: {kubernetes.io/os: linux}
      containers: [{name: kube-flannel, image: flannel}]
"#;

/// The control plane is newer than the node, and has no policies of this kind any more: nothing else may be refused.
const OLD_POLICIES: &str = r#"said=$0.said
if "$@" 2>"$said"; then exit 0; fi
cat "$said" >&2
if grep -v 'no matches for kind "PodSecurityPolicy"\|ensure CRDs are installed first' "$said" | grep -q .; then exit 1; fi"#;

pub(super) fn follow(scene: &Scene<'_>, packer: &Path) {
    let folder = &scene.test.folder;
    prepare(scene, packer);
    let blocks = read_road();
    let join = blocks.iter().position(|it| it.language == "powershell");
    let (before, after) = blocks.split_at(join.expect("a command for the node"));
    let line = |block: &str| {
        block
            .replace(VERSION, scene.version)
            .replace(ENDPOINT.0, ENDPOINT.1)
    };
    let commands = |blocks: &[Block]| -> String {
        let blocks = blocks.iter().filter(|it| it.language == "sh");
        blocks.map(|it| line(&it.text)).collect()
    };
    run(scene, &commands(before));

    assert_eq!(after[0].text.trim_end(), JOIN);
    let wine = Wine::new(&folder.join("prefix"), scene.programs);
    let plan = guest::unpack(&wine, &find_upload(&folder.join("records")));
    assert_eq!(plan["kubernetes"], scene.version);
    let laid = guest::lay(&wine, &plan);
    let _held = scene.start(&wine, &laid, true);
    fs::copy(folder.join("join-config.yaml"), wine.path(CONFIG)).unwrap();
    let joined = wine.run(120, &[KUBEADM, "join", "--config", CONFIG]);
    assert!(
        joined.status.success(),
        "{}\n{}",
        text(&joined),
        logs(&wine)
    );
    wait_until_ready(scene, &wine, person::MACHINE);

    let nodes = run(scene, &commands(after));
    let node = nodes.lines().find(|it| it.starts_with(person::MACHINE));
    let words: Vec<&str> = node.unwrap_or_default().split_whitespace().collect();
    let version = format!("v{}", scene.version);
    assert_eq!(words.get(1), Some(&"Ready"), "{nodes}");
    assert_eq!(words.last(), Some(&version.as_str()), "{nodes}");
    check_cluster(scene);
}

/// What the commands left in the cluster: flannel has the numbers of Windows, and starts again.
fn check_cluster(scene: &Scene<'_>) {
    let get = |what: &str| -> Value {
        let line = format!("-n kube-flannel get {what} -o json");
        let words: Vec<&str> = line.split(' ').collect();
        serde_json::from_str(&scene.cluster.kubectl(&words)).unwrap()
    };
    let numbers = get("cm/kube-flannel-cfg")["data"]["net-conf.json"].clone();
    let numbers: Value = serde_json::from_str(numbers.as_str().unwrap()).unwrap();
    assert_eq!(numbers["Backend"]["VNI"], 4096, "{numbers}");
    assert_eq!(numbers["Backend"]["Port"], 4789, "{numbers}");
    let set = get("ds/kube-flannel-ds");
    assert_eq!(set["metadata"]["generation"], 2, "{set:#}");
}

/// The definition of the folder names what stands for the publishers' files, and the plugin that the tests have; the
/// programs that the commands name are in a folder of their own.
fn prepare(scene: &Scene<'_>, packer: &Path) {
    let folder = &scene.test.folder;
    let read = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
    let mut definition = read(&executed_versions("azure"));
    definition["overrides"] = read(&fs::read_to_string(folder.join("overrides.json")).unwrap());
    fs::write(folder.join("imagegen.json"), definition.to_string()).unwrap();
    fs::copy(scene.cluster.authority(), folder.join("ca.crt")).unwrap();
    let report = write_report(folder);
    let azure = load_target(&Tree::embedded_packer(), "azure").unwrap();
    link_plugins(folder, &azure);

    let imagegen = env!("CARGO_BIN_EXE_imagegen");
    let fakes = root().join("tests/support/fakes");
    let control = scene.cluster.control();
    let admin = scene.cluster.admin();
    add_program(
        folder,
        "imagegen",
        &format!(
            "case \" $* \" in\n*' --no-bake '*) exec {imagegen} \"$@\" ;;\n' build '*) ;;\n*) exec {imagegen} \"$@\" ;;\nesac\n\
             exec python3 {}/run.py --workdir {}/records --report {} -- {imagegen} \"$@\" --packer {}",
            fakes.display(),
            folder.display(),
            report.display(),
            packer.display()
        ),
    );
    for program in ["kubectl", "kubeadm"] {
        let path = control.join(program);
        let line = format!(
            "set -- {} --kubeconfig {} \"$@\"\n",
            path.display(),
            admin.display()
        );
        let end = match program {
            "kubectl" if scene.minor() < 25 => OLD_POLICIES,
            _ => "exec \"$@\"",
        };
        add_program(folder, program, &(line + end));
    }
    add_program(
        folder,
        "az",
        &format!("exec python3 {}/az \"$@\"", fakes.display()),
    );

    let file = folder.join("cluster.yaml");
    fs::write(&file, CLUSTER).unwrap();
    scene
        .cluster
        .kubectl(&["create", "-f", file.to_str().unwrap()]);
}

fn add_program(folder: &Path, name: &str, script: &str) {
    write_program(
        &folder.join("bin").join(name),
        &format!("#!/bin/sh\n{script}\n"),
    );
}

/// The commands in one shell, which ends at the first that fails; what they print.
fn run(scene: &Scene<'_>, commands: &str) -> String {
    let folder = &scene.test.folder;
    let output = Command::new("sh")
        .args(["-euc", commands])
        .current_dir(folder)
        .env_clear()
        .env(
            "PATH",
            format!("{}:/usr/bin:/bin", folder.join("bin").display()),
        )
        .env("HOME", folder)
        .env("AZURE_CONFIG_DIR", folder.join(".azure"))
        .env("IMAGEGEN_FOR", "none")
        .env("IMAGEGEN_STORE", folder.join("store"))
        .env("IMAGEGEN_WAIVE", super::WAIVED)
        .env("PACKER_PLUGIN_PATH", folder.join("built-plugins"))
        .output()
        .unwrap();
    let said = text(&output);
    for line in said.lines() {
        println!("{line}");
    }
    assert!(output.status.success(), "{commands}\n{said}");
    String::from_utf8(output.stdout).unwrap()
}
