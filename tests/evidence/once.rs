//! Files beside a statement are read once, and nothing is fetched for an image that is not what was signed.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

use serde_json::{Value, json};

use super::attest::baked;
use crate::support::{Test, openssl};

const VERIFY: &str = "--attestation a/provenance.sigstore.json --key own.pub --policy p.json";

/// An image with statements, a policy that trusts their key, and the fields that it has beside.
fn attested(fields: &Value) -> Option<Test> {
    let test = baked()?;
    test.bare().prints("attest o --key own.pem --out a");
    openssl(
        &test.folder,
        "pkey -pubin -in own.pub -outform DER -out own.der",
    );
    let digest = imagegen::base::digest::sha256_hex(&test.read("own.der"));
    let record: Value = serde_json::from_slice(&test.read("o/image.json")).expect("JSON");
    let mut policy = json!({
        "name": "p",
        "waivers": record["waived"],
        "trustedKeys": [{"key": digest, "components": ["baked-image"]}],
    });
    for (name, value) in fields.as_object().expect("fields") {
        policy[name] = value.clone();
    }
    Some(test.file("p.json", &policy.to_string()))
}

/// A pipe that gives these bytes once: whoever opens it again waits for ever.
fn pipe(path: &Path, bytes: Vec<u8>) {
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.expect("mkfifo").success());
    let path = path.to_owned();
    thread::spawn(move || fs::write(path, bytes));
}

#[test]
fn what_is_compared_is_what_is_judged() {
    let Some(test) = attested(&json!({})) else {
        return;
    };
    let lock = test.read("o/imagegen.lock.json");
    let folder = test.folder.join("piped");
    fs::create_dir(&folder).expect("folder");
    fs::write(folder.join("imagegen.lock.json"), &lock).expect("file");
    pipe(&folder.join("image.json"), test.read("o/image.json"));
    pipe(&test.folder.join("reviewed"), lock);

    for line in ["verify o --lock reviewed", "verify piped"] {
        let output = Command::new("timeout")
            .args(["60", env!("CARGO_BIN_EXE_imagegen")])
            .args(line.split_whitespace().chain(VERIFY.split_whitespace()))
            .current_dir(&test.folder)
            .env_clear()
            .env("HOME", &test.folder)
            .env("PATH", "/usr/bin:/bin")
            .output()
            .expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{line}: {said}");
    }
}

/// What an image was made of is fetched, with the operator's tokens, for a signed image alone.
#[test]
fn nothing_is_fetched_for_an_image_that_nobody_signed() {
    let rule = json!({
        "id": "stated", "components": ["containerd"], "anyOf": ["pin"], "requireVersion": true,
    });
    let Some(test) = attested(&json!({ "require": [rule] })) else {
        return;
    };
    let line = format!("verify o {VERIFY} --offline --store fresh");
    let forged = line.replace("own.pub", "other.pub");
    let ran = test.bare().run(&forged);
    assert_eq!(ran.code, Some(5), "{}", ran.stderr);
    assert!(!test.exists("fresh"), "{}", ran.stderr);
    // Nor where the lockfile is another one.
    fs::write(test.folder.join("other.json"), "{}").expect("file");
    let ran = test.bare().run(&format!("{line} --lock other.json"));
    assert_eq!(ran.code, Some(5), "{}", ran.stderr);
    assert!(!test.exists("fresh"), "{}", ran.stderr);
    // The control.
    let ran = test.bare().run(&line);
    assert_ne!(ran.code, Some(0), "{}", ran.stderr);
    assert!(test.exists("fresh"), "{}", ran.stderr);
}
