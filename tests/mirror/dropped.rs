//! Overrides merge field by field: what they do not name stays, and what they drop is waived by name.

use imagegen::base::digest::sha256_hex;
use serde_json::{Value, json};

use super::site::{Site, proven};
use super::{NEW, OLD, WINS};
use crate::support::planned::list_artifacts;

const OWN: &str = "/own/containerd.tar.gz";

/// containerd, whose provenance the catalog declares, from an address of the provider's own.
fn override_containerd(site: &mut Site, fields: &Value) {
    let bytes = site.own_build("containerd", "a build of our own");
    site.serve(OWN, &bytes);
    let mut over = json!({"url": site.url(OWN), "sha256": sha256_hex(&bytes)});
    for (name, value) in fields.as_object().expect("fields") {
        over[name] = value.clone();
    }
    site.overrides.insert("containerd".to_owned(), over);
    site.waivers.retain(|it| !it.starts_with("containerd="));
}

#[test]
fn a_dropped_proof_needs_a_waiver_by_name() {
    let Some(mut site) = Site::new() else { return };
    site.stock(NEW);
    override_containerd(&mut site, &json!({}));
    let said = [
        "an override drops a proof of the publisher",
        "containerd 2.3.4",
        "[proof-dropped]",
        "`--waive containerd=attestation`",
        "`\"waivers\": [{\"component\": \"containerd\", \"proof\": \"attestation\"}]`",
    ];
    // Without a policy the operator accepts it by name; the lockfile says what is dropped, and lends no word.
    let waived = format!("{NEW} --waive containerd=attestation");
    for verb in ["lock", "build --no-bake --out o", "fetch"] {
        site.fails(&format!("{verb} {NEW}"), 5, &said);
        assert!(!site.home.exists("o") && !site.home.exists("imagegen.lock.json"));
    }
    let locked = site.succeeds(&format!("lock {waived}")).stderr;
    assert!(
        locked.contains("its publisher's attestation is not asked for"),
        "{locked}"
    );
    let dropped = &site.locked("containerd")["dropped"];
    assert_eq!(*dropped, json!(["attestation"]));
    site.fails(&format!("build {NEW} --no-bake --out o --locked"), 5, &said);
    assert!(!site.home.exists("o"));
    site.succeeds(&format!("build {waived} --no-bake --out o --locked"));
    site.afresh();

    let waivers = |more: &[(&str, &str)]| -> Value {
        let of_site = site.waivers.iter().filter_map(|it| it.split_once('='));
        let all = of_site.chain(more.iter().copied());
        all.map(|(component, proof)| json!({"component": component, "proof": proof}))
            .collect()
    };
    let policy = json!({"name": "ours", "waivers": waivers(&[])});
    site.write("policy.json", policy.to_string().as_bytes());
    let line = format!("lock {NEW} --policy policy.json");
    site.fails(&line, 5, &said);
    assert!(!site.home.exists("imagegen.lock.json"));
    let policy = json!({"name": "ours", "waivers": waivers(&[("containerd", "attestation")])});
    site.write("policy.json", policy.to_string().as_bytes());
    site.succeeds(&line);
}

#[test]
fn an_override_keeps_what_it_does_not_name() {
    let plan = |line: &str| -> Value {
        let artifacts = list_artifacts(&format!("plan {NEW} {line}"));
        let found = artifacts.iter().find(|it| it["component"] == "containerd");
        found.expect("containerd").clone()
    };
    let known = plan("");
    let digest = known["digests"][0]["digest"].as_str().expect("a digest");
    let url = "--override containerd.url=https://own.example/c.tar.gz";
    // An address, alone or with the digest of the catalog, is another place of the same bytes.
    for line in [url, &format!("{url} --override containerd.sha256={digest}")] {
        let moved = plan(line);
        assert_eq!(moved["url"], "https://own.example/c.tar.gz");
        for field in ["checksums", "signatures", "members", "size"] {
            assert_eq!(moved[field], known[field], "{field}: {line}");
        }
        assert_eq!(moved["digests"][0]["digest"], digest);
        assert!(moved["dropped"].is_null(), "{moved:#}");
    }
    // Another algorithm's digest adds.
    let sha512 = "ab".repeat(64);
    for line in [
        format!("--override containerd.sha512={sha512}"),
        format!("{url} --override containerd.sha512={sha512}"),
        format!(
            "{url} --override containerd.sha256={digest} --override containerd.sha512={sha512}"
        ),
    ] {
        let both = plan(&line);
        let digests: Vec<&str> = both["digests"]
            .as_array()
            .expect("digests")
            .iter()
            .map(|it| it["digest"].as_str().expect("digest"))
            .collect();
        assert_eq!(digests, [digest, &sha512], "{line}");
        assert_eq!(both["signatures"], known["signatures"]);
    }
    // A checksum file, a size, members or a kind take no digest of the catalog away.
    for field in [
        "checksums=https://own.example/sums",
        "size=7",
        "kind=tar.gz",
    ] {
        let more = plan(&format!("{url} --override containerd.{field}"));
        assert_eq!(more["digests"], known["digests"], "{field}");
        assert_eq!(more["signatures"], known["signatures"], "{field}");
        assert!(more["dropped"].is_null(), "{more:#}");
    }
    // A digest that contradicts the catalog's is that of another build.
    let other = plan(&format!(
        "{url} --override containerd.sha256={}",
        "ab".repeat(32)
    ));
    assert_eq!(other["dropped"], json!(["attestation"]));
    assert_eq!(other["digests"].as_array().map(Vec::len), Some(1));
    // A signature of the provider's own replaces the publisher's; nothing is dropped.
    let own = plan(&format!(
        "{url} --override containerd.signature.url=https://own.example/c.sig --override containerd.signature.key=hashicorp"
    ));
    assert_eq!(own["signatures"].as_array().map(Vec::len), Some(1));
    assert!(own["dropped"].is_null(), "{own:#}");
}

/// The pins of one component, from its publisher's address.
fn write_pins(site: &Site, component: &str, version: &str, bytes: &[u8]) {
    let pin = json!({
        "version": version, "algorithm": "sha256", "digest": sha256_hex(bytes), "confidence": "authoritative",
        "source": ["https://x.example"],
    });
    let file = json!({"component": component, "pins": [pin]});
    let folder = site.home.folder.join("own/pins");
    std::fs::create_dir_all(&folder).expect("folder");
    std::fs::write(folder.join(format!("{component}.json")), file.to_string()).expect("pins");
}

/// A digest of the user's own takes nothing away from what the publisher declares of the bytes, and is named.
#[test]
fn pins_of_the_user_lower_no_proof() {
    let Some(mut site) = Site::new() else { return };
    site.stock(OLD);
    let published = site.served(WINS);
    let forged = b"MZ of somebody else";
    write_pins(&site, "wins", "0.1.3", forged);
    site.serve(WINS, forged);
    let own = format!("{OLD} --component-files own");
    let plan = site.plain(&format!("plan {own}"), 0);
    let said = "wins 0.1.3 is pinned by a file of your own in the place of the program's";
    assert!(
        plan.stdout.contains(said) || plan.stderr.contains(said),
        "{plan:?}"
    );
    for verb in ["lock", "fetch"] {
        let said = ["wins 0.1.3 failed verification", "checksum-file"];
        site.fails(&format!("{verb} {own}"), 5, &said);
        assert!(!site.home.exists("imagegen.lock.json"));
    }

    // A policy admits the file of pins by its digest, as any other file of the user's.
    let policy = json!({"name": "ours"});
    site.write("policy.json", policy.to_string().as_bytes());
    let refused = site.plain(&format!("plan {own} --policy policy.json"), 3);
    for said in ["pins/wins.json", "[policy-trusted-digests]"] {
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
    }

    // The right digest holds together with the publisher's.
    site.serve(WINS, &published);
    write_pins(&site, "wins", "0.1.3", &published);
    site.afresh();
    site.succeeds(&format!("lock {own}"));
    let locked = site.locked("wins");
    assert!(proven(&locked, "checksum-file"), "{locked:#}");
    let lock: Value = serde_json::from_str(&site.home.text("imagegen.lock.json")).expect("JSON");
    assert!(lock["ownFiles"]["pins/wins.json"].is_string(), "{lock:#}");
}
