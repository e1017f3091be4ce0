//! Pipes of the host, and who may mount them.

use serde_json::{Value, json};

use super::{Server, last_with_beta, last_with_psp, newest};
use crate::join::text;

/// A pod of one container, with a folder or pipe of the host.
fn mounts(path: &str) -> Value {
    json!({
        "containers": [{
            "name": "a", "image": "registry.example/a:1",
            "volumeMounts": [{ "name": "v", "mountPath": "/v" }],
        }],
        "volumes": [{ "name": "v", "hostPath": { "path": path } }],
    })
}

fn plain() -> Value {
    json!({ "containers": [{ "name": "a", "image": "registry.example/a:1" }] })
}

fn host_process() -> Value {
    let mut spec = plain();
    spec["hostNetwork"] = json!(true);
    spec["securityContext"] = json!({ "windowsOptions": { "hostProcess": true, "runAsUserName": r"NT AUTHORITY\system" } });
    spec
}

fn with_account(mut spec: Value, account: &str) -> Value {
    spec["serviceAccountName"] = json!(account);
    spec
}

#[test]
fn pipes_of_the_host_are_for_named_accounts() {
    if let Some(server) = newest() {
        refuses_pipes(&server, "1.36");
    }
}

#[test]
fn pipes_of_the_host_are_for_named_accounts_by_a_beta_policy() {
    if let Some(server) = last_with_beta() {
        refuses_pipes(&server, "1.29");
    }
}

fn refuses_pipes(server: &Server, minor: &str) {
    for namespace in ["default", "kube-system", "kube-flannel", "imagegen-smoke"] {
        server.account(namespace);
    }
    let pipe = mounts(r"\\.\pipe\containerd-containerd");
    server.takes("admin", "default", &pipe);
    let selection = format!("--k8s {minor} --cni flannel-overlay");
    server.write(&format!("{selection} --pipe-account kube-system:csi-smb"));
    server.apply();
    server.kubectl("--namespace kube-system create serviceaccount csi-smb");
    // The server hears of its own policy a moment later.
    for _ in 0..200 {
        if !server.pod("admin", "default", &pipe).status.success() {
            break;
        }
    }
    let denied = "ValidatingAdmissionPolicy 'windows-host-pipes' with binding 'windows-host-pipes' denied request";
    for path in [
        r"\\.\pipe\containerd-containerd",
        "//./pipe/containerd-containerd",
        r"\\.\PIPE\Rancher_Wins",
        r"\\.\pipe\csi-proxy-filesystem-v1",
        r"\\.\pipe\docker_engine",
        r"\\?\pipe\dockershim",
    ] {
        server.refuses("admin", "default", &mounts(path), denied);
        server.refuses("admin", "kube-system", &mounts(path), denied);
        server.takes(
            "admin",
            "kube-system",
            &with_account(mounts(path), "csi-smb"),
        );
    }
    server.refuses(
        "admin",
        "default",
        &with_account(pipe, "csi-smb"),
        "csi-smb",
    );
    let checked = server.check(&selection, "pipes");
    assert!(
        !checked.status.success() && text(&checked).contains(denied),
        "{}",
        text(&checked)
    );
    for good in [plain(), mounts(r"C:\data"), mounts(r"C:\containerd\data")] {
        server.takes("admin", "default", &good);
    }
    // Pod Security: agents in their namespaces alone.
    for (namespace, name) in [
        ("kube-system", "kube-proxy-windows"),
        ("kube-flannel", "flannel-windows"),
    ] {
        server.takes("admin", namespace, &server.agent(namespace, name));
    }
    server.takes("admin", "kube-system", &host_process());
    let violates = format!("violates PodSecurity \"baseline:v{minor}\"");
    server.refuses("admin", "imagegen-smoke", &host_process(), &violates);
    server.refuses(
        "admin",
        "imagegen-smoke",
        &mounts(r"C:\data"),
        "hostPath volumes",
    );
    server.takes("admin", "imagegen-smoke", &plain());
}

#[test]
fn the_psp_sample_lets_agents_alone_reach_the_host() {
    let Some(server) = last_with_psp() else {
        return;
    };
    for namespace in ["default", "kube-system", "kube-flannel", "imagegen-smoke"] {
        server.account(namespace);
    }
    // Who may make pods, and use no policy but that of everybody.
    server.kubectl("create clusterrole makes-pods --verb=create --resource=pods");
    server.kubectl("create clusterrolebinding alice --clusterrole=makes-pods --user=alice");
    let refused = "PodSecurityPolicy: ";
    server.refuses("alice", "default", &plain(), refused);
    for selection in [
        "--k8s 1.24 --cni flannel-overlay",
        "--k8s 1.22 --cni flannel-overlay --host-access wins",
        "--k8s 1.20 --cni flannel-hostgw --host-access wins",
    ] {
        server.write(selection);
        server.apply();
        let objects = server.objects();
        for _ in 0..200 {
            if server.pod("alice", "default", &plain()).status.success() {
                break;
            }
        }
        let mut privileged = plain();
        privileged["containers"][0]["securityContext"] = json!({ "privileged": true });
        let mut network = plain();
        network["hostNetwork"] = json!(true);
        for bad in [
            privileged,
            network,
            host_process(),
            mounts(r"C:\data"),
            mounts(r"\\.\pipe\rancher_wins"),
        ] {
            server.refuses("alice", "default", &bad, refused);
            server.refuses("alice", "kube-system", &bad, refused);
        }
        server.takes("alice", "default", &plain());
        for (namespace, name) in [
            ("kube-system", "kube-proxy-windows"),
            ("kube-flannel", "flannel-windows"),
        ] {
            let agent = server.agent(namespace, name);
            server.takes("alice", namespace, &agent);
            server.refuses(
                "alice",
                namespace,
                &with_account(agent.clone(), "default"),
                refused,
            );
            let mut reaching = agent;
            reaching["volumes"]
                .as_array_mut()
                .unwrap()
                .push(json!({ "name": "v", "hostPath": { "path": r"C:\" } }));
            server.refuses("alice", namespace, &reaching, refused);
        }
        server.delete(&objects);
    }
}
