//! Scripts that are not signed as a policy demands.

use std::fs;

use serde_json::json;

use super::{IMAGE, bench, change, same, sign};
use crate::support::{Test, files, openssl};

type Change = fn(&Test);

fn remove(test: &Test, path: &str) {
    fs::remove_file(test.folder.join("scripts").join(path)).expect("script");
}

/// A policy holds for `scripts sign`, too: what it would refuse later is not written.
#[test]
fn signing_by_a_stranger_is_refused_under_a_policy() {
    let Some(test) = bench() else { return };
    let before = test.read("scripts/engine/Tools.ps1");
    let line = |signer: &str| {
        format!(
            "scripts sign scripts --key {signer}.key --certificate {signer}.pem --root ca.pem --policy policy.json"
        )
    };
    same(&test).line(&line("stranger")).fails(
        5,
        &["the signer is `CN=Stranger,O=Stranger`", "[publisher]"],
    );
    assert_eq!(
        test.read("scripts/engine/Tools.ps1"),
        before,
        "nothing was written"
    );
    same(&test).line(&line("own")).succeeds();
    assert_ne!(test.read("scripts/engine/Tools.ps1"), before);
    // What imagegen signed counts as written by imagegen.
    same(&test).line("scripts export --out scripts").succeeds();
    assert_eq!(test.read("scripts/engine/Tools.ps1"), before);
}

/// A signer says at its end why it failed.
#[cfg(unix)]
#[test]
fn the_last_lines_of_a_signer_that_failed_are_shown() {
    use std::os::unix::fs::PermissionsExt as _;
    let Some(test) = bench() else { return };
    let script = "#!/bin/sh\nfor n in $(seq 20); do echo \"line $n.\"; echo; done\nexit 1\n";
    let test = test.file("bin/osslsigncode", script);
    let program = test.folder.join("bin/osslsigncode");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("mode");
    let path = format!("{}:/usr/bin:/bin", test.folder.join("bin").display());
    let run = same(&test)
        .line("scripts sign scripts --key own.key --certificate own.pem")
        .env("PATH", &path);
    let (code, _, stderr) = run.ends();
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("line 9."), "{stderr}");
    assert!(stderr.contains("line 20."), "{stderr}");
    assert!(!stderr.contains("line 8."), "{stderr}");
}

#[test]
fn what_is_not_signed_as_the_policy_demands_is_refused() {
    let table: &[(&str, Change, &str, &[&str])] = &[
        (
            "unsigned",
            |test| {
                fs::remove_dir_all(test.folder.join("scripts")).expect("signed scripts");
                same(test)
                    .line("scripts export --out scripts")
                    .succeeds()
                    .clear();
            },
            "",
            &[
                "engine/Access.ps1 and",
                "no embedded signature [unsigned]",
                "[policy-signed-scripts]",
                "imagegen scripts sign",
            ],
        ),
        (
            "one unsigned",
            |test| {
                change(test, "engine/Tools.ps1", |text| {
                    text.split("\r\n# SIG #").next().unwrap().to_owned()
                });
            },
            "",
            &["guest script engine/Tools.ps1: no embedded signature [unsigned]"],
        ),
        (
            "another publisher",
            |test| sign(test, "stranger", "ca"),
            "",
            &["the signer is `CN=Stranger,O=Stranger`", "[publisher]"],
        ),
        (
            "the own name from another authority",
            |test| sign(test, "twin", "other"),
            "",
            &["[untrusted-root]"],
        ),
        (
            "changed after it was signed",
            |test| {
                change(test, "engine/Tools.ps1", |text| {
                    text.replacen("# What", "# Who", 1)
                });
            },
            "",
            &[
                "engine/Tools.ps1: its digest is",
                "[script-changed]",
                "--override 'scripts/engine/Tools.ps1.sha256=",
            ],
        ),
        (
            "code in the block",
            |test| {
                change(test, "engine/Tools.ps1", |text| {
                    text.replace("# SIG # End", "whoami\r\n# SIG # End")
                });
            },
            "",
            &["engine/Tools.ps1", "[signature-block]"],
        ),
        (
            "code after the block",
            |test| change(test, "engine/Tools.ps1", |text| text + "whoami\r\n"),
            "",
            &["engine/Tools.ps1", "[text-after-signature]"],
        ),
        (
            "missing",
            |test| remove(test, "resources/file.ps1"),
            "",
            &["resources/file.ps1: it is not there [script-missing]"],
        ),
        (
            "unknown",
            |test| fs::write(test.folder.join("scripts/engine/Extra.ps1"), "1\n").unwrap(),
            "",
            &["engine/Extra.ps1: imagegen has no guest script of this name [script-unknown]"],
        ),
        (
            "another digest than the named one",
            |_| (),
            "--override scripts/engine/Tools.ps1.sha256=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            &["engine/Tools.ps1: its digest is", "[script-digest]"],
        ),
    ];
    let Some(test) = bench() else { return };
    for (what, spoil, more, said) in table {
        sign(&test, "own", "ca");
        spoil(&test);
        println!("{what}");
        same(&test)
            .line(IMAGE)
            .line("--policy policy.json --scripts scripts")
            .line(more)
            .fails(5, said);
        assert!(!test.exists("o"), "{what}: something was written");
        fs::remove_dir_all(test.folder.join("scripts")).unwrap();
        same(&test).line("scripts export --out scripts").succeeds();
    }
    same(&test)
        .line(IMAGE)
        .line("--policy policy.json")
        .fails(5, &["[unsigned]", "--scripts DIR"]);
}

#[test]
fn policies_that_let_anyone_sign_are_refused() {
    for (rule, said) in [
        (json!({}), "it has neither publishers nor roots"),
        (
            json!({"publishers": ["Own Provider"]}),
            "is not a publisher",
        ),
        (
            json!({"roots": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"}),
            "its `roots`",
        ),
    ] {
        let policy = json!({"name": "p", "signedScripts": rule});
        Test::new()
            .file("p.json", &policy.to_string())
            .line(IMAGE)
            .line("--policy p.json")
            .fails(5, &[said]);
    }
    let policy = json!({"name": "p", "signedScripts": {"roots": "absent.pem"}}).to_string();
    let said = "policy signedScripts.roots: there is no file absent.pem";
    Test::new()
        .file("p.json", &policy)
        .line(IMAGE)
        .line("--policy p.json")
        .fails(3, &[said]);
}

#[test]
fn signing_says_what_it_lacks_and_changes_nothing() {
    let Some(test) = bench() else { return };
    let before = files(&test.folder.join("scripts"));
    let sign = "scripts sign scripts --certificate own.pem --root ca.pem --key";
    same(&test)
        .line(sign)
        .line("own.enc")
        .fails(3, &["own.enc is encrypted", "--passphrase-env NAME"]);
    same(&test)
        .line(sign)
        .line("own.enc --passphrase-env NONE")
        .fails(3, &["NONE is not set"]);
    same(&test)
        .line(sign)
        .line("own.key")
        .env("PATH", "/nowhere")
        .fails(1, &["`osslsigncode` is not on the PATH", "your own signer"]);
    same(&test)
        .line(sign)
        .line("stranger.key")
        .fails(3, &["stranger.key is not the key of", "own.pem", "hint: "]);
    same(&test)
        .line(sign)
        .line("own.pem")
        .fails(3, &["own.pem is no private key", "PRIVATE KEY"]);
    same(&test)
        .line(sign)
        .line("own.enc --passphrase-env WRONG")
        .env("WRONG", "not the passphrase")
        .fails(3, &["the passphrase is not that of", "own.enc"]);
    openssl(&test.folder, "genpkey -algorithm ed25519 -out ed.key");
    openssl(
        &test.folder,
        "req -x509 -key ed.key -out ed.pem -subj /CN=own -days 3 -addext extendedKeyUsage=codeSigning",
    );
    same(&test)
        .line("scripts sign scripts --key ed.key --certificate ed.pem")
        .fails(3, &["ed.key has a kind of key", "RSA"]);
    let unknown = "scripts sign scripts --key own.key --certificate own.pem";
    same(&test)
        .line(unknown)
        .fails(5, &["[untrusted-root]", "--root FILE"]);
    same(&test)
        .line("scripts sign . --key own.key --certificate own.pem")
        .fails(3, &["imagegen scripts export"]);
    assert_eq!(files(&test.folder.join("scripts")), before);
}
