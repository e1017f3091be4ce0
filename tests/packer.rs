//! Workspaces under the real Packer with the real plugins.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use imagegen::base::program::ProgramVersion;
use imagegen::model::record::{CheckStage, TargetCheck};
use imagegen::model::target::{ImageTarget, Target};

use crate::support::targets::{image_targets, write_versions};
use crate::support::{Test, files, golden, needs, root};

/// Each selection in the records of the targets, with the versions of Packer and plugin that the record names.
#[test]
fn packer_accepts_the_workspaces() {
    let Some(packer) = needs("IMAGEGEN_TEST_PACKER", "Packer") else {
        return;
    };
    for target in image_targets() {
        for check in target.record.find_checks(CheckStage::Validated) {
            for selection in &check.selections {
                validate_workspace(&packer, &target, check, selection);
            }
        }
    }
}

fn validate_workspace(packer: &Path, target: &Target, check: &TargetCheck, selection: &str) {
    let mut test = Test::new()
        .file("imagegen.json", &write_versions(target, check))
        .line(&format!(
            "build --target {} {selection} --no-bake --out o",
            target.name
        ));
    for (name, value) in &check.variables {
        test = test.args(["--var", &format!("{name}={value}")]);
    }
    test.succeeds();
    let media: Vec<String> = target
        .image()
        .map(ImageTarget::media)
        .unwrap_or_default()
        .iter()
        .map(|it| it.path.clone())
        .collect();
    for arguments in [
        &["fmt", "-check", "-diff", "."][..],
        &["init", "."],
        &["validate", "."],
    ] {
        let output = Command::new(packer)
            .args(arguments)
            .current_dir(test.folder.join("o"))
            .env("HOME", &test.folder)
            .env("CHECKPOINT_DISABLE", "1")
            .env("PKR_VAR_artifact_folder", "/dev/null")
            .envs(
                media
                    .iter()
                    .map(|path| (format!("PKR_VAR_{path}"), "/dev/null")),
            )
            .envs(&check.environment)
            .output()
            .expect("packer starts");
        let said = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{} {selection}: packer {arguments:?}: {said}",
            target.name
        );
    }
}

/// What Packer reads of each target's workspace, as its reviewer would. Left out are the lock, which has a golden
/// file of its own, and guest plan and payload, which `plan --state` shows.
const SELECTION: &str = "--k8s 1.36.4 --windows 2025";

#[test]
fn workspaces_are_as_their_golden_files() {
    let catalog = ProgramVersion::current().catalog;
    for Target { name: target, .. } in image_targets() {
        let test = Test::new().line(&format!(
            "build --no-bake --out o --target {target} {SELECTION}"
        ));
        let test = test.env("SOURCE_DATE_EPOCH", "1767225600");
        test.succeeds();
        for (name, bytes) in files(&test.folder.join("o")) {
            let digested =
                ["guest-plan.json", "imagegen.lock.json", "payload.zip"].contains(&name.as_str());
            if digested {
                continue;
            }
            let mut content = String::from_utf8(bytes).expect("UTF-8");
            content = mask_digests(&content).replace(&catalog, "SHA256");
            golden(&format!("workspace/{target}/{name}"), &content);
        }
    }
}

/// Digests of guest plan and lock change with every fact.
fn mask_digests(text: &str) -> String {
    let is_digest = |word: &str| word.len() == 64 && word.bytes().all(|b| b.is_ascii_hexdigit());
    text.split('"')
        .map(|word| if is_digest(word) { "SHA256" } else { word })
        .collect::<Vec<_>>()
        .join("\"")
}

#[test]
fn every_golden_workspace_is_written_by_a_test() {
    let mut there = BTreeSet::new();
    for path in files(&root().join("tests/golden/workspace")).into_keys() {
        let (target, name) = path.split_once('/').expect("a target's folder");
        assert!(
            image_targets().iter().any(|known| known.name == target),
            "{path} is of no target of this test"
        );
        there.insert((target.to_owned(), name.to_owned()));
    }
    for Target { name: target, .. } in image_targets() {
        let test = Test::new().line(&format!(
            "build --no-bake --out o --target {target} {SELECTION}"
        ));
        test.succeeds();
        let written = files(&test.folder.join("o"));
        for (_, name) in there.iter().filter(|(known, _)| *known == target) {
            assert!(
                written.contains_key(name),
                "workspace/{target}/{name} is no file of a workspace"
            );
        }
    }
    assert!(there.len() >= 10, "{there:?}");
}
