//! Subject × clause × verb × layer: every subject is selected by each clause that makes sense for it, whichever verb plans
//! it and whichever layer names it.

use imagegen::model::policy::Role;
use serde_json::{Value, json};

use super::attacks::CERTIFICATE;
use crate::support::Test;

const DIGEST: &str = "abababababababababababababababababababababababababababababababab";
const STEP: &str = r#"{"id": "own", "phase": "install", "resources": []}"#;

/// Verbs that a policy stops before they write: one that shows, one that pins, one that renders, one that downloads.
const VERBS: &[&str] = &[
    "plan",
    "lock",
    "build --no-bake --out made",
    "fetch --offline --store made",
];

/// A layer that names a subject.
#[derive(Debug, Default)]
struct Layer {
    definition: Value,
    overrides: Value,
    flags: String,
    environment: Option<(&'static str, &'static str)>,
}

/// What a policy calls a subject, and the layers that can bring it.
struct Row {
    name: &'static str,
    target: &'static str,
    layers: Vec<Layer>,
}

fn define(definition: Value) -> Layer {
    Layer {
        definition,
        ..Layer::default()
    }
}

fn flag(flags: &str) -> Layer {
    Layer {
        flags: flags.to_owned(),
        ..Layer::default()
    }
}

fn overlay(overrides: Value) -> Layer {
    Layer {
        overrides,
        ..Layer::default()
    }
}

fn set(name: &'static str, value: &'static str) -> Layer {
    Layer {
        environment: Some((name, value)),
        ..Layer::default()
    }
}

/// A new role without an arm does not compile.
fn describe(role: Role) -> Row {
    let row = |name, target, layers| Row {
        name,
        target,
        layers,
    };
    match role {
        Role::Artifact => {
            let own =
                json!({"containerd": {"url": "https://x.example/c.tar.gz", "sha256": DIGEST}});
            let flags = format!(
                "--override containerd.url=https://x.example/c.tar.gz --override containerd.sha256={DIGEST}"
            );
            let layers = vec![
                define(json!({ "overrides": own })),
                overlay(own),
                flag(&flags),
                Layer::default(),
            ];
            row("containerd", "host", layers)
        }
        Role::Update => {
            let file =
                json!({"kb": "KB5058411", "url": "https://x.example/a.msu", "sha256": DIGEST});
            let layers = vec![
                define(json!({"updates": {"files": [file]}})),
                flag("--updates KB5058411"),
            ];
            row("KB5058411", "host", layers)
        }
        Role::VolumePlugin => {
            let file = json!({"file": "d.cmd", "url": "https://x.example/d", "sha256": DIGEST});
            let layers = vec![define(json!({"volumePlugins": {"v~d.cmd": [file]}}))];
            row("v~d.cmd", "host", layers)
        }
        Role::ContainerImage => {
            let image = format!("x.example/x:1@sha256:{DIGEST}");
            let layers = vec![
                define(json!({"containerImages": [&image]})),
                flag(&format!("--image {image}")),
            ];
            row("x.example/*", "host", layers)
        }
        Role::BaseImage => {
            let layers = vec![
                define(json!({"variables": {"image_sku": "2022-datacenter"}})),
                flag("--var image_sku=2022-datacenter"),
                Layer::default(),
            ];
            row("image_sku", "azure", layers)
        }
        Role::BuildTool => row("packer-plugin-azure", "azure", vec![Layer::default()]),
        Role::Medium => {
            let urls =
                json!({"windows_iso_url": "https://x.example/w.iso", "windows_iso_sha256": DIGEST});
            let flags = format!(
                "--var windows_iso_url=https://x.example/w.iso --var windows_iso_sha256={DIGEST}"
            );
            let layers = vec![define(json!({ "variables": urls })), flag(&flags)];
            row("windows-iso", "qemu", layers)
        }
        Role::GuestScript => {
            let own = json!({"scripts/engine/Tools.ps1": {"sha256": DIGEST}});
            let layers = vec![
                define(json!({ "overrides": own })),
                overlay(own),
                flag(&format!(
                    "--override scripts/engine/Tools.ps1.sha256={DIGEST}"
                )),
            ];
            row("scripts/engine/Tools.ps1", "host", layers)
        }
        Role::OwnFile => {
            let layers = vec![
                define(json!({"steps": ["steps"]})),
                flag("--steps steps"),
                set("IMAGEGEN_STEPS", "steps"),
            ];
            row("905-own.json", "host", layers)
        }
        Role::Certificate => {
            let server = json!({"url": "https://registry.example", "ca": CERTIFICATE});
            let layers = vec![define(
                json!({"registries": {"registry.example": {"server": server}}}),
            )];
            row("registries/registry.example", "host", layers)
        }
    }
}

/// The clauses that can select a subject, each with what a refusal names.
fn list_clauses(role: Role, name: &str) -> Vec<(Value, &'static str)> {
    let role_name = serde_json::to_value(role).expect("role");
    let rule = |selector: Value| {
        let mut rule = json!({"id": "r", "anyOf": ["minisign"]});
        for (field, value) in selector.as_object().expect("fields") {
            rule[field] = value.clone();
        }
        json!({ "require": [rule] })
    };
    let mut clauses = vec![
        (
            json!({"forbiddenComponents": [name]}),
            "[policy-forbidden-components]",
        ),
        (
            json!({"forbiddenRoles": [role_name]}),
            "[policy-forbidden-roles]",
        ),
        (rule(json!({"components": [name]})), "as `r` requires"),
        (rule(json!({"roles": [role_name]})), "as `r` requires"),
    ];
    if matches!(role, Role::Artifact | Role::BuildTool) {
        let versions = json!({"allowedVersions": [{"components": [name], "versions": "<0.0.1"}]});
        clauses.push((versions, "[policy-allowed-versions]"));
    }
    if role == Role::BaseImage {
        let entry = json!({"target": "azure", "variables": {"image_sku": ["2019-*"]}});
        clauses.push((
            json!({"allowedBaseImages": [entry]}),
            "[policy-allowed-base-images]",
        ));
    }
    clauses
}

fn arrange(row: &Row, layer: &Layer, policy: &Value, verb: &str) -> Test {
    let mut policy = policy.clone();
    policy["name"] = "ours".into();
    let mut test = Test::new()
        .file("policy.json", &policy.to_string())
        .file("steps/905-own.json", STEP)
        .line(verb)
        .line(&format!(
            "--target {} --k8s 1.36.0 --policy policy.json",
            row.target
        ))
        .line(&layer.flags);
    if !layer.definition.is_null() {
        test = test.file("imagegen.json", &layer.definition.to_string());
    }
    if !layer.overrides.is_null() {
        test = test
            .file("overrides.json", &layer.overrides.to_string())
            .line("--overrides overrides.json");
    }
    match layer.environment {
        Some((name, value)) => test.env(name, value),
        None => test,
    }
}

#[test]
fn each_subject_is_selected_by_each_clause() {
    let (mut cells, mut wrong) = (0, Vec::new());
    for role in Role::ALL {
        let row = describe(*role);
        for (at, layer) in row.layers.iter().enumerate() {
            for (turn, (policy, said)) in list_clauses(*role, row.name).iter().enumerate() {
                // Each layer and clause by one verb, and all verbs in turn.
                let verb = VERBS[(at + turn) % VERBS.len()];
                let test = arrange(&row, layer, policy, verb);
                let ran = test.run();
                let clean = !test.exists("made") && !test.exists("imagegen.lock.json");
                if ran.code != Some(3) || !ran.stderr.contains(said) || !clean {
                    let cell = format!("{role:?} × {policy} × {verb} × {layer:?}");
                    wrong.push(format!("{cell}: {:?}: {}", ran.code, ran.stderr));
                }
                cells += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(cells >= 80, "{cells} cells");
}

/// The controls: the same subjects under clauses that are about something else.
#[test]
fn a_clause_about_something_else_selects_nothing() {
    for role in Role::ALL {
        let row = describe(*role);
        let other = if *role == Role::Certificate {
            "volume-plugin"
        } else {
            "certificate"
        };
        let other = json!({
            "forbiddenComponents": ["wins"], "forbiddenRoles": [other],
            "allowedVersions": [{"components": ["wins"], "versions": "<0.0.1"}],
        });
        let ran = arrange(&row, &row.layers[0], &other, "plan").run();
        for clause in ["[policy-forbidden", "[policy-allowed", "[policy-require]"] {
            assert!(!ran.stderr.contains(clause), "{role:?}: {}", ran.stderr);
        }
    }
}

#[test]
fn base_images_and_proxies_are_those_of_the_policy() {
    let image = json!({
        "image_publisher": ["MicrosoftWindowsServer"], "image_offer": ["windowsserver*"], "image_sku": ["2022-*"],
        "image_version": ["20348.*"],
    });
    let plan = |policy: Value, flags: &str| {
        let mut policy = policy;
        policy["name"] = "ours".into();
        Test::new()
            .file("policy.json", &policy.to_string())
            .line("plan --k8s 1.36.0 --policy policy.json")
            .line(flags)
            .run()
    };
    let allowed = json!({"allowedBaseImages": [{"target": "azure", "variables": image}]});
    let pinned = "--var image_version=20348.2762.241009";
    for (flags, code) in [
        (format!("--target azure {pinned}"), 0),
        ("--target azure".to_owned(), 3),
        (
            format!("--target azure {pinned} --var image_publisher=evil"),
            3,
        ),
        // A target without entry has no base image that the policy knows; one without base images needs none.
        ("--target gcp".to_owned(), 3),
        ("--target host".to_owned(), 0),
    ] {
        let ran = plan(allowed.clone(), &flags);
        assert_eq!(ran.code, Some(code), "{flags}: {}", ran.stderr);
        let said = ran.stderr.contains("[policy-allowed-base-images]");
        assert_eq!(said, code == 3, "{flags}: {}", ran.stderr);
    }
    // The owner of an image decides whose bytes have its name.
    let named = json!({
        "source_ami_name": ["Windows_Server-2022-*"], "source_ami_date": ["2026.*"], "source_ami_owners": ["amazon"],
    });
    let named = json!({"allowedBaseImages": [{"target": "aws", "variables": named}]});
    for (owner, code) in [("amazon", 0), ("123456789012", 3)] {
        let owners = format!("--var source_ami_owners=[\"{owner}\"]");
        let flags = format!("--target aws --var source_ami_date=2026.09.09 {owners}");
        let ran = plan(named.clone(), &flags);
        assert_eq!(ran.code, Some(code), "{owner}: {}", ran.stderr);
    }
    let unknown =
        json!({"allowedBaseImages": [{"target": "azure", "variables": {"location": ["x"]}}]});
    assert!(
        plan(unknown, "--target azure")
            .stderr
            .contains("names no base image")
    );

    for (hosts, proxy, code) in [
        (json!(["proxy.example"]), "http://proxy.example:3128", 0),
        (json!(["proxy.example"]), "http://PROXY.example:80", 0),
        (json!(["proxy.example"]), "http://evil.example:3128", 3),
        (json!(["*.proxy.example"]), "http://proxy.example:3128", 3),
        (json!([]), "http://proxy.example:3128", 3),
    ] {
        let flags = format!("--target host --http-proxy {proxy}");
        let ran = plan(json!({ "allowedProxies": hosts }), &flags);
        assert_eq!(ran.code, Some(code), "{proxy}: {}", ran.stderr);
    }
    let dotted = plan(
        json!({}),
        "--target host --http-proxy http://proxy.example.:3128",
    );
    assert_ne!(dotted.code, Some(0), "{}", dotted.stderr);
}
