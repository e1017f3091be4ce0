//! The real Packer and its qemu plugin install a simulated Windows from media, in a network of their own.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use imagegen::embedded::sha256_hex;
use serde_json::Value;

use crate::support::targets::executed_versions;
use crate::support::{Test, files, root};

use super::simulation;

const PLAN: &str = "plan --target qemu --k8s 1.36.4 --windows 2022";
const REPORT: &str = r#"{"schema": "imagegen.dev/check-report/v1", "passed": true, "checked": 150, "failed": 0, "resources": []}"#;
const WINDOWS: &str = "stands for the installation media of Windows";
const DRIVERS: &str = "stands for the disc with drivers";

/// A definition with both media in the store.
fn with_media() -> Test {
    let test = Test::new()
        .file("imagegen.json", &executed_versions("qemu"))
        .file("report.json", REPORT)
        .file("windows.iso", WINDOWS)
        .file("drivers.iso", DRIVERS)
        .line("build --target qemu --k8s 1.36.4 --windows 2022 --out o")
        .stocked(PLAN);
    let added = Command::new(env!("CARGO_BIN_EXE_imagegen"))
        .args(["store", "add", "windows.iso", "drivers.iso", "--store", "store"])
        .current_dir(&test.folder)
        .env("HOME", &test.folder)
        .output()
        .expect("imagegen starts");
    let said = String::from_utf8_lossy(&added.stdout).into_owned();
    assert!(said.contains(&format!("{}  windows.iso", sha256_hex(WINDOWS.as_bytes()))), "{said}");
    let media = |name: &str, content: &str| {
        let digest = sha256_hex(content.as_bytes());
        let url = format!("https://media.example.com/{name}.iso");
        format!("--var {name}_iso_url={url} --var {name}_iso_sha256={digest}")
    };
    test.line(&media("windows", WINDOWS)).line(&media("drivers", DRIVERS))
}

/// Runs the command in a network namespace with loopback only, with the simulated QEMU in its PATH.
fn run_with_simulated_qemu(test: &Test) -> Output {
    let inner = test.command();
    let report = test.folder.join("report.json").display().to_string();
    let fakes = root().join("tests/support/fakes").display().to_string();
    Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "timeout", "--kill-after=5", "120", "sh", "-c"])
        .args(["ip link set lo up && exec \"$@\"", "sh"])
        .arg(inner.get_program())
        .args(inner.get_args())
        .current_dir(&test.folder)
        .env("HOME", &test.folder)
        .env("PATH", format!("{fakes}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"))
        .env("FAKE_QEMU_DIR", test.folder.join("machine"))
        .env("FAKE_QEMU_GUEST", format!("--download C:/imagegen/check-report.json={report}"))
        .output()
        .expect("unshare starts")
}

fn has_qemu_img() -> bool {
    let is_there = Command::new("qemu-img").arg("--version").output().is_ok();
    assert!(is_there || std::env::var_os("CI").is_none(), "CI installs qemu-img");
    if !is_there {
        println!("skipped: needs qemu-img");
    }
    is_there
}

#[test]
fn the_real_packer_installs_windows_from_media_into_a_file() {
    let Some(packer) = simulation() else { return };
    if !has_qemu_img() {
        return;
    }
    let test = with_media()
        .line("--var accelerator=tcg --var disk_size=1G --packer")
        .args([packer.to_str().expect("path")]);
    let output = run_with_simulated_qemu(&test);
    let log =
        String::from_utf8_lossy(&fs::read(test.folder.join("o/packer.log")).unwrap_or_default()).into_owned();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}\n{log}");

    let image: Value = serde_json::from_str(&test.text("o/image.json")).expect("JSON");
    let file = &image["artifacts"][0]["files"][0];
    assert_eq!(file["path"], "image/windows-2022-k8s-1.36.4.qcow2", "{image}");
    let disk = test.read("o/image/windows-2022-k8s-1.36.4.qcow2");
    assert_eq!(file["sha256"], sha256_hex(&disk));
    assert!(disk.starts_with(b"QFI\xfb"), "qcow2");

    let machine = test.folder.join("machine");
    let password = check_discs(&machine);
    check_session(&machine);
    for (name, bytes) in files(&test.folder) {
        let is_disc = name.starts_with("machine/disc-");
        assert!(is_disc || !String::from_utf8_lossy(&bytes).contains(&password), "{name} has the password");
    }
    assert!(!(said + &log).contains(&password));
}

/// The machine has three discs: media and drivers as they were pinned, and the answer file. Gives the
/// password of the answer file.
fn check_discs(machine: &Path) -> String {
    let discs: Vec<Vec<u8>> =
        (0..3).map(|n| fs::read(machine.join(format!("disc-{n}"))).expect("disc")).collect();
    assert_eq!(discs[0], WINDOWS.as_bytes());
    assert_eq!(discs[2], DRIVERS.as_bytes());
    let answers = String::from_utf8_lossy(&discs[1]).into_owned();
    assert!(answers.contains(r"<Path>F:\viostor\2k22\amd64</Path>"), "no driver path");
    assert!(!answers.contains("${") && !answers.contains("%{"), "the answer file is rendered whole");
    assert!(!answers.contains("ProductKey"), "no key was given");
    let start = answers.find("<AdministratorPassword>").expect("a password");
    let value = answers[start..].split("<Value>").nth(1).expect("a value");
    let password = value.split("</Value>").next().expect("an end").to_owned();
    assert!(password.len() >= 32, "{password}");
    password
}

/// All phases ran over HTTP, and the builder's command ended the machine after the last one.
fn check_session(machine: &Path) {
    let events = fs::read_to_string(machine.join("winrm/events.jsonl")).expect("events");
    for phase in ["bootstrap", "prepare", "install", "test", "seal"] {
        assert!(events.contains(&format!("-Phase '{phase}'")), "{phase}");
    }
    let position = |text: &str| events.find(text).unwrap_or_else(|| panic!("no {text}"));
    assert!(position("-Phase 'seal'") < position("shutdown.exe /s"));
}

/// Bytes other than the pinned ones never reach Packer.
#[test]
fn media_that_differ_from_their_digest_are_refused() {
    let test = with_media()
        .line("--var windows_iso_sha256=0000000000000000000000000000000000000000000000000000000000000000");
    test.fails(4, &["windows-iso 2022"]);
    assert!(!test.exists("o/packer.log"));
}
