//! The manifests of `cluster-manifests` on real API servers, by the real `kubectl apply --server-side`: taken whole,
//! without a warning, unchanged when they are applied again, and refusing the pods that they are to refuse.

mod pipes;

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::join::daemons::Daemons;
use crate::join::{built, programs, text};
use crate::support::passed::Inputs;
use crate::support::{Test, files, openssl};

const ENDPOINT: &str = "--endpoint api.example.com:6443";

/// Networks whose files name that of the nodes.
const ROUTED: &[&str] = &["flannel-hostgw", "win-bridge", "sdnbridge", "l3"];

fn list_networks(selection: &str) -> String {
    if ROUTED.iter().any(|network| selection.contains(network)) {
        format!("{ENDPOINT} --node-subnet 10.0.0.0/24")
    } else {
        ENDPOINT.to_owned()
    }
}

/// Selections that Kubernetes 1.36 serves: the ones before 1.25 carry a PodSecurityPolicy.
const NEW: &[&str] = &[
    "--k8s 1.36 --cni flannel-overlay --with hypervisor --with log-monitor --image log-monitor=registry.example/logs:1",
    "--k8s 1.36 --cni flannel-hostgw --pipe-account kube-system:csi-smb",
    "--k8s 1.36 --cni calico",
    "--k8s 1.36 --cni win-bridge",
    "--k8s 1.36 --cni win-overlay",
    "--k8s 1.36 --cni sdnbridge",
    "--k8s 1.36 --cni azure-cni",
    "--k8s 1.36 --cni none --hns-network mine",
    "--k8s 1.37 --cni flannel-overlay --flannel-namespace networks",
    "--k8s 1.36 --cni sdnoverlay --host-access services",
    "--k8s 1.36 --cni flannel-overlay --host-access services",
    "--k8s 1.35 --cni ovn-kubernetes --host-access services",
    "--k8s 1.30 --cni flannel-overlay --with csi-proxy --with hypervisor",
    "--k8s 1.31 --cni calico --with csi-proxy",
    "--k8s 1.27 --cni flannel-hostgw",
    "--k8s 1.25 --cni win-bridge --host-access services",
];

/// Selections with an admission policy in a beta API.
const BETA: &[&str] = &[
    "--k8s 1.29 --cni flannel-overlay --with csi-proxy --pipe-account kube-system:csi-smb",
    "--k8s 1.28 --cni flannel-hostgw",
    "--k8s 1.28 --cni win-bridge --host-access services",
];

/// Selections that Kubernetes 1.24 serves.
const OLD: &[&str] = &[
    "--k8s 1.24 --cni flannel-overlay --with csi-proxy --with hypervisor",
    "--k8s 1.24 --cni flannel-hostgw --host-access services",
    "--k8s 1.23 --cni win-bridge --host-access wins",
    "--k8s 1.22 --cni flannel-overlay --host-access wins --with hypervisor",
    "--k8s 1.20 --cni flannel-hostgw --host-access wins --runtime docker",
    "--k8s 1.20 --cni win-overlay --host-access services --runtime containerd",
    "--k8s 1.19 --cni flannel-overlay --host-access wins",
    "--k8s 1.17 --cni win-bridge --host-access services --runtime docker",
];

/// kube-apiserver with its etcd, and nothing that acts on what they hold.
struct Server {
    test: Test,
    kubectl: PathBuf,
    port: u16,
    daemons: Daemons,
}

fn write_manifests(selection: &str, folder: &Path) {
    Test::new()
        .line("cluster-manifests")
        .line(&list_networks(selection))
        .line(selection)
        .args(["--out", folder.to_str().unwrap()])
        .succeeds();
}

fn free() -> u16 {
    TcpListener::bind(("127.0.0.1", 0))
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

impl Server {
    fn start(programs: &Path, program: &Path, arguments: &str) -> Self {
        let test = Test::new().file(
            "tokens.csv",
            "admin,admin,1,system:masters\nalice,alice,2\n",
        );
        let kubectl = programs.join("1.36.0/linux/kubectl");
        let daemons = Daemons::new(&test.folder);
        let mut server = Self {
            test,
            kubectl,
            port: free(),
            daemons,
        };
        server.keys();
        let (clients, peers, port) = (free(), free(), server.port);
        server.daemons.start(
            &programs.join("etcd"),
            &format!(
                "--data-dir etcd --unsafe-no-fsync --listen-peer-urls http://127.0.0.1:{peers} \
                 --listen-client-urls http://127.0.0.1:{clients} --advertise-client-urls http://127.0.0.1:{clients}"
            ),
        );
        server.daemons.start(
            program,
            &format!(
                "--etcd-servers=http://127.0.0.1:{clients} --bind-address=127.0.0.1 --secure-port={port} \
                 --authorization-mode=RBAC --token-auth-file=tokens.csv --cert-dir=. --allow-privileged=true \
                 --service-cluster-ip-range=10.96.0.0/12 --service-account-issuer=https://kubernetes.default.svc \
                 --service-account-key-file=accounts.pem --service-account-signing-key-file=accounts.pem {arguments}"
            ),
        );
        let ready = Command::new("curl")
            .args([
                "-sk",
                "--fail",
                "--retry",
                "90",
                "--retry-delay",
                "1",
                "--retry-all-errors",
            ])
            .arg(format!("https://127.0.0.1:{port}/readyz"))
            .output()
            .unwrap();
        assert!(
            text(&ready).ends_with("ok"),
            "{}",
            server.test.text("kube-apiserver.log")
        );
        server
    }

    fn keys(&self) {
        openssl(&self.test.folder, "genrsa -out accounts.pem 2048");
    }

    fn try_kubectl(&self, user: &str, arguments: &str) -> Output {
        Command::new(&self.kubectl)
            .args(["--insecure-skip-tls-verify", "--token", user])
            .arg(format!("--server=https://127.0.0.1:{}", self.port))
            .args(arguments.split_whitespace())
            .current_dir(&self.test.folder)
            .env("HOME", &self.test.folder)
            .output()
            .unwrap()
    }

    fn kubectl(&self, arguments: &str) -> Output {
        let output = self.try_kubectl("admin", arguments);
        assert!(
            output.status.success(),
            "kubectl {arguments}: {}",
            text(&output)
        );
        output
    }

    /// What a controller of a whole cluster does: without this account a namespace takes no pod.
    fn account(&self, namespace: &str) {
        let _there = self.try_kubectl("admin", &format!("create namespace {namespace}"));
        self.kubectl(&format!(
            "--namespace {namespace} create serviceaccount default"
        ));
    }

    /// What the server says of a pod, which it does not keep.
    fn pod(&self, user: &str, namespace: &str, spec: &Value) -> Output {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": "tried", "namespace": namespace }, "spec": spec,
        });
        std::fs::write(self.test.folder.join("pod.json"), pod.to_string()).unwrap();
        self.try_kubectl(user, "create --dry-run=server --filename pod.json")
    }

    fn takes(&self, user: &str, namespace: &str, spec: &Value) {
        let output = self.pod(user, namespace, spec);
        assert!(output.status.success(), "{spec}: {}", text(&output));
    }

    fn refuses(&self, user: &str, namespace: &str, spec: &Value, said: &str) {
        let output = self.pod(user, namespace, spec);
        assert!(!output.status.success(), "{namespace} takes {spec}");
        assert!(text(&output).contains(said), "{spec}: {}", text(&output));
    }

    fn write(&self, selection: &str) {
        write_manifests(selection, &self.test.folder.join("m"));
    }

    fn apply(&self) -> Output {
        self.kubectl("apply --server-side --validate=strict --recursive --filename m")
    }

    /// What the manifests made, by kind and name.
    fn objects(&self) -> BTreeMap<String, Value> {
        let list = self.kubectl("get --recursive --filename m --output json");
        let list: Value = serde_json::from_slice(&list.stdout).unwrap();
        let items = list["items"].as_array().unwrap().iter();
        items
            .map(|item| {
                let metadata = &item["metadata"];
                (
                    format!(
                        "{} {} {}",
                        item["kind"], metadata["namespace"], metadata["name"]
                    ),
                    item.clone(),
                )
            })
            .collect()
    }

    /// Takes everything away but namespaces, which are not gone before a controller has seen them.
    fn delete(&self, objects: &BTreeMap<String, Value>) {
        let items: Vec<&Value> = objects
            .values()
            .filter(|object| object["kind"] != "Namespace")
            .collect();
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
        std::fs::write(self.test.folder.join("list.json"), list.to_string()).unwrap();
        self.kubectl("delete --cascade=background --timeout=60s --filename list.json");
    }

    /// Runs a check of the test plan as it is written.
    fn check(&self, selection: &str, id: &str) -> Output {
        let planned = Test::new()
            .line("conformance --format json")
            .line(&list_networks(selection))
            .line(selection)
            .succeeds();
        let checks: Value = serde_json::from_str(&planned.stdout).unwrap();
        let check = checks["items"]
            .as_array()
            .unwrap()
            .iter()
            .find(|check| check["id"] == id)
            .unwrap();
        let line = check["run"][0]
            .as_str()
            .unwrap()
            .replacen("kubectl ", "\"$@\" ", 1);
        Command::new("sh")
            .args(["-c", &line, "sh"])
            .arg(&self.kubectl)
            .args(["--insecure-skip-tls-verify", "--token", "admin"])
            .arg(format!("--server=https://127.0.0.1:{}", self.port))
            .current_dir(&self.test.folder)
            .env("HOME", &self.test.folder)
            .output()
            .unwrap()
    }

    /// The pod that an agent's DaemonSet makes.
    fn agent(&self, namespace: &str, name: &str) -> Value {
        let set = self.kubectl(&format!(
            "--namespace {namespace} get daemonset {name} --output json"
        ));
        let set: Value = serde_json::from_slice(&set.stdout).unwrap();
        set["spec"]["template"]["spec"].clone()
    }
}

fn newest() -> Option<Server> {
    Some(start_newest(&programs()?))
}

fn start_newest(programs: &Path) -> Server {
    Server::start(programs, &programs.join("1.36.0/linux/kube-apiserver"), "")
}

/// An API server of `ci/programs/apiserver/build`.
fn older(minor: &str, arguments: &str) -> Option<Server> {
    let programs = programs()?;
    let built = built("apiserver", "IMAGEGEN_TEST_APISERVER")?;
    Some(Server::start(
        &programs,
        &built.join(minor).join("kube-apiserver"),
        arguments,
    ))
}

/// The last one that has the PodSecurityPolicy.
fn last_with_psp() -> Option<Server> {
    older(
        "1.24",
        "--enable-admission-plugins=PodSecurityPolicy --feature-gates=ServerSideFieldValidation=true",
    )
}

/// The last one that has the admission policy in a beta API alone; a cluster must turn both on.
fn last_with_beta() -> Option<Server> {
    let api = "--runtime-config=admissionregistration.k8s.io/v1beta1=true";
    older(
        "1.29",
        &format!("--feature-gates=ValidatingAdmissionPolicy=true {api}"),
    )
}

/// Applies the manifests of a selection twice.
fn applied(server: &Server, selection: &str) -> BTreeMap<String, Value> {
    server.write(selection);
    let warned = server.apply();
    let deprecated =
        |line: &str| line.starts_with("Warning: ") && line.contains(" is deprecated in ");
    let warned = String::from_utf8(warned.stderr).unwrap();
    assert!(warned.lines().all(deprecated), "{selection}: {warned}");
    let first = server.objects();
    let documents: usize = files(&server.test.folder.join("m"))
        .values()
        .map(|file| {
            std::str::from_utf8(file)
                .unwrap()
                .matches("\nkind: ")
                .count()
        })
        .sum();
    assert_eq!(first.len(), documents, "{selection}");
    server.apply();
    let again = server.objects();
    for (name, object) in &first {
        // Kubernetes 1.24 notes when it was last asked, 1.36 who was first.
        let kept = |object: &Value| {
            let mut object = object.clone();
            object["metadata"]["resourceVersion"].take();
            object
        };
        assert!(
            object["metadata"]["uid"].is_string() && object["metadata"]["managedFields"].is_null()
        );
        assert_eq!(
            kept(object),
            kept(&again[name]),
            "{selection}: {name} changed"
        );
    }
    let different = server.try_kubectl("admin", "diff --server-side --recursive --filename m");
    assert!(
        different.status.success(),
        "{selection}: {}",
        text(&different)
    );
    first
}

/// flannel's own manifest made its ConfigMap by `kubectl apply`, which takes the keys for its own from then on.
fn keep_configuration_of_linux(server: &Server, selection: &str) {
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "kube-flannel-cfg", "namespace": "kube-flannel" },
        "data": { "cni-conf.json": "{}", "net-conf.json": "{}" },
    });
    std::fs::write(server.test.folder.join("linux.json"), map.to_string()).unwrap();
    server.kubectl("apply --filename linux.json");
    server.write(selection);
    server.apply();
    let kept = server.kubectl("get --filename linux.json --output json");
    let kept: Value = serde_json::from_slice(&kept.stdout).unwrap();
    let read = |key: &str| -> Value {
        serde_json::from_str(kept["data"][key].as_str().expect("a text")).expect("JSON")
    };
    assert_eq!(read("cni-conf.json")["plugins"][0]["type"], "flannel");
    assert_eq!(read("net-conf.json")["Backend"]["VNI"], 4096);
    server.delete(&server.objects());
}

fn all_applied(server: &Server, selections: &[&str]) {
    for namespace in ["kube-system", "kube-flannel", "imagegen-smoke"] {
        server.account(namespace);
    }
    keep_configuration_of_linux(server, selections[0]);
    for selection in selections {
        let objects = applied(server, selection);
        server.delete(&objects);
    }
    // What would be refused is: a field that nobody knows.
    server.write(selections[0]);
    let file = server.test.folder.join("m/22-kube-proxy-hostprocess.yaml");
    let wrong = std::fs::read_to_string(&file)
        .unwrap()
        .replace("hostNetwork:", "hostNetwrk:");
    std::fs::write(file, wrong).unwrap();
    let refused = server.try_kubectl(
        "admin",
        "apply --server-side --validate=strict --recursive --filename m",
    );
    assert!(
        !refused.status.success() && text(&refused).contains("hostNetwrk"),
        "{}",
        text(&refused)
    );
}

#[test]
fn the_newest_api_server_takes_every_selection() {
    let Some(programs) = programs() else { return };
    let mut inputs = Inputs::new("manifests on the newest API server");
    inputs.add_sources(&["manifests.rs", "join/daemons.rs", "support"]);
    inputs.add_programs(&programs);
    for selection in NEW {
        let test = Test::new();
        write_manifests(selection, &test.folder.join("m"));
        inputs.add_files(&test.folder.join("m"));
    }
    inputs.judge(|| all_applied(&start_newest(&programs), NEW));
}

#[test]
fn the_last_api_server_with_psp_takes_every_selection() {
    if let Some(server) = last_with_psp() {
        all_applied(&server, OLD);
    }
}

#[test]
fn the_last_api_server_with_a_beta_policy_takes_every_selection() {
    if let Some(server) = last_with_beta() {
        all_applied(&server, BETA);
    }
}
