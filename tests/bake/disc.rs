//! The disc for machines without hypervisor, made with the real wimlib, 7-Zip and xorriso of a small tree that stands
//! for Windows.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use imagegen::embedded::sha256_hex;
use serde_json::Value;

use crate::support::{Test, files, program};

const SELECTION: &str = "--target media --k8s 1.36.4 --windows 2025";

fn run(folder: &Path, program: &str, arguments: &[&str]) -> Output {
    Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"))
}

#[track_caller]
fn run_well(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let output = run(folder, program, arguments);
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
    said
}

/// A disc with what the script needs of one of Windows: two images, and both boot programs.
fn write_disc(test: Test) -> Test {
    let test = test
        .file("tree/Windows/System32/ntoskrnl.exe", "stands for Windows")
        .file("disc/boot/etfsboot.com", &"b".repeat(4096))
        .file("disc/efi/microsoft/boot/efisys_noprompt.bin", &"e".repeat(4096))
        .file("disc/setup.exe", "stands for Setup")
        .file("disc/sources/boot.wim", "stands for the preinstallation environment");
    let folder = &test.folder;
    for name in ["Standard", "Datacenter"] {
        let verb = if name == "Standard" { "capture" } else { "append" };
        run_well(folder, "wimlib-imagex", &[verb, "tree", "disc/sources/install.wim", name]);
    }
    run_well(
        folder,
        "xorriso",
        &["-as", "mkisofs", "-quiet", "-J", "-R", "-V", "WINDOWS", "-o", "windows.iso", "disc"],
    );
    test
}

/// The extracted archive of a build for the disc.
fn extract_bundle(test: Test) -> (Test, PathBuf) {
    let digest = sha256_hex(&test.read("windows.iso"));
    let test = test
        .line(&format!("build {SELECTION} --out o --var windows_iso_sha256={digest}"))
        .stocked(&format!("plan {SELECTION}"));
    test.succeeds();
    let folder = test.folder.join("bundle");
    fs::create_dir_all(&folder).expect("folder");
    let archive = test.folder.join("o/imagegen-media-2025-k8s-1.36.4.zip");
    run_well(&folder, "bsdtar", &["-xf", archive.to_str().expect("path")]);
    (test, folder)
}

#[test]
fn windows_setup_gets_a_disc_that_brings_the_node() {
    if ["7z", "wimlib-imagex", "xorriso", "bsdtar"].iter().any(|name| program(name).is_none()) {
        return;
    }
    let (test, bundle) = extract_bundle(write_disc(Test::new()).file("Autounattend.xml", "<unattend/>"));
    let root = test.folder.clone();
    let script = bundle.join("make-disc.sh").display().to_string();
    let said = run_well(
        &root,
        "bash",
        &[
            &script,
            "--iso",
            "windows.iso",
            "--out",
            "node.iso",
            "--index",
            "2",
            "--answers",
            "Autounattend.xml",
            "--wim",
            "node.wim",
        ],
    );
    assert!(said.contains(&sha256_hex(&test.read("node.iso"))), "{said}");

    let report = run_well(&root, "xorriso", &["-indev", "node.iso", "-report_el_torito", "plain"]);
    let boots = |platform: &str| {
        report.lines().any(|line| line.contains("El Torito boot img") && line.contains(platform))
    };
    assert!(boots("BIOS") && boots("UEFI"), "{report}");
    run_well(&root, "7z", &["x", "-bd", "-y", "-onew", "node.iso"]);
    assert_eq!(test.text("new/Autounattend.xml"), "<unattend/>");
    assert_eq!(test.read("new/sources/install.wim"), test.read("node.wim"));

    let apply = |number: &str| -> BTreeMap<String, Vec<u8>> {
        let to = format!("image-{number}");
        run_well(&root, "wimlib-imagex", &["extract", "node.wim", number, "/", &format!("--dest-dir={to}")]);
        files(&root.join(to))
    };
    let (other, image) = (apply("1"), apply("2"));
    assert_eq!(other.keys().collect::<Vec<_>>(), ["Windows/System32/ntoskrnl.exe"], "image 1 was not chosen");
    assert!(image.contains_key("Windows/System32/ntoskrnl.exe"), "Windows stays");
    let starts = String::from_utf8_lossy(&image["Windows/Setup/Scripts/SetupComplete.cmd"]).into_owned();
    assert!(starts.contains(r"C:\imagegen-disc\install-task.xml"), "{starts}");
    let task = String::from_utf8_lossy(&image["imagegen-disc/install-task.xml"]).into_owned();
    assert!(task.contains(r"-File C:\imagegen-disc\Install.ps1"), "{task}");
    for (name, bytes) in files(&bundle) {
        if ["README.md", "make-disc.sh", "SetupComplete.cmd"].contains(&name.as_str()) {
            continue;
        }
        assert_eq!(image.get(&format!("imagegen-disc/{name}")), Some(&bytes), "{name}");
    }
    let plan: Value = serde_json::from_slice(&image["imagegen-disc/guest-plan.json"]).expect("a plan");
    let digests = plan["resources"].as_array().expect("resources").iter();
    let digests: Vec<&str> = digests.filter_map(|it| it["properties"]["digest"].as_str()).collect();
    assert!(
        digests.len() >= 5
            && digests.iter().all(|it| image.contains_key(&format!("imagegen-disc/artifacts/{it}")))
    );
}

#[test]
fn another_disc_than_the_pinned_one_is_refused() {
    if ["7z", "wimlib-imagex", "xorriso", "bsdtar"].iter().any(|name| program(name).is_none()) {
        return;
    }
    let (test, bundle) = extract_bundle(write_disc(Test::new()).file("other.iso", "another disc"));
    let script = bundle.join("make-disc.sh").display().to_string();
    for (iso, more, code, reason) in [
        ("other.iso", &[][..], 4, "digest of other.iso is"),
        ("windows.iso", &["--index", "7"][..], 1, "2 images, and none of number 7"),
        ("windows.iso", &["--answer", "x"][..], 2, "unknown argument --answer"),
    ] {
        let arguments = [&[&*script, "--iso", iso, "--out", "node.iso"][..], more].concat();
        let output = run(&test.folder, "bash", &arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(reason), "no `{reason}` in {said}");
        assert!(!test.exists("node.iso"), "{iso}");
    }
    let left = fs::read_dir(&test.folder).expect("folder").filter_map(Result::ok);
    let left: Vec<String> = left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(!left.iter().any(|name| name.starts_with(".make-disc")), "{left:?}");
}
