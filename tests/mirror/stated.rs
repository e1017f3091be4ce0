//! What a proof states comes from what its verifier found: neither from what a definition declares, nor from a file that
//! nobody signed.

use imagegen::base::digest::sha256_hex;
use serde_json::{Value, json};

use super::identity::{LOCK, Provider, find_proof};
use crate::support::Test;
use crate::support::archives::zip;
use crate::support::programs::{silent, with_resource};

/// The policy wants a proof that is over the kubelet in the planned version.
fn demand_version(provider: &Provider) {
    provider.set_policy(&json!({"require": [
        {"id": "stated", "components": ["kubelet"], "anyOf": ["cosign-key", "checksum-file"], "requireVersion": true}
    ]}));
}

/// The signer's identity of a signature that is by a key is anybody's text.
#[test]
fn a_definition_declares_nothing_that_is_not_verified() {
    let identity = "https://x.example/y/kubelet/z@refs/tags/v1.36.4";
    let issuer = "https://x.example";
    let key = "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----\n";
    let fingerprint = "AB".repeat(20);
    for (signature, said) in [
        (
            json!({"kind": "cosign-key", "key": key, "identity": identity}),
            "`signature.identity` is not verified",
        ),
        (
            json!({"kind": "cosign-key", "key": key, "issuer": issuer}),
            "`signature.issuer` is not verified",
        ),
        (
            json!({"kind": "cosign-key-over-checksums", "key": key, "identity": identity}),
            "`cosign-key-over-checksums`",
        ),
        (
            json!({"kind": "minisign", "key": key, "identity": identity}),
            "of the kind `minisign`",
        ),
        (
            json!({"kind": "minisign-over-checksums", "key": key, "issuer": issuer}),
            "`minisign-over-checksums`",
        ),
        (
            json!({"kind": "openpgp", "key": "hashicorp", "identity": fingerprint, "issuer": issuer}),
            "`signature.issuer` is not verified",
        ),
        (
            json!({"kind": "openpgp", "key": "hashicorp"}),
            "needs the fingerprint of its key",
        ),
        (
            json!({"kind": "openpgp-over-checksums", "key": "hashicorp", "identity": " "}),
            "needs the fingerprint of its key",
        ),
        (
            json!({"kind": "sigstore-bundle", "key": key, "issuer": issuer}),
            "`signature.issuer` is not verified",
        ),
        (
            json!({"kind": "sigstore-bundle", "key": key, "identity": identity, "issuer": issuer}),
            "`signature.key` is not verified",
        ),
        (
            json!({"kind": "github-attestation", "key": key, "identity": identity, "issuer": issuer}),
            "`signature.key` is not verified",
        ),
        (
            json!({"kind": "cosign-key", "key": key, "certificateUrl": "https://x.example/c"}),
            "`signature.certificateUrl` is not verified",
        ),
    ] {
        let mut signature = signature;
        signature["url"] = "https://x.example/s".into();
        let definition = json!({"overrides": {"kubelet": {"signature": signature}}});
        Test::new()
            .file("imagegen.json", &definition.to_string())
            .line("plan --target host --k8s 1.36.4")
            .fails(3, &["override of kubelet", said]);
    }
    let definition = json!({"overrides": {"kubelet": {
        "signature": {"kind": "cosign-key", "key": key, "url": "https://x.example/s"}
    }}});
    Test::new()
        .file("imagegen.json", &definition.to_string())
        .line("plan --target host --k8s 1.36.4")
        .succeeds();
}

/// The trusted key signed the file, and nobody signed the list beside it.
#[test]
fn a_checksum_file_states_only_what_was_signed_with_it() {
    let Some(mut provider) = Provider::new() else {
        return;
    };
    let bytes = silent("another program of the provider");
    let line = format!("{}  kubelet-1.36.4.exe\n", sha256_hex(&bytes));
    demand_version(&provider);

    // The checksum file is called like the program that the signature covers.
    for sums in ["/sums/kubelet.exe", "/sums/file", "/sums/SHA256SUMS"] {
        let url = provider.site.url("/own/kubelet-1.36.4.exe");
        let fields = json!({"url": url, "checksums": provider.site.url(sums)});
        provider.replace("kubelet", &bytes, &fields);
        provider.site.serve("/own/kubelet-1.36.4.exe", &bytes);
        provider.site.serve(sums, line.as_bytes());
        let said = ["as `stated` requires", "states neither name nor version"];
        provider.site.fails(LOCK, 5, &said);
    }

    // The control: the list itself is signed.
    let url = provider.site.url("/own/kubelet-1.36.4.exe");
    let sums = provider.site.url("/sums/SHA256SUMS");
    provider.replace("kubelet", &bytes, &json!({"url": url, "checksums": sums}));
    let over = &mut provider.site.overrides["kubelet"]["signature"];
    over["kind"] = "cosign-key-over-checksums".into();
    let signature = provider.sign(line.as_bytes());
    provider.site.serve("/own/file.sig", &signature);
    let proof = find_proof(&provider.lock(), "cosign-key");
    assert_eq!(proof["facts"]["statedName"], "kubelet", "{proof:#}");
    assert_eq!(proof["facts"]["statedVersion"], "1.36.4", "{proof:#}");
    assert_eq!(proof["facts"]["statedBy"], "line of the checksum file");
}

/// A member that becomes two programs is judged as each of them.
#[test]
fn each_use_of_a_member_is_judged() {
    let Some(mut provider) = Provider::new() else {
        return;
    };
    provider.set_policy(&json!({}));
    let archive = |name: &str| {
        let program = with_resource(name, "1.36.4");
        zip(&[("bin/k.exe".to_owned(), &program[..])])
    };
    let use_as = |files: &[&str]| -> Value {
        let members: Vec<Value> = files
            .iter()
            .map(|file| json!({"member": "bin/k.exe", "file": file}))
            .collect();
        json!({"kind": "zip", "members": members})
    };
    let both = use_as(&["wins.exe", "kubelet.exe"]);
    provider.replace("kubelet", &archive("wins.exe"), &both);
    let said = ["kubelet 1.36.4 failed verification", "[states-other-name]"];
    provider.site.fails(LOCK, 5, &said);
    provider.replace(
        "kubelet",
        &archive("kubelet.exe"),
        &use_as(&["kubelet.exe"]),
    );
    provider.lock();
}

/// A digest is recorded for the whole archive. Which program its members become, the definition says.
#[test]
fn members_of_a_recorded_archive_are_not_swapped() {
    let Some(mut provider) = Provider::new() else {
        return;
    };
    let (kubelet, wins) = (
        with_resource("kubelet.exe", "1.36.4"),
        with_resource("wins.exe", "0.5.0"),
    );
    let archive = zip(&[
        ("bin/kubelet.exe".to_owned(), &kubelet[..]),
        ("bin/wins.exe".to_owned(), &wins[..]),
        ("bin/agent.exe".to_owned(), &kubelet[..]),
    ]);
    let digest = sha256_hex(&archive);
    provider.set_policy(&json!({
        "trustedDigests": [{"digest": digest, "components": ["kubelet", "wins"]}]
    }));
    let use_as = |pairs: [(&str, &str); 2]| {
        let members =
            pairs.map(|(member, file)| json!({"member": format!("bin/{member}"), "file": file}));
        json!({"kind": "zip", "sha256": digest, "members": members})
    };
    let swapped = use_as([("wins.exe", "kubelet.exe"), ("kubelet.exe", "wins.exe")]);
    provider.replace("kubelet", &archive, &swapped);
    let said = ["kubelet 1.36.4 failed verification", "[states-other-name]"];
    provider.site.fails(LOCK, 5, &said);

    // The control: a member may have any name, if the program is the one that it says, and its version is that of the record.
    for pairs in [
        [("kubelet.exe", "kubelet.exe"), ("wins.exe", "wins.exe")],
        [("agent.exe", "kubelet.exe"), ("wins.exe", "wins.exe")],
    ] {
        provider.replace("kubelet", &archive, &use_as(pairs));
        let locked = provider.lock();
        assert_eq!(find_proof(&locked, "pin")["facts"]["statedBy"], "policy");
        assert!(find_proof(&locked, "statement").is_null(), "{locked:#}");
    }
}
