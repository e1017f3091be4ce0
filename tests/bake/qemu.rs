//! The real Packer and its qemu plugin install a simulated Windows from media, in a network of their own.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

use imagegen::base::digest::sha256_hex;
use serde_json::Value;

use crate::support::{Test, root};

use super::media::{
    DRIVERS, WINDOWS, build_with_media, check_artifacts, check_secret, check_session,
    expect_success, read_answers, read_json,
};
use super::{REPORT, note_build, simulation};

const FIRST: &str = "--target qemu --k8s 1.36.4 --windows 2022 --image-version 1.2.3";
const MEDIA: &[(&str, &str)] = &[("windows", WINDOWS), ("drivers", DRIVERS)];

/// Proofs that the operator waives, by environment.
fn list_waived(command: &Command) -> impl Iterator<Item = (&OsStr, &OsStr)> {
    let environment = command.get_envs();
    environment
        .filter_map(|(name, value)| Some((name, value.filter(|_| name == "IMAGEGEN_WAIVE")?)))
}

/// Runs the command in a network namespace with loopback only, with the simulated QEMU in its PATH.
fn run_with_simulated_qemu(test: &Test) -> Output {
    let inner = test.command();
    let report = test.folder.join("report.json").display().to_string();
    let fakes = root().join("tests/support/fakes").display().to_string();
    let started = Instant::now();
    let output = Command::new("unshare")
        .args([
            "--user",
            "--map-root-user",
            "--net",
            "timeout",
            "--kill-after=5",
            "120",
            "sh",
            "-c",
        ])
        .args(["ip link set lo up && exec \"$@\"", "sh"])
        .arg(inner.get_program())
        .args(inner.get_args())
        .current_dir(&test.folder)
        .envs(list_waived(&inner))
        .env("HOME", &test.folder)
        .env(
            "PATH",
            format!("{fakes}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"),
        )
        .env("FAKE_QEMU_DIR", test.folder.join("machine"))
        .env(
            "FAKE_QEMU_GUEST",
            format!("--download C:/imagegen/check-report.json={report}"),
        )
        .output()
        .expect("unshare starts");
    note_build(
        &inner,
        started,
        &test.folder.join("machine/winrm/summary.json"),
    );
    output
}

fn has_qemu_img() -> bool {
    let is_there = Command::new("qemu-img").arg("--version").output().is_ok();
    assert!(
        is_there || std::env::var_os("CI").is_none(),
        "CI installs qemu-img"
    );
    if !is_there {
        println!("skipped: needs qemu-img");
    }
    is_there
}

/// Builds the selection; gives what was said and the password of the answer file.
fn build_image(selection: &str) -> Option<(Test, String, String)> {
    let packer = simulation()?;
    if !has_qemu_img() {
        return None;
    }
    let test = build_with_media("qemu", selection, MEDIA)
        .line("--var accelerator=tcg --var disk_size=1G")
        .line("--pass-env FAKE_QEMU_DIR --pass-env FAKE_QEMU_GUEST --packer")
        .args([packer.to_str().expect("path")]);
    let output = run_with_simulated_qemu(&test);
    let said = expect_success(&test, &output);
    let machine = test.folder.join("machine");
    let (answers, password) = read_answers(&machine.join("disc-1"));
    assert!(
        answers.contains(r"<Path>F:\viostor\2k22\amd64</Path>"),
        "no driver path"
    );
    assert!(!answers.contains("ProductKey"), "no key was given");
    for (disc, content) in [("disc-0", WINDOWS), ("disc-2", DRIVERS)] {
        assert_eq!(
            fs::read(machine.join(disc)).expect("disc"),
            content.as_bytes()
        );
    }
    check_session(&machine);
    check_secret(&test, &said, &password);
    Some((test, said, password))
}

fn built_file(test: &Test) -> (Value, Vec<u8>) {
    let image = read_json(&test.folder.join("o/image.json"));
    let file = image["artifacts"][0]["files"][0].clone();
    let disk = test.read(&format!("o/{}", file["path"].as_str().expect("a path")));
    assert_eq!(file["sha256"], sha256_hex(&disk), "{image}");
    (file, disk)
}

#[test]
fn the_real_packer_installs_windows_from_media_into_a_file() {
    let Some((test, ..)) = build_image(&format!("{FIRST} --var further=vhd")) else {
        return;
    };
    let (file, disk) = built_file(&test);
    assert_eq!(file["path"], "image/windows-2022-k8s-1.36.4-1.2.3.qcow2");
    assert!(disk.starts_with(b"QFI\xfb"), "qcow2");
    // Azure takes a VHD whose disk is whole MiB before the footer of 512 bytes.
    let image = read_json(&test.folder.join("o/image.json"));
    let file = &image["artifacts"][0]["files"][1];
    assert_eq!(
        file["path"], "image/windows-2022-k8s-1.36.4-1.2.3.vhd",
        "{image}"
    );
    let size = file["size"].as_u64().expect("size");
    assert_eq!((size - 512) % (1 << 20), 0, "{size}");
}

/// Each further file is the disk in its format, as qemu-img itself reads it; a container disk of `KubeVirt` is the
/// qcow2 below `/disk` alone.
#[test]
fn the_disk_is_converted_for_other_platforms() {
    for (value, extension, format) in [("vhdx", "vhdx", "vhdx"), ("vmdk", "vmdk", "vmdk")] {
        let Some((test, ..)) = build_image(&format!("{FIRST} --var further={value}")) else {
            return;
        };
        let image = read_json(&test.folder.join("o/image.json"));
        let file = &image["artifacts"][0]["files"][1];
        let path = file["path"].as_str().expect("a path");
        assert_eq!(
            path,
            format!("image/windows-2022-k8s-1.36.4-1.2.3.{extension}"),
            "{image}"
        );
        let read = |name: &str| {
            let output = Command::new("qemu-img")
                .args(["info", "--output=json", name])
                .current_dir(test.folder.join("o"))
                .output()
                .expect("qemu-img");
            serde_json::from_slice::<Value>(&output.stdout).expect("JSON")
        };
        let (made, disk) = (
            read(path),
            read("image/windows-2022-k8s-1.36.4-1.2.3.qcow2"),
        );
        assert_eq!(
            (&made["format"], &disk["format"]),
            (&Value::from(format), &Value::from("qcow2"))
        );
        assert_eq!(made["virtual-size"], disk["virtual-size"], "{made}");
        let same = Command::new("qemu-img")
            .args(["compare", path, "image/windows-2022-k8s-1.36.4-1.2.3.qcow2"])
            .current_dir(test.folder.join("o"))
            .output()
            .expect("qemu-img");
        assert!(
            same.status.success(),
            "{}",
            String::from_utf8_lossy(&same.stdout)
        );
        let containers = test.text("o/Containerfile");
        assert!(
            containers.contains("FROM scratch\nARG DISK\nADD --chown=107:107 ${DISK} /disk/\n")
        );
    }
}

/// The guest finds every artifact on the disc with the answer file, and needs no network.
#[test]
fn the_disc_with_the_answer_file_brings_every_artifact() {
    let Some((test, ..)) = build_image(&format!("{FIRST} --delivery media")) else {
        return;
    };
    check_artifacts(&test, &test.folder.join("machine/disc-1"));
    assert!(
        !Path::new(&test.folder.join("o/artifacts")).exists(),
        "artifacts stay in the store"
    );
}

/// Bytes other than the pinned ones never reach Packer.
#[test]
fn media_that_differ_from_their_digest_are_refused() {
    let test = build_with_media("qemu", FIRST, MEDIA).line(
        "--var windows_iso_sha256=0000000000000000000000000000000000000000000000000000000000000000",
    );
    test.fails(4, &["windows-iso 2022"]);
    assert!(!test.exists("o/packer.log"));
}

/// UEFI with Secure Boot: the firmware's own drives, keys for the prompt of the disc, partitions for UEFI.
#[test]
fn windows_is_installed_under_uefi_with_secure_boot() {
    let firmware = std::env::temp_dir().join(format!("imagegen-firmware-{}", std::process::id()));
    fs::write(&firmware, "stands for OVMF").expect("firmware");
    let path = firmware.display();
    let selection = format!(
        "{FIRST} --var firmware=uefi --var boot_wait=1s --var efi_firmware_code={path} --var efi_firmware_vars={path}"
    );
    let built = build_image(&selection);
    fs::remove_file(&firmware).expect("the firmware goes");
    let Some((test, ..)) = built else { return };
    let arguments = fs::read_to_string(test.folder.join("machine/argv.json")).expect("arguments");
    for part in [
        "q35,smm=on",
        "if=pflash",
        "driver=cfi.pflash01,property=secure,value=on",
    ] {
        assert!(arguments.contains(part), "no {part} in {arguments}");
    }
    let (answers, _) = read_answers(&test.folder.join("machine/disc-1"));
    assert!(
        answers.contains("<Type>EFI</Type>") && answers.contains("<PartitionID>3</PartitionID>")
    );
    let image = read_json(&test.folder.join("o/image.json"));
    assert_eq!(
        image["artifacts"][0]["id"], "image/windows-2022-k8s-1.36.4-1.2.3.qcow2",
        "{image}"
    );
}

/// A second build into a workspace finds the place free that the first image took.
#[test]
fn the_files_of_an_image_move_to_its_record() {
    use std::os::unix::fs::PermissionsExt as _;
    let script = format!(
        r#"#!/bin/sh
[ "$1" = build ] || exit 0
mkdir image && echo "$$" > image/disk || exit 9
cat > packer-manifest.json <<'M'
{{"builds": [{{"builder_type": "qemu", "artifact_id": "VM", "packer_run_uuid": "1", "files": [{{"name": "disk", "size": 4}}]}}], "last_run_uuid": "1"}}
M
{REPORT}
"#
    );
    let test = build_with_media("qemu", FIRST, MEDIA).file("bin/packer", &script);
    let program = test.folder.join("bin/packer");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("mode");
    let test = test.args(["--packer", &program.display().to_string()]);
    test.succeeds();
    let (file, disk) = built_file(&test);
    assert_eq!(file["path"], "image/disk");
    test.succeeds();
    assert_eq!(test.read("o/builds/1.2.3/image/disk"), disk);
    assert_ne!(built_file(&test).1, disk);
    // The second image has the same version, and a record of its own.
    assert!(test.exists("o/builds/1.2.3-2/image.json"));

    // Whoever runs Packer by hand may have put an image into the record.
    let (_, disk) = built_file(&test);
    let other = test.folder.join("o/builds/1.2.3-2/image");
    fs::create_dir(&other).expect("folder");
    fs::write(other.join("mine"), "mine").expect("file");
    test.succeeds();
    assert_eq!(test.read("o/builds/1.2.3-2/image-2/disk"), disk);
    assert_eq!(test.text("o/builds/1.2.3-2/image/mine"), "mine");

    // A workspace is still what its lock makes, with all that builds leave in it.
    let said = test
        .bare()
        .prints("verify o --lock o/imagegen.lock.json --format json");
    let verified: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(
        verified["uncompared"],
        serde_json::json!(["builds", "image"])
    );
}
