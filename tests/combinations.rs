//! Every Kubernetes line × Windows release × runtime × pod network × host access that the tables
//! allow: planned and predicted in this process, and every configuration file read by a parser of
//! its format.

mod keys;
mod networks;
mod registries;

use std::collections::BTreeSet;

use imagegen::base::choice::{HostAccess, Runtime};
use imagegen::catalog::Trees;
use imagegen::guest::Guest;
use imagegen::machine::Machine;
use imagegen::model::component::Pin;
use imagegen::model::definition::ImageDefinition;
use imagegen::planning::{predict_machine, resolve_plan};
use imagegen::selection::read_trees;
use imagegen::windows::resource::{
    File, FirewallRule, RegistryValue, ResourceKind, ScheduledTask, WindowsUpdate,
};
use serde_json::Value;

use crate::support::Test;
use crate::support::targets::azure;

fn made(selection: &ImageDefinition, trees: &Trees) -> Option<(Guest, Machine)> {
    let plan = resolve_plan(selection, trees).ok()?;
    let (guest, prediction) =
        predict_machine(&plan, trees).unwrap_or_else(|error| panic!("{selection:?}: {error:#}"));
    Some((guest, prediction.machine))
}

fn files(guest: &Guest) -> impl Iterator<Item = &File> {
    guest
        .plan
        .resources
        .iter()
        .filter_map(|resource| match &resource.kind {
            ResourceKind::File(file) => Some(file),
            _ => None,
        })
}

/// The file of that name as JSON.
fn json(guest: &Guest, name: &str) -> Value {
    let file = files(guest)
        .find(|file| file.path.ends_with(name))
        .unwrap_or_else(|| panic!("no {name}"));
    serde_json::from_str(file.content().expect("content"))
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn everything_that_the_tables_allow_is_planned_and_predicted() {
    let trees = read_trees(None).expect("the catalog");
    let mut made_of: BTreeSet<String> = BTreeSet::new();
    for minor in trees.catalog.kubernetes_minors() {
        let line = trees.catalog.load_kubernetes_line(minor).expect("line");
        for (at, cni) in trees.catalog.network_names().iter().enumerate() {
            for (turn, access) in line.host_access.iter().enumerate() {
                for runtime in &line.runtimes {
                    // Every release meets every other choice in some line; every line every release.
                    let windows = &line.windows[(at + turn) % line.windows.len()].value;
                    let selection = ImageDefinition {
                        windows: Some(windows.clone()),
                        cni: Some(cni.clone()),
                        host_access: access.name.parse().ok(),
                        runtime: runtime.name.parse().ok(),
                        ..azure(line.latest.as_str())
                    };
                    let Some((guest, machine)) = made(&selection, &trees) else {
                        continue;
                    };
                    check(&selection, &machine);
                    check_join(&selection, &guest, &machine);
                    for part in [
                        minor.to_string().as_str(),
                        cni.as_str(),
                        windows,
                        &access.name,
                        &runtime.name,
                    ] {
                        made_of.insert(part.to_owned());
                    }
                }
            }
        }
    }
    let minors = trees.catalog.kubernetes_minors();
    let all = minors
        .iter()
        .map(ToString::to_string)
        .chain(trees.catalog.network_names());
    let all = all.chain(HostAccess::ALL.iter().map(ToString::to_string));
    let all = all.chain(Runtime::ALL.iter().map(ToString::to_string));
    let missing: Vec<String> = all.filter(|name| !made_of.contains(name)).collect();
    assert_eq!(missing, [""; 0]);
}

fn is_overlay(network: &str) -> bool {
    [
        "flannel-overlay",
        "win-overlay",
        "sdnoverlay",
        "calico",
        "ovn-kubernetes",
    ]
    .contains(&network)
}

fn check(selection: &ImageDefinition, machine: &Machine) {
    let cni = selection.cni.as_deref().expect("a network");
    let opened = machine
        .present_resources::<FirewallRule>()
        .any(|rule| matches!(&rule.settings.local_port[..], [port] if port.as_str() == "4789"));
    assert_eq!(opened, is_overlay(cni), "{selection:?}: the port of VXLAN");
    let service = |name: &str| machine.find_service(name);
    assert_eq!(
        service("kube-proxy").is_some(),
        selection.host_access == Some(HostAccess::Services) && cni != "none",
        "{selection:?}"
    );
    assert_eq!(
        service("rancher-wins").is_some(),
        selection.host_access == Some(HostAccess::Wins),
        "{selection:?}"
    );
    if let (Some(proxy), true) = (service("kube-proxy"), cni != "none") {
        assert!(
            proxy
                .settings
                .arguments
                .iter()
                .any(|word| word.starts_with("--network-name=")),
            "{selection:?}"
        );
    }
}

/// What the join is told to do: for kube-proxy where that is a service, for a bridge where nobody else makes it.
fn check_join(selection: &ImageDefinition, guest: &Guest, machine: &Machine) {
    let conf = files(guest)
        .find(|file| file.path.ends_with(r"\node.conf"))
        .expect("node.conf");
    let lines: Vec<&str> = conf.content().expect("content").lines().collect();
    let told = |start: &str| lines.iter().any(|line| line.starts_with(start));
    let cni = selection.cni.as_deref().expect("a network");
    let services = selection.host_access == Some(HostAccess::Services) && cni != "none";
    assert_eq!(
        told("proxyArgument=--hostname-override=@NODE_NAME@"),
        services,
        "{selection:?}"
    );
    assert_eq!(
        told("proxyArgument=--source-vip="),
        services && is_overlay(cni),
        "{selection:?}"
    );
    assert_eq!(
        told("sourceNetwork=") || told("sourceEnd="),
        services && is_overlay(cni),
        "{selection:?}: nobody knows the address"
    );
    let task = |name: &str| {
        machine
            .present_resources::<ScheduledTask>()
            .any(|it| it.it.task_name == name && it.settings.enabled == Some(true))
    };
    let bridged = matches!(cni, "win-bridge" | "sdnbridge" | "l3");
    assert_eq!(
        (told("bridge=cbr0"), task("imagegen-bridge")),
        (bridged, bridged),
        "{selection:?}"
    );
    let flannel = services && matches!(cni, "flannel-hostgw" | "flannel-overlay");
    assert_eq!(
        (told("flannel="), task("imagegen-flanneld")),
        (flannel, flannel),
        "{selection:?}"
    );
}

#[test]
fn programs_that_are_looked_for_by_name_have_it() {
    let trees = read_trees(None).expect("the catalog");
    let selection = ImageDefinition {
        cni: Some("flannel-overlay".to_owned()),
        ..azure("1.36.4")
    };
    let (_, machine) = made(&selection, &trees).expect("planned");
    let has = |path: &str| machine.present_files().any(|file| file.path == path);
    assert!(has(r"C:\opt\cni\bin\flannel.exe") && !has(r"C:\opt\cni\bin\flannel-amd64.exe"));
}

#[test]
fn what_is_asked_for_gets_its_step() {
    let trees = read_trees(None).expect("the catalog");
    let contents = trees.catalog.load_contents().expect("contents");
    let mut seen = 0;
    for group in contents.groups.iter().filter(|group| group.on_request) {
        let component = trees
            .catalog
            .load_component(&group.name)
            .expect("component");
        let Some(pin) = component.pins.list().into_iter().rfind(Pin::is_usable) else {
            continue;
        };
        let mut selection = azure("1.36.4");
        selection
            .components
            .insert(group.name.to_string(), pin.version.clone());
        let Some((guest, _)) = made(&selection, &trees) else {
            continue;
        };
        assert!(
            guest
                .plan
                .resources
                .iter()
                .any(|it| it.name.contains(group.name.as_str())),
            "{}",
            group.name
        );
        seen += 1;
    }
    assert!(seen >= 4, "{seen}");
}

#[test]
fn nssm_runs_the_kubelet_where_it_is_asked_for() {
    let trees = read_trees(None).expect("the catalog");
    let mut selection = azure("1.20.0");
    selection
        .components
        .insert("nssm".to_owned(), "2.24".parse().expect("version"));
    let (_, machine) = made(&selection, &trees).expect("planned");
    let kubelet = machine.find_service("kubelet").expect("kubelet").settings;
    assert_eq!(kubelet.program.as_deref(), Some(r"C:\k\nssm.exe"));
    let value = |name: &str| {
        let found = machine
            .present_resources::<RegistryValue>()
            .find(|value| value.it.value_name == name)
            .expect(name);
        serde_json::to_value(&found.settings.data).expect("data")["data"].clone()
    };
    assert_eq!(value("Application"), r"C:\Windows\System32\cmd.exe");
    let arguments = value("AppParameters");
    let arguments = arguments.as_str().expect("text");
    assert!(
        arguments.contains(r"--config=C:\var\lib\kubelet\config.yaml"),
        "{arguments}"
    );
    assert!(
        !arguments.contains("--windows-service"),
        "nssm answers the service manager: {arguments}"
    );
}

#[test]
fn optional_features_are_all_used_and_refused_where_they_cannot_be_had() {
    let trees = read_trees(None).expect("the catalog");
    for feature in &trees.catalog.load_features().expect("features").features {
        let cni = feature
            .when
            .cni
            .as_ref()
            .and_then(|names| names.first().cloned());
        let with = |features: Vec<String>| ImageDefinition {
            features,
            cni: cni.clone(),
            runtime: Some(Runtime::Containerd),
            ..azure("1.20.0")
        };
        let (_, without) = made(&with(Vec::new()), &trees).expect("planned");
        // A name that people ask for, refused with its reason.
        if feature.when.cni.as_ref().is_some_and(Vec::is_empty) {
            let refused = resolve_plan(&with(vec![feature.name.clone()]), &trees);
            assert!(format!("{:#}", refused.expect_err("a refusal")).contains(&feature.reason));
            continue;
        }
        let (_, machine) = made(&with(vec![feature.name.clone()]), &trees)
            .unwrap_or_else(|| panic!("{}", feature.name));
        assert!(
            !crate::machine::difference::compare_machines(&without, &machine).is_empty(),
            "{} changes nothing",
            feature.name
        );
    }
    for (line, said) in [
        ("--k8s 1.36 --feature static-address", "feature-unsupported"),
        (
            "--k8s 1.20 --runtime docker --feature hyper-v",
            "feature-unsupported",
        ),
        (
            "--k8s 1.20 --feature gmsa --var image_version=17763.1000.200101",
            "minimum-update",
        ),
        (
            "--k8s 1.36 --cni sdnbridge --feature dual-stack",
            "feature-unsupported",
        ),
    ] {
        Test::new()
            .line("plan --target azure")
            .line(line)
            .fails(3, &[said]);
    }
}

#[test]
fn updates_come_first_and_are_frozen_later() {
    let trees = read_trees(None).expect("the catalog");
    let text = r#"{
        "target": "azure", "kubernetes": "1.20.0",
        "updates": {
            "files": [{ "kb": "KB5001407", "url": "https://updates.example/kb5001407.msu", "sha256": "SHA" }],
            "kbs": ["KB5000822"], "categories": ["SecurityUpdates"]
        }
    }"#;
    let definition = text.replace("SHA", &"a".repeat(64));
    let selection: ImageDefinition = serde_json::from_str(&definition).expect("a definition");
    let (guest, machine) = made(&selection, &trees).expect("planned");
    let names: Vec<&str> = guest
        .plan
        .resources
        .iter()
        .map(|resource| resource.name.as_str())
        .collect();
    let at = |name: &str| {
        names
            .iter()
            .position(|known| *known == name)
            .unwrap_or_else(|| panic!("{name}: {names:?}"))
    };
    assert!(at("updates/KB5001407") < at("updates/search"));
    assert!(at("updates/search") < at("os-baseline/containers-feature"));
    // Nothing of Windows' own may run beside the build's updates.
    assert!(at("os-baseline/no-automatic-updates") < at("updates/search"));
    let (search, _) = machine
        .resources_of::<WindowsUpdate>()
        .next()
        .expect("a search");
    assert_eq!(search.categories, ["0fa1201d-4330-4fa8-8ae9-b877473b6441"]);
    let searched = Test::new()
        .file("imagegen.json", &definition)
        .line("build --no-bake --out o");
    searched.succeeds();
    let rounds = |built: &Test| {
        built
            .text("o/build.pkr.hcl")
            .matches("-Phase 'prepare'")
            .count()
    };
    assert_eq!(
        rounds(&searched),
        5,
        "Windows Update offers more after a restart, and the package and the feature have each one"
    );
    let plain = Test::new().line("build --target azure --no-bake --out o");
    plain.succeeds();
    assert_eq!(rounds(&plain), 2, "a feature may wait for a restart");
    let features = "build --target azure --feature hyper-v --feature gmsa --feature bitlocker";
    let several = Test::new().line(features).line("--no-bake --out o");
    several.succeeds();
    assert_eq!(rounds(&several), 4, "each feature may wait for the last");
}

/// FlexVolume plugins are a provider's own files: laid where the kubelet looks, by digest.
#[test]
fn volume_plugins_are_laid_by_digest_or_refused() {
    let trees = read_trees(None).expect("the catalog");
    let define = |plugin: &str, file: &str, url: &str, sha256: &str| -> ImageDefinition {
        let plugins =
            serde_json::json!({ plugin: [{ "file": file, "url": url, "sha256": sha256 }] });
        let definition = serde_json::json!({ "kubernetes": "1.20.0", "volumePlugins": plugins });
        let definition: ImageDefinition = serde_json::from_value(definition).expect("a definition");
        definition.merge_over(azure("1.20.0"))
    };
    let (digest, url) = ("a".repeat(64), "https://plugins.example/iscsi.ps1");
    let selection = define("microsoft.com~iscsi.cmd", "iscsi.ps1", url, &digest);
    let (guest, _) = made(&selection, &trees).expect("planned");
    let laid = guest
        .plan
        .resources
        .iter()
        .find(|it| it.name.ends_with("iscsi.ps1"))
        .expect("laid");
    let properties = serde_json::to_value(laid).expect("JSON")["properties"].clone();
    let folder = r"C:\usr\libexec\kubernetes\kubelet-plugins\volume\exec\microsoft.com~iscsi.cmd";
    assert_eq!(properties["path"], format!(r"{folder}\iscsi.ps1"));
    assert_eq!(
        (&properties["url"], &properties["digest"]),
        (&url.into(), &digest.as_str().into())
    );
}
