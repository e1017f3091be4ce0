//! `verify` under a policy makes the proofs that the policy demands. What a definition declares, and what a lockfile
//! records, is none.

use std::fs;

use imagegen::base::digest::sha256_hex;
use serde_json::{Value, json};

use super::identity::{LOCK, Provider};
use super::keyless::{IDENTITY, ISSUER, SIGNED};
use crate::authenticode::wheels;
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

/// A stored bundle is one proof; the signature inside the file is another, which only the file shows.
#[test]
fn stored_proofs_leave_no_declared_signature_out() {
    let Some(bytes) = wheels::whole(&SIGNED) else {
        return;
    };
    let Some(mut provider) = Provider::new() else {
        return;
    };
    let bundle = include_bytes!("../fixtures/sigstore/message-v0.2.json");
    let signer = json!({"identity": IDENTITY, "issuer": ISSUER});
    let mut signature = signer.clone();
    signature["kind"] = "sigstore-bundle".into();
    signature["url"] = provider.site.url("/own/kubelet.sigstore.json").into();
    let over = json!({
        "url": provider.site.url("/own/kubelet.exe"),
        "sha256": sha256_hex(&bytes),
        "publisher": "O=Good",
        "signature": signature,
    });
    provider
        .site
        .serve("/own/kubelet.sigstore.json", bundle.as_slice());
    provider.site.serve("/own/kubelet.exe", &bytes);
    provider.site.overrides.insert("kubelet".to_owned(), over);
    let pin = json!({"sha256": "ab".repeat(32)});
    provider
        .site
        .overrides
        .insert("kube-log-runner".to_owned(), pin);
    let scoped = |mut entry: Value| {
        entry["components"] = json!(["kubelet"]);
        json!([entry])
    };
    provider.set_policy(&json!({
        "allowedRoots": ["ab".repeat(32)],
        "trustedIdentities": scoped(signer),
        "trustedPublishers": scoped(json!({"publisher": "O=Good"})),
    }));
    forge_preview(&provider);
    let folder = provider.site.home.folder.join("proofs");
    fs::create_dir(&folder).expect("folder");
    let name = format!("kubelet-1.36.4-{}.sigstore.json", &sha256_hex(&bytes)[..12]);
    fs::write(folder.join(name), bundle).expect("file");

    let line = format!("verify o/imagegen.lock.json {NETWORK} fresh");
    for stored in ["", "--bundles proofs"] {
        let ran = provider.site.plain(&format!("{line} {stored}"), 5);
        for said in ["kubelet 1.36.4 failed verification", "authenticode"] {
            assert!(ran.stderr.contains(said), "{stored}: {}", ran.stderr);
        }
    }
}

/// What the policy demands is proven first; then it is no matter that only the lockfile states the digest.
#[test]
fn a_workspace_is_proven_before_its_lockfile_is_called_unreviewed() {
    let Some(mut provider) = provider() else {
        return;
    };
    let bytes = with_resource("kubelet.exe", "1.36.4");
    provider.replace("kubelet", &bytes, &json!({}));
    let runner = "kube-log-runner 1.36.4";
    for (over, is_proven) in [
        (Some(json!({"sha256": "ab".repeat(32)})), true),
        (None, false),
    ] {
        provider.site.afresh();
        match over {
            Some(over) => provider
                .site
                .overrides
                .insert("kube-log-runner".to_owned(), over),
            None => provider.site.overrides.remove("kube-log-runner"),
        };
        provider.lock();
        forge_preview(&provider);
        let code = if is_proven { 0 } else { 5 };
        let said = provider
            .site
            .plain(&format!("verify o {NETWORK} fresh"), code);
        let said = said.stdout;
        assert!(
            said.contains("cosign-key      kubelet.exe: signed by"),
            "{said}"
        );
        let unreviewed = format!("only this lockfile states the digest of {runner}");
        assert_eq!(said.contains(&unreviewed), !is_proven, "{said}");
        assert!(!said.contains("digest of kubelet"), "{said}");
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
    let ran = test.bare().run(&format!("{line} --proofs nowhere"));
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("nowhere has no proof of its artifacts"),
        "{}",
        ran.stderr
    );
}

/// A policy that demands no proof lets no bundle pass unread: what it carries is verified, and what nothing proves is
/// named.
#[test]
fn a_policy_without_demands_verifies_what_a_bundle_carries() {
    let Some(provider) = provider() else {
        return;
    };
    provider.set_policy(&json!({}));
    provider.lock();
    let mirror = provider.site.url("/");
    let create = format!("bundle create --out node.zip {NETWORK} store --mirror {mirror}");
    provider.site.plain(&create, 0);
    let good = provider.site.home.read("node.zip");
    let warning = "only this lockfile states the digest of kube-log-runner 1.36.4";
    for policy in ["", "--policy policy.json"] {
        let line = format!("bundle verify node.zip {policy}");
        let said = provider.site.plain(&line, 0).stderr;
        assert!(said.contains(warning), "{policy}: {said}");
    }
    let reviewed = "bundle verify node.zip --policy policy.json --lock imagegen.lock.json";
    let said = provider.site.plain(reviewed, 0).stderr;
    assert!(!said.contains(warning), "{said}");

    let signature = provider.site.url("/own/file.sig");
    let other = provider.sign(b"something else");
    let altered = forged(&good, false, &|files, index| {
        let digest = index["origins"][&signature].as_str().expect("a signature");
        let at = files.iter().position(|(name, _)| name.ends_with(digest));
        let digest = sha256_hex(&other);
        files[at.expect("its object")] = (format!("objects/sha256/{digest}"), other.clone());
        index["origins"][&signature] = digest.into();
    });
    provider.site.write("altered.zip", &altered);
    let ran = provider
        .site
        .plain("bundle verify altered.zip --policy policy.json", 5);
    let failed = "kubelet 1.36.4 failed verification";
    assert!(ran.stderr.contains(failed), "{}", ran.stderr);
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

/// What a bundle is judged by is in it: no request is made, so no variable is read for one.
#[test]
fn a_bundle_is_judged_without_values_of_headers() {
    let Some(mut provider) = provider() else {
        return;
    };
    let bytes = with_resource("kubelet.exe", "1.36.4");
    let headers = json!({"Authorization": "ACME_TOKEN"});
    let fields = json!({"sha256": sha256_hex(&bytes), "headers": headers});
    provider.replace("kubelet", &bytes, &fields);
    let granted = |line: &str| {
        let line = format!("{line} --allow-header-env ACME_TOKEN=127.0.0.1");
        let mut command = provider.site.command(&line);
        let output = command.env("ACME_TOKEN", "Bearer of a test").output();
        let output = output.expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {said}");
    };
    granted(LOCK);
    let site = &provider.site;
    let mut create = Test::new()
        .line(&format!("bundle create --out node.zip {NETWORK} store"))
        .line("--allow-header-env ACME_TOKEN=127.0.0.1")
        .args(["--mirror", &site.url("/")])
        .env("ACME_TOKEN", "Bearer of a test")
        .command();
    let created = create.current_dir(&site.home.folder).output();
    let created = created.expect("the program starts");
    let said = String::from_utf8_lossy(&created.stderr);
    assert!(created.status.success(), "{said}");
    for line in ["verify", "bundle verify", "bundle extract --store new"] {
        site.plain(&format!("{line} node.zip --policy policy.json"), 0);
    }
}

/// A bundle of which no proof is demanded, and that brings none, is not unpacked to be judged.
#[test]
fn a_bundle_is_unpacked_for_proofs_alone() {
    let Some(mut provider) = provider() else {
        return;
    };
    let mirror = provider.site.url("/");
    let create = format!("bundle create --out node.zip {NETWORK} store --mirror {mirror}");
    for is_plain in [false, true] {
        if is_plain {
            // The same build by its digest alone.
            let over = &mut provider.site.overrides["kubelet"];
            over.as_object_mut().expect("fields").remove("signature");
            let bytes = with_resource("kube-log-runner.exe", "1.36.4");
            provider.site.serve("/own/runner.exe", &bytes);
            let url = provider.site.url("/own/runner.exe");
            let over = json!({"url": url, "sha256": sha256_hex(&bytes)});
            provider
                .site
                .overrides
                .insert("kube-log-runner".to_owned(), over);
            provider.set_policy(&json!({}));
            provider.site.afresh();
            fs::remove_file(provider.site.home.folder.join("node.zip")).expect("removed");
        }
        provider.lock();
        provider.site.plain(&create, 0);
        let test = Test::new()
            .line("bundle verify node.zip --policy policy.json")
            .env("TMPDIR", "/nowhere/at/all");
        let mut command = test.command();
        let output = command.current_dir(&provider.site.home.folder).output();
        let output = output.expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), is_plain, "{said}");
        assert_eq!(said.contains("/nowhere/at/all"), !is_plain, "{said}");
    }
}
