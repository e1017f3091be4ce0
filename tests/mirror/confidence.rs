//! Confidence in a lockfile and under a policy: that of the proofs that were made, and of nothing else.

use imagegen::base::digest::sha256_hex;
use serde_json::{Value, json};

use super::identity::{LOCK, Provider};
use super::site::{Site, proven};
use crate::support::archives::{stand_in, tar_gz};
use crate::support::programs::{with_go, with_resource};
use crate::support::server::{Server, whole};

/// A program that says what it is, behind a checksum file at its own address: nobody has signed it.
#[test]
fn a_program_that_says_what_it_is_raises_no_confidence() {
    let Some(mut site) = Site::new() else { return };
    let selection = "--target host --k8s 1.36.4 --component crictl=1.36.5";
    let module = "sigs.k8s.io/cri-tools";
    let program = with_go(&format!("{module}/cmd/crictl"), module, "v1.36.5");
    let artifacts = site.stock_with(selection, false, &|artifact| {
        if artifact["component"] == "crictl" {
            tar_gz(&[("crictl.exe".to_owned(), &program)])
        } else {
            stand_in(artifact)
        }
    });
    site.succeeds(&format!("lock {selection}"));
    let locked = site.locked("crictl");
    for proof in ["statement", "checksum-file"] {
        assert!(proven(&locked, proof), "{locked:#}");
    }
    assert_eq!(locked["digests"][0]["confidence"], "low", "{locked:#}");

    // By itself, it is no proof at all.
    site.afresh();
    let mut artifacts = artifacts.iter();
    let crictl = artifacts.find(|it| it["component"] == "crictl");
    let sums = crictl.expect("crictl")["checksums"].as_array();
    for file in sums.expect("checksums") {
        if file["algorithm"] == "sha256" {
            site.remove(file["url"].as_str().expect("url"));
        }
    }
    let said = ["no digest is recorded for crictl 1.36.5"];
    site.fails(
        &format!("lock {selection} --waive crictl=checksum-file"),
        5,
        &said,
    );
}

/// Whoever writes an override chooses both addresses, and what stands at them.
#[test]
fn a_checksum_file_of_an_override_raises_no_confidence() {
    let Some(mut site) = Site::new() else { return };
    let selection = "--target host --k8s 1.36.4";
    site.stock(selection);
    let bytes = b"stands for a log runner of our own";
    site.serve("/own/runner.exe", bytes);
    let line = format!("{}  runner.exe\n", sha256_hex(bytes));
    site.serve("/own/sums.sha256", line.as_bytes());
    let other = Server::new(move |_| whole(line.as_bytes(), &[]));
    let elsewhere = format!("http://localhost:{}/sums.sha256", other.address.port());

    let trusted = site.overrides.iter().map(
        |(name, over)| json!({"digest": over["sha256"].as_str(), "components": [name.as_str()]}),
    );
    let trusted: Vec<Value> = trusted.collect();
    let waivers = site.waivers.iter().filter_map(|it| it.split_once('='));
    let waivers: Vec<Value> = waivers
        .map(|(component, proof)| json!({"component": component, "proof": proof}))
        .collect();
    let demand = |site: &Site, minimum: &str| {
        let policy = json!({"name": "ours", "minimumConfidence": minimum, "trustedDigests": trusted, "waivers": waivers});
        site.write("policy.json", policy.to_string().as_bytes());
    };

    let flags = format!("{selection} --policy policy.json --allow-http localhost");
    for sums in [site.url("/own/sums.sha256"), elsewhere] {
        let over = json!({"url": site.url("/own/runner.exe"), "checksums": sums});
        site.overrides.insert("kube-log-runner".to_owned(), over);
        demand(&site, "medium");
        site.fails(&format!("lock {flags}"), 5, &["attested `low`"]);

        // The control, and a lockfile that says more of it.
        demand(&site, "low");
        site.succeeds(&format!("lock {flags}"));
        let locked = site.locked("kube-log-runner");
        assert_eq!(locked["digests"][0]["confidence"], "low", "{locked:#}");
        let build = format!("build {flags} --out o --locked --no-bake --force");
        site.succeeds(&build);
        let text = site.home.text("imagegen.lock.json");
        let mut lock: Value = serde_json::from_str(&text).expect("JSON");
        for artifact in lock["artifacts"].as_array_mut().expect("artifacts") {
            if artifact["component"] == "kube-log-runner" {
                for pin in artifact["digests"].as_array_mut().expect("digests") {
                    pin["confidence"] = "medium".into();
                }
            }
        }
        let lock: imagegen::lock::Lock = serde_json::from_value(lock).expect("a lockfile");
        site.write("imagegen.lock.json", lock.encode().as_bytes());
        site.fails(&build, 3, &["does not follow from the evidence"]);
        site.afresh();
    }
}

/// A lockfile says how well the proofs beside a digest attest it, also where the definition states the digest.
#[test]
fn the_confidence_of_a_lockfile_follows_from_its_evidence() {
    let Some(mut provider) = Provider::new() else {
        return;
    };
    let bytes = with_resource("kubelet.exe", "1.36.4");
    provider.replace("kubelet", &bytes, &json!({"sha256": sha256_hex(&bytes)}));
    let rule = json!([{"id": "signed", "components": ["kubelet"], "anyOf": ["cosign-key"]}]);
    provider.set_policy(&json!({ "require": rule }));
    let locked = provider.lock();
    let stated = &locked["digests"][0]["confidence"];
    assert_eq!(*stated, "authoritative", "{locked:#}");

    let build = LOCK.replace("lock ", "build --no-bake --locked --force --out o ");
    let survey = LOCK.replace("lock ", "doctor ");
    let text = provider.site.home.text("imagegen.lock.json");
    let lock: Value = serde_json::from_str(&text).expect("JSON");
    let artifacts = lock["artifacts"].as_array().expect("artifacts");
    let at = artifacts.iter().position(|it| it["component"] == "kubelet");
    let at = at.expect("kubelet");
    let other = artifacts.iter().position(|it| it["evidence"].is_null());
    let other = other.expect("an artifact without evidence");
    for (place, field, value, is_fresh) in [
        (at, "/digests/0/confidence", json!("low"), true),
        (at, "/digests/0/confidence", json!("medium"), false),
        (at, "/evidence", json!([]), false),
        (other, "/digests/0/confidence", json!("high"), false),
    ] {
        let mut edited = lock.clone();
        let found = edited["artifacts"][place].pointer_mut(field);
        *found.unwrap_or_else(|| panic!("{field}")) = value;
        let edited: imagegen::lock::Lock = serde_json::from_value(edited).expect("a lockfile");
        provider
            .site
            .write("imagegen.lock.json", edited.encode().as_bytes());
        let ran = provider.site.run(&build);
        let is_stale = ran.stderr.contains("does not follow from the evidence");
        assert_eq!(!is_stale, is_fresh, "{field}: {}", ran.stderr);
        assert_eq!(ran.code == Some(0), is_fresh, "{field}: {}", ran.stderr);
        let surveyed = provider.site.run(&survey);
        let is_stale = surveyed
            .stdout
            .contains("does not follow from the evidence");
        assert_eq!(!is_stale, is_fresh, "{field}: {}", surveyed.stdout);
    }
}
