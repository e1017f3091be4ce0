//! A node while it joins, serves and is reset.

use serde_json::Value;

use super::{ADDRESS, CONFIG, KUBEADM, NAMED, NODE, Runtime, Scene, TOLD, compare, text};
use crate::join::wine::Wine;

const STARTS: &str = r"C:\var\log\kubelet\start.log";

/// What the small Docker engine was asked to make.
const ENGINE: &str = r"C:\ProgramData\docker\engine.log";

/// The pause image as an argument of the kubelet, which Kubernetes 1.35 removed: `manifests/kubernetes/programs.json`.
pub(super) const PAUSE: &str = "--pod-infra-container-image=";

const PROXY_FLAGS: &str = r"C:\var\lib\kube-proxy\kube-proxy-flags.env";

/// `kubeadm.exe join` with the data that imagegen writes.
pub(super) fn join(scene: &Scene<'_>, wine: &Wine) {
    // At this level the kubelet tells whose rights it sets.
    let level = if scene.version == "1.31.0" {
        "--kubelet-arg v=6"
    } else {
        ""
    };
    let told = format!("{NAMED} {TOLD} {level}");
    std::fs::write(wine.path(CONFIG), scene.join_data(told.trim_end())).unwrap();
    let joined = wine.run(120, &[KUBEADM, "join", "--config", CONFIG]);
    assert!(joined.status.success(), "{}\n{}", text(&joined), logs(wine));
    assert!(
        text(&joined).contains("This node has joined the cluster"),
        "{}",
        text(&joined)
    );
    check_starts(wine);
}

/// The kubelet was never started without what kubeadm wrote: before the join it ended without a word.
fn check_starts(wine: &Wine) {
    let starts = list_starts(wine);
    assert!(!starts.is_empty(), "{}", logs(wine));
    check_flags(
        &starts,
        &[
            "--node-labels=team=web",
            "--register-with-taints=dedicated=windows:NoSchedule",
        ],
    );
}

/// Command lines of the kubelet, by the log of its launcher.
pub(super) fn list_starts(wine: &Wine) -> Vec<String> {
    let log = std::fs::read_to_string(wine.path(STARTS)).unwrap_or_default();
    let starts = log.lines().filter(|line| line.contains(" start "));
    starts.map(str::to_owned).collect()
}

pub(super) fn check_flags(starts: &[String], flags: &[&str]) {
    for start in starts {
        for flag in flags {
            assert!(start.contains(flag), "{flag}: {starts:#?}");
        }
    }
}

/// What the join data tell the node has come to the API server.
pub(super) fn told(node: &Value) {
    assert_eq!(node["metadata"]["labels"]["team"], "web");
    assert_eq!(node["metadata"]["labels"]["example.com/zone"], "b");
    let taint = serde_json::json!({"key": "dedicated", "value": "windows", "effect": "NoSchedule"});
    assert!(
        node["spec"]["taints"].as_array().unwrap().contains(&taint),
        "{}",
        node["spec"]["taints"]
    );
    assert_eq!(node["status"]["capacity"]["pods"], "42");
    let memory = |of: &str| -> u64 {
        let text = node["status"][of]["memory"].as_str().unwrap();
        text.strip_suffix("Ki").unwrap().parse().unwrap()
    };
    // 2 GiB of the image, 1 GiB of the join data.
    assert_eq!(
        memory("capacity") - memory("allocatable"),
        3 << 20,
        "{}",
        node["status"]
    );
}

/// The ends of what the services wrote.
pub(super) fn logs(wine: &Wine) -> String {
    let engine = std::fs::read_to_string(wine.path(ENGINE)).unwrap_or_default();
    end_of_logs(wine, "containerd") + &engine + &end_of_logs(wine, "kubelet")
}

fn end_of_logs(wine: &Wine, name: &str) -> String {
    let folder = wine.path(&format!(r"C:\var\log\{name}"));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.map(|entry| {
        (
            entry.path(),
            std::fs::read(entry.path()).unwrap_or_default(),
        )
    });
    files
        .map(|(path, bytes)| {
            let end = &bytes[bytes.len().saturating_sub(20_000)..];
            format!(
                "---- {}\n{}\n",
                path.display(),
                String::from_utf8_lossy(end)
            )
        })
        .collect()
}

pub(super) fn wait_until_ready(scene: &Scene<'_>, wine: &Wine, name: &str) {
    let node = format!("node/{name}");
    let cluster = scene.cluster;
    cluster.kubectl(&["wait", "--for=create", "--timeout=60s", &node]);
    let condition = ["wait", "--for=condition=Ready", "--timeout=180s", &node];
    let waited = cluster.try_kubectl(&condition);
    let conditions = &scene.node(name)["status"]["conditions"];
    assert!(waited.status.success(), "{conditions:#}\n{}", logs(wine));
}

pub(super) fn ready(scene: &Scene<'_>, wine: &Wine) {
    wait_until_ready(scene, wine, NODE);
    let node = scene.node(NODE);
    let info = &node["status"]["nodeInfo"];
    assert_eq!(info["kubeletVersion"], format!("v{}", scene.version));
    assert_eq!(info["operatingSystem"], "windows");
    let runtime = info["containerRuntimeVersion"].as_str().unwrap();
    if scene.runtime == Runtime::Small {
        assert!(runtime.starts_with("containerd://"), "{info}");
    } else {
        let lock: Value =
            serde_json::from_slice(&scene.test.read("first/imagegen.lock.json")).unwrap();
        // Builds out of a module name a revision that nobody knows.
        let version = runtime.split('+').next().unwrap();
        let name = scene.runtime.service();
        assert_eq!(
            version,
            format!("{name}://{}", lock["runtimeVersion"].as_str().unwrap())
        );
    }
    assert_eq!(node["metadata"]["labels"]["kubernetes.io/os"], "windows");
    assert_eq!(
        node["status"]["addresses"][0]["address"], ADDRESS,
        "{}",
        node["status"]["addresses"]
    );
    assert!(wine.path(r"C:\etc\kubernetes\kubelet.conf").exists());
}

/// kube-proxy finds its node by the name that the join gives it, and not by the machine's.
pub(super) fn proxies(scene: &Scene<'_>, wine: &Wine) {
    let kubeconfig = wine.path(r"C:\var\lib\kube-proxy\kubeconfig.conf");
    std::fs::copy(scene.cluster.admin(), kubeconfig).unwrap();
    let given =
        format!("KUBE_PROXY_ARGS=\"--hostname-override={NODE} --cluster-cidr=10.244.0.0/16\"\n");
    std::fs::write(wine.path(PROXY_FLAGS), given).unwrap();
    let started = wine.run(60, &["sc", "start", "kube-proxy"]);
    assert!(started.status.success(), "{}", text(&started));
    let mut said = String::new();
    for _ in 0..300 {
        said = end_of_logs(wine, "kube-proxy");
        if said.contains(ADDRESS) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    panic!("kube-proxy did not find {NODE}: {said}");
}

/// A pod's first container is of the plan's pause image, although kubeadm names another one to the kubelet: dockershim
/// makes it. Its network fails, because Wine has no host networks.
pub(super) fn pauses(scene: &Scene<'_>, wine: &Wine) {
    let flags = std::fs::read_to_string(wine.path(super::person::FLAGS)).expect("kubeadm's file");
    assert!(flags.contains(PAUSE), "{flags}");
    let starts = list_starts(wine);
    let (_, own) = starts[0].split_once(PAUSE).expect("the plan's image");
    let own = own.split(' ').next().expect("a word");
    let pod = serde_json::json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pauses"},
        "spec": {
            "nodeName": NODE, "automountServiceAccountToken": false, "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "one", "image": "example.com/one:1"}],
            "tolerations": [{"operator": "Exists"}],
        },
    });
    let file = scene.test.folder.join("pod.json");
    std::fs::write(&file, pod.to_string()).unwrap();
    let file = file.to_str().unwrap();
    scene
        .cluster
        .kubectl(&["wait", "--for=create", "--timeout=60s", "sa/default"]);
    scene.cluster.kubectl(&["create", "-f", file]);
    let made = (0..300).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(200));
        let log = std::fs::read_to_string(wine.path(ENGINE)).unwrap_or_default();
        let line = log
            .lines()
            .find(|line| line.contains("created /k8s_POD_pauses_"))?;
        Some(line.to_owned())
    });
    let made = made.unwrap_or_else(|| panic!("no pod is made:\n{}", logs(wine)));
    assert!(made.contains(&format!(" image={own} ")), "{own}: {made}");
    let delete = ["delete", "--force", "--grace-period=0", "-f", file];
    scene.cluster.kubectl(&delete);
}

pub(super) fn reset(scene: &Scene<'_>, wine: &Wine, predicted: &Value) {
    let socket = scene.runtime.socket();
    let done = wine.run(
        90,
        &[
            r"C:\k\kubeadm.exe",
            "reset",
            "--force",
            "--cri-socket",
            socket,
        ],
    );
    assert!(done.status.success(), "{}", text(&done));
    assert!(
        !wine.path(r"C:\etc\kubernetes\kubelet.conf").exists(),
        "{}",
        text(&done)
    );
    compare::lines(wine, predicted);
}
