//! The disc for machines without hypervisor, made with the real wimlib, hivex, 7-Zip and xorriso of a small tree that
//! stands for Windows; its hives are real.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use imagegen::base::digest::sha256_hex;
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
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
    said
}

/// An empty hive: header, one bin with the root key and its security descriptor.
/// https://github.com/msuhanov/regf/blob/master/Windows%20registry%20file%20format%20specification.md
fn format_hive() -> Vec<u8> {
    let mut hive = vec![0_u8; 8192];
    let mut put = |at: usize, bytes: &[u8]| hive[at..at + bytes.len()].copy_from_slice(bytes);
    let number = |value: i32| value.to_le_bytes();
    // Sequence numbers, version 1.5, file format, offset of the root key, size of all bins, clusters.
    put(0, b"regf");
    for (at, value) in [
        (4, 1),
        (8, 1),
        (20, 1),
        (24, 5),
        (32, 1),
        (36, 0x20),
        (40, 4096),
        (44, 1),
    ] {
        put(at, &number(value));
    }
    put(4096, b"hbin");
    put(4096 + 8, &number(4096));
    // The root key: a cell in use, with its name in one byte per character.
    let root = 4096 + 0x20;
    put(root, &number(-0x58));
    put(root + 4, b"nk\x2c\0");
    for at in [0x20, 0x24, 0x2c, 0x34] {
        put(root + at, &number(-1));
    }
    put(root + 0x30, &number(0x78));
    put(root + 0x4c, &[4, 0]);
    put(root + 0x50, b"ROOT");
    // Its security descriptor, alone in its list.
    let security = root + 0x58;
    put(security, &number(-0x30));
    put(security + 4, b"sk");
    for (at, value) in [(8, 0x78), (12, 0x78), (16, 1), (20, 20)] {
        put(security + at, &number(value));
    }
    put(security + 24, &[1, 0, 0, 0x80]);
    let free = security + 0x30;
    put(free, &number(i32::try_from(8192 - free).expect("small")));
    let words = hive[..508]
        .as_chunks::<4>()
        .0
        .iter()
        .map(|word| u32::from_le_bytes(*word));
    let checksum = words.fold(0, |sum, word| sum ^ word);
    hive[508..512].copy_from_slice(&checksum.to_le_bytes());
    hive
}

const TOOLS: [&str; 5] = ["7z", "wimlib-imagex", "xorriso", "bsdtar", "hivexregedit"];

fn has_tools() -> bool {
    TOOLS.iter().all(|name| program(name).is_some())
}

/// A disc with what the script needs of one of Windows: two images, and both boot programs.
fn write_disc(test: Test) -> Test {
    let test = test
        .file("tree/Windows/System32/ntoskrnl.exe", "stands for Windows")
        .bytes("tree/Windows/System32/config/SOFTWARE", &format_hive())
        .bytes("tree/Windows/System32/config/SYSTEM", &format_hive())
        .file("disc/boot/etfsboot.com", &"b".repeat(4096))
        .file(
            "disc/efi/microsoft/boot/efisys_noprompt.bin",
            &"e".repeat(4096),
        )
        .file("disc/setup.exe", "stands for Setup")
        .file(
            "disc/sources/boot.wim",
            "stands for the preinstallation environment",
        );
    let folder = &test.folder;
    for name in ["Standard", "Datacenter"] {
        let verb = if name == "Standard" {
            "capture"
        } else {
            "append"
        };
        run_well(
            folder,
            "wimlib-imagex",
            &[verb, "tree", "disc/sources/install.wim", name],
        );
    }
    write_iso(folder);
    test
}

fn write_iso(folder: &Path) {
    let label = [
        "-as",
        "mkisofs",
        "-quiet",
        "-J",
        "-R",
        "-V",
        "WINDOWS",
        "-o",
        "windows.iso",
        "disc",
    ];
    run_well(folder, "xorriso", &label);
}

/// The extracted archive of a build for the disc.
fn extract_installer(test: Test) -> (Test, PathBuf) {
    let digest = sha256_hex(&test.read("windows.iso"));
    let test = test
        .line(&format!(
            "build {SELECTION} --out o --var windows_iso_sha256={digest}"
        ))
        .stocked(&format!("plan {SELECTION}"));
    test.succeeds();
    let folder = test.folder.join("installer");
    fs::create_dir_all(&folder).expect("folder");
    let archive = test.folder.join("o/imagegen-media-2025-k8s-1.36.4.zip");
    run_well(&folder, "bsdtar", &["-xf", archive.to_str().expect("path")]);
    (test, folder)
}

#[test]
fn windows_setup_gets_a_disc_that_brings_the_node() {
    if !has_tools() {
        return;
    }
    let (test, installer) =
        extract_installer(write_disc(Test::new()).file("Autounattend.xml", "<unattend/>"));
    let root = test.folder.clone();
    let script = installer.join("make-disc.sh").display().to_string();
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

    let report = run_well(
        &root,
        "xorriso",
        &["-indev", "node.iso", "-report_el_torito", "plain"],
    );
    let boots = |platform: &str| {
        report
            .lines()
            .any(|line| line.contains("El Torito boot img") && line.contains(platform))
    };
    assert!(boots("BIOS") && boots("UEFI"), "{report}");
    run_well(&root, "7z", &["x", "-bd", "-y", "-onew", "node.iso"]);
    assert_eq!(test.text("new/Autounattend.xml"), "<unattend/>");
    assert_eq!(test.read("new/sources/install.wim"), test.read("node.wim"));

    let apply = |number: &str| -> BTreeMap<String, Vec<u8>> {
        let to = format!("image-{number}");
        run_well(
            &root,
            "wimlib-imagex",
            &[
                "extract",
                "node.wim",
                number,
                "/",
                &format!("--dest-dir={to}"),
            ],
        );
        files(&root.join(to))
    };
    let (other, image) = (apply("1"), apply("2"));
    let untouched = format_hive();
    assert!(
        other.len() == 3 && other["Windows/System32/config/SOFTWARE"] == untouched,
        "image 1 was not chosen"
    );
    check_policies(&root.join("image-2/Windows/System32/config"));
    assert!(
        image.contains_key("Windows/System32/ntoskrnl.exe"),
        "Windows stays"
    );
    let starts =
        String::from_utf8_lossy(&image["Windows/Setup/Scripts/SetupComplete.cmd"]).into_owned();
    assert!(
        starts.contains(r"C:\imagegen-disc\install-task.xml"),
        "{starts}"
    );
    let task = String::from_utf8_lossy(&image["imagegen-disc/install-task.xml"]).into_owned();
    assert!(
        task.contains(r"-File C:\imagegen-disc\Install.ps1"),
        "{task}"
    );
    for (name, bytes) in files(&installer) {
        if ["README.md", "make-disc.sh", "SetupComplete.cmd"].contains(&name.as_str())
            || name.starts_with("registry/")
        {
            continue;
        }
        assert_eq!(
            image.get(&format!("imagegen-disc/{name}")),
            Some(&bytes),
            "{name}"
        );
    }
    let plan: Value =
        serde_json::from_slice(&image["imagegen-disc/guest-plan.json"]).expect("a plan");
    let digests = plan["resources"].as_array().expect("resources").iter();
    let digests: Vec<&str> = digests
        .filter_map(|it| it["properties"]["digest"].as_str())
        .collect();
    assert!(
        digests.len() >= 5
            && digests
                .iter()
                .all(|it| image.contains_key(&format!("imagegen-disc/artifacts/{it}")))
    );
}

/// hivex reads the policies from the hives as Windows would.
fn check_policies(hives: &Path) {
    let export = |hive: &str, key: &str| {
        let prefix = format!(r"HKEY_LOCAL_MACHINE\{hive}");
        run_well(
            hives,
            "hivexregedit",
            &["--export", "--prefix", &prefix, hive, key],
        )
    };
    let software = export("SOFTWARE", r"\Policies");
    let updates = r"[HKEY_LOCAL_MACHINE\SOFTWARE\Policies\Microsoft\Windows\WindowsUpdate\AU]";
    let updates = software
        .split(updates)
        .nth(1)
        .unwrap_or_else(|| panic!("no {updates} in {software}"));
    let updates = updates.split("\n[").next().unwrap_or_default();
    assert!(
        updates.contains("\"NoAutoUpdate\"=dword:00000001"),
        "{updates}"
    );
    let system = export("SYSTEM", r"\ControlSet001");
    assert!(
        system.contains(r"ControlSet001\Policies\Microsoft\FeatureManagement\Overrides]"),
        "{system}"
    );
    assert!(
        !system.contains("Services"),
        "services come with their features: {system}"
    );
}

/// What no digest tells: the images themselves say that they are of an evaluation edition.
#[test]
fn an_evaluation_edition_is_refused_unless_it_was_asked_for() {
    if !has_tools() {
        return;
    }
    let test = write_disc(Test::new());
    let edition = "WINDOWS/EDITIONID=ServerStandardEval";
    let wim = "disc/sources/install.wim";
    run_well(
        &test.folder,
        "wimlib-imagex",
        &["info", wim, "2", "--image-property", edition],
    );
    fs::remove_file(test.folder.join("windows.iso")).expect("the disc goes");
    write_iso(&test.folder);
    let (test, installer) = extract_installer(test);
    let script = installer.join("make-disc.sh").display().to_string();
    let make = |out: &str, index: &str| {
        run(
            &test.folder,
            "bash",
            &[
                &script,
                "--iso",
                "windows.iso",
                "--out",
                out,
                "--index",
                index,
            ],
        )
    };
    let refused = make("refused.iso", "2");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(3), "{said}");
    assert!(
        said.contains("evaluation edition ServerStandardEval") && !test.exists("refused.iso"),
        "{said}"
    );
    assert!(
        make("other.iso", "1").status.success(),
        "the other image is none"
    );
    let lock = installer.join("imagegen.lock.json");
    let asked = fs::read_to_string(&lock).expect("lock").replacen(
        "\"windows_iso_sha256\"",
        "\"evaluation\": true,\n    \"windows_iso_sha256\"",
        1,
    );
    fs::write(&lock, asked).expect("lock");
    let asked_for = make("tests.iso", "2");
    assert!(
        asked_for.status.success(),
        "{}",
        String::from_utf8_lossy(&asked_for.stderr)
    );
}

#[test]
fn another_disc_than_the_pinned_one_is_refused() {
    if !has_tools() {
        return;
    }
    let (test, installer) =
        extract_installer(write_disc(Test::new()).file("other.iso", "another disc"));
    let script = installer.join("make-disc.sh").display().to_string();
    for (iso, more, code, reason) in [
        ("other.iso", &[][..], 4, "digest of other.iso is"),
        (
            "windows.iso",
            &["--index", "7"][..],
            1,
            "2 images, and none of number 7",
        ),
        (
            "windows.iso",
            &["--answer", "x"][..],
            2,
            "unknown argument --answer",
        ),
    ] {
        let arguments = [&[&*script, "--iso", iso, "--out", "node.iso"][..], more].concat();
        let output = run(&test.folder, "bash", &arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(reason), "no `{reason}` in {said}");
        assert!(!test.exists("node.iso"), "{iso}");
    }
    let left = fs::read_dir(&test.folder)
        .expect("folder")
        .filter_map(Result::ok);
    let left: Vec<String> = left
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    assert!(
        !left.iter().any(|name| name.starts_with(".make-disc")),
        "{left:?}"
    );
}
