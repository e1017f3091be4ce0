//! The real Packer and its vSphere plugin against govmomi's simulated vCenter Server.

use std::path::PathBuf;
use std::process::Output;

use serde_json::{Value, json};

use crate::support::{Test, needs};

use super::media::{
    WINDOWS, build_with_media, check_artifacts, check_secret, check_session, expect_success,
    guest_service, read_answers, read_json, run_on_stage,
};
use super::simulation;

const VCENTER: &str = "--var vcenter_server=127.0.0.1:8989 --var insecure_connection=true --var username=user \
                       --var datastore=LocalDS_0 --var host=DC0_H0 --var ip_settle_timeout=1s";
const PASSWORD: &str = "invented-vcenter-password";
const FIRST: &str = "--target vsphere --k8s 1.36.4 --windows 2025 --image-version 1.2.3";

fn simulated_vcenter() -> Option<(PathBuf, PathBuf)> {
    Some((
        simulation()?,
        needs("IMAGEGEN_TEST_VCSIM", "govmomi's simulator")?,
    ))
}

fn run_with_vcenter(test: &Test, vcsim: &std::path::Path) -> Output {
    let machine = test.folder.join("machine");
    let vcenter = format!(
        "{} -listen 127.0.0.1:8989 -out {}",
        vcsim.display(),
        machine.display()
    );
    let shutdown = format!("kill -USR1 $(cat {}/service-0.pid)", machine.display());
    run_on_stage(test, &[vcenter, guest_service(test, 5985, &shutdown)])
}

fn devices(machine: &Value) -> Vec<&str> {
    machine["devices"]
        .as_array()
        .expect("devices")
        .iter()
        .filter_map(Value::as_str)
        .collect()
}

fn find_machine(test: &Test, name: &str) -> Value {
    let machines = read_json(&test.folder.join("machine/machines.json"));
    let found = machines
        .as_array()
        .expect("machines")
        .iter()
        .find(|machine| machine["name"] == name);
    found
        .unwrap_or_else(|| panic!("no {name} in {machines}"))
        .clone()
}

/// Windows from media, artifacts from the disc beside the answer file, a template as the result.
#[test]
fn the_real_packer_installs_windows_and_makes_a_template() {
    let Some((packer, vcsim)) = simulated_vcenter() else {
        return;
    };
    let selection = format!("{FIRST} --delivery media {VCENTER} --var boot_wait=1s");
    let test = build_with_media("vsphere", &selection, &[("windows", WINDOWS)])
        .env("VSPHERE_PASSWORD", PASSWORD)
        .args([
            "--var",
            "network=VM Network",
            "--packer",
            packer.to_str().expect("path"),
        ]);
    let output = run_with_vcenter(&test, &vcsim);
    let said = expect_success(&test, &output);

    let machine = test.folder.join("machine");
    let started = read_json(&machine.join("powered-on.json"));
    assert_eq!(started["guestId"], "windows2022srvNext_64Guest");
    assert_eq!(
        (&started["firmware"], &started["secureBoot"]),
        (&json!("efi"), &json!(true))
    );
    assert_eq!(
        (&started["cpus"], &started["memory"]),
        (&json!(4), &json!(8192))
    );
    let found = devices(&started);
    for device in ["ParaVirtualSCSIController", "VirtualVmxnet3", "VirtualDisk"] {
        assert!(found.contains(&device), "no {device} in {found:?}");
    }
    let discs = started["discs"].as_array().expect("discs");
    assert_eq!(discs.len(), 3, "{discs:?}");
    assert_eq!(discs[1], "[] /vmimages/tools-isoimages/windows.iso");
    assert_eq!(
        std::fs::read(machine.join("disc-0")).expect("disc"),
        WINDOWS.as_bytes()
    );
    let (answers, password) = read_answers(&machine.join("disc-2"));
    for part in [
        r"<Path>E:\Program Files\VMware\VMware Tools\Drivers\pvscsi\Win8\amd64</Path>",
        "<Type>EFI</Type>",
        "<PartitionID>3</PartitionID>",
        r"(start &quot;&quot;",
    ] {
        let part = part.replace("&quot;", "\"");
        assert!(answers.contains(&part), "no {part} in {answers}");
    }
    check_artifacts(&test, &machine.join("disc-2"));
    check_session(&machine);
    assert!(
        read_json(&machine.join("keys.json")).as_u64() >= Some(4),
        "keys for the prompt of the disc"
    );

    let made = find_machine(&test, "windows-2025-k8s-1.36.4-1.2.3");
    assert_eq!(
        (&made["template"], &made["power"]),
        (&json!(true), &json!("poweredOff"))
    );
    assert!(
        made["notes"]
            .as_str()
            .expect("notes")
            .contains(r#""imagegen-kubernetes":"1.36.4""#),
        "{made}"
    );
    assert!(
        !devices(&made).contains(&"VirtualCdrom"),
        "the discs are gone: {made}"
    );
    let image = read_json(&test.folder.join("o/image.json"));
    assert_eq!(image["artifacts"][0]["id"], "windows-2025-k8s-1.36.4-1.2.3");
    // `promote` and `retire` recognize the template by it.
    let mark = format!("\"imagegen-lock\":{}", image["lock"]);
    assert!(
        made["notes"].as_str().expect("notes").contains(&mark),
        "{made}"
    );
    assert!(
        said.contains("Removing [LocalDS_0] packer_cache/"),
        "the disc with the password stays:\n{said}"
    );
    for secret in [&*password, PASSWORD] {
        check_secret(&test, &said, secret);
    }
}

/// A template of the user's own: no answer file, no password of ours.
#[test]
fn the_real_packer_clones_a_template_into_a_content_library() {
    let Some((packer, vcsim)) = simulated_vcenter() else {
        return;
    };
    let selection = format!(
        "{FIRST} {VCENTER} --var template=DC0_H0_VM0 --var output=content_library --var content_library=images"
    );
    let test = build_with_media("vsphere", &selection, &[])
        .env("VSPHERE_PASSWORD", PASSWORD)
        .env(
            "PKR_VAR_template_password",
            "invented-password-of-the-template",
        )
        .args([
            "--var",
            "network=VM Network",
            "--packer",
            packer.to_str().expect("path"),
        ]);
    let output = run_with_vcenter(&test, &vcsim);
    let said = expect_success(&test, &output);
    let started = read_json(&test.folder.join("machine/powered-on.json"));
    assert_eq!(started["discs"], Value::Null, "no disc: {started}");
    check_session(&test.folder.join("machine"));
    let image = read_json(&test.folder.join("o/image.json"));
    assert_eq!(image["artifacts"][0]["builder"], "vsphere-clone");
    for secret in [PASSWORD, "invented-password-of-the-template"] {
        check_secret(&test, &said, secret);
    }
}
