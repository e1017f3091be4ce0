//! Properties that do not belong together.

use imagegen::base::code::Code;
use imagegen::windows::resource::ResourceKind;
use serde_json::{Value, json};

use crate::machine::plan::Plan;

/// A resource type, its properties, and what the JSON lacks or has too much of.
const REFUSED: &[(&str, &str, &str)] = &[
    (
        "file",
        r#"{"path": "C:\\a", "ensure": "present"}"#,
        "missing field `content`",
    ),
    (
        "file",
        r#"{"path": "C:\\a", "ensure": "absent", "content": ""}"#,
        "`content`",
    ),
    (
        "file",
        r#"{"path": "C:\\a", "content": ""}"#,
        "missing field `ensure`",
    ),
    (
        "file",
        r#"{"path": "C:\\a", "ensure": "present", "content": "", "mode": 1}"#,
        "`mode`",
    ),
    (
        "symlink",
        r#"{"path": "C:\\a", "ensure": "present"}"#,
        "missing field `target`",
    ),
    (
        "directory",
        r#"{"path": "C:\\a", "ensure": "absent", "sddl": "O:BA"}"#,
        "`sddl`",
    ),
    (
        "environmentVariable",
        r#"{"variable": "A", "ensure": "present"}"#,
        "missing field `value`",
    ),
    (
        "firewallRule",
        r#"{"ruleName": "a", "ensure": "present", "direction": "inbound"}"#,
        "missing field `action`",
    ),
    (
        "firewallRule",
        r#"{"ruleName": "a", "ensure": "present", "action": "allow"}"#,
        "missing field `direction`",
    ),
    (
        "service",
        r#"{"serviceName": "a", "ensure": "absent", "state": "stopped"}"#,
        "`state`",
    ),
    (
        "service",
        r#"{"serviceName": "a", "ensure": "present", "account": "a"}"#,
        "`account`",
    ),
    (
        "hnsNetwork",
        r#"{"networkName": "a", "ensure": "present"}"#,
        "missing field `kind`",
    ),
    (
        "scheduledTask",
        r#"{"taskName": "a", "ensure": "present", "program": "C:\\a"}"#,
        "missing field `trigger`",
    ),
    (
        "registryValue",
        r#"{"key": "HKLM:\\k", "valueName": "v", "ensure": "present", "kind": "DWord"}"#,
        "missing field `data`",
    ),
    (
        "registryValue",
        r#"{"key": "HKLM:\\k", "valueName": "v", "ensure": "present", "kind": "DWord", "data": "1"}"#,
        "expected u32",
    ),
    (
        "registryValue",
        r#"{"key": "HKLM:\\k", "valueName": "v", "ensure": "present", "kind": "DWord", "data": 4294967296}"#,
        "expected u32",
    ),
    (
        "registryValue",
        r#"{"key": "HKLM:\\k", "valueName": "v", "ensure": "present", "kind": "DWord", "data": 1, "more": 1}"#,
        "`more`",
    ),
    (
        "assertion",
        r#"{"holds": true, "check": "command"}"#,
        "missing field `program`",
    ),
    (
        "assertion",
        r#"{"holds": true, "check": "osBuild", "build": 1, "program": "a"}"#,
        "`program`",
    ),
    (
        "directory",
        r#"{"path": "C:\\k\\nul", "ensure": "present"}"#,
        "it uses the device name `nul`",
    ),
    (
        "artifact",
        r#"{"path": "C:\\a", "url": "https://a.example/a", "algorithm": "sha256", "digest": "AA"}"#,
        "64 lower-case",
    ),
    (
        "artifact",
        r#"{"path": "C:\\a", "url": "a.exe", "algorithm": "sha256", "digest": "unpinned"}"#,
        "is not a URL",
    ),
    (
        "artifact",
        r#"{"path": "C:\\a", "url": "https://a.example/a", "algorithm": "sha256", "digest": "unpinned", "size": 1}"#,
        "`size`",
    ),
    (
        "containerImage",
        r#"{"reference": "r.example/pause:3.4.1", "program": "C:\\ctr.exe", "client": "C:\\c.exe", "namespace": "k"}"#,
        "not an image pinned by its digest",
    ),
    (
        "firewallRule",
        r#"{"ruleName": "a", "ensure": "present", "action": "allow", "direction": "inbound", "localPort": ["any"]}"#,
        "not a port",
    ),
    (
        "localUser",
        r#"{"userName": "a\\b", "ensure": "absent"}"#,
        "not the name of a local account",
    ),
    (
        "registryValue",
        r#"{"key": "HKCU:\\Software", "valueName": "v", "ensure": "present", "kind": "DWord", "data": 1}"#,
        "not a key of the machine",
    ),
    (
        "registryValue",
        r#"{"key": "HKLM:\\k", "valueName": "v", "ensure": "present", "kind": "Binary", "data": "0x0"}"#,
        "not hexadecimal",
    ),
];

#[test]
fn properties_that_do_not_belong_together_are_refused() {
    for (kind, properties, part) in REFUSED {
        let properties: Value = serde_json::from_str(properties).expect("JSON");
        let json = json!({"type": kind, "properties": properties});
        let error = serde_json::from_value::<ResourceKind>(json)
            .expect_err(part)
            .to_string();
        assert!(error.contains(part), "{kind} {properties}: {error}");
    }
}

/// The protocol, port or type of a firewall rule that Windows does not make.
#[test]
fn firewall_rules_with_what_their_protocol_has_not_are_reported() {
    for (given, message) in [
        (
            json!({"protocol": "ICMPv4", "localPort": ["8"]}),
            "x/rule (provisioners/steps/10-x.json): has ports, and its protocol is not TCP or UDP [port-malformed]",
        ),
        (
            json!({"remotePort": ["9100"]}),
            "x/rule (provisioners/steps/10-x.json): has ports, and its protocol is not TCP or UDP [port-malformed]",
        ),
        (
            json!({"protocol": "TCP", "icmpType": 8}),
            "x/rule (provisioners/steps/10-x.json): has `icmpType`, and its protocol is not ICMPv4 or ICMPv6 \
             [port-malformed]",
        ),
    ] {
        let mut properties = json!({
            "ruleName": "rule", "ensure": "present", "direction": "inbound", "action": "allow",
        });
        for (name, value) in given.as_object().expect("properties") {
            properties[name] = value.clone();
        }
        let mut plan = Plan::good();
        plan.add("x/rule", "install", "firewallRule", properties);
        let problems = plan.predict().problems;
        let found: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(found, [message]);
    }
}

#[test]
fn services_that_run_and_are_disabled_are_reported() {
    for (kind, count) in [("manual", 0), ("disabled", 1)] {
        let mut plan = Plan::good();
        let own = json!({
            "serviceName": "own", "ensure": "present", "program": r"C:\k\kubelet.exe", "startType": kind,
            "state": "running",
        });
        plan.add("x/own", "install", "service", own);
        let problems = plan.predict().problems;
        let found = problems
            .iter()
            .filter(|it| it.code == Code::SERVICE_SETTINGS);
        assert_eq!(found.count(), count, "{kind}");
    }
}

#[test]
fn delays_that_windows_cannot_count_are_reported() {
    for (delay, count) in [(4_294_967, 0), (4_294_968, 1)] {
        let mut plan = Plan::good();
        let actions = json!([{"action": "restart", "delaySeconds": delay}]);
        plan.set("containerd/service", "failureActions", actions);
        let problems = plan.predict().problems;
        let found = problems
            .iter()
            .filter(|it| it.code == Code::SERVICE_SETTINGS);
        assert_eq!(found.count(), count, "{delay}");
    }
}
