//! The real Packer and its googlecompute plugin against a simulated Compute Engine, in a network of their own.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::targets::executed_versions;
use crate::support::{Test, openssl, root};

use super::{assert_absent, guest, read_requests, simulated_command, simulation};

const PLAN: &str = "plan --target gcp --k8s 1.36.4 --windows 2022 --var project_id=example-project --var zone=europe-west3-a";
const READY: &str = "build --target gcp --k8s 1.36.4 --windows 2022 --out o --var project_id=example-project \
                     --var zone=europe-west3-a";
const REPORT: &str = r#"{"schema": "imagegen.dev/check-report/v1", "passed": true, "checked": 150, "failed": 0, "resources": []}"#;
/// See `fakegce.py`.
const PASSWORD: &str = "fake-windows-password-51d0";
const TOKEN: &str = "fake-access-token-9f2c";

/// The file of a service account with a key that is made here.
fn service_account() -> (String, String) {
    let key = openssl(root(), "genrsa 2048");
    let account = json!({
        "type": "service_account", "project_id": "example-project", "private_key_id": "1", "private_key": key,
        "client_email": "build@example-project.iam.gserviceaccount.com", "client_id": "1",
        "token_uri": "https://oauth2.googleapis.com/token",
    });
    let secret = key.lines().nth(3).expect("a line of the key").to_owned();
    (account.to_string(), secret)
}

#[test]
fn the_real_packer_bakes_an_image() {
    let Some(packer) = simulation() else { return };
    let (account, secret) = service_account();
    let test = Test::new()
        .file("imagegen.json", &executed_versions("gcp"))
        .file("report.json", REPORT)
        .file("account.json", &account)
        .line(READY)
        .stocked(PLAN)
        .line("--var auth=credentials_file --var image_family=windows-nodes")
        .line(r#"--var gcp_labels={"team":"nodes"} --var network_tags=["build"]"#);
    let file = test.folder.join("account.json").display().to_string();
    let variable = format!("credentials_file={file}");
    let test = test.args([
        "--var",
        &variable,
        "--packer",
        packer.to_str().expect("path"),
    ]);
    let records = test.folder.join("records");
    let report = test.folder.join("report.json");
    let options = ["--cloud", "gcp", "--report", report.to_str().expect("path")];
    let output = simulated_command(&test.command(), &test.folder, &records, &options);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let log = fs::read(test.folder.join("o/packer.log")).unwrap_or_default();
    assert!(
        output.status.success(),
        "{said}\n{}",
        String::from_utf8_lossy(&log)
    );

    let image: Value = serde_json::from_str(&test.text("o/image.json")).expect("JSON");
    let id = image["artifacts"][0]["id"].as_str().expect("id");
    assert!(id.starts_with("windows-2022-k8s-1-36-4"), "{image}");
    check_requests(id, &records.join("gce.jsonl"));
    guest(&test, &records);
    for secret in [&secret, PASSWORD, TOKEN] {
        assert_absent(secret, &test, &said);
    }
}

fn check_requests(image: &str, log: &Path) {
    let requests = read_requests(log);
    let find = |method: &str, end: &str| {
        let is_it = |request: &&Value| {
            let path = request["path"]
                .as_str()
                .unwrap_or_default()
                .split('?')
                .next()
                .unwrap_or_default();
            request["method"] == method && path.ends_with(end)
        };
        requests
            .iter()
            .find(is_it)
            .unwrap_or_else(|| panic!("no {method} of {end}"))
    };
    find(
        "GET",
        "/projects/windows-cloud/global/images/family/windows-2022-core",
    );
    let machine = &find("POST", "/zones/europe-west3-a/instances")["body"];
    let shielded = &machine["shieldedInstanceConfig"];
    assert_eq!(
        shielded,
        &json!({"enableIntegrityMonitoring": true, "enableSecureBoot": true, "enableVtpm": true})
    );
    assert_eq!(machine["tags"]["items"], json!(["build"]));
    assert!(
        !machine["serviceAccounts"].to_string().contains("email"),
        "{machine}"
    );
    assert_eq!(machine["labels"]["imagegen-kubernetes"], "1-36-4");
    assert!(
        !machine.to_string().contains("windows-keys"),
        "the key comes when the machine runs"
    );

    let made = &find("POST", "/projects/example-project/global/images")["body"];
    assert_eq!(made["name"], image);
    assert_eq!(made["family"], "windows-nodes");
    assert_eq!(made["labels"]["team"], "nodes");
    let lock = made["labels"]["imagegen-lock"].as_str().expect("a label");
    assert_eq!(lock.len(), 63, "{lock}");
    let position = |method: &str, part: &str| {
        let is_it = |request: &Value| {
            request["method"] == method
                && request["path"].as_str().is_some_and(|it| it.contains(part))
        };
        requests
            .iter()
            .position(is_it)
            .unwrap_or_else(|| panic!("no {method} {part}"))
    };
    assert!(
        position("DELETE", "/instances/") < position("POST", "/global/images"),
        "the disk is free"
    );
    assert!(
        position("POST", "/global/images") < position("DELETE", "/disks/"),
        "the disk goes at the end"
    );
}
