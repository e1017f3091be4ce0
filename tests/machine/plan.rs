//! A small good plan, with a handle to break it at one point, for the tests of this module.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use imagegen::model::kubernetes::Program;
use imagegen::model::platform::Platform;
use imagegen::model::stage::{AccountRefusal, Stage};
use imagegen::windows::resource::{Resource, WinrmTransport};
use imagegen::windows::value::AccountName;

use imagegen::machine::{
    ArgumentNeed, Expectations, FeatureNeed, LaterFile, Machine, PackageService, PortUse,
    Prediction, fold_resources, predict_state,
};

use super::windows;

pub(super) const RESTRICTED: &str = "O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)";
const EXECUTABLE: &str = "O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)";
const CONF: &str = r"C:\Program Files\Cloudbase Solutions\Cloudbase-Init\conf";

pub(super) struct Plan {
    pub resources: Vec<Value>,
    pub later: Vec<LaterFile>,
    pub ports: Vec<PortUse>,
    needs: Vec<FeatureNeed>,
    arguments: Vec<ArgumentNeed>,
    pub stages: Vec<Stage>,
    pub refusals: Vec<AccountRefusal>,
    packages: Vec<PackageService>,
    pub programs: BTreeMap<String, Program>,
    pub winrm: Option<WinrmTransport>,
    pub platform: Platform,
    build_user: AccountName,
}

impl Plan {
    pub(super) fn good() -> Self {
        let program = json!({
            "version": "1.20.0",
            "flags": ["config", "cert-dir", "container-runtime-endpoint", "feature-gates", "v", "windows-service"],
            "featureGates": ["WinOverlay"],
        });
        let programs = BTreeMap::from([(
            "kubelet".to_owned(),
            serde_json::from_value(program).expect("a program"),
        )]);
        Self {
            resources: resources(),
            later: read_fixture(json!([
                {"path": r"C:\var\lib\kubelet\config.yaml", "by": "kubeadm", "source": "test"},
                {"path": r"C:\var\lib\kubelet\kubeadm-flags.env", "by": "kubeadm", "source": "test"},
                {"path": r"C:\var\lib\kubelet\pki\*", "by": "kubelet", "source": "test"},
                {"path": r"C:\var\log\kubelet\*", "by": "kubelet", "source": "test"},
                {"path": r"C:\var\log\containerd\*", "by": "containerd", "source": "test"},
            ])),
            ports: read_fixture(json!([
                {"program": "kubelet", "port": "10250", "protocol": "TCP", "direction": "inbound", "source": "test"},
                {"program": "flanneld.exe", "port": "4789", "protocol": "UDP", "direction": "inbound", "source": "test"},
                {"program": "kubelet", "port": "6443", "protocol": "TCP", "direction": "outbound", "source": "test"},
            ])),
            needs: read_fixture(json!([
                {"program": "containerd", "feature": "Containers", "source": "test"},
                {"program": "ctr", "feature": "Containers", "source": "test"},
                {"program": "dockerd", "feature": "Containers", "source": "test"},
            ])),
            arguments: read_fixture(json!([
                {"program": "provider", "arguments": ["FILE"], "source": "test"},
            ])),
            stages: read_fixture(json!([
                {"stage": "set-up", "runsAs": {"account": "system"}, "userData": "unattend", "runs": ["kubelet.exe"], "source": "test"},
                {"stage": "user-data", "runsAs": {"service": "cloudbase-init"}, "userData": "main", "runs": ["kubelet.exe"], "source": "test"},
                {"stage": "task", "runsAs": {"account": "administrator"}, "runs": ["kubelet.exe"], "source": "test"},
            ])),
            refusals: Vec::new(),
            programs,
            winrm: Some(WinrmTransport::Https),
            platform: Platform::default(),
            packages: vec![PackageService {
                package: "https://dl.example/c.msi".parse().expect("a URL"),
                service: "cloudbase-init".parse().expect("a name"),
                accounts: read_fixture(json!([
                    {"argument": "RUN_SERVICE_AS_LOCAL_SYSTEM=1", "runsAs": "system", "source": "test"},
                    {"runsAs": "administrator", "source": "test"},
                ])),
            }],
            build_user: "packer".parse().expect("a name"),
        }
    }

    fn position(&self, name: &str) -> usize {
        self.resources
            .iter()
            .position(|resource| resource["name"] == name)
            .expect(name)
    }

    /// The resource itself, to be changed.
    pub(super) fn of(&mut self, name: &str) -> &mut Value {
        let at = self.position(name);
        &mut self.resources[at]
    }

    pub(super) fn set(&mut self, name: &str, property: &str, value: impl Into<Value>) {
        self.of(name)["properties"][property] = value.into();
    }

    pub(super) fn unset(&mut self, name: &str, property: &str) {
        let properties = self.of(name)["properties"]
            .as_object_mut()
            .expect("properties");
        assert!(
            properties.remove(property).is_some(),
            "{name} has no {property}"
        );
    }

    pub(super) fn remove(&mut self, name: &str) {
        let at = self.position(name);
        self.resources.remove(at);
    }

    /// Adds a resource at the end of its phase.
    pub(super) fn add(&mut self, name: &str, phase: &str, kind: &str, properties: Value) {
        let order = [
            "bootstrap",
            "prepare",
            "install",
            "test",
            "seal",
            "firstboot",
        ];
        let rank = |phase: &Value| order.iter().position(|known| phase == known);
        let phase = json!(phase);
        let at = self
            .resources
            .iter()
            .position(|other| rank(&other["phase"]) > rank(&phase));
        let resource = resource(name, phase.as_str().expect("text"), kind, properties);
        self.resources
            .insert(at.unwrap_or(self.resources.len()), resource);
    }

    pub(super) fn predict(&self) -> Prediction {
        predict_state(&self.resources(), &self.expectations())
    }

    /// The machine after this plan is applied to another.
    pub(super) fn fold_from(&self, machine: Machine) -> Machine {
        fold_resources(machine, &self.resources(), &self.expectations())
    }

    fn resources(&self) -> Vec<Resource> {
        let read = |value: &Value| serde_json::from_value(value.clone()).expect("a resource");
        self.resources.iter().map(read).collect()
    }

    fn expectations(&self) -> Expectations<'_> {
        Expectations {
            build: 17763,
            windows: "2019",
            target: "cloud",
            platform: &self.platform,
            seals: true,
            later: &self.later,
            ports: &self.ports,
            needs: &self.needs,
            arguments: &self.arguments,
            stages: &self.stages,
            refusals: &self.refusals,
            packages: &self.packages,
            build_user: Some(&self.build_user),
            winrm: self.winrm,
            programs: &self.programs,
            step_file: &|step| format!("provisioners/steps/10-{step}.json"),
        }
    }
}

fn read_fixture<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("a fixture")
}

pub(super) fn resource(name: &str, phase: &str, kind: &str, properties: Value) -> Value {
    let step = name.split('/').next().expect("a step");
    let mut resource = json!({
        "name": name, "step": step, "phase": phase, "timeoutSeconds": 60, "type": kind,
    });
    resource["properties"] = properties;
    resource
}

fn resources() -> Vec<Value> {
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

fn system() -> Vec<Value> {
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
