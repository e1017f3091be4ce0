//! Statements about an image: valid by the formats' own libraries, signed, and verified.

use std::fs;

use serde_json::Value;

use crate::bake::{MANIFEST, REPORT, with_packer};
use crate::support::{Test, files, openssl, program};

use super::check_document;

const KINDS: [&str; 3] = ["provenance", "sbom", "check-report"];

fn make_key(test: &Test, name: &str) {
    let folder = &test.folder;
    openssl(
        folder,
        &format!("ecparam -name prime256v1 -genkey -out {name}.pem"),
    );
    openssl(
        folder,
        &format!("ec -in {name}.pem -pubout -out {name}.pub"),
    );
}

/// An image that was baked, and two keys.
fn baked() -> Option<Test> {
    program("openssl")?;
    let test = with_packer(&format!(
        "[ \"$1\" = build ] || exit 0\n{MANIFEST}\n{REPORT}"
    ));
    test.succeeds();
    make_key(&test, "own");
    make_key(&test, "other");
    Some(test)
}

fn read_statement(test: &Test, kind: &str) -> Value {
    let text = test.text(&format!("o/attestations/{kind}.intoto.json"));
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn statements_are_what_their_formats_say() {
    let Some(test) = baked() else { return };
    test.bare().prints("attest o --key own.pem");
    let image: Value = serde_json::from_str(&test.text("o/image.json")).expect("JSON");
    for kind in KINDS {
        let statement = read_statement(&test, kind);
        assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
        let subjects = statement["subject"].as_array().expect("subjects");
        assert_eq!(subjects[0]["name"], "/subscriptions/s/images/i");
        assert_eq!(subjects[0]["digest"]["sha256"], image["lock"]);
        assert_eq!(subjects[1]["name"], "image.json");
        let predicate = statement["predicateType"].as_str().expect("type");
        let bundle = format!("o/attestations/{kind}.sigstore.json");
        check_document(&test, &["bundle", &bundle, "own.pub", predicate]);
    }
    let provenance = read_statement(&test, "provenance");
    let definition = &provenance["predicate"]["buildDefinition"];
    let dependencies = definition["resolvedDependencies"].as_array().expect("list");
    let lock: Value = serde_json::from_str(&test.text("o/imagegen.lock.json")).expect("JSON");
    for artifact in lock["artifacts"].as_array().expect("artifacts") {
        let digest = &artifact["digests"][0]["digest"];
        assert!(
            dependencies
                .iter()
                .any(|it| it["digest"]["sha256"] == *digest),
            "{artifact}"
        );
    }
    let details = &provenance["predicate"]["runDetails"];
    assert_eq!(details["metadata"]["startedOn"], image["started"]);
    assert_eq!(details["byproducts"][0]["name"], "check-report.json");
    assert_eq!(
        read_statement(&test, "check-report")["predicate"]["result"],
        "PASSED"
    );
}

#[test]
fn a_builder_has_no_part_that_may_be_a_secret() {
    let Some(test) = baked() else { return };
    for id in [
        "https://user:secret9f2c@ci.example/x",
        "https://ci.example/x?token=secret9f2c",
        "https://ci.example/x#secret9f2c",
        "secret9f2c",
    ] {
        let ran = test
            .bare()
            .run(&format!("attest o --key own.pem --builder-id {id}"));
        assert_eq!(ran.code, Some(3), "{id}: {}", ran.stderr);
        assert!(!ran.stderr.contains("secret9f2c"), "{}", ran.stderr);
    }
    assert!(!test.exists("o/attestations"));
    test.bare()
        .prints("attest o --key own.pem --builder-id https://ci.example/runners@refs/tags/v1");
    let provenance = read_statement(&test, "provenance");
    assert_eq!(
        provenance["predicate"]["runDetails"]["builder"]["id"],
        "https://ci.example/runners@refs/tags/v1"
    );
}

#[test]
fn a_statement_is_verified_by_its_key_alone() {
    let Some(test) = baked() else { return };
    test.bare().prints("attest o --key own.pem --out a");
    let all = "--attestation a/provenance.sigstore.json --attestation a/sbom.sigstore.json";
    let output = test
        .bare()
        .prints(&format!("verify o {all} --key own.pub --format json"));
    let output: Value = serde_json::from_str(&output).expect("JSON");
    assert_eq!(output["verified"], true, "{output:#}");
    // Of the record, too: the lockfile beside it is the one that it names.
    let pins = output["evidence"].as_array().expect("evidence");
    assert!(
        pins.iter()
            .any(|it| it["proof"] == "pin" && it["verdict"] == "verified")
    );
    for (line, code, said) in [
        (
            format!("verify o {all} --key other.pub"),
            5,
            "cosign-bad-signature",
        ),
        (
            format!("verify overrides.json {all} --key own.pub"),
            5,
            "sigstore-subject",
        ),
        (format!("verify o {all}"), 2, "expected signer"),
        (
            "verify o --attestation overrides.json --key own.pub".to_owned(),
            5,
            "dsse-malformed",
        ),
    ] {
        let ran = test.bare().run(&line);
        assert_eq!(ran.code, Some(code), "{line}: {}{}", ran.stdout, ran.stderr);
        assert!((ran.stdout + &ran.stderr).contains(said), "{line}: {said}");
    }
    // A statement that was changed is not what was signed.
    let mut bundle: Value =
        serde_json::from_str(&test.text("a/provenance.sigstore.json")).expect("JSON");
    let other: Value = serde_json::from_str(&test.text("a/sbom.sigstore.json")).expect("JSON");
    bundle["dsseEnvelope"]["payload"] = other["dsseEnvelope"]["payload"].clone();
    let test = test.file("forged.json", &bundle.to_string());
    let ran = test
        .bare()
        .run("verify o --attestation forged.json --key own.pub");
    assert_eq!(ran.code, Some(5), "{}", ran.stdout);
    // A lockfile that was changed after the build is found.
    let lock = test.text("o/imagegen.lock.json");
    fs::write(test.folder.join("o/imagegen.lock.json"), lock + " ").expect("a change");
    let ran = test.bare().run(&format!("verify o {all} --key own.pub"));
    assert_eq!(ran.code, Some(5), "{}", ran.stdout);
    assert!(ran.stdout.contains("digest-mismatch"), "{}", ran.stdout);
}

#[test]
fn a_policy_requires_statements_of_signers_it_trusts() {
    let Some(test) = baked() else { return };
    test.bare().prints("attest o --key own.pem --out a");
    openssl(
        &test.folder,
        "pkey -pubin -in own.pub -outform DER -out own.der",
    );
    let digest = imagegen::base::digest::sha256_hex(&test.read("own.der"));
    let policy = |keys: &str| {
        format!(
            r#"{{"name": "p", "requiredAttestations": ["provenance", "sbom"], "trustedKeys": [{keys}]}}"#
        )
    };
    let key = |digest: &str, name: &str| {
        policy(&format!(
            r#"{{"key": "{digest}", "components": ["{name}"]}}"#
        ))
    };
    let test = test
        .file("p.json", &key(&digest, "baked-image"))
        .file("q.json", &key(&"ab".repeat(32), "baked-image"))
        .file("component.json", &key(&digest, "kubelet"))
        .file("any.json", &key(&digest, "*"));
    let all = "--attestation a/provenance.sigstore.json --attestation a/sbom.sigstore.json";
    test.bare()
        .prints(&format!("verify o {all} --key own.pub --policy p.json"));
    for (line, said) in [
        (
            "verify o --attestation a/sbom.sigstore.json --key own.pub --policy p.json".to_owned(),
            "attestation-missing",
        ),
        (
            format!("verify o {all} --key own.pub --policy q.json"),
            "attestation-signer",
        ),
        (
            format!("verify o {all} --key own.pub --policy component.json"),
            "attestation-signer",
        ),
        (
            format!("verify o {all} --key own.pub --policy any.json"),
            "attestation-signer",
        ),
    ] {
        let ran = test.bare().run(&line);
        assert_eq!(ran.code, Some(5), "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{line}: {}", ran.stderr);
    }
}

#[test]
fn another_program_signs() {
    use std::os::unix::fs::PermissionsExt as _;
    let Some(test) = baked() else { return };
    let script = "#!/bin/sh\nopenssl dgst -sha256 -sign own.pem \"$1\" | base64 -w 0\n";
    let test = test.file("bin/sign", script);
    let place = test.folder.join("bin/sign");
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).expect("mode");
    let command = |key: &str| {
        format!(
            "attest o --out a --sign-command {} --public-key {key}",
            place.display()
        )
    };
    test.bare().prints(&command("own.pub"));
    test.bare()
        .prints("verify o --attestation a/provenance.sigstore.json --key own.pub");
    // A signature of another key is found before a bundle is written.
    let ran = test.bare().run(&command("other.pub"));
    assert_eq!(ran.code, Some(5), "{}", ran.stderr);
}

/// The next build finds their place free, and they still hold for the record of their image.
#[test]
fn statements_move_to_the_record_of_their_image() {
    let Some(test) = baked() else { return };
    test.bare().prints("attest o --key own.pem");
    test.succeeds();
    assert!(!test.exists("o/attestations"));
    let bundles = files(&test.folder.join("o/builds"))
        .into_keys()
        .filter(|path| path.ends_with("attestations/provenance.sigstore.json"))
        .collect::<Vec<_>>();
    let [bundle] = &bundles[..] else {
        panic!("{bundles:?}");
    };
    let version = bundle.split('/').next().expect("folder");
    test.bare().prints(&format!(
        "verify o/builds/{version} --attestation o/builds/{bundle} --key own.pub"
    ));

    // Statements about the record in its own folder lie there already.
    let last = fs::read_dir(test.folder.join("o/builds"))
        .expect("folder")
        .map(|entry| entry.expect("entry").path())
        .find(|path| !path.ends_with(version))
        .expect("two builds");
    test.bare()
        .prints(&format!("attest {} --key own.pem", last.display()));
    test.bare().prints("attest o --key own.pem");
    test.succeeds();
    for folder in ["attestations", "attestations-2"] {
        let path = last.join(folder).join("provenance.sigstore.json");
        assert!(path.exists(), "{}", path.display());
    }
}

#[test]
fn what_nobody_signs_is_for_the_pipeline() {
    let Some(test) = baked() else { return };
    let printed = test.bare().prints("attest o");
    assert!(printed.contains("cosign attest-blob"), "{printed}");
    assert!(test.exists("o/attestations/provenance.predicate.json"));
    assert!(!test.exists("o/attestations/provenance.sigstore.json"));
    openssl(&test.folder, "genrsa -out rsa.pem 2048");
    for (line, said) in [
        ("attest o --key rsa.pem", "P-256"),
        ("attest o --key own.pub", "private key"),
        ("attest nothing", "nothing"),
    ] {
        let ran = test.bare().run(line);
        assert_eq!(ran.code, Some(3), "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{line}: {}", ran.stderr);
    }
}
