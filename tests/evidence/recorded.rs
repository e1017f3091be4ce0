//! A statement is about what the build left: files that were changed beside their record, and other records, are refused.

use std::fs;

use imagegen::base::digest::sha256_hex;
use serde_json::Value;

use super::attest::baked;
use crate::support::{Ran, Test};

const ATTEST: &str = "attest o --key own.pem --out a";

fn find_build(test: &Test) -> String {
    let folders = fs::read_dir(test.folder.join("o/builds")).expect("folder");
    let mut names = folders.map(|entry| entry.expect("entry").file_name());
    let name = names.next().expect("a build");
    format!("o/builds/{}", name.to_string_lossy())
}

fn refuses(test: &Test, line: &str, said: &str) {
    let ran = test.bare().run(&format!("{line} --format json"));
    assert_eq!(ran.code, Some(5), "{line}: {}", ran.stderr);
    for text in ["\"code\":\"file-differs\"", said] {
        assert!(ran.stderr.contains(text), "{line}: {}", ran.stderr);
    }
}

fn attest(test: &Test, line: &str) -> Ran {
    let ran = test.bare().run(line);
    assert_eq!(ran.code, Some(0), "{line}: {}", ran.stderr);
    ran
}

#[test]
fn a_file_that_was_changed_beside_its_record_is_not_signed() {
    let Some(test) = baked() else { return };
    let build = find_build(&test);
    let record: Value = serde_json::from_str(&test.text("o/image.json")).expect("JSON");
    for (folder, names) in [
        (
            "o",
            &[
                "check-report.json",
                "guest-plan.json",
                "imagegen.lock.json",
                "packer-manifest.json",
                "packer.log",
            ][..],
        ),
        (&build, &["check-report.json", "timeline.json"]),
    ] {
        let line = format!("attest {folder} --key own.pem --out a");
        for name in names {
            let path = test.folder.join(folder).join(name);
            let bytes = fs::read(&path).expect("file");
            let named = record["files"][*name].as_str();
            let named = named.or_else(|| record["lock"].as_str());
            assert_eq!(named, Some(&*sha256_hex(&bytes)), "{name}");

            let mut changed = bytes.clone();
            changed.push(b'\n');
            fs::write(&path, changed).expect("a change");
            refuses(&test, &line, name);
            fs::write(&path, bytes).expect("the same again");
        }
        attest(&test, &line);
    }

    // What the statement of the check is about was removed, or something else that the build left.
    let away = test.folder.join("away.json");
    for name in ["check-report.json", "guest-plan.json", "packer.log"] {
        let place = test.folder.join("o").join(name);
        fs::rename(&place, &away).expect("away");
        if name == "packer.log" {
            let said = attest(&test, ATTEST).stderr;
            assert!(said.contains("not beside the record: packer.log"), "{said}");
        } else {
            refuses(&test, ATTEST, "it is missing");
        }
        fs::rename(&away, &place).expect("back");
    }
    // A record names files of its own folder alone.
    for name in ["../../etc/hostname", "/etc/hostname", r"..\away.json"] {
        let mut record = record.clone();
        record["files"][name] = "ab".repeat(32).into();
        let folder = test.folder.join("forged");
        fs::create_dir_all(&folder).expect("folder");
        fs::write(folder.join("image.json"), record.to_string()).expect("record");
        let verify = "verify forged --attestation a/provenance.sigstore.json --key own.pub";
        for line in ["attest forged --key own.pem", verify] {
            let ran = test.bare().run(line);
            assert_eq!(ran.code, Some(3), "{line}: {}", ran.stderr);
            assert!(
                ran.stderr.contains("is no path of a file below"),
                "{}",
                ran.stderr
            );
        }
    }
    fs::write(test.folder.join("o/timeline.json"), "{}").expect("another one");
    refuses(&test, ATTEST, "timeline.json");
}

#[test]
fn a_record_is_held_against_the_digest_that_the_build_printed() {
    let Some(test) = baked() else { return };
    let digest = sha256_hex(&test.read("o/image.json"));
    let ran = test.run_with("--format json");
    let printed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let own = sha256_hex(&test.read("o/image.json"));
    assert_ne!(own, digest);
    assert_eq!(printed["recordSha256"], own.as_str());
    let note = format!("(SHA-256 {own})");
    assert!(ran.stderr.contains(&note), "{}", ran.stderr);

    let said = attest(&test, ATTEST).stderr;
    assert!(said.contains("was taken as it lies there"), "{said}");
    let said = attest(&test, &format!("{ATTEST} --sha256 {own}")).stderr;
    assert!(!said.contains("as it lies there"), "{said}");
    let other = format!("{ATTEST} --sha256 {digest}");
    refuses(&test, &other, "is not the record of the build");

    // A record without digests says nothing of the files beside it.
    let mut record: Value = serde_json::from_str(&test.text("o/image.json")).expect("JSON");
    assert!(record["recordSha256"].is_null());
    record.as_object_mut().expect("record").remove("files");
    fs::write(test.folder.join("o/image.json"), record.to_string()).expect("record");
    let said = attest(&test, ATTEST).stderr;
    assert!(said.contains("names no files of the build"), "{said}");
    refuses(&test, &format!("{ATTEST} --sha256 {own}"), "image.json");
}
