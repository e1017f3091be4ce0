//! Statements about an image: valid by the formats' own libraries, signed, and verified.

use std::collections::BTreeMap;
use std::fs;

use clap::CommandFactory as _;
use imagegen::base::digest::sha256_hex;
use imagegen::cli::Cli;
use serde_json::{Value, json};

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
pub(super) fn baked() -> Option<Test> {
    program("openssl")?;
    let test = with_packer(&format!(
        "[ \"$1\" = build ] || exit 0\n{MANIFEST}\n{REPORT}"
    ));
    test.succeeds();
    make_key(&test, "own");
    make_key(&test, "other");
    Some(test)
}

/// The same with statements in `a`, and the digest of the key that signed them.
fn attested() -> Option<(Test, String)> {
    let test = baked()?;
    test.bare().prints("attest o --key own.pem --out a");
    openssl(
        &test.folder,
        "pkey -pubin -in own.pub -outform DER -out own.der",
    );
    let digest = sha256_hex(&test.read("own.der"));
    Some((test, digest))
}

fn read_record(test: &Test) -> Value {
    serde_json::from_str(&test.text("o/image.json")).expect("JSON")
}

pub(super) fn read_statement(test: &Test, kind: &str) -> Value {
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
#[expect(clippy::too_many_lines, reason = "a table")]
fn a_policy_requires_statements_of_signers_it_trusts() {
    let Some((test, digest)) = attested() else {
        return;
    };
    // The build has accepted these by name, and the policy judges what the image was made of.
    let waived = read_record(&test)["waived"].clone();
    let policy = |keys: Value| {
        json!({
            "name": "p",
            "requiredAttestations": ["provenance", "sbom"],
            "waivers": waived,
            "trustedKeys": keys,
        })
    };
    let key = |digest: &str, name: &str| json!({"key": digest, "components": [name]});
    let with = |fields: Value| {
        let mut policy = policy(json!([key(&digest, "baked-image")]));
        for (name, value) in fields.as_object().expect("fields") {
            policy[name] = value.clone();
        }
        policy.to_string()
    };
    let scoped = |field: &str, value: Value| {
        let mut entry = key(&digest, "baked-image");
        entry[field] = value;
        policy(json!([entry])).to_string()
    };
    let mut drops = policy(json!([key(&digest, "baked-image")]));
    let fields = drops.as_object_mut().expect("fields");
    assert!(fields.remove("waivers").is_some());
    let test = test
        .file("p.json", &with(json!({})))
        .file("q.json", &with(json!({"trustedKeys": [key(&"ab".repeat(32), "baked-image")]})))
        .file("component.json", &with(json!({"trustedKeys": [key(&digest, "kubelet")]})))
        .file("any.json", &with(json!({"trustedKeys": [key(&digest, "*")]})))
        .file("role.json", &scoped("roles", json!(["artifact"])))
        .file("version.json", &scoped("versions", json!(">=1.36")))
        .file("nobody.json", &json!({"name": "p", "waivers": waived}).to_string())
        .file("hosts.json", &with(json!({"allowedHosts": ["a.example"]})))
        .file("forbids.json", &with(json!({"forbiddenComponents": ["containerd"]})))
        .file("drops.json", &drops.to_string())
        .file("signed.json", &with(json!({"require": [{"id": "signed", "components": ["containerd"], "anyOf": ["minisign"]}]})));
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
        (
            format!("verify o {all} --key own.pub --policy role.json"),
            "attestation-signer",
        ),
        (
            format!("verify o {all} --key own.pub --policy version.json"),
            "attestation-signer",
        ),
        // A policy that requires no statement names whom it trusts all the same.
        (
            format!("verify o {all} --key own.pub --policy nobody.json"),
            "attestation-signer",
        ),
        (
            format!("verify o {all} --key own.pub --policy drops.json"),
            "an override drops a proof",
        ),
    ] {
        let ran = test.bare().run(&line);
        assert_eq!(ran.code, Some(5), "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{line}: {}", ran.stderr);
    }
    // What the image was made of is judged by the rest of the policy.
    for (policy, said) in [
        ("hosts.json", "it comes from artifacts.example.com"),
        ("forbids.json", "the component is forbidden"),
        ("signed.json", "it must be proven by minisign"),
    ] {
        let line = format!("verify o {all} --key own.pub --policy {policy}");
        let ran = test.bare().run(&line);
        assert_eq!(ran.code, Some(3), "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{line}: {}", ran.stderr);
    }
    // A record without its lockfile does not say what that was.
    let folder = test.folder.join("alone");
    fs::create_dir(&folder).expect("folder");
    fs::copy(test.folder.join("o/image.json"), folder.join("image.json")).expect("copy");
    let alone = format!("verify alone {all} --key own.pub --policy hosts.json");
    let ran = test.bare().run(&alone);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("has no lockfile beside it"),
        "{}",
        ran.stderr
    );
    // A checkout on Windows has other line ends.
    let lock = test.text("o/imagegen.lock.json").replace('\n', "\r\n");
    fs::write(folder.join("reviewed"), lock).expect("lockfile");
    for lock in ["o/imagegen.lock.json", "alone/reviewed"] {
        let ran = test.bare().run(&format!("{alone} --lock {lock}"));
        assert!(ran.stderr.contains("it comes from"), "{}", ran.stderr);
    }
}

/// How a flag of `verify` counts beside `--attestation`. A new flag without a row fails.
enum Beside {
    /// A value that holds, and one that does not, with what is said then.
    Applied(&'static str, &'static str, i32, &'static str),
    /// It is refused.
    Conflicts,
    /// It says how, and not what.
    Operates(&'static str),
}

const BESIDE: &[(&str, Beside)] = &[
    (
        "sha256",
        Beside::Applied("SHA256", "OTHER", 5, "digest-mismatch"),
    ),
    (
        "sha512",
        Beside::Applied("SHA512", "OTHER512", 5, "digest-mismatch"),
    ),
    (
        "key",
        Beside::Applied("own.pub", "other.pub", 5, "cosign-bad-signature"),
    ),
    (
        "lock",
        Beside::Applied("o/imagegen.lock.json", "own.pub", 5, "file-differs"),
    ),
    (
        "policy",
        Beside::Applied("trusts.json", "nobody.json", 5, "attestation-signer"),
    ),
    ("checksums", Beside::Conflicts),
    ("signature", Beside::Conflicts),
    ("certificate", Beside::Conflicts),
    ("bundle", Beside::Conflicts),
    ("proofs", Beside::Conflicts),
    ("authenticode", Beside::Conflicts),
    ("at", Beside::Conflicts),
    ("publisher", Beside::Operates("it needs `--authenticode`")),
    ("root", Beside::Operates("it needs `--authenticode`")),
    ("member", Beside::Operates("it needs `--authenticode`")),
    (
        "identity",
        Beside::Operates("a second signer, which `--key` refuses"),
    ),
    (
        "issuer",
        Beside::Operates("a second signer, which `--key` refuses"),
    ),
    ("attestation", Beside::Operates("the flag itself")),
    (
        "allow_http",
        Beside::Operates("how the policy's proofs are fetched"),
    ),
    (
        "mirror",
        Beside::Operates("where the policy's proofs are fetched"),
    ),
    ("store", Beside::Operates("where downloads are kept")),
    ("jobs", Beside::Operates("how many downloads run at once")),
    ("offline", Beside::Operates("no downloads")),
    ("proxy", Beside::Operates("the way of downloads")),
    ("ca_file", Beside::Operates("certificates of servers")),
    ("allow_header_env", Beside::Operates("headers of downloads")),
];

#[test]
fn every_flag_beside_a_statement_counts_or_is_refused() {
    let mut command = Cli::command();
    command.build();
    let verify = command.find_subcommand("verify").expect("verify");
    let own = verify.get_arguments().filter(|it| !it.is_global_set());
    let flags = own.filter(|it| it.get_long().is_some_and(|long| long != "help"));
    let flags: BTreeMap<String, String> = flags
        .map(|it| {
            (
                it.get_id().to_string(),
                it.get_long().unwrap_or_default().to_owned(),
            )
        })
        .collect();
    for id in flags.keys() {
        assert!(BESIDE.iter().any(|(row, _)| row == id), "`{id}` has no row");
    }

    let Some((test, digest)) = attested() else {
        return;
    };
    let waived = read_record(&test)["waived"].clone();
    let trusts = json!({
        "name": "p", "waivers": waived, "trustedKeys": [{"key": digest, "components": ["baked-image"]}]
    });
    let test = test
        .file("trusts.json", &trusts.to_string())
        .file("nobody.json", r#"{"name": "p"}"#);
    let image = test.read("o/image.json");
    let sha512 = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA512, &image);
    let fill = |value: &str| {
        value
            .replace("SHA256", &sha256_hex(&image))
            .replace(
                "SHA512",
                &imagegen::base::digest::encode_hex(sha512.as_ref()),
            )
            .replace("OTHER512", &"ab".repeat(64))
            .replace("OTHER", &"ab".repeat(32))
    };
    for (id, beside) in BESIDE {
        let long = flags.get(*id).unwrap_or_else(|| panic!("`{id}` is gone"));
        let line = "verify o --attestation a/provenance.sigstore.json";
        let key = if *id == "key" { "" } else { "--key own.pub" };
        match beside {
            Beside::Applied(good, bad, code, said) => {
                test.bare()
                    .prints(&format!("{line} {key} --{long} {}", fill(good)));
                let ran = test
                    .bare()
                    .run(&format!("{line} {key} --{long} {}", fill(bad)));
                let text = ran.stdout + &ran.stderr;
                assert_eq!(ran.code, Some(*code), "--{long}: {text}");
                assert!(text.contains(said), "--{long}: {text}");
            }
            Beside::Conflicts => {
                let value = if *id == "authenticode" { "" } else { "1" };
                let ran = test.bare().run(&format!("{line} {key} --{long} {value}"));
                assert_eq!(ran.code, Some(2), "--{long}: {}", ran.stderr);
                assert!(
                    ran.stderr.contains("cannot be used with"),
                    "--{long}: {}",
                    ran.stderr
                );
            }
            Beside::Operates(reason) => assert!(reason.len() > 10, "--{long} needs a reason"),
        }
    }
    // A reviewed lockfile is compared with a record, not with any file.
    let ran = test.bare().run(
        "verify overrides.json --attestation a/provenance.sigstore.json --key own.pub --lock o/imagegen.lock.json",
    );
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
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
    openssl(&test.folder, "genrsa -out rsa.pem 2048");
    openssl(&test.folder, "pkey -in rsa.pem -pubout -out rsa.pub");
    let test = test.file("bin/sign", &script.replace("own.pem", "rsa.pem"));
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).expect("mode");
    test.bare().prints(&command("rsa.pub"));
    test.bare()
        .prints("verify o --attestation a/provenance.sigstore.json --key rsa.pub");
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
    let command = "cosign attest-blob --yes --new-bundle-format ";
    assert!(printed.contains(command), "{printed}");
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
