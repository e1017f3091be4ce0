//! For every rule a plan that breaks it, with the message that the user reads.

mod refused;
mod variations;

use std::collections::BTreeSet;

use imagegen::base::code::{Code, RULES};
use imagegen::windows::resource::WinrmTransport;
use serde_json::{Value, json};

use super::plan::{Plan, RESTRICTED};
use crate::support::golden;

/// A rule, and one way to break it in the good plan. What the problems say is in `breaks.txt`.
type Break = (Code, fn(&mut Plan));

pub(super) const USER_DATA: &str = "cloudbaseinit.plugins.common.userdata.UserDataPlugin";

const BREAKS: &[Break] = &[
    (Code::ACCOUNT_REFUSED, |plan| {
        refuse_system(plan);
        plan.platform.cloudbase_init.main.plugins = vec![USER_DATA.to_owned()];
    }),
    (Code::ACCOUNT_REFUSED, |plan| {
        refuse_system(plan);
        plan.platform.cloudbase_init.unattend.plugins = vec![USER_DATA.to_owned()];
    }),
    (Code::ACCOUNT_REFUSED, |plan| {
        refuse_system(plan);
        let service = json!({"service": "kubelet"});
        plan.stages[2].runs_as = serde_json::from_value(service).expect("an account");
    }),
    (Code::ACCOUNT_REFUSED, |plan| {
        refuse_system(plan);
        let stage = json!({
            "stage": "task", "runsAs": {"account": "system"}, "runs": ["kubelet.exe"],
            "ignores": {"path": r"C:\k\crictl.yaml", "key": "ignored"}, "source": "test",
        });
        plan.stages = vec![serde_json::from_value(stage).expect("a stage")];
        plan.set("crictl/config", "content", "ignored=Other\nalso=Groups\n");
    }),
    (Code::ANSWER_FILE_MISSING, |plan| {
        plan.remove("cloudbase/answers");
    }),
    (Code::BUILD_LEFTOVER, |plan| plan.remove("seal/cache")),
    (Code::BUILD_LEFTOVER, |plan| plan.remove("firstboot/user")),
    (Code::BUILD_LEFTOVER, |plan| {
        plan.remove("firstboot/listener");
    }),
    (Code::BUILD_LEFTOVER, |plan| plan.remove("seal/winrm")),
    (Code::BUILD_LEFTOVER, |plan| {
        plan.winrm = None;
        plan.set("firstboot/listener", "ensure", "present");
    }),
    (Code::BUILD_LEFTOVER, |plan| {
        let properties = json!({"setting": r"Service\Auth\Basic", "value": "true"});
        plan.add("bootstrap/basic", "bootstrap", "winrmSetting", properties);
    }),
    (Code::BUILD_LEFTOVER, |plan| {
        plan.set(
            "network/kubelet",
            "localPort",
            json!(["10250", "5000-6000"]),
        );
    }),
    (Code::BUILD_LEFTOVER, |plan| {
        let properties =
            json!({"path": r"C:\Windows\Panther\unattend.xml", "ensure": "present", "content": ""});
        plan.add("x/answers", "install", "file", properties);
    }),
    (Code::BUILD_LEFTOVER, |plan| {
        let properties = json!({"variable": "SCRATCH", "value": r"C:\Windows\Temp\scratch", "ensure": "present"});
        plan.add("x/scratch", "install", "environmentVariable", properties);
    }),
    (Code::COMMAND_CHARACTER, |plan| {
        argument(plan, "--v=2", "--eviction-hard=memory.available<1Gi");
    }),
    (Code::CREDENTIAL_PROVIDER, |plan| {
        provider(plan, r"    args: [C:\k\provider.json]");
    }),
    (Code::CREDENTIAL_PROVIDER, |plan| {
        provider(plan, "    args:\n      - C:\\k\\provider.json");
    }),
    (Code::CREDENTIAL_PROVIDER, |plan| {
        provider(plan, "    args:\n      - C:\\k\\kubelet.exe");
        plan.remove("x/provider");
    }),
    (Code::CRI_ENDPOINT, |plan| {
        let content = "runtime-endpoint: \"npipe:////./pipe/dockershim\"\n";
        plan.set("crictl/config", "content", content);
    }),
    (Code::CRI_ENDPOINT, |plan| {
        argument(
            plan,
            "npipe:////./pipe/containerd-containerd",
            "npipe:////./pipe/containerd",
        );
    }),
    (Code::CRI_ENDPOINT, |plan| {
        plan.set(
            "containerd/config",
            "content",
            served(r#""\\\\.\\pipe\\other""#),
        );
    }),
    (Code::DEPENDENCY_CYCLE, |plan| {
        plan.set("containerd/service", "dependsOn", json!(["KUBELET"]));
    }),
    (Code::DEPENDENCY_MISSING, |plan| {
        plan.set("kubelet/service", "dependsOn", json!(["containred"]));
    }),
    (Code::DEPENDENCY_START, |plan| {
        plan.set("containerd/service", "startType", "disabled");
    }),
    (Code::DUPLICATE_RESOURCE, |plan| {
        plan.of("network/ports")["name"] = "network/kubelet".into();
    }),
    (Code::ENVIRONMENT_NAMES_MISSING_FILE, |plan| {
        plan.set("crictl/environment", "value", r"C:\k\crictl.yml");
    }),
    (Code::ENVIRONMENT_NAMES_MISSING_FILE, |plan| {
        plan.set(
            "kubelet/service",
            "environment",
            json!([r"KUBECONFIG=C:\k\config.yaml"]),
        );
    }),
    (Code::FACT_PATH_MISSING, |plan| {
        let content =
            "version=1.20.0\nkubelet=C:\\k\\kubelet.exe\nnetwork=C:\\k\\cni\\10-none.conf\n";
        let properties =
            json!({"path": r"C:\k\node.conf", "ensure": "present", "content": content});
        plan.add("node/facts", "install", "file", properties);
    }),
    (Code::FEATURE_BEFORE_RESTART, |plan| {
        let feature = plan.of("features/containers").clone();
        plan.remove("features/containers");
        plan.add(
            "features/containers",
            "install",
            "windowsFeature",
            feature["properties"].clone(),
        );
    }),
    (Code::FEATURE_MISSING, |plan| {
        for using in [
            "features/containers",
            "containerd/pause",
            "checks/containerd",
        ] {
            plan.remove(using);
        }
    }),
    (Code::FLAG_FILE_MISSING, |plan| {
        argument(plan, r"kubelet\config.yaml", r"kubelet\konfig.yaml");
    }),
    (Code::FLAG_FILE_MISSING, |plan| {
        plan.remove("containerd/config");
    }),
    (Code::FOREIGN_WRITE, |plan| {
        plan.share_value(r"Software\Policies\Own", "install");
        plan.share_value(r"Software\Policies\Own", "firstboot");
    }),
    (Code::FOREIGN_WRITE, |plan| {
        plan.share_value(r"SYSTEM\Set-up\Own", "install");
    }),
    (Code::INSECURE_PROGRAM, |plan| {
        plan.unset("layout/k", "sddl");
    }),
    (Code::INSECURE_PROGRAM, |plan| {
        plan.set(
            "layout/k",
            "sddl",
            "O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;0x1301bf;;;BU)",
        );
    }),
    (Code::INSECURE_PROGRAM, |plan| {
        let properties = json!({"path": r"C:\opt\tools", "ensure": "present", "sddl": RESTRICTED});
        plan.add("x/tools", "install", "directory", properties);
        plan.add(
            "x/path",
            "install",
            "pathEntry",
            json!({"entry": r"C:\opt\tools", "ensure": "present"}),
        );
    }),
    (Code::INSECURE_PROGRAM, |plan| {
        plan.add(
            "x/cni",
            "install",
            "directory",
            json!({"path": r"C:\opt\cni\bin", "ensure": "present"}),
        );
        let mut plugin = plan.of("kubernetes/kubelet")["properties"].clone();
        plugin["path"] = r"C:\opt\cni\bin\flannel.exe".into();
        plan.add("x/plugin", "install", "artifact", plugin);
    }),
    (Code::LINK_TARGET_MISSING, |plan| {
        plan.set("layout/pki", "target", r"C:\etc\kubernetes\pkj");
    }),
    (Code::LOCKED_GATE, |plan| {
        argument(
            plan,
            "WinOverlay=true",
            "WinOverlay=true,ExecProbeTimeout=False",
        );
    }),
    (Code::METADATA_BLOCKED, |plan| {
        block_metadata(plan, "install", json!(["10.0.0.0/8", "192.0.2.1"]));
        plan.set("x/metadata", "exceptAccount", json!(["S-1-5-19"]));
    }),
    (Code::METADATA_BLOCKED, |plan| {
        block_metadata(plan, "firstboot", json!(["192.0.2.0-192.0.2.9"]));
        plan.set("cloudbase/package", "arguments", json!([]));
    }),
    (Code::METADATA_BLOCKED, |plan| {
        block_metadata(plan, "install", json!(["192.0.2.0/24"]));
        plan.set("cloudbase/package", "arguments", json!([]));
        plan.set("x/metadata", "exceptUser", json!(["cloudbase-init"]));
    }),
    (Code::NAME_AFTER_USER_DATA, |plan| {
        plan.platform.cloudbase_init.main.plugins = vec![
            "cloudbaseinit.plugins.common.userdata.UserDataPlugin".to_owned(),
            "cloudbaseinit.plugins.common.sethostname.SetHostNamePlugin".to_owned(),
        ];
    }),
    (Code::NAME_CONFLICT, |plan| {
        let properties = json!({"variable": "cri_config_file", "value": r"C:\k\kubelet.exe", "ensure": "present"});
        plan.add("x/variable", "install", "environmentVariable", properties);
    }),
    (Code::NAME_CONFLICT, |plan| {
        let key = r"HKLM:\system\CurrentControlSet\Services\Tcpip\Parameters";
        let properties = json!({"key": key, "valueName": "KeepAliveTime", "ensure": "present", "kind": "DWord", "data": 1});
        plan.add("x/value", "install", "registryValue", properties);
    }),
    (Code::PARENT_DIRECTORY_MISSING, |plan| {
        plan.set("crictl/config", "path", r"C:\etc\crictl\crictl.json");
    }),
    (Code::PARENT_DIRECTORY_MISSING, |plan| {
        let directory = plan.of("containerd/directory")["properties"].clone();
        plan.remove("containerd/directory");
        plan.add("containerd/directory", "install", "directory", directory);
    }),
    (Code::PATH_CONFLICT, |plan| {
        let properties = json!({"path": "c:/K/crictl.yaml", "ensure": "present", "content": ""});
        plan.add("x/file", "install", "file", properties);
    }),
    (Code::PATH_CONFLICT, |plan| {
        plan.add(
            "x/directory",
            "install",
            "directory",
            json!({"path": r"C:\k\kubelet.exe", "ensure": "present"}),
        );
    }),
    (Code::PATH_CONFLICT, |plan| {
        plan.set("seal/cache", "path", r"C:\imagegen");
    }),
    (Code::PATH_CONFLICT, |plan| {
        plan.add(
            "late/logs",
            "test",
            "directory",
            json!({"path": r"C:\var", "ensure": "empty"}),
        );
    }),
    (Code::PATH_CONFLICT, |plan| {
        let mut other = plan.of("kubernetes/kubelet")["properties"].clone();
        plan.set("kubernetes/kubelet", "digest", "unpinned");
        other["digest"] = "unpinned".into();
        other["url"] = "https://dl.example/other.exe".into();
        plan.add("x/kubelet", "install", "artifact", other);
    }),
    (Code::PATH_ENTRY_WITHOUT_DIRECTORY, |plan| {
        plan.add(
            "x/path",
            "install",
            "pathEntry",
            json!({"entry": r"C:\Program Files\x", "ensure": "present"}),
        );
    }),
    (Code::PORT_MALFORMED, |plan| {
        plan.set("network/ports", "count", 31537);
    }),
    (Code::PORT_TAKEN, |plan| {
        let content = "version = 2\n[metrics]\n  address = '127.0.0.1:10250'\n";
        let properties =
            json!({"path": r"C:\k\metrics.toml", "ensure": "present", "content": content});
        plan.add("x/metrics", "install", "file", properties);
    }),
    (Code::PORT_WITHOUT_RULE, |plan| {
        plan.set("network/kubelet", "protocol", "UDP");
    }),
    (Code::PORT_WITHOUT_RULE, |plan| {
        let properties = json!({
            "ruleName": "block", "ensure": "present", "direction": "outbound", "action": "block",
            "protocol": "TCP", "remotePort": ["6000-7000"],
        });
        plan.add("x/block", "install", "firewallRule", properties);
    }),
    (Code::PROPERTY_MISSING, |plan| {
        plan.set("cloudbase/service", "arguments", json!(["--x=1"]));
    }),
    (Code::PROXY_WITHOUT_NETWORK, |plan| {
        let mut service = plan.of("kubelet/service")["properties"].clone();
        service["serviceName"] = "kube-proxy".into();
        service["program"] = r"C:\k\kube-proxy.exe".into();
        service["arguments"] = json!(["--windows-service"]);
        let mut program = plan.of("kubernetes/kubelet")["properties"].clone();
        program["path"] = r"C:\k\kube-proxy.exe".into();
        plan.add("x/program", "install", "artifact", program);
        plan.add("x/proxy", "install", "service", service);
    }),
    (Code::SDDL_INVALID, |plan| {
        plan.set("layout/etc", "sddl", "D:P(A;;FA;;;SY)");
    }),
    // A directory's descriptor on a file: .NET prints it without the inheritance flags.
    (Code::SDDL_INVALID, |plan| {
        plan.set("crictl/config", "sddl", RESTRICTED);
    }),
    (Code::SERVICE_PROGRAM_LATER, |plan| {
        let kubelet = plan.of("kubernetes/kubelet")["properties"].clone();
        plan.remove("kubernetes/kubelet");
        plan.add("kubernetes/kubelet", "install", "artifact", kubelet);
    }),
    (Code::SERVICE_PROGRAM_MISSING, |plan| {
        plan.remove("kubernetes/log-runner");
    }),
    (Code::SERVICE_PROGRAM_MISSING, |plan| {
        plan.remove("kubernetes/kubelet");
    }),
    (Code::SERVICE_SETTINGS, |plan| {
        plan.set("kubelet/service", "environment", json!(["HTTP_PROXY"]));
    }),
    (Code::SERVICE_SETTINGS, |plan| {
        plan.set("kubelet/service", "dependsOn", json!([]));
    }),
    (Code::SERVICE_SETTINGS, |plan| {
        plan.set("containerd/service", "failureResetSeconds", 900);
        plan.set("containerd/service", "failureActions", json!([]));
    }),
    (Code::SERVICE_SETTINGS, |plan| {
        let properties = json!({
            "key": r"HKLM:\SYSTEM\CurrentControlSet\Services\kubelet", "valueName": "Environment",
            "ensure": "present", "kind": "MultiString", "data": [],
        });
        plan.add("x/environment", "install", "registryValue", properties);
    }),
    (Code::SERVICE_STARTS_TOO_EARLY, |plan| {
        plan.set("kubelet/start", "content", "rem\r\n");
    }),
    (Code::SERVICE_UNKNOWN, |plan| {
        let properties =
            json!({"serviceName": "csiproxy", "ensure": "present", "startType": "auto"});
        plan.add("x/service", "install", "service", properties);
    }),
    (Code::SERVICE_UNKNOWN, |plan| {
        plan.set("checks/containerd", "serviceName", "containred");
    }),
    (Code::SERVICE_UNKNOWN, |plan| {
        plan.set("checks/containerd", "alternatives", json!(["containred"]));
    }),
    (Code::SERVICE_UNKNOWN, |plan| {
        plan.set("cloudbase/package", "url", "https://dl.example/other.msi");
    }),
    (Code::SESSION_CUT, |plan| {
        plan.add(
            "x/listener",
            "seal",
            "winrmListener",
            json!({"transport": "HTTPS", "ensure": "absent"}),
        );
    }),
    (Code::SESSION_CUT, |plan| {
        plan.add(
            "x/user",
            "seal",
            "localUser",
            json!({"userName": "Packer", "ensure": "absent"}),
        );
    }),
    (Code::SYSPREP_MISSING, |plan| plan.remove("seal/sysprep")),
    (Code::SYSPREP_MISSING, |plan| {
        plan.set("seal/sysprep", "finish", "shutdown");
        plan.winrm = Some(WinrmTransport::Http);
        plan.add(
            "x/listener",
            "seal",
            "winrmListener",
            json!({"transport": "HTTP", "ensure": "absent"}),
        );
    }),
    (Code::SYSPREP_MISSING, |plan| {
        let sysprep = plan.of("seal/sysprep")["properties"].clone();
        plan.remove("seal/sysprep");
        plan.add("early/sysprep", "install", "sysprep", sysprep);
    }),
    (Code::TOOL_MISSING, |plan| {
        plan.set(
            "containerd/pause",
            "program",
            r"C:\Program Files\containerd\nerdctl.exe",
        );
    }),
    (Code::UNKNOWN_FLAG, |plan| {
        argument(plan, "--cert-dir", "--certdir");
    }),
    (Code::UNKNOWN_GATE, |plan| {
        argument(plan, "WinOverlay=true", "WinOverlay=true,WinDSR=true");
    }),
    (Code::UNKNOWN_GATE, |plan| {
        argument(plan, "WinOverlay=true", "WinOverlay=yes");
    }),
];

/// containerd's configuration with this address.
fn served(address: &str) -> String {
    format!("version = 2\n[debug]\n  address = ''\n[grpc]\n  address = {address}\n[ttrpc]\n")
}

/// Replaces a part of one of the kubelet's arguments.
/// A kubelet that asks a credential provider, with these lines of its configuration.
fn provider(plan: &mut Plan, lines: &str) {
    for (flag, value) in [
        ("image-credential-provider-config", r"C:\k\providers.yaml"),
        ("image-credential-provider-bin-dir", r"C:\k"),
    ] {
        let program = plan.programs.get_mut("kubelet").expect("a program");
        program.flags.push(flag.to_owned());
        let arguments = &mut plan.of("kubelet/service")["properties"]["arguments"];
        let arguments = arguments.as_array_mut().expect("arguments");
        arguments.push(format!("--{flag}={value}").into());
    }

    let content = format!("providers:\n  - name: provider.exe\n{lines}\n");
    let file = json!({"path": r"C:\k\providers.yaml", "ensure": "present", "content": content});
    plan.add("x/providers", "install", "file", file);
    let mut program = plan.of("kubernetes/kubelet")["properties"].clone();
    program["path"] = r"C:\k\provider.exe".into();
    plan.add("x/provider", "install", "artifact", program);
}

/// A platform with metadata at 192.0.2.1, and a rule that blocks the addresses for all but LocalSystem.
pub(super) fn block_metadata(plan: &mut Plan, phase: &str, addresses: Value) {
    let endpoint =
        json!({"address": "192.0.2.1", "protocol": "TCP", "port": "80", "source": "test"});
    plan.platform.metadata = vec![serde_json::from_value(endpoint).expect("an endpoint")];
    plan.platform.cloudbase_init.main.plugins = vec![USER_DATA.to_owned()];
    let mut properties = json!({
        "ruleName": "metadata", "ensure": "present", "direction": "outbound", "action": "block",
        "protocol": "TCP", "remotePort": ["1-1024"], "exceptAccount": ["S-1-5-18"],
    });
    properties["remoteAddress"] = addresses;
    plan.add("x/metadata", phase, "firewallRule", properties);
}

/// A program of the plan refuses `LocalSystem`.
pub(super) fn refuse_system(plan: &mut Plan) {
    let refusal = json!({
        "program": "kubelet.exe", "kubernetes": "<1.31.0", "runsAs": "system", "check": "Groups", "source": "test",
    });
    plan.refusals = vec![serde_json::from_value(refusal).expect("a refusal")];
}

fn argument(plan: &mut Plan, part: &str, by: &str) {
    let text = plan.of("kubelet/service")["properties"]["arguments"].to_string();
    let escape = |part: &str| part.replace('\\', r"\\");
    assert!(text.contains(&escape(part)), "{part}");
    let text = text.replace(&escape(part), &escape(by));
    let arguments: Value = serde_json::from_str(&text).expect("JSON");
    plan.set("kubelet/service", "arguments", arguments);
}

#[test]
fn every_rule_is_broken_once() {
    let broken: BTreeSet<Code> = BREAKS.iter().map(|(rule, _)| *rule).collect();
    let rules: BTreeSet<Code> = RULES.iter().map(|(rule, _)| *rule).collect();
    assert_eq!(broken, rules);
}

#[test]
fn each_break_is_reported() {
    let mut report = String::new();
    for (rule, breaks) in BREAKS {
        let mut plan = Plan::good();
        breaks(&mut plan);
        let problems = plan.predict().problems;
        assert!(
            problems.iter().any(|problem| problem.code == *rule),
            "{rule}: {problems:?}"
        );
        report = problems
            .iter()
            .fold(format!("{report}# {rule}\n"), |report, problem| {
                format!("{report}{problem}; {}\n", problem.remedy)
            });
    }
    golden("machine/breaks.txt", &report);
}
