//! The real Packer and its openstack plugin against a simulated OpenStack, in a network of their own.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fs;

use serde_json::Value;

use crate::support::Test;
use crate::support::targets::executed_versions;

use super::{assert_absent, guest, read_requests, simulated_command, simulation};

const SELECTION: &str = "--target openstack --k8s 1.36.4 --windows 2022 --var flavor=m1.xlarge \
    --var source_image_name=windows-2022 --var networks=[\"44444444-4444-4444-4444-444444444444\"] \
    --var security_groups=[\"build\"]";
const REPORT: &str = r#"{"schema": "imagegen.dev/check-report/v1", "passed": true, "checked": 150, "failed": 0, "resources": []}"#;
/// See `fakeopenstack.py`.
const PASSWORD: &str = "fake-windows-password-51d0";
const SECRET: &str = "fake-application-secret-9f2c";

/// The environment has the sign-in of another cloud (see `run.py`), which must not be used.
#[test]
fn the_real_packer_bakes_a_glance_image() {
    let Some(packer) = simulation() else { return };
    let test = Test::new()
        .file("imagegen.json", &executed_versions("openstack"))
        .file("report.json", REPORT)
        .line(&format!("build --out o {SELECTION}"))
        .stocked(&format!("plan {SELECTION}"))
        .line(
            "--var auth=application_credential --var identity_endpoint=https://cloud.example.com/identity/v3",
        )
        .line(r#"--var image_properties={"hw_firmware_type":"uefi"} --packer"#)
        .args([packer.to_str().expect("path")])
        .env("OS_APPLICATION_CREDENTIAL_ID", "credential")
        .env("OS_APPLICATION_CREDENTIAL_SECRET", SECRET);
    let records = test.folder.join("records");
    let report = test.folder.join("report.json");
    let options = [
        "--cloud",
        "openstack",
        "--report",
        report.to_str().expect("path"),
    ];
    let output = simulated_command(&test.command(), &test.folder, &records, &options);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let log = fs::read(test.folder.join("o/packer.log")).unwrap_or_default();
    assert!(
        output.status.success(),
        "{said}\n{}",
        String::from_utf8_lossy(&log)
    );

    let image: Value = serde_json::from_str(&test.text("o/image.json")).expect("JSON");
    assert_eq!(
        image["artifacts"][0]["id"], "33333333-3333-3333-3333-333333333333",
        "{image}"
    );
    check_requests(&read_requests(&records.join("openstack.jsonl")));
    guest(&test, &records);
    for secret in [
        PASSWORD,
        SECRET,
        "fake-keystone-token-9f2c",
        "fake-password-of-another-cloud",
    ] {
        assert_absent(secret, &test, &said);
    }
}

fn check_requests(requests: &[Value]) {
    let body = |key: &str| {
        let found = requests
            .iter()
            .find(|request| request["body"].get(key).is_some());
        &found.unwrap_or_else(|| panic!("no {key}"))["body"][key]
    };
    let server = body("server");
    assert_eq!(server["imageRef"], "11111111-1111-1111-1111-111111111111");
    assert_eq!(server["config_drive"], true);
    assert_eq!(server["security_groups"][0]["name"], "build");
    // cloudbase-init of the source image opens WinRM; the script lets its account in.
    let script = STANDARD.decode(server["user_data"].as_str().unwrap());
    let script = String::from_utf8(script.unwrap()).unwrap();
    assert!(script.contains("LocalAccountTokenFilterPolicy"), "{script}");
    let made = body("createImage");
    for (name, value) in [
        ("os_type", "windows"),
        ("os_version", "10.0.20348"),
        ("hw_firmware_type", "uefi"),
        ("imagegen-kubernetes", "1.36.4"),
    ] {
        assert_eq!(made["metadata"][name], value, "{made}");
    }
    let position = |key: &str| {
        requests
            .iter()
            .position(|request| request["body"].get(key).is_some())
    };
    assert!(
        position("os-stop") < position("createImage"),
        "the machine is off when its image is made"
    );
    let deleted = requests
        .iter()
        .filter(|request| request["method"] == "DELETE")
        .count();
    assert!(deleted >= 2, "server and key pair");
}
