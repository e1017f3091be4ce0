//! What the targets with installation media share: media in the store, discs as the machine saw them, the session.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

use imagegen::base::digest::sha256_hex;
use serde_json::Value;

use crate::support::targets::{choose_plugins, executed_versions};
use crate::support::{Test, files, root};

use super::{note_build, with_program};

pub const WINDOWS: &str = "stands for the installation media of Windows";
pub const DRIVERS: &str = "stands for the disc with drivers";
const REPORT: &str = r#"{"schema": "imagegen.dev/check-report/v1", "passed": true, "checked": 150, "failed": 0, "resources": []}"#;

/// A build of a selection with the versions of the target's record, its artifacts and these media in the store.
pub fn build_with_media(target: &str, selection: &str, media: &[(&str, &str)]) -> Test {
    let mut test = Test::new()
        .file("imagegen.json", &executed_versions(target))
        .file("report.json", REPORT);
    test = with_program(test, "qemu-system-x86_64", "#!/bin/sh\n")
        .line(&format!("build --out o {selection}"))
        .stocked(&format!("plan {selection}"));
    for (name, content) in media {
        test = test.file(&format!("{name}.iso"), content);
        let added = Command::new(env!("CARGO_BIN_EXE_imagegen"))
            .args(["store", "add", &format!("{name}.iso"), "--store", "store"])
            .current_dir(&test.folder)
            .env("HOME", &test.folder)
            .output()
            .expect("imagegen starts");
        let said = String::from_utf8_lossy(&added.stdout).into_owned();
        let digest = sha256_hex(content.as_bytes());
        assert!(said.contains(&format!("{digest}  {name}.iso")), "{said}");
        let url = format!("https://media.example.com/{name}.iso");
        test = test.line(&format!(
            "--var {name}_iso_url={url} --var {name}_iso_sha256={digest}"
        ));
    }
    test
}

/// Command line of the simulated Windows that listens on the port, for `stage.py`.
pub fn guest_service(test: &Test, port: u16, shutdown: &str) -> String {
    let fake = root().join("tests/support/fakes/fakewinrm.py");
    format!(
        "python3 {} --plain --port {port} --user Administrator --ends-by-command --out {} \
         --download C:/imagegen/check-report.json={} --shutdown-hook '{shutdown}'",
        fake.display(),
        test.folder.join("machine/winrm").display(),
        test.folder.join("report.json").display(),
    )
}

/// Runs the test's command beside the services, in a network of their own.
pub fn run_on_stage(test: &Test, services: &[String]) -> Output {
    let inner = test.command();
    let mut command = Command::new("python3");
    command.arg(root().join("tests/support/fakes/stage.py"));
    command.arg("--workdir").arg(test.folder.join("machine"));
    for service in services {
        command.args(["--service", service]);
    }
    command
        .arg("--")
        .arg(inner.get_program())
        .args(inner.get_args());
    for (name, value) in inner
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)))
    {
        command.env(name, value);
    }
    let plugins = choose_plugins(&inner, &test.folder.join("machine"));
    command.env("PACKER_PLUGIN_PATH", plugins);
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
    let started = Instant::now();
    let output = command
        .current_dir(&test.folder)
        .output()
        .expect("python3 starts");
    note_build(
        &inner,
        started,
        &test.folder.join("machine/winrm/summary.json"),
    );
    output
}

/// The build succeeded; gives everything that it said.
#[track_caller]
pub fn expect_success(test: &Test, output: &Output) -> String {
    let log = fs::read(test.folder.join("o/packer.log")).unwrap_or_default();
    let said = format!(
        "{}\n{}",
        String::from_utf8_lossy(&output.stderr),
        String::from_utf8_lossy(&log)
    );
    assert!(output.status.success(), "{said}");
    said
}

pub fn read_json(path: &Path) -> Value {
    let text = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).expect("JSON")
}

/// The answer file on a disc, and its password.
pub fn read_answers(disc: &Path) -> (String, String) {
    let disc = fs::read(disc).unwrap_or_else(|error| panic!("{}: {error}", disc.display()));
    let answers = String::from_utf8_lossy(&disc).into_owned();
    let start = answers.find("<unattend").expect("an answer file");
    let end = answers.find("</unattend>").expect("its end") + "</unattend>".len();
    let answers = answers[start..end].to_owned();
    assert!(
        !answers.contains("${") && !answers.contains("%{"),
        "the answer file is rendered whole: {answers}"
    );
    let start = answers.find("<AdministratorPassword>").expect("a password");
    let value = answers[start..].split("<Value>").nth(1).expect("a value");
    let password = value.split("</Value>").next().expect("an end").to_owned();
    assert!(password.len() >= 32, "{password}");
    (answers, password)
}

/// All phases ran; gives what happened in the guest.
pub fn check_phases(machine: &Path) -> String {
    let events = fs::read_to_string(machine.join("winrm/events.jsonl")).expect("events");
    for phase in ["bootstrap", "prepare", "install", "test", "seal"] {
        assert!(events.contains(&format!("-Phase '{phase}'")), "{phase}");
    }
    events
}

/// All phases ran, and the builder's command ended the machine after the last one.
pub fn check_session(machine: &Path) {
    let events = check_phases(machine);
    let position = |text: &str| events.find(text).unwrap_or_else(|| panic!("no {text}"));
    assert!(position("-Phase 'seal'") < position("shutdown.exe /s"));
}

/// No file but the discs of the machine has the secret, and nobody said it.
pub fn check_secret(test: &Test, said: &str, secret: &str) {
    for (name, bytes) in files(&test.folder) {
        let is_disc = name.starts_with("machine/disc-");
        assert!(
            is_disc || !String::from_utf8_lossy(&bytes).contains(secret),
            "{name} has a secret"
        );
    }
    assert!(!said.contains(secret), "{said}");
}

/// The disc has every artifact of the plan under the name by which the engine looks for it.
pub fn check_artifacts(test: &Test, disc: &Path) {
    let plan = read_json(&test.folder.join("o/guest-plan.json"));
    let digests: Vec<&str> = plan["resources"]
        .as_array()
        .expect("resources")
        .iter()
        .filter_map(|resource| resource["properties"]["digest"].as_str())
        .collect();
    assert!(digests.len() >= 5, "{digests:?}");
    // Without Rock Ridge names, as Windows reads it: Joliet.
    let folder = test.folder.join("disc");
    let output = Command::new("xorriso")
        .args([
            "-read_fs",
            "norock",
            "-indev",
            disc.to_str().expect("path"),
            "-osirrox",
            "on",
        ])
        .args(["-extract", "/", folder.to_str().expect("path")])
        .output()
        .expect("xorriso starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for digest in &digests {
        let name = folder.join("artifacts").join(&digest[..32]);
        let bytes = fs::read(&name).unwrap_or_else(|error| panic!("{}: {error}", name.display()));
        assert_eq!(sha256_hex(&bytes), **digest);
    }
    // The answer file came along; it has the password.
    fs::remove_dir_all(&folder).expect("the folder goes");
}
