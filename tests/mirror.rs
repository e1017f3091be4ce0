//! Lock, fetch and build against a mirror with the publishers' layout.

mod airgap;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod carried_tools;
mod confidence;
mod crash;
mod declared;
mod dropped;
mod github_token;
mod identity;
mod judged;
mod keyless;
mod operator;
mod outdated;
mod policy;
mod real;
mod signers;
mod site;
mod stated;
mod stored;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod tools;
mod unproven;

use serde_json::{Value, json};

use crate::mirror::site::{Site, proven};
use crate::support::planned::SINGLY;

const WINS: &str = "https://github.com/rancher/wins/releases/download/v0.1.3/wins.exe";
const WINS_SUMS: &str = "https://github.com/rancher/wins/releases/download/v0.1.3/sha256sum.txt";
const OLD: &str = "--target azure --k8s 1.20.0 --host-access wins --component wins=0.1.3";
const NEW: &str = "--target azure --k8s 1.36.4";

#[test]
fn checksum_files_of_publishers_pin_what_the_catalog_does_not() {
    for (selection, component) in [(OLD, "wins"), (NEW, "kube-log-runner")] {
        let Some(mut site) = Site::new() else { return };
        site.stock(selection);
        site.succeeds(&format!("lock {selection}"));
        let locked = site.locked(component);
        assert!(proven(&locked, "checksum-file"), "{locked:#}");
        // A new lock believes nothing of the old one: it proves again, and a forged digest does not survive.
        let lock = site.home.text("imagegen.lock.json");
        let digest = locked["digests"][0]["digest"].as_str().expect("digest");
        site.write(
            "imagegen.lock.json",
            lock.replace(digest, &"ab".repeat(32)).as_bytes(),
        );
        site.succeeds(&format!("lock {selection}"));
        assert_eq!(site.home.text("imagegen.lock.json"), lock);
        let asked = site.requests();
        site.succeeds(&format!("build {selection} --no-bake --locked --out o"));
        assert_eq!(site.requests(), asked);
        let fetched = site.succeeds(&format!("fetch {selection} --locked")).stdout;
        assert!(fetched.contains(component), "{fetched}");
        let asked = site.requests();
        let again = site.succeeds(&format!("fetch {selection} --locked --offline"));
        // Offline nothing is missing, because nobody is asked; what an override dropped is named there, too.
        assert_eq!(
            (list_proofs(&again.stdout), site.requests()),
            (list_proofs(&fetched), asked)
        );
    }
}

/// Lines of `fetch` without the proofs that nobody gave.
fn list_proofs(said: &str) -> Vec<&str> {
    said.lines()
        .filter_map(|line| line.split(';').next())
        .collect()
}

/// What only a publisher's proofs pin has a record that follows from them: nobody edits a part of it.
#[test]
fn a_record_follows_from_its_evidence() {
    let Some(mut site) = Site::new() else { return };
    site.stock(OLD);
    site.succeeds(&format!("lock {OLD}"));
    let lock: Value = serde_json::from_str(&site.home.text("imagegen.lock.json")).expect("JSON");
    let artifacts = lock["artifacts"].as_array().expect("artifacts");
    let at = artifacts
        .iter()
        .position(|artifact| artifact["component"] == "wins")
        .expect("wins");
    let edits: [(&str, Value); 6] = [
        ("/digests/0/digest", json!("ab".repeat(32))),
        ("/digests/0/confidence", json!("authoritative")),
        (
            "/digests/1/source",
            json!(["checksum-file: https://elsewhere.example/sums"]),
        ),
        ("/digests", json!([lock["artifacts"][at]["digests"][0]])),
        ("/evidence", json!([])),
        ("/evidence/0/verdict", json!("absent")),
    ];
    for (field, value) in edits {
        let mut edited = lock.clone();
        let place = edited["artifacts"][at]
            .pointer_mut(field)
            .unwrap_or_else(|| panic!("{field}"));
        assert_ne!(*place, value, "{field}");
        *place = value;
        site.write("imagegen.lock.json", edited.to_string().as_bytes());
        let said = ["imagegen.lock.json is stale", "`artifacts[wins].digests`"];
        site.fails(&format!("build {OLD} --no-bake --locked --out o"), 3, &said);
        assert!(!site.home.exists("o"), "{field}");
    }
    site.write("imagegen.lock.json", lock.to_string().as_bytes());
    site.succeeds(&format!("build {OLD} --no-bake --locked --out o"));
}

#[test]
fn a_publisher_who_contradicts_himself_is_not_believed() {
    let Some(mut site) = Site::new() else { return };
    site.stock(OLD);
    site.serve(WINS, b"other bytes");
    site.fails(
        &format!("lock {OLD}"),
        5,
        &["wins 0.1.3", "checksum-mismatch"],
    );
    assert!(!site.home.exists("imagegen.lock.json"));
    // Without its checksum file nothing proves it: the user has to.
    site.remove(WINS_SUMS);
    let said = [
        "wins 0.1.3 failed verification",
        "[proof-missing]",
        "--override wins.sha256=",
    ];
    site.fails(&format!("lock {OLD}"), 5, &said);
    // Waived by name, it is no failure, and no proof either.
    let waived = format!("lock {OLD} --waive wins=checksum-file");
    site.fails(
        &waived,
        5,
        &["no digest is recorded for wins", "--override wins.sha256="],
    );
    let asked = site.requests();
    site.fails(
        &format!("lock {OLD} --component wins=0.0.4"),
        5,
        &[
            "no digest is recorded for wins 0.0.4",
            "--override wins.sha256=",
        ],
    );
    assert_eq!(site.requests(), asked);
}

/// What a publisher declares and nobody asked for is said; what was asked for is not.
#[test]
fn declared_proofs_that_were_not_asked_for_are_named() {
    let Some(mut site) = Site::new() else { return };
    site.stock(NEW);
    let declared = "kube-log-runner 1.36.4: ";
    let plan = crate::support::Test::new()
        .line("plan")
        .line(NEW)
        .line(SINGLY)
        .succeeds()
        .stdout;
    assert!(
        plan.contains(
            "Declared signatures, verified by `imagegen lock --prove` and by each download"
        ),
        "{plan}"
    );
    let lock = site.succeeds(&format!("lock {NEW}")).stdout;
    assert!(
        lock.contains("`--prove` verifies these declared signatures"),
        "{lock}"
    );
    assert!(
        !lock.contains(declared),
        "it was proven since nobody pins it: {lock}"
    );
    let locked = crate::support::Test::new().file("l.json", &site.home.text("imagegen.lock.json"));
    let said = locked.line("verify l.json").run().stdout;
    assert!(
        said.contains("not asked for: ") && !said.contains(&format!("not asked for: {declared}")),
        "{said}"
    );
}
