//! Members of archives, by their digests.

use std::fs;

use imagegen::base::digest::sha256_hex;
use serde_json::Value;

use super::{MANIFEST, REPORT, with_packer};
use crate::scripts;

/// What was verified is what is unpacked: the guest gets the digest of each member that the archive held on this
/// machine, and the workspace's lock records it.
#[test]
fn members_of_archives_have_digests_in_the_guest_plan() {
    let test = with_packer(&format!(
        "[ \"$1\" = build ] || exit 0\n{MANIFEST}\n{REPORT}"
    ));
    test.succeeds();
    let payload = scripts::members(&test.read("o/payload.zip"));
    let plan: Value = serde_json::from_slice(&payload["guest-plan.json"]).expect("JSON");
    let resources = plan["resources"].as_array().expect("resources");
    let archives: Vec<&Value> = resources
        .iter()
        .filter(|resource| resource["type"] == "archive")
        .collect();
    let mut members = 0;
    for member in archives.iter().flat_map(|archive| {
        archive["properties"]["members"]
            .as_array()
            .expect("members")
    }) {
        let name = member["member"].as_str().expect("name");
        let texts = ["containerd", "crictl", "kubernetes-node", "hns.psm1"];
        let known =
            texts.map(|component| sha256_hex(format!("stands for {component}: {name}").as_bytes()));
        assert!(
            known.iter().any(|digest| member["sha256"] == **digest),
            "{member}"
        );
        members += 1;
    }
    assert!(members >= 4, "{archives:?}");
    let lock: Value = serde_json::from_str(&test.text("o/imagegen.lock.json")).expect("JSON");
    let recorded = lock["artifacts"]
        .as_array()
        .expect("artifacts")
        .iter()
        .filter_map(|it| it["members"].as_array());
    assert!(
        recorded
            .flatten()
            .all(|member| member["sha256"].is_string()),
        "{lock:#}"
    );
}

#[test]
fn members_with_another_digest_are_refused() {
    let test = with_packer("exit 0");
    let mut overrides: Value = serde_json::from_str(&test.text("overrides.json")).expect("JSON");
    let member = |name: &str, digest: &str| serde_json::json!([{"member": name, "file": "crictl.exe", "sha256": digest}]);
    let held = sha256_hex(b"stands for crictl: crictl.exe");
    overrides["crictl"]["members"] = member("crictl.exe", &held);
    fs::write(test.folder.join("overrides.json"), overrides.to_string()).expect("file");
    let said = test.run().stderr;
    assert!(!said.contains("crictl"), "{said}");
    overrides["crictl"]["members"] = member("crictl.exe", &sha256_hex(b"other"));
    fs::write(test.folder.join("overrides.json"), overrides.to_string()).expect("file");
    test.fails(5, &["crictl 1.20.0", "[member-digest]", &held]);
    for name in [
        "./crictl.exe",
        "-C/x",
        "@list",
        "../crictl.exe",
        "bin/nul.exe",
        "a?.exe",
        "[a].exe",
        "C:/x",
        "a.exe:s",
        "a.exe.",
        "/x",
        "",
    ] {
        overrides["crictl"]["members"] = member(name, &held);
        fs::write(test.folder.join("overrides.json"), overrides.to_string()).expect("file");
        test.fails(3, &["overrides.json", "is not a name inside of an archive"]);
    }
}
