//! A person joins the node by `kubeadm join`, and upgrades it, as Kubernetes documents it: no script is called.

use std::path::Path;
use std::time::Duration;

use super::flows::find_hash;
use super::guest::{Laid, run_with_console};
use super::node::{PAUSE, check_flags, list_starts};
use super::wine::Wine;
use super::{Scene, TOKEN, logs, text, wait_until_ready};

/// The node's name is the machine's: nothing names another one.
pub const MACHINE: &str = "win1";
pub const FLAGS: &str = r"C:\var\lib\kubelet\kubeadm-flags.env";
/// The newest line of Kubernetes that `ci/programs/join/build` builds.
const NEWEST: &str = "1.36.0";

/// <https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/adding-windows-nodes/>, with the runtime's address as
/// the guide of sig-windows-tools has it.
pub fn join_by_hand(scene: &Scene<'_>, wine: &Wine) {
    let before = list_starts(wine).len();
    let hash = find_hash(scene);
    let command = format!(
        "kubeadm join 127.0.0.1:6443 --token {TOKEN} --discovery-token-ca-cert-hash {hash} --cri-socket {}",
        scene.runtime.socket()
    );
    let done = wine.run(180, &["cmd", "/c", &command]);
    let said = text(&done);
    assert!(done.status.success(), "{said}\n{}", logs(wine));
    assert!(said.contains("This node has joined the cluster"), "{said}");

    let starts = list_starts(wine);
    assert!(starts.len() > before, "{starts:#?}");
    check_arguments(scene, wine, &starts[before..]);
    wait_until_ready(scene, wine, MACHINE);
}

/// Each start has every argument that kubeadm wrote, but for the pause image: kubeadm writes that of Linux, and the
/// launcher keeps the image's own.
fn check_arguments(scene: &Scene<'_>, wine: &Wine, starts: &[String]) {
    let flags = std::fs::read_to_string(wine.path(FLAGS)).expect("kubeadm's file");
    let (_, value) = flags.split_once('=').expect("a value");
    let arguments: String = serde_json::from_str(value.trim()).expect("Go's quotes are JSON's");
    let mut arguments: Vec<&str> = arguments.split_whitespace().collect();
    arguments.retain(|argument| !argument.starts_with(PAUSE));
    check_flags(starts, &arguments);
    let own = usize::from(scene.minor() < 35);
    for start in starts {
        assert_eq!(start.matches(PAUSE).count(), own, "{start}");
    }
}

/// <https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/upgrading-windows-nodes/>: the cluster is newer, and the
/// node follows. No two neighboring lines are built, so that it follows in one step.
pub fn upgrade_by_hand(scene: &Scene<'_>, wine: &Wine, laid: &Laid) {
    scene.cluster.upgrade();
    scene
        .cluster
        .kubectl(&["drain", MACHINE, "--ignore-daemonsets"]);
    let newer = scene.programs.join(NEWEST).join("windows");
    replace_program(wine, &newer, "kubeadm.exe");
    let done = wine.run(180, &["cmd", "/c", "kubeadm upgrade node"]);
    assert!(done.status.success(), "{}\n{}", text(&done), logs(wine));

    stop_kubelet(wine);
    replace_program(wine, &newer, "kubelet.exe");
    let before = list_starts(wine).len();
    // Wine's service manager does not notice that a kubelet has ended: a restart of the machine starts it again.
    run_with_console(wine, laid, "kubelet", "--windows-service");
    let _held = scene.restart(wine);
    let version = format!("v{NEWEST}");
    let condition = format!("--for=jsonpath={{.status.nodeInfo.kubeletVersion}}={version}");
    let node = format!("node/{MACHINE}");
    let waited = scene
        .cluster
        .try_kubectl(&["wait", &condition, "--timeout=180s", &node]);
    assert!(waited.status.success(), "{}\n{}", text(&waited), logs(wine));
    scene.cluster.kubectl(&["uncordon", MACHINE]);
    wait_until_ready(scene, wine, MACHINE);

    // The image's own argument is one that the newer kubelet does not know.
    let starts = list_starts(wine);
    let [older, newer] = [&starts[before - 1], &starts[starts.len() - 1]];
    assert!(older.contains(PAUSE), "{older}");
    assert!(!newer.contains(PAUSE), "{newer}");
}

fn stop_kubelet(wine: &Wine) {
    wine.run(60, &["sc", "stop", "kubelet"]);
    for _ in 0..100 {
        let running = wine.run(60, &["tasklist"]);
        if !text(&running).contains("kubelet.exe") {
            return;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    panic!("the kubelet does not stop:\n{}", logs(wine));
}

fn replace_program(wine: &Wine, newer: &Path, name: &str) {
    let path = wine.path(&format!(r"C:\k\{name}"));
    std::fs::remove_file(&path).expect("a program that may be replaced");
    std::fs::copy(newer.join(name), path).expect("a newer program");
}
