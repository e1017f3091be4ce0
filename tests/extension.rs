//! Everything that a user or a contributor can add with files alone: a component with its step, a Kubernetes line,
//! a Windows release, a target, a pod network. Each is planned, predicted, rendered, explained, listed and linted.
//!
//! A resource type is left out: it needs Rust and PowerShell.

mod networks;
mod targets;

use std::collections::BTreeMap;

use imagegen::embedded::Tree;
use imagegen::model::definition::ImageDefinition;
use imagegen::planning::resolve_plan;
use imagegen::selection::{SourceFolders, read_sources};
use serde_json::{Value, json};

use crate::support::{Test, present};

const OWN: &str = "--manifests catalog --targets targets --steps steps";

/// A folder with the catalog, and empty places for targets and steps.
fn exported() -> Test {
    let mut test = Test::new();
    for (path, bytes) in Tree::embedded_manifests().files() {
        test = test.file(
            &format!("catalog/{path}"),
            std::str::from_utf8(&bytes).expect("UTF-8"),
        );
    }
    for folder in ["targets", "steps"] {
        std::fs::create_dir_all(test.folder.join(folder)).expect("folder");
    }
    test
}

fn edit(test: Test, path: &str, change: impl Fn(&mut Value)) -> Test {
    let mut value: Value = serde_json::from_slice(&test.read(path)).expect("JSON");
    change(&mut value);
    test.file(path, &value.to_string())
}

/// Files of a target of ours below `targets/<name>/`, changed as text.
fn target(mut test: Test, from: &str, name: &str, change: impl Fn(&str, &str) -> String) -> Test {
    let packer = Tree::embedded_packer();
    for path in packer.list_files(&format!("targets/{from}")) {
        let file = path.rsplit('/').next().expect("name");
        let content = std::str::from_utf8(packer.get(&path).expect("file")).expect("UTF-8");
        test = test.file(&format!("targets/{name}/{file}"), &change(file, content));
    }
    test
}

fn machine(test: &Test, selection: &str) -> Value {
    let printed = test.prints(&format!("plan --state --format json {selection} {OWN}"));
    serde_json::from_str(&printed).expect("JSON")
}

fn content<'a>(machine: &'a Value, path: &str) -> &'a str {
    let files = present(machine, "file").into_iter();
    let found = files
        .filter(|file| file["path"] == path)
        .find_map(|file| file["content"].as_str());
    found.unwrap_or_else(|| panic!("no {path}"))
}

fn lint(test: &Test) {
    test.prints(&format!("catalog lint {OWN}"));
}

fn component(name: &str) -> String {
    json!({
        "name": name, "summary": "A program of a user", "license": "MIT", "purl": "pkg:generic/own@{version}",
        "choices": [{
            "kubernetes": "*", "default": "2.0.0", "allowed": ">=1.0.0", "reason": "the newest",
            "source": "https://example.com/releases",
        }],
        "contents": { "reason": "asked for: an example", "source": "https://example.com" },
        "releases": [{
            "versions": "*", "kind": "exe", "source": "https://example.com/releases",
            "url": format!("https://artifacts.example.com/{{version}}/{name}.exe"),
        }],
    })
    .to_string()
}

fn pins(name: &str) -> String {
    json!({
        "component": name,
        "pins": [{
            "version": "2.0.0", "algorithm": "sha256", "digest": "0123456789abcdef".repeat(4),
            "confidence": "high", "source": ["https://example.com/releases"],
        }],
    })
    .to_string()
}

fn step(id: &str, component: &str, resources: &[Value]) -> String {
    let mut all = vec![json!({
        "name": "program", "type": "artifact", "each": format!("downloads.{component}"), "source": "https://example.com",
        "properties": {
            "path": format!("{{{{ paths.kubernetes }}}}\\{component}.exe"), "url": "{{ item.url }}",
            "algorithm": "{{ item.algorithm }}", "digest": "{{ item.digest }}",
        },
    })];
    all.extend_from_slice(resources);
    json!({
        "id": id, "summary": "What a user adds", "phase": "install", "when": { "component": [component] },
        "resources": all,
    })
    .to_string()
}

#[test]
fn a_component_is_its_files_and_a_step() {
    let test = exported()
        .file("catalog/components/agent.json", &component("agent"))
        .file("catalog/pins/agent.json", &pins("agent"))
        .file("steps/905-agent.json", &step("agent", "agent", &[]));
    lint(&test);
    assert!(
        test.prints(&format!("list components {OWN}"))
            .lines()
            .any(|line| line.starts_with("agent "))
    );
    assert!(
        test.prints(&format!("explain agent {OWN}"))
            .contains("A program of a user")
    );
    for target in ["host", "azure"] {
        let without = format!("--target {target} --k8s 1.36.4");
        let with = format!("{without} --component agent=2.0.0");
        assert!(
            !test
                .prints(&format!("plan {without} {OWN}"))
                .contains("agent.exe")
        );
        assert!(
            test.prints(&format!("plan {with} {OWN}"))
                .contains("What a user adds")
        );
        let machine = machine(&test, &with);
        let programs = present(&machine, "artifact");
        let program = programs
            .iter()
            .find(|it| it["path"] == r"C:\k\agent.exe")
            .expect("the program");
        assert_eq!(
            program["url"],
            "https://artifacts.example.com/2.0.0/agent.exe"
        );
        test.prints(&format!("build --no-bake --out {target} {with} {OWN}"));
        assert!(
            test.text(&format!("{target}/guest-plan.json"))
                .contains(r#""agent/program""#)
        );
    }
}

/// What the user brings is part of the digest in the lock: a lock of other files is stale.
#[test]
fn a_lock_notices_a_changed_step() {
    let digest = |summary: &str| {
        let step = step("agent", "agent", &[]).replace("What a user adds", summary);
        let test = Test::new().file("steps/905-agent.json", &step);
        let sources = SourceFolders {
            steps: vec![test.folder.join("steps")],
            ..SourceFolders::default()
        };
        let trees = read_sources(&sources, &[]).expect("trees");
        let definition = ImageDefinition {
            target: Some("host".to_owned()),
            ..ImageDefinition::default()
        };
        resolve_plan(&definition, &trees).expect("a plan").catalog
    };
    assert_eq!(digest("one"), digest("one"));
    assert_ne!(digest("one"), digest("two"));
}

#[test]
fn files_that_are_no_steps_and_no_targets_are_refused() {
    for (file, flag) in [
        ("steps/engine/Engine.psm1", "--steps"),
        ("steps/agent.json", "--steps"),
        ("targets/target.json", "--targets"),
        ("targets/cloud/source.pkr.hcl", "--targets"),
    ] {
        let test = exported().file(file, "{}").line("list targets").line(OWN);
        test.fails(3, &[flag, "does not belong there", "hint:"]);
    }
    Test::new()
        .line("list targets --steps nope")
        .fails(3, &["--steps", "nope"]);
}

#[test]
fn a_component_without_a_step_is_refused() {
    let test = exported()
        .file("catalog/components/agent.json", &component("agent"))
        .file("catalog/pins/agent.json", &pins("agent"));
    let line = format!("plan --target host --k8s 1.36.4 --component agent=2.0.0 {OWN}");
    test.line(&line).fails(
        3,
        &["component agent is in the plan, but no step installs it"],
    );
}

#[test]
fn a_kubernetes_line_is_its_file_and_entries_of_the_programs() {
    let line =
        json!({ "minor": "1.38", "patches": ["1.38.0"], "source": "https://example.com/releases" });
    let test = exported().file("catalog/kubernetes/lines/1.38.json", &line.to_string());
    let test = edit(test, "catalog/kubernetes/programs.json", |programs| {
        let surveyed = programs["surveyed"].as_array_mut().expect("surveys");
        surveyed.push(json!({ "minor": "1.38", "release": "1.38.0" }));
    });
    let test = edit(test, "catalog/pins/kubelet.json", |kubelet| {
        let pins = kubelet["pins"].as_array_mut().expect("pins");
        pins.push(json!({
            "version": "1.38.0", "algorithm": "sha256", "digest": "fedcba9876543210".repeat(4),
            "confidence": "high", "source": ["https://example.com/releases"],
        }));
    });
    lint(&test);
    assert!(
        test.prints(&format!("list kubernetes {OWN}"))
            .contains("1.38.0")
    );
    let plan = test.prints(&format!("plan --target azure --k8s stable {OWN}"));
    assert!(
        plan.contains("Kubernetes 1.38.0") && !plan.contains("not surveyed"),
        "{plan}"
    );
    // The archive of the node is chosen, because only one of its single programs is pinned.
    let explained = test.prints(&format!(
        "explain kubernetes-node --target azure --k8s 1.38 {OWN}"
    ));
    for part in [
        "in this plan: 1.38.0 (",
        "/release/v1.38.0/kubernetes-node-windows-amd64.tar.gz\n",
        "unpinned",
    ] {
        assert!(explained.contains(part), "{part}: {explained}");
    }
    let services = machine(&test, "--target host --k8s 1.38 --host-access services");
    assert!(
        present(&services, "service")
            .iter()
            .any(|service| service["serviceName"] == "kubelet")
    );
    test.prints(&format!(
        "build --no-bake --out o --target azure --k8s 1.38 {OWN}"
    ));
    assert!(test.text("o/guest-plan.json").contains("v1.38.0"));
}

#[test]
fn a_windows_release_is_its_file_and_a_line_of_each_target() {
    let test = target(exported(), "azure", "azure", |file, text| {
        let mut value = text.to_owned();
        if file == "windows.json" {
            let mut windows: Value = serde_json::from_str(text).expect("JSON");
            windows["releases"]["2028"] = windows["releases"]["2025"].clone();
            value = windows.to_string();
        }
        value
    });
    let mut release: Value =
        serde_json::from_slice(&test.read("catalog/windows/2025.json")).expect("JSON");
    release["release"] = json!("2028");
    release["title"] = json!("Windows Server 2028");
    release["build"] = json!(30000);
    release["runsImagesOf"] = json!([30000, 26100, 20348]);
    release["kubernetes"] = json!([{ "versions": ">=1.36.0", "source": "https://example.com" }]);
    let test = test.file("catalog/windows/2028.json", &release.to_string());
    lint(&test);
    assert!(
        test.prints(&format!("list windows {OWN}"))
            .contains("Windows Server 2028 (build 30000")
    );
    let selection = "--target azure --k8s 1.36.4 --windows 2028";
    assert!(
        test.prints(&format!("plan {selection} {OWN}"))
            .contains("Windows Server 2028")
    );
    assert!(
        machine(&test, selection)["resources"]
            .as_array()
            .is_some_and(|all| all.len() > 100)
    );
    let setting = release["registry"][0]["name"]
        .as_str()
        .expect("a setting")
        .to_owned();
    assert!(
        test.prints(&format!("explain {setting} {selection} {OWN}"))
            .contains(&setting)
    );
    test.prints(&format!("build --no-bake --out o {selection} {OWN}"));
    assert!(test.text("o/imagegen.auto.pkrvars.json").contains("2028"));
    let refused = test.line(&format!(
        "plan --target azure --k8s 1.20.0 --windows 2028 {OWN}"
    ));
    refused.fails(3, &["does not support Windows 2028"]);
}

/// The properties of the resources of a step, by name.
fn step_properties(test: &Test, step: &str) -> BTreeMap<String, Value> {
    let plan: Value = serde_json::from_slice(&test.read("o/guest-plan.json")).expect("plan");
    let resources = plan["resources"].as_array().expect("resources").iter();
    let of_step = resources.filter(|it| it["step"] == step);
    of_step
        .map(|it| {
            let name = it["name"].as_str().expect("name");
            (name.to_owned(), it["properties"].clone())
        })
        .collect()
}

/// What is only in memory is in no file of an image: the page file is zeros in it, and as ever on a node.
#[test]
fn the_page_file_of_a_compact_image_is_zeros() {
    let line = "build --no-bake --out o --target azure --k8s 1.36.4 --feature compact";
    let test = Test::new().line(line);
    test.succeeds();
    for (step, data) in [("seal", 1), ("firstboot", 0)] {
        let value = &step_properties(&test, step)[&format!("{step}/page-file")];
        assert_eq!(value["valueName"], "ClearPageFileAtShutdown");
        assert_eq!(value["data"], data, "{step}");
    }
    let script = &step_properties(&test, "seal")["seal/compact"]["set"];
    let script = script.as_str().expect("script");
    for folder in [r"SoftwareDistribution\Download", r"AppData\Local\Temp"] {
        assert!(script.contains(folder), "{folder}");
    }
}

/// A plug-in of the container credential guard is data of its component: Microsoft's and one that a user brings.
#[test]
fn plugins_of_the_credential_guard_are_registered_by_their_data() {
    let digest = "ab".repeat(32);
    let own = r#"{
        "name": "own-plugin", "summary": "A plug-in", "license": "MIT", "purl": "pkg:generic/own-plugin@{version}",
        "contents": { "reason": "our own secret store", "source": "derived: a test" },
        "ccgPlugin": {
            "clsid": "{11111111-2222-3333-4444-555555555555}", "appId": "{66666666-7777-8888-9999-aaaaaaaaaaaa}",
            "library": "Own.dll", "source": "derived: a test"
        },
        "releases": [{ "versions": "*", "url": "https://own.example/{version}/Own.dll", "kind": "file", "source": "derived: a test" }]
    }"#;
    let line = format!(
        "build --no-bake --out o --target azure --k8s 1.36.4 --feature gmsa --component-files own \
         --component ccgakvplugin=1.1.9 --override ccgakvplugin.sha256={digest} \
         --component own-plugin=1.0.0 --override own-plugin.sha256={digest}"
    );
    let test = Test::new().file("own/own-plugin.json", own).line(&line);
    test.succeeds();
    let found = step_properties(&test, "ccg-plugins");
    let folder = r"C:\Program Files\CcgPlugins";
    for (component, clsid, app, library) in [
        (
            "ccgakvplugin",
            "{CCC2A336-D7F3-4818-A213-272B7924213E}",
            "{557110E1-88BC-4583-8281-6AAC6F708584}",
            "CCGAKVPlugin.dll",
        ),
        (
            "own-plugin",
            "{11111111-2222-3333-4444-555555555555}",
            "{66666666-7777-8888-9999-aaaaaaaaaaaa}",
            "Own.dll",
        ),
    ] {
        let property = |name: &str, property: &str| {
            found[&format!("ccg-plugins/{name} {component}")][property].clone()
        };
        assert_eq!(
            property("class library", "data"),
            format!(r"{folder}\{component}\{library}")
        );
        assert_eq!(
            property("class library", "key"),
            format!(r"HKLM:\SOFTWARE\Classes\CLSID\{clsid}\InprocServer32")
        );
        assert_eq!(property("class application", "data"), app);
        assert_eq!(
            property("application surrogate", "key"),
            format!(r"HKLM:\SOFTWARE\Classes\AppID\{app}")
        );
        // Whoever may change the library is SYSTEM, where Windows loads it.
        assert!(
            !property("folder", "sddl")
                .as_str()
                .expect("sddl")
                .contains("FA;;;BU")
        );
        let script = property("credential guard", "set");
        assert!(
            script
                .as_str()
                .expect("script")
                .contains(&format!("CreateSubKey('{clsid}')"))
        );
    }
    let members = &found["ccg-plugins/archive ccgakvplugin"]["members"][0];
    assert_eq!(
        members["path"],
        format!(r"{folder}\ccgakvplugin\CCGAKVPlugin.dll")
    );
    let file = &found["ccg-plugins/library own-plugin"];
    assert_eq!(file["path"], format!(r"{folder}\own-plugin\Own.dll"));
    assert_eq!(file["digest"], digest);

    let wrong = own.replace("{11111111-", "11111111-");
    Test::new()
        .file("own/own-plugin.json", &wrong)
        .line(&line)
        .fails(
            3,
            &["is not an identifier: expected hexadecimal digits in braces"],
        );
}

#[test]
fn components_are_cleaned_up_on_request() {
    let test = exported();
    for (features, is_there) in [("", false), ("--feature component-cleanup", true)] {
        let machine = machine(&test, &format!("--target azure --k8s 1.36.4 {features}"));
        let cleans = present_scripts(&machine).any(|set| set.contains("/StartComponentCleanup"));
        assert_eq!(cleans, is_there, "{features}");
    }
}

/// Without a word of the definition the platform decides; a clone is asked again after the platform.
#[test]
fn remote_desktop_is_what_the_definition_says() {
    let test = exported();
    let none: &[i64] = &[];
    for (features, wanted) in [
        ("", none),
        ("--feature remote-desktop", &[0]),
        ("--feature no-remote-desktop", &[1]),
    ] {
        let machine = machine(&test, &format!("--target gcp --k8s 1.36.4 {features}"));
        let resources = machine["resources"].as_array().expect("resources");
        let found: Vec<i64> = resources
            .iter()
            .filter(|resource| resource["properties"]["valueName"] == "fDenyTSConnections")
            .filter_map(|resource| resource["properties"]["data"].as_i64())
            .collect();
        assert_eq!(found, wanted, "{features}");
    }
    let both = "--feature remote-desktop --feature no-remote-desktop";
    let line = format!("plan --target azure --k8s 1.36.4 {both}");
    Test::new().line(&line).fails(3, &["choose one of them"]);
}

fn present_scripts(machine: &Value) -> impl Iterator<Item = &str> {
    let resources = machine["resources"].as_array().expect("resources");
    resources
        .iter()
        .filter(|resource| resource["type"] == "script")
        .filter_map(|resource| resource["properties"]["set"].as_str())
}

/// Conditions of `contents.json` and of the steps are written apart, so that one can have a component where the other
/// installs none.
#[test]
fn the_lint_holds_each_group_against_its_steps() {
    let test = exported()
        .file("catalog/components/agent.json", &component("agent"))
        .file("catalog/pins/agent.json", &pins("agent"));
    let ran = test.line(&format!("catalog lint {OWN}")).fails(3, &[]);
    let missing = "agent: no step installs agent (`each`: `downloads.agent`)";
    assert!(ran.stdout.contains(missing), "{}", ran.stdout);

    let test = edit(exported(), "catalog/contents.json", |contents| {
        let groups = contents["groups"].as_array_mut().expect("groups");
        let nerdctl = groups.iter_mut().find(|group| group["name"] == "nerdctl");
        let nerdctl = nerdctl.and_then(Value::as_object_mut).expect("nerdctl");
        assert!(nerdctl.remove("when").is_some(), "a condition");
    });
    let ran = test.line(&format!("catalog lint {OWN}")).fails(3, &[]);
    let gap = "no step installs nerdctl (`each`: `archives.nerdctl`) where an image has it";
    assert!(ran.stdout.contains(gap), "{}", ran.stdout);
    assert!(ran.stdout.contains("runtime docker"), "{}", ran.stdout);
    assert_eq!(ran.stdout.matches("component-uninstalled").count(), 1);
}
