//! A small good plan, with a handle to break it at one point, for the tests of this module.

mod resources;

use std::collections::BTreeMap;

use imagegen::machine::{
    ArgumentNeed, Expectations, FeatureNeed, ForeignWrite, LaterFile, Machine, PackageService,
    PortUse, Prediction, fold_resources, predict_state,
};
use imagegen::model::kubernetes::Program;
use imagegen::model::platform::Platform;
use imagegen::model::stage::{AccountRefusal, Stage};
use imagegen::windows::resource::{Resource, WinrmTransport};
use imagegen::windows::value::AccountName;
use resources::resources;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub(super) const RESTRICTED: &str = "O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)";

pub(super) struct Plan {
    pub resources: Vec<Value>,
    pub later: Vec<LaterFile>,
    pub ports: Vec<PortUse>,
    needs: Vec<FeatureNeed>,
    arguments: Vec<ArgumentNeed>,
    writes: Vec<ForeignWrite>,
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
            "featureGates": { "WinOverlay": null, "ExecProbeTimeout": true },
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
            writes: read_fixture(json!([
                {"by": "a policy", "later": true, "type": "registryValue", "thing": r"HKLM:\SOFTWARE\Policies\*", "property": "data", "source": "test"},
                {"by": "Windows Setup", "type": "registryValue", "thing": r"HKLM:\SYSTEM\Set-up\*", "property": "data", "source": "test"},
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
                    {"runsAs": "administrator", "user": "cloudbase-init", "source": "test"},
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

    /// Adds a value that others write: below `Policies` a domain at any time, below `Set-up` the set-up of a clone.
    pub(super) fn share_value(&mut self, key: &str, phase: &str) {
        let key = format!(r"HKLM:\{key}");
        let properties = json!({
            "key": key, "valueName": "One", "ensure": "present", "kind": "DWord", "data": 1,
        });
        self.add(&format!("x/{phase}"), phase, "registryValue", properties);
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
            writes: &self.writes,
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
