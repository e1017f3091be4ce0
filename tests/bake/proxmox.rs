//! The real Packer and its Proxmox plugin against a simulated API of Proxmox VE.

use std::fs;
use std::process::Output;

use serde_json::{Value, json};

use crate::support::{Test, root};

use super::media::{
    DRIVERS, WINDOWS, build_with_media, check_artifacts, check_phases, check_secret,
    expect_success, guest_service, read_answers, read_json, run_on_stage,
};
use super::simulation;

const FIRST: &str = "--target proxmox --k8s 1.36.4 --windows 2025 --image-version 1.2.3";
const CLUSTER: &str = "--var proxmox_url=http://127.0.0.1:8006/api2/json --var username=packer@pve!build \
                       --var node=pve --var winrm_host=127.0.0.1 --var cloud_init_storage_pool=local-lvm";
const TOKEN: &str = "invented-token-of-the-test";

fn run_with_proxmox(test: &Test, options: &str) -> Output {
    let machine = test.folder.join("machine");
    let fake = root().join("tests/support/fakes/fakepve.py");
    let cluster = format!(
        "python3 {} --port 8006 --out {} {options}",
        fake.display(),
        machine.display()
    );
    run_on_stage(test, &[cluster, guest_service(test, 5985, "true")])
}

fn find_template(test: &Test) -> Value {
    let state = read_json(&test.folder.join("machine/machines.json"));
    let machines = state["machines"].as_array().expect("machines");
    let found = machines.iter().find(|machine| machine["vmid"] == "100");
    found
        .unwrap_or_else(|| panic!("no machine: {state}"))
        .clone()
}

/// Windows from media, artifacts from the disc beside the answer file; the disc is deleted, and its password with it.
#[test]
fn the_real_packer_installs_windows_and_makes_a_template() {
    let Some(packer) = simulation() else { return };
    let selection = format!(
        "{FIRST} --delivery media {CLUSTER} --var storage_pool=local-lvm --var boot_wait=1s"
    );
    let media = [("windows", WINDOWS), ("drivers", DRIVERS)];
    // Another sign-in that happens to be in the environment is none of this build's.
    let test = build_with_media("proxmox", &selection, &media)
        .env("PROXMOX_TOKEN", TOKEN)
        .env("PROXMOX_PASSWORD", "invented-password-of-another")
        .args(["--packer", packer.to_str().expect("path")]);
    let output = run_with_proxmox(&test, "");
    let said = expect_success(&test, &output);

    let machine = test.folder.join("machine");
    let made = find_template(&test);
    assert_eq!(
        (&made["template"], &made["ended"]),
        (&json!(1), &json!("shutdown")),
        "{made}"
    );
    assert!(
        made["keys"].as_u64() >= Some(4),
        "keys for the prompt of the disc: {made}"
    );
    let config = &made["config"];
    for (name, expected) in [
        ("name", "windows-2025-k8s-1-36-4-1-2-3"),
        ("ostype", "win11"),
        ("bios", "ovmf"),
        ("machine", "q35"),
        ("scsihw", "virtio-scsi-single"),
        ("boot", "order=scsi0;ide2"),
        ("ide2", "none,media=cdrom"),
        ("sata0", "none,media=cdrom"),
        ("sata1", "none,media=cdrom"),
    ] {
        assert_eq!(config[name], expected, "{name} of {config}");
    }
    let contains = |name: &str, part: &str| {
        let value = config[name].as_str().unwrap_or_default();
        assert!(value.contains(part), "{name} has no {part}: {config}");
    };
    contains("efidisk0", "pre-enrolled-keys=1");
    contains("net0", "virtio");
    contains("description", r#""imagegen-kubernetes":"1.36.4""#);
    let drives = ["ide0", "ide1", "ide3"]
        .iter()
        .filter_map(|name| config[name].as_str());
    assert!(
        drives.clone().any(|drive| drive == "local-lvm:cloudinit"),
        "no cloud-init drive in {config}"
    );

    let discs: Vec<Vec<u8>> = (0..2)
        .map(|number| fs::read(machine.join(format!("disc-{number}"))).expect("disc"))
        .collect();
    assert_eq!(
        (&*discs[0], &*discs[1]),
        (WINDOWS.as_bytes(), DRIVERS.as_bytes())
    );
    let (answers, password) = read_answers(&machine.join("disc-2"));
    for part in [
        r"<Path>E:\vioscsi\2k25\amd64</Path>",
        "<Type>EFI</Type>",
        r"qemu-ga-x86_64.msi /qn",
    ] {
        assert!(answers.contains(part), "no {part} in {answers}");
    }
    check_artifacts(&test, &machine.join("disc-2"));
    check_phases(&machine);
    let state = read_json(&machine.join("machines.json"));
    assert_eq!(
        state["volumes"].as_array().map(Vec::len),
        Some(2),
        "the disc with the password stays: {state}"
    );
    assert_eq!(
        read_json(&test.folder.join("o/image.json"))["artifacts"][0]["id"],
        "100"
    );
    for secret in [&*password, TOKEN, "invented-password-of-another"] {
        check_secret(&test, &said, secret);
    }
}

#[test]
fn the_real_packer_clones_a_template() {
    let Some(packer) = simulation() else { return };
    let selection = format!("{FIRST} {CLUSTER} --var template=windows-2025 --var full_clone=true");
    let test = build_with_media("proxmox", &selection, &[])
        .env("PROXMOX_TOKEN", TOKEN)
        .env(
            "PKR_VAR_template_password",
            "invented-password-of-the-template",
        )
        .args(["--packer", packer.to_str().expect("path")]);
    let output = run_with_proxmox(&test, "--template windows-2025");
    let said = expect_success(&test, &output);
    let made = find_template(&test);
    assert_eq!(
        (&made["template"], &made["from"]),
        (&json!(1), &json!("99")),
        "{made}"
    );
    assert_eq!(made["config"]["name"], "windows-2025-k8s-1-36-4-1-2-3");
    check_phases(&test.folder.join("machine"));
    assert_eq!(
        read_json(&test.folder.join("o/image.json"))["artifacts"][0]["builder"],
        "proxmox-clone"
    );
    for secret in [TOKEN, "invented-password-of-the-template"] {
        check_secret(&test, &said, secret);
    }
}
