//! Digests that only a lockfile states: each verb shows them as unproven, and a policy judges them so.

use serde_json::{Value, json};

use super::site::Site;
use super::{OLD, WINS, WINS_SUMS};

const UNPROVEN: &str = "its digest is unproven, below `low`: only the lockfile states it";

/// The policy demands some confidence, and waives what the site does not serve.
fn write_policy(site: &Site) {
    let waivers: Vec<Value> = site
        .waivers
        .iter()
        .filter_map(|waiver| waiver.split_once('='))
        .map(|(component, proof)| json!({"component": component, "proof": proof}))
        .collect();
    let policy = json!({"name": "ours", "minimumConfidence": "low", "waivers": waivers});
    site.write("policy.json", policy.to_string().as_bytes());
}

fn forget_store(site: &Site) {
    std::fs::remove_dir_all(site.home.folder.join("store")).expect("removed");
}

#[test]
fn each_verb_shows_that_only_the_lockfile_states_a_digest() {
    let Some(mut site) = Site::new() else { return };
    site.stock(OLD);
    site.succeeds(&format!("lock {OLD}"));
    let lines = |text: &str, part: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.contains(part));
        lines.map(str::to_owned).collect()
    };

    let mirror = site.url("/");
    let line = format!("plan {OLD} --overrides overrides.json --mirror {mirror} --locked");
    let plan = site.plain(&line, 0).stdout;
    assert!(plan.contains("unproven (sha256)"), "{plan}");
    assert!(plan.contains("Unproven: only the lockfile"), "{plan}");
    assert_eq!(lines(&plan, "unproven (").len(), 1, "{plan}");
    let plan = site.plain(&format!("{line} --format json"), 0).stdout;
    let plan: Value = serde_json::from_str(&plan).expect("JSON");
    assert_eq!(plan["unproven"], json!(["wins"]));

    let verified = site.plain("verify imagegen.lock.json", 2).stdout;
    assert_eq!(
        lines(&verified, "only the lockfile states its digest"),
        ["unproven              wins 0.1.3: only the lockfile states its digest"]
    );
    let bill = site.plain("sbom imagegen.lock.json", 0).stdout;
    let bill: Value = serde_json::from_str(&bill).expect("JSON");
    let mark = json!({"name": "imagegen:digest:confidence", "value": "unproven"});
    let components = bill["components"].as_array().expect("components");
    let marked: Vec<&Value> = components
        .iter()
        .filter(|it| {
            it["properties"]
                .as_array()
                .is_some_and(|it| it.contains(&mark))
        })
        .collect();
    assert_eq!(marked.len(), 1, "{marked:#?}");
    assert_eq!(marked[0]["name"], "wins");
    // Evidence of an earlier run establishes nothing.
    let identity = &marked[0]["evidence"]["identity"][0];
    assert_eq!(identity["confidence"], 0.0, "{identity:#}");
    let bill = site.plain("sbom imagegen.lock.json --as spdx", 0).stdout;
    assert_eq!(lines(&bill, "unproven: only the lockfile").len(), 1);
    site.plain("report imagegen.lock.json --out page.html", 0);
    let page = site.home.text("page.html");
    assert_eq!(lines(&page, "unproven: only the lockfile").len(), 1);
}

/// The evidence beside such a digest counts when this run has proven it again.
#[test]
fn a_minimum_confidence_sees_that_a_digest_is_unproven() {
    let Some(mut site) = Site::new() else { return };
    site.stock(OLD);
    write_policy(&site);
    site.succeeds(&format!("lock {OLD} --policy policy.json"));

    let locked = format!("fetch {OLD} --policy policy.json --locked");
    forget_store(&site);
    let asked = site.asked(WINS_SUMS);
    site.succeeds(&locked);
    assert_eq!(site.asked(WINS_SUMS), asked + 1);

    // A lockfile whose record follows from its evidence, of bytes that the publisher never had.
    let other = b"other bytes".repeat(3);
    let lock = site.home.text("imagegen.lock.json");
    let mut forged = lock.clone();
    for digest in site.locked("wins")["digests"].as_array().expect("digests") {
        let text = digest["digest"].as_str().expect("digest");
        let replaced = match digest["algorithm"].as_str() {
            Some("sha512") => imagegen::base::digest::encode_hex(
                aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA512, &other).as_ref(),
            ),
            _ => imagegen::base::digest::sha256_hex(&other),
        };
        forged = forged.replace(text, &replaced);
    }
    let size = site.locked("wins")["size"].to_string();
    forged = forged.replace(
        &format!("\"size\": {size}"),
        &format!("\"size\": {}", other.len()),
    );
    site.write("imagegen.lock.json", forged.as_bytes());
    let good = site.served(WINS);
    site.serve(WINS, &other);
    forget_store(&site);
    site.fails(&locked, 5, &["wins 0.1.3", "checksum-mismatch"]);
    let said = site.plain("verify imagegen.lock.json --policy policy.json", 5);
    assert!(said.stderr.contains(UNPROVEN), "{}", said.stderr);

    site.write("imagegen.lock.json", lock.as_bytes());
    site.serve(WINS, &good);
    site.remove(WINS_SUMS);
    forget_store(&site);
    site.fails(&locked, 5, &["wins 0.1.3", "proof-missing"]);
    let said = site.plain("verify imagegen.lock.json --policy policy.json", 5);
    assert!(said.stderr.contains(UNPROVEN), "{}", said.stderr);
}
