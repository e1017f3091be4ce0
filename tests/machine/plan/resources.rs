//! Resources of the good plan.

use serde_json::{Value, json};

use super::{RESTRICTED, resource};
use crate::machine::windows;

const EXECUTABLE: &str = "O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)";

const CONF: &str = r"C:\Program Files\Cloudbase Solutions\Cloudbase-Init\conf";

pub(super) fn resources() -> Vec<Value> {
    let mut all = opening();
    all.extend(layout());
    all.extend(node());
    all.extend(windows::windows());
    all.extend(system());
    all.extend(closing());
    // Windows' own things stand among those of their phase.
    let order = [
        "bootstrap",
        "prepare",
        "install",
        "test",
        "seal",
        "firstboot",
    ];
    all.sort_by_key(|it| order.iter().position(|phase| it["phase"] == *phase));
    all
}

fn for_the_build(mut resource: Value) -> Value {
    resource["scope"] = "build".into();
    resource
}

fn opening() -> Vec<Value> {
    vec![
        for_the_build(resource(
            "bootstrap/winrm",
            "bootstrap",
            "service",
            json!({"serviceName": "winrm", "ensure": "present", "startType": "delayed"}),
        )),
        for_the_build(resource(
            "bootstrap/timeout",
            "bootstrap",
            "winrmSetting",
            json!({"setting": "MaxTimeoutms", "value": "1800000"}),
        )),
        resource(
            "features/containers",
            "prepare",
            "windowsFeature",
            json!({"feature": "Containers", "installed": true}),
        ),
    ]
}

fn layout() -> Vec<Value> {
    let directory = |what: &str, path: &str, sddl: &str| {
        let name = format!("layout/{what}");
        resource(
            &name,
            "install",
            "directory",
            json!({"path": path, "ensure": "present", "sddl": sddl}),
        )
    };
    vec![
        directory("k", r"C:\k", EXECUTABLE),
        directory("etc", r"C:\etc\kubernetes\pki", RESTRICTED),
        directory("var", r"C:\var", RESTRICTED),
        directory("kubelet", r"C:\var\lib\kubelet\etc\kubernetes", RESTRICTED),
        directory("log", r"C:\var\log\kubelet", RESTRICTED),
        directory("containerd-log", r"C:\var\log\containerd", RESTRICTED),
        resource(
            "layout/imagegen",
            "install",
            "directory",
            json!({"path": r"C:\imagegen", "ensure": "present"}),
        ),
        for_the_build(resource(
            "layout/cache",
            "install",
            "directory",
            json!({"path": r"C:\imagegen\cache", "ensure": "present"}),
        )),
        resource(
            "layout/pki",
            "install",
            "symlink",
            json!({
                "path": r"C:\var\lib\kubelet\etc\kubernetes\pki", "ensure": "present",
                "target": r"C:\etc\kubernetes\pki",
            }),
        ),
    ]
}

fn node() -> Vec<Value> {
    let program = |what: &str, file: &str, digit: &str| {
        let (name, path) = (format!("kubernetes/{what}"), format!(r"C:\k\{file}"));
        let url = format!("https://dl.example/{file}");
        let digest = digit.repeat(64);
        let properties = json!({"path": path, "url": url, "algorithm": "sha256", "digest": digest});
        resource(&name, "install", "artifact", properties)
    };
    vec![
        resource(
            "containerd/directory",
            "install",
            "directory",
            json!({"path": r"C:\Program Files\containerd", "ensure": "present"}),
        ),
        resource(
            "containerd/programs",
            "install",
            "archive",
            json!({
                "url": "https://dl.example/containerd.tar.gz", "algorithm": "sha256", "digest": "c".repeat(64),
                "format": "tar.gz", "cache": r"C:\imagegen\cache\containerd.tar.gz",
                "members": [
                    {"member": "bin/containerd.exe", "path": r"C:\Program Files\containerd\containerd.exe"},
                    {"member": "bin/ctr.exe", "path": r"C:\Program Files\containerd\ctr.exe"},
                ],
            }),
        ),
        resource(
            "containerd/config",
            "install",
            "file",
            json!({
                "path": r"C:\Program Files\containerd\config.toml", "ensure": "present",
                "content": "version = 2\n\n[plugins]\n", "sha256": "d".repeat(64),
            }),
        ),
        resource(
            "containerd/path",
            "install",
            "pathEntry",
            json!({"entry": r"C:\Program Files\containerd", "ensure": "present"}),
        ),
        resource(
            "containerd/service",
            "install",
            "service",
            json!({
                "serviceName": "containerd", "ensure": "present", "startType": "auto", "dependsOn": ["hns"],
                "program": r"C:\Program Files\containerd\containerd.exe",
                "arguments": [
                    "--run-service", "--config", r"C:\Program Files\containerd\config.toml",
                    "--log-file", r"C:\var\log\containerd\containerd.log",
                ],
                "failureResetSeconds": 900, "failureActions": [{"action": "restart", "delaySeconds": 15}],
            }),
        ),
        resource(
            "containerd/exclusion",
            "install",
            "defenderExclusion",
            json!({"kind": "process", "value": "containerd.exe", "ensure": "present"}),
        ),
        resource(
            "containerd/pause",
            "install",
            "containerImage",
            json!({
                "reference": format!("r.example/pause:3.4.1@sha256:{}", "e".repeat(64)),
                "runtime": "containerd", "importArguments": [], "pull": true,
                "program": r"C:\Program Files\containerd\ctr.exe", "client": r"C:\k\crictl.exe",
                "namespace": "k8s.io",
            }),
        ),
        program("kubelet", "kubelet.exe", "a"),
        program("log-runner", "kube-log-runner.exe", "b"),
        resource(
            "kubelet/start",
            "install",
            "file",
            json!({
                "path": r"C:\k\start-kubelet.cmd", "ensure": "present",
                "content": "if not exist \"C:\\var\\lib\\kubelet\\config.yaml\" exit 0\r\n",
            }),
        ),
        resource(
            "kubelet/service",
            "install",
            "service",
            json!({
                "serviceName": "kubelet", "displayName": "Kubelet", "ensure": "present", "startType": "auto",
                "dependsOn": ["containerd"], "environment": ["A=1"],
                "program": r"C:\Windows\System32\cmd.exe",
                "arguments": [
                    "/d", "/c", r"C:\k\start-kubelet.cmd",
                    r"C:\k\kube-log-runner.exe",
                    r"--log-file=C:\var\log\kubelet\kubelet.log", r"C:\k\kubelet.exe", "--windows-service",
                    r"--config=C:\var\lib\kubelet\config.yaml", r"--cert-dir=C:\var\lib\kubelet\pki",
                    "--container-runtime-endpoint=npipe:////./pipe/containerd-containerd",
                    "--feature-gates=WinOverlay=true", "--v=2",
                ],
            }),
        ),
    ]
}

pub(super) fn system() -> Vec<Value> {
    vec![
        resource(
            "crictl/config",
            "install",
            "file",
            json!({
                "path": r"C:\k\crictl.yaml", "ensure": "present",
                "content": "runtime-endpoint: npipe:////./pipe/containerd-containerd\n",
            }),
        ),
        resource(
            "crictl/environment",
            "install",
            "environmentVariable",
            json!({"variable": "CRI_CONFIG_FILE", "value": r"C:\k\crictl.yaml", "ensure": "present"}),
        ),
        resource(
            "tuning/keepalive",
            "install",
            "registryValue",
            json!({
                "key": r"HKLM:\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters", "valueName": "KeepAliveTime",
                "ensure": "present", "kind": "DWord", "data": 60000,
            }),
        ),
        resource(
            "network/kubelet",
            "install",
            "firewallRule",
            json!({
                "ruleName": "kubelet", "ensure": "present", "direction": "inbound", "action": "allow",
                "protocol": "TCP", "localPort": ["10250"],
            }),
        ),
        resource(
            "network/ports",
            "install",
            "portRange",
            json!({"kind": "dynamic", "protocol": "TCP", "start": 34000, "count": 31536}),
        ),
        resource(
            "cloudbase/package",
            "install",
            "msi",
            json!({
                "url": "https://dl.example/c.msi", "algorithm": "sha256", "digest": "f".repeat(64),
                "cache": r"C:\imagegen\cache\c.msi", "creates": format!(r"{CONF}\cloudbase-init.conf"),
                "arguments": ["RUN_SERVICE_AS_LOCAL_SYSTEM=1"],
            }),
        ),
        resource(
            "cloudbase/service",
            "install",
            "service",
            json!({"serviceName": "cloudbase-init", "ensure": "present", "startType": "manual"}),
        ),
        resource(
            "cloudbase/answers",
            "install",
            "file",
            json!({"path": format!(r"{CONF}\Unattend.xml"), "ensure": "present", "content": "<unattend/>\n"}),
        ),
    ]
}

fn closing() -> Vec<Value> {
    vec![
        resource(
            "checks/containerd",
            "test",
            "assertion",
            json!({"check": "service", "holds": true, "serviceName": "containerd", "state": "running"}),
        ),
        resource(
            "seal/winrm",
            "seal",
            "service",
            json!({"serviceName": "winrm", "ensure": "present", "startType": "auto"}),
        ),
        resource(
            "seal/timeout",
            "seal",
            "winrmSetting",
            json!({"setting": "MaxTimeoutms", "value": "60000"}),
        ),
        resource(
            "seal/cache",
            "seal",
            "directory",
            json!({"path": r"C:\imagegen\cache", "ensure": "absent"}),
        ),
        resource(
            "seal/temp",
            "seal",
            "directory",
            json!({"path": r"C:\Windows\Temp", "ensure": "empty"}),
        ),
        resource(
            "seal/sysprep",
            "seal",
            "sysprep",
            json!({
                "imageState": "IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE", "finish": "quit",
                "unattend": format!(r"{CONF}\Unattend.xml"),
            }),
        ),
        resource(
            "firstboot/user",
            "firstboot",
            "localUser",
            json!({"userName": "packer", "ensure": "disabled"}),
        ),
        resource(
            "firstboot/listener",
            "firstboot",
            "winrmListener",
            json!({"transport": "HTTPS", "ensure": "absent"}),
        ),
    ]
}
