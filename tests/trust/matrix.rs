//! Subject × gate: whatever a definition brings into an image is judged by every verb that plans or writes one.

use imagegen::model::policy::Role;
use serde_json::{Value, json};

use super::attacks::CERTIFICATE;
use crate::support::Test;

const DIGEST: &str = "abababababababababababababababababababababababababababababababab";

/// A subject that a definition or the catalog brings, and a policy that cannot admit it.
struct Cell {
    definition: Value,
    files: &'static [(&'static str, &'static str)],
    flags: &'static str,
    policy: Value,
    said: &'static str,
}

fn demand(role: &str) -> Value {
    json!({"name": "ours", "require": [{"id": "rule", "roles": [role], "anyOf": ["minisign"]}]})
}

/// A new role without an arm does not compile.
fn describe(role: Role) -> Cell {
    let name = serde_json::to_value(role).expect("role");
    let name = name.as_str().expect("text");
    let cell = |definition: Value, flags: &'static str, said: &'static str| Cell {
        definition,
        files: &[],
        flags,
        policy: demand(name),
        said,
    };
    match role {
        Role::Artifact => cell(
            json!({}),
            "--target host",
            "containerd 2.3.4: it must be proven by minisign",
        ),
        Role::Update => cell(
            json!({"updates": {"files": [{"kb": "KB5058411", "url": "https://x.example/a.msu", "sha256": DIGEST}]}}),
            "--target host",
            "KB5058411: it must be proven by minisign",
        ),
        Role::VolumePlugin => cell(
            json!({"volumePlugins": {"v~d.cmd": [{"file": "d.cmd", "url": "https://x.example/d", "sha256": DIGEST}]}}),
            "--target host",
            "v~d.cmd/d.cmd: it must be proven by minisign",
        ),
        Role::ContainerImage => cell(json!({}), "--target host", "pause"),
        Role::BaseImage => cell(
            json!({}),
            "--target azure",
            "image_sku: it must be proven by minisign",
        ),
        Role::BuildTool => cell(
            json!({}),
            "--target azure",
            "packer-plugin-azure 2.6.3: it must be proven by minisign",
        ),
        Role::Medium => cell(
            json!({"variables": {"windows_iso_url": "https://x.example/w.iso", "windows_iso_sha256": DIGEST}}),
            "--target qemu",
            "windows-iso 2022: it must be proven by minisign",
        ),
        Role::GuestScript => Cell {
            policy: json!({"name": "ours"}),
            ..cell(
                json!({"overrides": {"scripts/engine/Tools.ps1": {"sha256": DIGEST}}}),
                "--target host",
                "scripts/engine/Tools.ps1: its code is not imagegen's",
            )
        },
        Role::OwnFile => Cell {
            policy: json!({"name": "ours"}),
            files: &[(
                "steps/905-own.json",
                r#"{"id": "own", "phase": "install", "resources": []}"#,
            )],
            ..cell(
                json!({}),
                "--target host --steps steps",
                "905-own.json: its code is not imagegen's",
            )
        },
        Role::Certificate => Cell {
            policy: json!({"name": "ours"}),
            ..cell(
                json!({"registries": {"registry.example": {"server": {"url": "https://registry.example", "ca": CERTIFICATE}}}}),
                "--target host",
                "`ca` of registry.example for the registry registry.example: nodes would trust what it signs",
            )
        },
    }
}

/// Verbs that plan or write an image from a definition.
pub(super) const GATES: &[&str] = &[
    "plan",
    "lock",
    "render --out made",
    "build --no-bake --out made",
    "build --out made --offline --store made",
    "fetch --offline --store made",
    "outdated --offline --ignore-lock",
    "doctor --offline",
    "explain containerd",
];

#[test]
fn every_subject_is_refused_by_every_gate() {
    let mut cells = 0;
    for role in Role::ALL {
        let cell = describe(*role);
        for gate in GATES {
            let mut test = Test::new()
                .file("imagegen.json", &cell.definition.to_string())
                .file("policy.json", &cell.policy.to_string())
                .line(gate)
                .line(cell.flags)
                .line("--k8s 1.36.0 --policy policy.json");
            for (name, content) in cell.files {
                test = test.file(name, content);
            }
            let ran = test.fails(3, &["policy ours refuses this image", cell.said]);
            assert!(
                !test.exists("made") && !test.exists("imagegen.lock.json"),
                "{role:?} × {gate}: {ran:?}"
            );
            cells += 1;
        }
    }
    assert_eq!(cells, Role::ALL.len() * GATES.len());
}

/// Legitimate input still passes: the same subjects under a policy that has nothing against them.
#[test]
fn every_subject_is_admitted_where_the_policy_has_its_proof() {
    for role in Role::ALL {
        let cell = describe(*role);
        let name = serde_json::to_value(role).expect("role");
        let anything = [
            "pin",
            "authenticode",
            "cosign-keyless",
            "openpgp",
            "checksum-file",
        ];
        let policy = match role {
            // What Azure publishes is pinned by nobody, and neither are Packer and its plugins.
            Role::BaseImage => json!({"name": "ours"}),
            Role::GuestScript => {
                json!({"name": "ours", "trustedDigests": [{"digest": DIGEST, "components": ["scripts/engine/Tools.ps1"]}]})
            }
            Role::OwnFile => {
                let digest = imagegen::base::digest::sha256_hex(cell.files[0].1.as_bytes());
                json!({"name": "ours", "trustedDigests": [{"digest": digest, "components": ["steps/905-own.json"]}]})
            }
            Role::Certificate => {
                let digest = imagegen::base::digest::sha256_hex(CERTIFICATE.as_bytes());
                json!({"name": "ours", "trustedDigests": [{"digest": digest, "components": ["registries/registry.example"]}]})
            }
            _ => {
                json!({"name": "ours", "require": [{"id": "r", "roles": [name], "anyOf": anything}]})
            }
        };
        let mut test = Test::new()
            .file("imagegen.json", &cell.definition.to_string())
            .file("policy.json", &policy.to_string())
            .line("plan")
            .line(cell.flags)
            .line("--k8s 1.36.0 --policy policy.json");
        for (name, content) in cell.files {
            test = test.file(name, content);
        }
        let ran = test.run();
        // The step and the script are stand-ins, which later stages refuse.
        assert!(
            !ran.stderr.contains("refuses this image"),
            "{role:?}: {}",
            ran.stderr
        );
    }
}
