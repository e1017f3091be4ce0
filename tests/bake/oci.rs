//! The real Packer and its oracle plugin against a simulated Oracle Cloud, in a network of their own.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::support::targets::executed_versions;
use crate::support::{Test, openssl};

use super::{assert_absent, guest, read_requests, simulated_command, simulation};

const SELECTION: &str = "--target oci --k8s 1.36.4 --windows 2022 --var region=eu-frankfurt-1 \
    --var availability_domain=aaaa:EU-FRANKFURT-1-AD-1 --var compartment_ocid=ocid1.compartment.oc1..nodes \
    --var subnet_ocid=ocid1.subnet.oc1.eu-frankfurt-1.nodes";
const REPORT: &str = r#"{"schema": "imagegen.dev/check-report/v1", "passed": true, "checked": 150, "failed": 0, "resources": []}"#;
/// See `fakeoci.py`.
const PASSWORD: &str = "fake-windows-password-51d0";

#[test]
fn the_real_packer_bakes_a_custom_image() {
    let Some(packer) = simulation() else { return };
    // `--target oci ` is in the selection.
    let test = Test::new()
        .file("imagegen.json", &executed_versions("oci"))
        .file("report.json", REPORT)
        .line(&format!("build --out o {SELECTION}"))
        .stocked(&format!("plan {SELECTION}"))
        .line("--var auth=api_key --var tenancy_ocid=ocid1.tenancy.oc1..a --var user_ocid=ocid1.user.oc1..a")
        .line("--var fingerprint=00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd:ee:ff")
        .line(r#"--var oci_tags={"team":"nodes"} --var defined_tags_json={"Operations":{"team":"nodes"}}"#);
    openssl(&test.folder, "genrsa -out key.pem 2048");
    let key = test.folder.join("key.pem");
    let variable = format!("key_file={}", key.display());
    let test = test.args([
        "--var",
        &variable,
        "--packer",
        packer.to_str().expect("path"),
    ]);
    let records = test.folder.join("records");
    let report = test.folder.join("report.json");
    let options = ["--cloud", "oci", "--report", report.to_str().expect("path")];
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
        image["artifacts"][0]["id"], "ocid1.image.oc1.eu-frankfurt-1.made",
        "{image}"
    );
    check_requests(&test, &read_requests(&records.join("oci.jsonl")));
    guest(&test, &records);
    let key = fs::read_to_string(&key).expect("key");
    for secret in [PASSWORD, key.lines().nth(3).expect("a line of the key")] {
        assert_absent(secret, &test, &said);
    }
}

fn check_requests(test: &Test, requests: &[Value]) {
    let find = |method: &str, part: &str| {
        let is_it = |request: &&Value| {
            request["method"] == method
                && request["path"]
                    .as_str()
                    .is_some_and(|path| path.contains(part))
        };
        requests
            .iter()
            .find(is_it)
            .unwrap_or_else(|| panic!("no {method} {part}"))
    };
    find("GET", "/images?");
    let machine = &find("POST", "/instances")["body"];
    assert_eq!(
        machine["sourceDetails"]["imageId"],
        "ocid1.image.oc1.eu-frankfurt-1.2022"
    );
    assert_eq!(machine["freeformTags"]["imagegen-kubernetes"], "1.36.4");
    let data = machine["metadata"]["user_data"]
        .as_str()
        .expect("user-data");
    let data = String::from_utf8(STANDARD.decode(data).expect("base64")).expect("UTF-8");
    let scripts = ["winrm", "account", "token-filter"]
        .map(|name| test.text(&format!("o/{name}.ps1")))
        .concat();
    assert_eq!(data, format!("#ps1_sysnative\n{scripts}"));

    let made = &find("POST", "/images")["body"];
    assert_eq!(made["definedTags"]["Operations"]["team"], "nodes");
    assert_eq!(made["freeformTags"]["team"], "nodes");
    find("DELETE", "/instances/");
}
