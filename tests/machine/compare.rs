use std::collections::BTreeSet;

use serde_json::json;

use imagegen::machine::{Machine, compare};
use imagegen::model::resource::*;

use super::plan::Plan;

type Mutation = (&'static str, fn(&mut Machine), &'static str, &'static str, &'static str);

/// A resource type, what happens to the machine, and the difference: kind, name, property.
const MUTATIONS: &[Mutation] = &[
    ("directory", |m| m.directories[2].sddl = None, "directories", r"C:\etc\kubernetes\pki", "sddl"),
    ("file", |m| file(m, "crictl.yaml").content = None, "files", r"C:\k\crictl.yaml", "content"),
    ("symlink", |m| m.links[0].target.push('x'), "links", r"C:\var\lib\kubelet\etc\kubernetes\pki", "target"),
    ("artifact", |m| artifact(m, "kubelet.exe").digest.push('0'), "files", r"C:\k\kubelet.exe", "artifact"),
    (
        "archive",
        |m| artifact(m, "ctr.exe").member = None,
        "files",
        r"C:\Program Files\containerd\ctr.exe",
        "artifact",
    ),
    (
        "msi",
        |m| m.packages[0].arguments.clear(),
        "packages",
        r"C:\Program Files\Cloudbase Solutions\Cloudbase-Init\conf\cloudbase-init.conf",
        "arguments",
    ),
    (
        "registryValue",
        |m| m.registry[0].data = RegistryData::Number(1),
        "registry",
        r"HKLM:\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters KeepAliveTime",
        "data",
    ),
    ("environmentVariable", |m| m.environment[0].value.clear(), "environment", "CRI_CONFIG_FILE", "value"),
    (
        "service",
        |m| m.services[1].arguments.push("--debug".to_owned()),
        "services",
        "containerd",
        "arguments",
    ),
    ("service", |m| m.services[2].arguments_file = None, "services", "kubelet", "argumentsFile"),
    ("windowsFeature", |m| m.features[0].installed = false, "features", "Containers", "installed"),
    ("firewallRule", |m| m.firewall[0].action = FirewallAction::Block, "firewall", "kubelet", "action"),
    ("portRange", |m| m.port_ranges[0].count = 1, "portRanges", "dynamic TCP 34000", "count"),
    ("defenderExclusion", |m| m.defender.clear(), "defender", "process containerd.exe", ""),
    ("winrmListener", |m| listen(m), "winrm.listeners", "HTTPS", ""),
    ("winrmSetting", |m| m.winrm.settings[0].value.clear(), "winrm.settings", "MaxTimeoutms", "value"),
    ("localUser", |m| m.users[0].enabled = true, "users", "packer", "enabled"),
    (
        "containerImage",
        |m| m.images.clear(),
        "images",
        "k8s.io r.example/pause:3.4.1@sha256:eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee",
        "",
    ),
    (
        "assertion",
        |m| m.assertions[0].assertion.holds = false,
        "assertions",
        "checks/containerd",
        "assertion",
    ),
    ("sysprep", |m| m.sealed = false, "machine", "", "sealed"),
    ("hotfix", |m| thing(m, "hotfix", "digest"), "system", "hotfix KB5000822", "properties"),
    (
        "windowsUpdate",
        |m| thing(m, "windowsUpdate", "kbs"),
        "system",
        "windowsUpdate updates/search",
        "properties",
    ),
    (
        "windowsCapability",
        |m| thing(m, "windowsCapability", "installed"),
        "system",
        "windowsCapability Tools~~~~0.0.1.0",
        "properties",
    ),
    (
        "scheduledTask",
        |m| thing(m, "scheduledTask", "trigger"),
        "system",
        "scheduledTask clean",
        "properties",
    ),
    ("hnsNetwork", |m| m.system.retain(|it| it.kind != "hnsNetwork"), "system", "hnsNetwork nat", ""),
    ("powerPlan", |m| thing(m, "powerPlan", "plan"), "system", "powerPlan Windows", "properties"),
    ("pageFile", |m| thing(m, "pageFile", "maximumMegabytes"), "system", "pageFile Windows", "properties"),
    (
        "certificate",
        |m| thing(m, "certificate", "store"),
        "system",
        "certificate system/certificate",
        "properties",
    ),
    ("script", |m| thing(m, "script", "expected"), "system", "script system/time", "properties"),
    ("pathEntry", |m| m.path.clear(), "path", r"C:\Program Files\containerd", ""),
];

fn file<'a>(machine: &'a mut Machine, name: &str) -> &'a mut imagegen::machine::state::File {
    machine.files.iter_mut().find(|file| file.path.ends_with(name)).expect(name)
}

fn artifact<'a>(machine: &'a mut Machine, name: &str) -> &'a mut imagegen::machine::state::Artifact {
    file(machine, name).artifact.as_mut().expect("an artifact")
}

/// Another value of a property.
fn thing(machine: &mut Machine, kind: &str, property: &str) {
    let thing = machine.system.iter_mut().find(|it| it.kind == kind).expect(kind);
    assert!(
        thing.properties.insert(property.to_owned(), json!("other")).is_some(),
        "{kind} has no {property}"
    );
}

fn listen(machine: &mut Machine) {
    let origin = machine.services[0].origin.clone();
    let transport = WinrmTransport::Https;
    machine.winrm.listeners.push(imagegen::machine::state::Listener { transport, origin });
}

#[test]
fn notices_a_mutation_of_every_resource_type() {
    let predicted = Plan::good().predict().machine;
    for (kind, mutate, list, name, property) in MUTATIONS {
        let mut actual = predicted.clone();
        mutate(&mut actual);
        let found = compare(&predicted, &actual);
        let found: Vec<_> =
            found.iter().map(|it| (it.kind.as_str(), it.name.as_str(), it.property.as_str())).collect();
        assert!(found.contains(&(list, name, property)), "{kind}: {found:?}");
    }
}

#[test]
fn the_table_has_every_type() {
    let schema = serde_json::to_value(schemars::schema_for!(ResourceKind)).expect("a schema");
    let variants = schema["oneOf"].as_array().expect("variants");
    let types: BTreeSet<&str> =
        variants.iter().map(|it| it["properties"]["type"]["const"].as_str().expect("a type")).collect();
    let mutated: BTreeSet<&str> = MUTATIONS.iter().map(|(kind, ..)| *kind).collect();
    assert_eq!(mutated, types);
    let plan = Plan::good();
    let planned: BTreeSet<&str> = plan.resources.iter().filter_map(|it| it["type"].as_str()).collect();
    assert_eq!(planned, types, "the good plan has every type");
}

#[test]
fn a_machine_is_like_itself_and_survives_json() {
    let machine = Plan::good().predict().machine;
    let json = serde_json::to_value(&machine).expect("JSON");
    let read: Machine = serde_json::from_value(json.clone()).expect("a machine");
    assert_eq!(read, machine);
    assert_eq!(compare(&machine, &read), []);
    let mut other = json;
    other["services"][0]["origin"]["resource"] = json!("somebody/else");
    let other: Machine = serde_json::from_value(other).expect("a machine");
    assert_eq!(compare(&machine, &other), [], "who made it is no difference");
}

#[test]
fn the_order_of_the_path_counts() {
    let mut one = Plan::good().predict().machine;
    let origin = one.path[0].origin.clone();
    one.path.push(imagegen::machine::state::PathEntry { entry: r"C:\k".to_owned(), origin });
    let mut other = one.clone();
    other.path.reverse();
    let differences = compare(&one, &other);
    assert_eq!(differences.len(), 1);
    assert_eq!(differences[0].property, "pathOrder");
}
