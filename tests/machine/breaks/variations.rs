//! Variations of the good plan that are good.

use serde_json::json;

use super::served;
use crate::machine::plan::Plan;

/// Ways to change the good plan that are right too.
const VARIATIONS: &[fn(&mut Plan)] = &[
    // Windows takes either slash and any case.
    |plan| plan.set("kubernetes/kubelet", "path", "c:/K/Kubelet.exe"),
    |plan| {
        plan.set(
            "crictl/config",
            "content",
            r"runtime-endpoint: 'npipe:\\.\pipe\containerd-containerd'",
        );
    },
    |plan| {
        plan.set(
            "containerd/config",
            "content",
            served(r"'\\.\pipe\containerd-containerd'"),
        );
    },
    // No path, or none that must be there.
    |plan| {
        plan.set(
            "crictl/environment",
            "value",
            "https://proxy.example:3128/x.pac",
        );
    },
    |plan| plan.set("crictl/environment", "value", r"C:\anywhere"),
    // Not yet pinned: the preview says so, and a bake refuses it.
    |plan| plan.set("kubernetes/kubelet", "digest", "unpinned"),
    // The same said twice.
    |plan| {
        let same = plan.of("crictl/environment")["properties"].clone();
        plan.add("x/same", "install", "environmentVariable", same);
    },
    // What no user may write need not be protected twice.
    |plan| {
        let tools = json!({"path": r"C:\k\tools", "ensure": "present"});
        plan.add("x/tools", "install", "directory", tools);
        plan.add(
            "x/path",
            "install",
            "pathEntry",
            json!({"entry": r"C:\k\tools", "ensure": "present"}),
        );
    },
    // A block of some addresses leaves the others.
    |plan| {
        let properties = json!({
            "ruleName": "wireserver", "ensure": "present", "direction": "outbound", "action": "block",
            "protocol": "TCP", "remoteAddress": ["168.63.129.16"],
        });
        plan.add("x/block", "install", "firewallRule", properties);
    },
    // Started for the build, stopped for the image.
    |plan| {
        let running = json!({"serviceName": "containerd", "ensure": "present", "state": "running"});
        plan.add("x/running", "install", "service", running);
        plan.of("x/running")["scope"] = "build".into();
        let stopped = json!({"serviceName": "containerd", "ensure": "present", "state": "stopped"});
        plan.add("early/stopped", "test", "service", stopped);
    },
    // What others write may differ, or is set again before anybody compares it.
    |plan| {
        plan.share_value(r"SOFTWARE\Policies\Own", "install");
        plan.of("x/install")["volatile"] = json!({"data": "test"});
    },
    |plan| {
        plan.share_value(r"SYSTEM\Set-up\Own", "install");
        plan.share_value(r"SYSTEM\Set-up\Own", "firstboot");
    },
    // No variables are no value, and a platform's agent has one of several names.
    |plan| plan.set("kubelet/service", "environment", json!([])),
    |plan| plan.set("checks/containerd", "alternatives", json!(["HNS"])),
    // A wrapper's command line that others complete.
    // Services that depend on what starts on demand, and ports of programs that are not there.
    |plan| plan.set("containerd/service", "startType", "manual"),
    |plan| {
        plan.remove("network/kubelet");
        plan.ports.clear();
    },
];

#[test]
fn a_good_plan_has_no_problem() {
    let problems = Plan::good().predict().problems;
    let messages: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(messages, [""; 0]);
}

#[test]
fn variations_of_the_good_plan_are_good() {
    for (at, vary) in VARIATIONS.iter().enumerate() {
        let mut plan = Plan::good();
        vary(&mut plan);
        let problems = plan.predict().problems;
        assert_eq!(problems, [], "variation {at}");
    }
}
