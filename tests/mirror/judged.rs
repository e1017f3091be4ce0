//! `verify` under a policy makes the proofs that the policy demands. What a definition declares, and what a lockfile
//! records, is none.

use std::fs;

use imagegen::base::digest::sha256_hex;
use serde_json::{Value, json};

use super::identity::{LOCK, Provider};
use crate::bundle::{forged, unpack};
use crate::support::Test;
use crate::support::programs::with_resource;

const NETWORK: &str = "--policy policy.json --ca-file ca.pem --store";

/// A provider with a signed kubelet of its own, which the policy wants to be signed.
fn provider() -> Option<Provider> {
    let mut provider = Provider::new()?;
    let bytes = with_resource("kubelet.exe", "1.36.4");
    let pin = json!({"sha256": sha256_hex(&bytes)});
    provider.replace("kubelet", &bytes, &pin);
    provider.set_policy(&json!({
        "require": [{"id": "signed", "components": ["kubelet"], "anyOf": ["cosign-key"]}],
        "minimumVerdict": "verified",
    }));
    Some(provider)
}

/// The lockfile of a preview, whose bytes nobody has seen, as somebody edits it who wants it to be believed.
fn forge_preview(provider: &Provider) {
    provider
        .site
        .succeeds("build --target host --k8s 1.36.4 --policy policy.json --no-bake --out o");
    let folder = provider.site.home.folder.join("o");
    let text = provider.site.home.text("o/imagegen.lock.json");
    let mut lock: Value = serde_json::from_str(&text).expect("JSON");
    let fields = lock.as_object_mut().expect("fields");
    assert!(fields.remove("notAdmitted").is_some(), "it is a preview");
    let lock: imagegen::lock::Lock = serde_json::from_value(lock).expect("a lockfile");
    fs::write(folder.join("imagegen.lock.json"), lock.encode()).expect("file");

    let preview = folder.join("guest-plan.not-admitted.json");
    fs::rename(preview, folder.join("guest-plan.json")).expect("renamed");
    let honest = Test::new().line("render --target host --k8s 1.36.4 --out o");
    honest.succeeds();
    fs::write(folder.join("Install.ps1"), honest.read("o/Install.ps1")).expect("file");
}

#[test]
fn a_signature_that_nobody_verified_satisfies_no_policy() {
    let Some(mut provider) = provider() else {
        return;
    };
    // No policy wants more of it than a digest.
    let pin = json!({"sha256": "ab".repeat(32)});
    provider
        .site
        .overrides
        .insert("kube-log-runner".to_owned(), pin);
    // The server has a signature of something else.
    let signed = provider.site.served("/own/file.sig");
    let other = provider.sign(b"something else");
    provider.site.serve("/own/file.sig", &other);
    forge_preview(&provider);

    for file in ["o", "o/imagegen.lock.json"] {
        let ran = provider
            .site
            .plain(&format!("verify {file} {NETWORK} fresh"), 5);
        assert!(
            ran.stderr.contains("kubelet 1.36.4 failed verification"),
            "{}",
            ran.stderr
        );
        provider
            .site
            .plain(&format!("verify {file} {NETWORK} empty --offline"), 4);
    }

    // The control: the right signature, from the network and then from the store.
    provider.site.serve("/own/file.sig", &signed);
    for flags in ["", "--offline"] {
        let line = format!("verify o/imagegen.lock.json {NETWORK} good {flags}");
        let said = provider.site.plain(&line, 0).stdout;
        assert!(
            said.contains("cosign-key      kubelet.exe: signed by"),
            "{said}"
        );
        assert!(!said.contains("not asked for: kubelet"), "{said}");
        provider
            .site
            .plain(&format!("verify o {NETWORK} good {flags}"), 0);
    }
}

/// The comparison with catalog and policy is no proof of a folder that is not there.
#[test]
fn a_folder_of_proofs_without_one_proves_nothing() {
    let test = Test::new()
        .file(
            "policy.json",
            r#"{"name": "ours", "forbiddenComponents": ["docker"]}"#,
        )
        .line("lock --target host --k8s 1.36.0 --policy policy.json");
    test.succeeds();
    let line = "verify imagegen.lock.json --policy policy.json";
    test.bare().prints(line);
    let ran = test.bare().run(&format!("{line} --bundles nowhere"));
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("nowhere has no proof of its artifacts"),
        "{}",
        ran.stderr
    );
}

/// Every verb that reads a bundle proves it in the same way.
#[test]
fn a_bundle_without_its_signature_is_refused_by_every_verb() {
    let Some(provider) = provider() else { return };
    provider.lock();
    provider.site.plain(
        &format!(
            "bundle create --out node.zip {NETWORK} store --mirror {}",
            provider.site.url("/")
        ),
        0,
    );
    let good = provider.site.home.read("node.zip");
    let signature = provider.site.url("/own/file.sig");
    let stripped = forged(&good, false, &|files, index| {
        let origins = index["origins"].as_object_mut().expect("origins");
        let digest = origins.remove(&signature).expect("a carried signature");
        let digest = digest.as_str().expect("digest");
        files.retain(|(name, _)| !name.ends_with(digest));
    });
    assert_eq!(unpack(&stripped).len() + 1, unpack(&good).len());
    provider.site.write("stripped.zip", &stripped);

    // The user's store knows the signature. It did not come with the bundle.
    let policy = "--policy policy.json";
    for (line, place) in [
        ("verify FILE", ""),
        ("bundle verify FILE", ""),
        ("bundle extract FILE --store store", ""),
        ("bundle extract FILE --store new", "new"),
        ("bundle extract FILE --as-mirror mirror", "mirror"),
    ] {
        let refused = format!("{} {policy}", line.replace("FILE", "stripped.zip"));
        let ran = provider.site.plain(&refused, 4);
        assert!(ran.stderr.contains("file.sig"), "{refused}: {}", ran.stderr);
        assert!(
            place.is_empty() || !provider.site.home.exists(place),
            "{place}"
        );
        provider
            .site
            .plain(&format!("{} {policy}", line.replace("FILE", "node.zip")), 0);
    }

    // A lockfile of the provider's is no proof either.
    provider.site.plain(
        "bundle verify stripped.zip --policy policy.json --lock imagegen.lock.json",
        4,
    );
    provider.site.fails(LOCK, 0, &[]);
}
