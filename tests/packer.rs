//! Workspaces under the real Packer with the real plugins.

use std::collections::BTreeSet;
use std::process::Command;

use crate::support::{Test, files, golden, needs, root};

#[test]
fn packer_accepts_the_workspace() {
    let Some(packer) = needs("IMAGEGEN_TEST_PACKER", "Packer") else { return };
    let media = "--var windows_iso_sha256=0000000000000000000000000000000000000000000000000000000000000000 \
                 --var windows_iso_url=https://media.example.com/w.iso \
                 --var drivers_iso_url=https://media.example.com/d.iso \
                 --var drivers_iso_sha256=0000000000000000000000000000000000000000000000000000000000000000";
    let azure = "--var location=westeurope --var managed_image_resource_group_name=rg";
    let azure = (r#"{"azure": "1.4.5"}"#, azure);
    let qemu = (r#"{"qemu": "1.0.9"}"#, media);
    for (line, (plugins, variables)) in [
        ("build --target azure --k8s 1.20.0 --no-bake --out o", azure),
        ("build --target azure --k8s 1.36.4 --windows 2025 --no-bake --out o", azure),
        ("build --target azure --k8s 1.36.4 --updates SecurityUpdates --no-bake --out o", azure),
        ("build --target qemu --k8s 1.20.0 --windows 2019 --no-bake --out o", qemu),
        (
            "build --target qemu --k8s 1.36.4 --windows 2025 --no-bake --out o \
             --var product_key=AAAAA-BBBBB-CCCCC-DDDDD-EEEEE --var disk_compression=true",
            qemu,
        ),
    ] {
        let test = Test::new()
            .file("imagegen.json", &format!(r#"{{"packer": {{"version": "1.12.0", "plugins": {plugins}}}}}"#))
            .line(line)
            .line(variables);
        test.succeeds();
        for arguments in [&["fmt", "-check", "-diff", "."][..], &["init", "."], &["validate", "."]] {
            let output = Command::new(&packer)
                .args(arguments)
                .current_dir(test.folder.join("o"))
                .env("HOME", &test.folder)
                .env("CHECKPOINT_DISABLE", "1")
                .env("PKR_VAR_windows_iso", "/dev/null")
                .env("PKR_VAR_drivers_iso", "/dev/null")
                .output()
                .expect("packer starts");
            let said = String::from_utf8_lossy(&output.stdout).into_owned()
                + &String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "packer {arguments:?}: {said}");
        }
    }
}

/// What Packer reads of each target's workspace, as its reviewer would. Left out are the lock, which has a golden
/// file of its own, and guest plan and payload, which `plan --state` shows.
const WORKSPACES: &[(&str, &str)] =
    &[("azure", "--k8s 1.36.4 --windows 2025"), ("qemu", "--k8s 1.36.4 --windows 2025")];

#[test]
fn workspaces_are_as_their_golden_files() {
    for (target, selection) in WORKSPACES {
        let test = Test::new().line(&format!("build --no-bake --out o --target {target} {selection}"));
        test.succeeds();
        for (name, bytes) in files(&test.folder.join("o")) {
            let digested = ["guest-plan.json", "imagegen.lock.json", "payload.zip"].contains(&name.as_str());
            if digested {
                continue;
            }
            let mut content = String::from_utf8(bytes).expect("UTF-8");
            if name == "imagegen.auto.pkrvars.json" {
                content = mask_digests(&content);
            }
            golden(&format!("workspace/{target}/{name}"), &content);
        }
    }
}

/// Digests of guest plan and lock change with every fact.
fn mask_digests(text: &str) -> String {
    let is_digest = |word: &str| word.len() == 64 && word.bytes().all(|b| b.is_ascii_hexdigit());
    text.split('"').map(|word| if is_digest(word) { "SHA256" } else { word }).collect::<Vec<_>>().join("\"")
}

#[test]
fn every_golden_workspace_is_written_by_a_test() {
    let mut there = BTreeSet::new();
    for path in files(&root().join("tests/golden/workspace")).into_keys() {
        let (target, name) = path.split_once('/').expect("a target's folder");
        assert!(WORKSPACES.iter().any(|(known, _)| *known == target), "{path} is of no target of this test");
        there.insert((target.to_owned(), name.to_owned()));
    }
    for (target, selection) in WORKSPACES {
        let test = Test::new().line(&format!("build --no-bake --out o --target {target} {selection}"));
        test.succeeds();
        let written = files(&test.folder.join("o"));
        for (_, name) in there.iter().filter(|(known, _)| known == target) {
            assert!(written.contains_key(name), "workspace/{target}/{name} is no file of a workspace");
        }
    }
    assert!(there.len() >= 10, "{there:?}");
}
