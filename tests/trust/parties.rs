//! Party × subject × gate: whoever says something of a subject that the policy has not named is refused by every verb
//! that plans or writes an image. A new party, role or verb without a row does not compile or fails.

mod cells;

use std::collections::BTreeSet;

use cells::describe;
use clap::CommandFactory as _;
use imagegen::cli::Cli;
use imagegen::model::policy::Role;
use serde_json::{Value, json};

use super::addresses::{component, pins};
use super::attacks::CERTIFICATE;
use super::matrix::GATES;
use super::table::check_test;
use crate::support::Test;

const DIGEST: &str = "abababababababababababababababababababababababababababababababab";

const STEP: &str = r#"{"id": "own", "summary": "A step", "phase": "install", "resources": []}"#;

const BUILD: &str = "20348.2762.241009";

/// Who may say something of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Party {
    Policy,
    Definition,
    Overrides,
    CommandLine,
    Environment,
    Catalog,
    Lock,
    Bundle,
    Store,
    Mirror,
    Publisher,
}

impl Party {
    const ALL: [Self; 11] = [
        Self::Policy,
        Self::Definition,
        Self::Overrides,
        Self::CommandLine,
        Self::Environment,
        Self::Catalog,
        Self::Lock,
        Self::Bundle,
        Self::Store,
        Self::Mirror,
        Self::Publisher,
    ];
}

/// What a party says of a subject, beside what every run has.
#[derive(Debug, Default)]
struct Claim {
    definition: Value,
    overrides: Option<Value>,
    flags: String,
    environment: Option<(&'static str, &'static str)>,
    said: &'static str,
}

enum Cell {
    /// Refused by every gate.
    Refused(Claim),
    /// A lockfile with one text in the place of another: stale for every gate that reads it.
    Edited {
        from: &'static str,
        to: &'static str,
    },
    /// Bytes, which another test holds against their digests.
    Tested(&'static str),
    /// The party has no way to speak of the subject.
    Silent(&'static str),
}

const ELSEWHERE: &str = "it comes from evil.example";

/// The subject as a definition has it, from a host or with a digest, and what is said where the policy does not name
/// these.
fn define(role: Role, host: &str, digest: &str, build: &str) -> (Value, &'static str) {
    let url = format!("https://{host}/x.tar.gz");
    match role {
        Role::Artifact => (
            json!({"overrides": {"containerd": {"url": url, "sha256": DIGEST}}}),
            ELSEWHERE,
        ),
        Role::Update => {
            let file = json!({"kb": "KB5058411", "url": format!("https://{host}/a.msu"), "sha256": DIGEST});
            (json!({"updates": {"files": [file]}}), ELSEWHERE)
        }
        Role::VolumePlugin => {
            let file = json!({"file": "d.cmd", "url": url, "sha256": DIGEST});
            (json!({"volumePlugins": {"v~d.cmd": [file]}}), ELSEWHERE)
        }
        Role::ContainerImage => (
            json!({"containerImages": [format!("{host}/x:1@sha256:{DIGEST}")]}),
            ELSEWHERE,
        ),
        Role::BaseImage => (
            json!({"variables": {"image_version": build}}),
            "[policy-refuse-floating-base-image]",
        ),
        Role::BuildTool => (
            json!({"overrides": {"packer-plugin-azure": {"url": url, "sha256": DIGEST}}}),
            ELSEWHERE,
        ),
        Role::Medium => {
            let iso = format!("https://{host}/w.iso");
            (
                json!({"variables": {"windows_iso_url": iso, "windows_iso_sha256": DIGEST}}),
                ELSEWHERE,
            )
        }
        Role::GuestScript => (
            json!({"overrides": {"scripts/engine/Tools.ps1": {"sha256": digest}}}),
            "its code is not imagegen's",
        ),
        Role::OwnFile => (
            json!({"steps": ["steps"]}),
            "905-own.json: its code is not imagegen's",
        ),
        Role::Certificate => {
            let mirror = json!({"url": format!("https://{host}"), "ca": CERTIFICATE});
            (
                json!({"registries": {"registry.k8s.io": {"hosts": [mirror]}}}),
                "for the registry registry.k8s.io: nodes would trust what it signs",
            )
        }
    }
}

fn choose_target(role: Role) -> &'static str {
    match role {
        Role::BaseImage | Role::BuildTool => "azure",
        Role::Medium => "qemu",
        Role::Artifact
        | Role::Update
        | Role::VolumePlugin
        | Role::ContainerImage
        | Role::Certificate
        | Role::GuestScript
        | Role::OwnFile => "host",
    }
}

/// The policy names the hosts of an unchanged image and of good.example, and one digest.
fn policy(trusted: &[&str]) -> String {
    let hosts = [
        "dl.k8s.io",
        "github.com",
        "registry.k8s.io",
        "mcr.microsoft.com",
        "raw.githubusercontent.com",
        "releases.hashicorp.com",
        "www.cloudbase.it",
        "cloudbase.it",
        "good.example",
    ];
    let named = [
        "containerd",
        "KB*",
        "v~d.cmd",
        "windows-iso",
        "packer-plugin-azure",
        "scripts/*",
        "steps/905-own.json",
        "good.example/*",
        "registries/good.example",
    ];
    let trusted: Vec<Value> = trusted
        .iter()
        .map(|digest| json!({"digest": digest, "components": named}))
        .collect();
    json!({"name": "ours", "allowedHosts": hosts, "refuseFloatingBaseImage": true, "trustedDigests": trusted})
        .to_string()
}

fn line_of(role: Role) -> String {
    let target = choose_target(role);
    let pinned = if target == "azure" && role != Role::BaseImage {
        format!(" --var image_version={BUILD}")
    } else {
        String::new()
    };
    format!("--target {target} --k8s 1.36.0 --policy policy.json{pinned}")
}

fn arrange(role: Role, claim: &Claim, gate: &str, catalog: &str) -> Test {
    let mut test = Test::new()
        .file("policy.json", &policy(&[DIGEST]))
        .file("steps/905-own.json", STEP)
        .file("components/own.json", &component())
        .file("components/pins/own.json", &pins())
        .line(gate)
        .line(&line_of(role))
        .line(&claim.flags.replace("CATALOG", catalog));
    if !claim.definition.is_null() {
        test = test.file("imagegen.json", &claim.definition.to_string());
    }
    if let Some(overrides) = &claim.overrides {
        test = test
            .file("overrides.json", &overrides.to_string())
            .line("--overrides overrides.json");
    }
    match claim.environment {
        Some((name, value)) => test.env(name, value),
        None => test,
    }
}

/// A catalog that somebody changed.
fn make_catalog() -> Test {
    let export = Test::new().line("catalog export --out c");
    export.succeeds();
    let text = export
        .text("c/components/containerd.json")
        .replace("https://github.com/", "https://evil.example/");
    export.file("c/components/containerd.json", &text)
}

fn check_claim(party: Party, role: Role, claim: &Claim, catalog: &str, wrong: &mut Vec<String>) {
    for gate in GATES {
        let test = arrange(role, claim, gate, catalog);
        let ran = test.run();
        let clean = !test.exists("made") && !test.exists("imagegen.lock.json");
        if ran.code != Some(3) || !ran.stderr.contains(claim.said) || !clean {
            wrong.push(format!(
                "{party:?} × {role:?} × {gate}: {:?}, no `{}`: {}",
                ran.code, claim.said, ran.stderr
            ));
        }
    }
}

/// Gates that read a lockfile.
const LOCKED: &[&str] = &[
    "plan --locked",
    "render --locked --out made",
    "build --locked --no-bake --out made",
    "fetch --locked --offline --store made",
];

fn check_edit(role: Role, from: &str, to: &str, wrong: &mut Vec<String>) {
    let (definition, _) = define(role, "good.example", DIGEST, BUILD);
    let step = imagegen::base::digest::sha256_hex(STEP.as_bytes());
    let certificate = imagegen::base::digest::sha256_hex(CERTIFICATE.as_bytes());
    let run = |gate: &str| {
        Test::new()
            .file("policy.json", &policy(&[DIGEST, &step, &certificate]))
            .file("steps/905-own.json", STEP)
            .file("imagegen.json", &definition.to_string())
            .line(gate)
            .line(&line_of(role))
    };
    let locked = run("lock");
    locked.succeeds();
    let lock = locked.text("imagegen.lock.json");
    assert!(
        lock.contains(from),
        "{role:?}: the lockfile has no `{from}`: {lock}"
    );
    // The control: as it was written, it is fresh.
    run("plan --locked")
        .file("imagegen.lock.json", &lock)
        .succeeds();
    for gate in LOCKED {
        let test = run(gate).file("imagegen.lock.json", &lock.replace(from, to));
        let ran = test.run();
        if ran.code != Some(3) || !ran.stderr.contains("is stale") || test.exists("made") {
            wrong.push(format!(
                "Lock × {role:?} × {gate}: {:?}: {}",
                ran.code, ran.stderr
            ));
        }
    }
    // A new lockfile takes nothing over from it.
    let again = run("lock").file("imagegen.lock.json", &lock.replace(from, to));
    again.succeeds();
    assert_eq!(again.text("imagegen.lock.json"), lock, "{role:?}");
}

#[test]
fn each_cell_is_refused_or_proven() {
    let catalog = make_catalog();
    let catalog = catalog.folder.join("c").display().to_string();
    let mut wrong = Vec::new();
    for (party, role) in Party::ALL
        .into_iter()
        .flat_map(|party| Role::ALL.iter().map(move |role| (party, *role)))
    {
        match describe(party, role) {
            Cell::Refused(claim) => check_claim(party, role, &claim, &catalog, &mut wrong),
            Cell::Edited { from, to } => check_edit(role, from, to, &mut wrong),
            Cell::Tested(path) => wrong.extend(check_test(path).err()),
            Cell::Silent(reason) => assert!(reason.len() > 15, "{party:?} × {role:?}"),
        }
    }
    assert!(
        wrong.is_empty(),
        "{} cells:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// The control: without a claim the same lines are admitted.
#[test]
fn lines_without_a_claim_are_admitted() {
    for role in [Role::Artifact, Role::BuildTool] {
        arrange(role, &Claim::default(), "plan", "").succeeds();
    }
}

/// Every verb that takes overrides is a gate here.
#[test]
fn every_verb_of_a_selection_is_a_gate() {
    let mut command = Cli::command();
    command.build();
    let takes = |verb: &&clap::Command| {
        verb.get_arguments()
            .any(|argument| argument.get_id() == "overrides")
    };
    let verbs: BTreeSet<&str> = command
        .get_subcommands()
        .filter(takes)
        .map(clap::Command::get_name)
        .collect();
    let gates: BTreeSet<&str> = GATES
        .iter()
        .filter_map(|gate| gate.split(' ').next())
        .collect();
    assert_eq!(gates, verbs);
}
