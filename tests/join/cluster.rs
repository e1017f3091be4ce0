//! A control plane on loopback, made by kubeadm's own phases.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::daemons::Daemons;

/// Version of the control plane: 1.36.0 takes nodes of every version that is tried here.
const CONTROL: &str = "1.36.0";

pub struct Cluster {
    folder: PathBuf,
    programs: PathBuf,
    version: String,
    daemons: Daemons,
}

impl Cluster {
    pub fn start(folder: &Path, programs: &Path, version: &str) -> Self {
        fs::create_dir_all(folder.join("kc")).unwrap();
        let mut cluster = Self {
            folder: folder.to_owned(),
            programs: programs.to_owned(),
            version: version.to_owned(),
            daemons: Daemons::new(folder),
        };
        cluster.configure();
        cluster.credentials();
        cluster.daemons();
        cluster.upload();
        cluster
    }

    pub fn authority(&self) -> PathBuf {
        self.folder.join("pki/ca.crt")
    }

    fn configure(&self) {
        let pki = format!("certificatesDir: {}\n", self.folder.join("pki").display());
        let own = format_configuration("v1beta4", CONTROL, &pki);
        fs::write(self.folder.join("kubeadm.yaml"), own).unwrap();
        // What is uploaded must not tell nodes the host's folder.
        let uploaded = format_configuration("v1beta4", CONTROL, "");
        fs::write(self.folder.join("upload.yaml"), uploaded).unwrap();
    }

    fn credentials(&self) {
        self.kubeadm(&["certs", "all", "--config", "kubeadm.yaml"]);
        for name in ["admin", "controller-manager", "super-admin"] {
            self.kubeadm(&[
                "kubeconfig",
                name,
                "--config",
                "kubeadm.yaml",
                "--kubeconfig-dir",
                "kc",
            ]);
            let file = self.folder.join(format!("kc/{name}.conf"));
            let text = fs::read_to_string(&file)
                .unwrap()
                .replace("https://192.0.2.10:", "https://127.0.0.1:");
            fs::write(file, text).unwrap();
        }
    }

    fn daemons(&mut self) {
        let pki = |name: &str| self.folder.join("pki").join(name).display().to_string();
        let arguments = [
            "--advertise-address=127.0.0.1 --bind-address=127.0.0.1 --secure-port=6443".to_owned(),
            "--etcd-servers=http://127.0.0.1:12379 --authorization-mode=Node,RBAC".to_owned(),
            "--enable-admission-plugins=NodeRestriction --enable-bootstrap-token-auth=true"
                .to_owned(),
            "--allow-privileged=true --service-cluster-ip-range=10.96.0.0/12".to_owned(),
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local".to_owned(),
            "--kubelet-preferred-address-types=InternalIP,Hostname".to_owned(),
            format!("--client-ca-file={}", pki("ca.crt")),
            format!(
                "--tls-cert-file={} --tls-private-key-file={}",
                pki("apiserver.crt"),
                pki("apiserver.key")
            ),
            format!(
                "--kubelet-client-certificate={}",
                pki("apiserver-kubelet-client.crt")
            ),
            format!(
                "--kubelet-client-key={}",
                pki("apiserver-kubelet-client.key")
            ),
            format!("--service-account-key-file={}", pki("sa.pub")),
            format!("--service-account-signing-key-file={}", pki("sa.key")),
        ]
        .join(" ");
        let manager = [
            "--kubeconfig=kc/controller-manager.conf --authentication-kubeconfig=kc/controller-manager.conf"
                .to_owned(),
            "--authorization-kubeconfig=kc/controller-manager.conf --bind-address=127.0.0.1".to_owned(),
            "--leader-elect=false --use-service-account-credentials=true --allocate-node-cidrs=true"
                .to_owned(),
            "--cluster-cidr=10.244.0.0/16 --controllers=*,bootstrapsigner,tokencleaner".to_owned(),
            format!(
                "--cluster-signing-cert-file={} --cluster-signing-key-file={}",
                pki("ca.crt"),
                pki("ca.key")
            ),
            format!("--root-ca-file={} --service-account-private-key-file={}", pki("ca.crt"), pki("sa.key")),
            format!("--client-ca-file={}", pki("ca.crt")),
        ]
        .join(" ");
        let control = self.control();
        self.daemons.start(
            &self.programs.join("etcd"),
            "--data-dir etcd --listen-client-urls http://127.0.0.1:12379 --advertise-client-urls http://127.0.0.1:12379 --listen-peer-urls http://127.0.0.1:12380 --unsafe-no-fsync",
        );
        self.daemons
            .start(&control.join("kube-apiserver"), &arguments);
        let answer = Command::new("curl")
            .args([
                "-sk",
                "--fail",
                "--retry",
                "90",
                "--retry-delay",
                "1",
                "--retry-all-errors",
            ])
            .arg("https://127.0.0.1:6443/readyz")
            .output()
            .unwrap();
        assert_eq!(super::text(&answer), "ok", "{}", self.log("kube-apiserver"));
        self.daemons
            .start(&control.join("kube-controller-manager"), &manager);
    }

    fn log(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(format!("{name}.log"))).unwrap_or_default()
    }

    fn upload(&self) {
        let admin = self.admin();
        self.kubectl(&[
            "create",
            "clusterrolebinding",
            "kubeadm:cluster-admins",
            "--clusterrole=cluster-admin",
            "--group=kubeadm:cluster-admins",
        ]);
        // kubeadm annotates the control plane's Node while it uploads the kubelet's configuration.
        let node = self.folder.join("node.json");
        fs::write(&node, r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"cp","labels":{"kubernetes.io/hostname":"cp"}}}"#).unwrap();
        self.kubectl(&["create", "-f", node.to_str().unwrap()]);
        self.kubeadm(&[
            "upload-config",
            "all",
            "--config",
            "upload.yaml",
            "--kubeconfig",
            admin.to_str().unwrap(),
        ]);
        self.kubeadm(&[
            "bootstrap-token",
            "--config",
            "kubeadm.yaml",
            "--kubeconfig",
            admin.to_str().unwrap(),
        ]);
        if self.version != CONTROL {
            self.upload_for_older();
        }
        self.kubectl(&["delete", "node", "cp", "--wait=false"]);
        self.kubectl(&[
            "-n",
            "kube-public",
            "wait",
            "--timeout=60s",
            "cm/cluster-info",
            "--for=jsonpath={.data.jws-kubeconfig-abcdef}",
        ]);
    }

    /// The cluster's configuration as a kubeadm of the node's version would have written it: in the form that it
    /// reads, and up to 1.23 the kubelet's under a name with the version.
    fn upload_for_older(&self) {
        let minor: u32 = self.version.split('.').nth(1).unwrap().parse().unwrap();
        let api = match minor {
            ..22 => "v1beta2",
            22..31 => "v1beta3",
            31.. => "v1beta4",
        };
        let mut objects = vec![describe_configuration(api, &self.version)];
        if minor < 24 {
            objects.extend(self.name_kubelet_config(&format!("kubelet-config-1.{minor}")));
        }
        self.apply(&objects);
    }

    /// The control plane's configuration as its own kubeadm writes it: nodes of an older version may now follow.
    pub fn upgrade(&self) {
        self.apply(&[describe_configuration("v1beta4", CONTROL)]);
    }

    fn apply(&self, objects: &[Value]) {
        let file = self.folder.join("applied.json");
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        fs::write(&file, list.to_string()).unwrap();
        let force = ["apply", "--server-side", "--force-conflicts", "-f"];
        self.kubectl(&[&force[..], &[file.to_str().unwrap()]].concat());
    }

    /// The kubelet's configuration under another name, and the right of nodes and tokens to read it.
    fn name_kubelet_config(&self, name: &str) -> [Value; 3] {
        let map: Value = serde_json::from_str(&self.read_kubelet_config()).unwrap();
        let metadata = json!({"name": name, "namespace": "kube-system"});
        let group = |name: &str| json!({"kind": "Group", "name": name, "apiGroup": "rbac.authorization.k8s.io"});
        let readers = [
            group("system:nodes"),
            group("system:bootstrappers:kubeadm:default-node-token"),
        ];
        [
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": map["data"]}),
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata,
                "rules": [{
                    "apiGroups": [""], "resources": ["configmaps"], "resourceNames": [name], "verbs": ["get"],
                }],
            }),
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": metadata,
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
                "subjects": readers,
            }),
        ]
    }

    /// The kubelet's configuration that the cluster gives to nodes, as JSON.
    fn read_kubelet_config(&self) -> String {
        let line = "-n kube-system get cm kubelet-config -o json";
        self.kubectl(&line.split(' ').collect::<Vec<_>>())
    }

    /// Other text in the kubelet's configuration that the cluster gives to nodes.
    pub fn change_kubelet(&self, right: &str, wrong: &str) {
        let text = self.read_kubelet_config();
        assert!(text.contains(right), "{text}");
        let file = self.folder.join("kubelet-config.json");
        fs::write(&file, text.replace(right, wrong)).unwrap();
        self.kubectl(&["replace", "-f", file.to_str().unwrap()]);
    }

    /// The folder of kubeadm and kubectl.
    pub fn control(&self) -> PathBuf {
        self.programs.join(CONTROL).join("linux")
    }

    pub fn admin(&self) -> PathBuf {
        self.folder.join("kc/super-admin.conf")
    }

    fn kubeadm(&self, arguments: &[&str]) {
        let output = Command::new(self.control().join("kubeadm"))
            .args(["init", "phase"])
            .args(arguments)
            .current_dir(&self.folder)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            super::text(&output)
        );
    }

    pub fn kubectl(&self, arguments: &[&str]) -> String {
        let output = self.try_kubectl(arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            super::text(&output)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn try_kubectl(&self, arguments: &[&str]) -> std::process::Output {
        Command::new(self.control().join("kubectl"))
            .arg("--kubeconfig")
            .arg(self.admin())
            .args(arguments)
            .env("HOME", &self.folder)
            .output()
            .unwrap()
    }
}

/// The cluster's configuration as kubeadm keeps it.
fn describe_configuration(api: &str, version: &str) -> Value {
    let all = format_configuration(api, version, "");
    let cluster = all.split("---\n").nth(1).unwrap();
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "kubeadm-config", "namespace": "kube-system"},
        "data": {"ClusterConfiguration": cluster},
    })
}

/// What kubeadm and nodes read of a cluster. kubeadm takes no loopback address as its own; the node sees the host's
/// disk, so nothing is evicted.
fn format_configuration(api: &str, version: &str, pki: &str) -> String {
    format!(
        "apiVersion: kubeadm.k8s.io/{api}
kind: InitConfiguration
bootstrapTokens: [{{token: {token}, ttl: 24h0m0s}}]
localAPIEndpoint: {{advertiseAddress: 192.0.2.10, bindPort: 6443}}
nodeRegistration: {{name: cp, criSocket: 'unix:///run/none.sock'}}
---
apiVersion: kubeadm.k8s.io/{api}
kind: ClusterConfiguration
kubernetesVersion: v{version}
{pki}controlPlaneEndpoint: 127.0.0.1:6443
networking: {{podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/12}}
apiServer: {{certSANs: [127.0.0.1, localhost]}}
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
evictionHard: {{memory.available: '0%', nodefs.available: '0%', imagefs.available: '0%'}}
imageGCHighThresholdPercent: 100
",
        token = super::TOKEN,
    )
}
