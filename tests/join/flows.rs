//! Ways to join that others publish, as they are: nothing of ours is called. User-data goes through cloudbase-init's
//! own code, the batch that it makes of `runcmd` through cmd, and what that calls are the real kubeadm and nssm.

use std::path::Path;
use std::process::Command;

use super::node::{check_flags, list_starts};
use super::wine::Wine;
use super::{NAMED, NODE, Scene, TOKEN, guest, logs, text};

const BATCH: &str = r"C:\windows\temp\runcmd.cmd";
const SENTINEL: &str = r"C:\run\cluster-api\bootstrap-success.complete";
const SETTINGS: &str =
    r"C:\Program Files\Cloudbase Solutions\Cloudbase-Init\conf\cloudbase-init.conf";
/// Release of cloudbase-init whose code runs.
const RELEASE: &str = "1.1.8";
const TAINT: &str = "node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule";

/// What the provider for Azure publishes: kubernetes-sigs/cluster-api-provider-azure@v1.26.0
/// `templates/cluster-template-windows.yaml`, as kubeadm's bootstrap provider renders it.
pub fn join_by_template(scene: &Scene<'_>, wine: &Wine) {
    let before = list_starts(wine).len();
    let (files, batch) = run_user_data(scene, wine, &format_user_data(scene));
    for (name, content) in files {
        let path = wine.path(&windows_path(&name));
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, content).expect("written");
    }

    std::fs::write(wine.path(BATCH), batch).expect("written");
    let done = wine.run(180, &["cmd", "/c", BATCH]);
    assert!(done.status.success(), "{}\n{}", text(&done), logs(wine));
    let said = text(&done);
    let joined = said.contains("This node has joined the cluster");
    assert!(joined, "{said}\n{}", logs(wine));
    let sentinel = std::fs::read_to_string(wine.path(SENTINEL)).unwrap_or_default();
    assert_eq!(sentinel.trim(), "success", "{said}");
    let key = format!("{}\\kubelet", guest::SERVICES);
    assert_eq!(wine.values(&key)["Start"], "REG_DWORD 0x2", "{said}");

    let starts = list_starts(wine);
    assert!(starts.len() > before, "{starts:#?}");
    check_flags(
        &starts[before..],
        &[
            "--cloud-provider=external",
            "--v=2",
            "--windows-priorityclass=ABOVE_NORMAL_PRIORITY_CLASS",
        ],
    );
    // The template asks for the taint that the kubelet adds by itself, and the cluster takes no node that has it twice.
    let taints = scene.node(NODE)["spec"]["taints"].to_string();
    let (taint, _) = TAINT.split_once('=').expect("a value");
    assert!(taints.contains(taint), "{taints}");
}

/// Folders that kubeadm and templates name without a drive. Wine takes `/run/…` for a folder of this machine where
/// Windows takes it for one of the current drive: in the test's namespace they are the same.
const SHARED: &[(&str, &str)] = &[
    ("/run", r"C:\run"),
    ("/etc/kubernetes", r"C:\etc\kubernetes"),
    ("/var/lib/kubelet", r"C:\var\lib\kubelet"),
];

pub fn share_folders(scene: &Scene<'_>, wine: &Wine) {
    // What lies there is this machine's: the folders are made in copies of their parents.
    let etc = scene.test.folder.join("etc");
    run_here("cp", &["-a", "/etc", etc.to_str().expect("a name")]);
    let hosts = std::fs::read("/etc/hosts").expect("names");
    std::fs::write(etc.join("hosts"), hosts).expect("written");
    run_here("mount", &["--bind", etc.to_str().expect("a name"), "/etc"]);
    run_here("mount", &["-t", "tmpfs", "none", "/var/lib"]);
    for (here, there) in SHARED {
        let folder = wine.path(there);
        for path in [Path::new(here), &folder] {
            std::fs::create_dir_all(path).expect("made");
        }
        run_here("mount", &["--bind", folder.to_str().expect("a name"), here]);
    }
}

fn run_here(program: &str, arguments: &[&str]) {
    let ran = Command::new(program).args(arguments).status();
    assert!(ran.expect("it runs").success(), "{program} {arguments:?}");
}

pub fn find_hash(scene: &Scene<'_>) -> String {
    let data = scene.join_data(NAMED);
    let at = data.find("sha256:").expect("a hash of the authority");
    data[at..at + "sha256:".len() + 64].to_owned()
}

fn format_user_data(scene: &Scene<'_>) -> String {
    let (version, arguments) = match scene.minor() {
        31.. => (
            "v1beta4",
            format!(
                "        - name: register-with-taints
          value: {TAINT}
        - name: cloud-provider
          value: external
        - name: v
          value: '2'
        - name: windows-priorityclass
          value: ABOVE_NORMAL_PRIORITY_CLASS
"
            ),
        ),
        minor => (
            if minor < 22 { "v1beta2" } else { "v1beta3" },
            format!(
                "          cloud-provider: external
          register-with-taints: {TAINT}
          v: '2'
          windows-priorityclass: ABOVE_NORMAL_PRIORITY_CLASS
"
            ),
        ),
    };
    format!(
        r#"## template: jinja
#cloud-config

write_files:
-   path: c:/k/azure.json
    owner: root:root
    permissions: '0644'
    content: |
      {{"cloud":"AzurePublicCloud"}}
-   path: C:/defender-exclude-calico.ps1
    permissions: '0744'
    content: |
      Add-MpPreference -ExclusionProcess C:/opt/cni/bin/calico.exe
      Add-MpPreference -ExclusionProcess C:/opt/cni/bin/calico-ipam.exe
-   path: /run/kubeadm/kubeadm-join-config.yaml
    owner: root:root
    permissions: '0640'
    content: |
      ---
      apiVersion: kubeadm.k8s.io/{version}
      discovery:
        bootstrapToken:
          apiServerEndpoint: 127.0.0.1:6443
          caCertHashes:
          - {hash}
          token: {TOKEN}
      kind: JoinConfiguration
      nodeRegistration:
        criSocket: {socket}
        kubeletExtraArgs:
{arguments}        name: '{{{{ ds.meta_data["local_hostname"] }}}}'

-   path: /run/cluster-api/placeholder
    owner: root:root
    permissions: '0640'
    content: "This placeholder file is used to create the /run/cluster-api sub directory"
runcmd:
  - kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml  && echo success > /run/cluster-api/bootstrap-success.complete
  - "nssm set kubelet start SERVICE_AUTO_START"
  - "powershell C:/defender-exclude-calico.ps1"
users:
  - name: capi
    groups: Administrators
    ssh_authorized_keys:
      - ssh-ed25519 AAAATEST somebody
"#,
        hash = find_hash(scene),
        socket = scene.runtime.socket(),
    )
}

/// Files that cloudbase-init writes, by name, and the batch that it runs, with the configuration of the image.
fn run_user_data(scene: &Scene<'_>, wine: &Wine, data: &str) -> (Vec<(String, String)>, String) {
    let folder = &scene.test.folder;
    let settings = std::fs::read_to_string(wine.path(SETTINGS)).expect("settings");
    let settings = crate::cloudbase::write_settings(folder, &settings);
    let path = folder.join("user-data");
    std::fs::write(&path, data).expect("written");
    let environments = crate::cloudbase::environments().expect("seen outside");
    let environment = environments.join(RELEASE);
    let told = crate::cloudbase::run(&environment, &settings, Some(&path));

    let mut files = Vec::new();
    for (name, content) in told["files"].as_object().expect("files") {
        let content = content.as_str().expect("text");
        files.push((name.clone(), content.to_owned()));
    }
    let calls = told["calls"].as_array().expect("calls");
    let shell = calls.iter().find(|call| call[0] == "shell");
    let batch = shell.and_then(|call| call[1].as_str());
    let batch = batch.unwrap_or_else(|| panic!("no batch: {told}"));
    (files, batch.to_owned())
}

/// The path that a name of cloudbase-init's on Linux has on Windows.
fn windows_path(name: &str) -> String {
    let name = name.trim_start_matches("../").trim_start_matches('/');
    let name = name.trim_start_matches("c:/").trim_start_matches("C:/");
    format!("C:\\{}", name.replace('/', "\\"))
}
