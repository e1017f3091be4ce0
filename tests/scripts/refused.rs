//! Scripts that are not signed as a policy demands.

use std::fs;

use serde_json::json;

use super::{IMAGE, bench, change, same, sign};
use crate::support::Test;

type Change = fn(&Test);

fn remove(test: &Test, path: &str) {
    fs::remove_file(test.folder.join("scripts").join(path)).expect("script");
}

fn sign_anew(test: &Test, signer: &str) {
    fs::remove_dir_all(test.folder.join("scripts")).expect("signed scripts");
    same(test).line("scripts export --out scripts").succeeds();
    sign(test, signer);
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
                "imagegen scripts export",
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
            |test| sign_anew(test, "stranger"),
            "",
            &["the signer is `CN=Stranger,O=Stranger`", "[publisher]"],
        ),
        (
            "the own name from another authority",
            |test| sign_anew(test, "twin"),
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
        sign(&test, "own");
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
