//! Workspaces under the real Packer with the real plugins.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use imagegen::base::program::ProgramVersion;
use imagegen::model::target::{ImageTarget, Target};
use imagegen::model::target_record::{CheckStage, TargetCheck};

use crate::support::passed::Inputs;
use crate::support::targets::{
    find_checks, find_plugins, image_targets, link_plugins, list_plugins, write_versions,
};
use crate::support::{Test, files, golden, needs, root};

/// Each selection in the records of the targets, with the versions of Packer and plugin that the record names.
#[test]
fn packer_accepts_the_workspaces() {
    let Some(packer) = needs("IMAGEGEN_TEST_PACKER", "Packer") else {
        return;
    };
    for target in image_targets() {
        for check in find_checks(&target.record, CheckStage::Validated) {
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
    let mut inputs = Inputs::new(&format!("{} {selection}", target.name));
    inputs.add_sources(&["packer.rs"]);
    inputs.add_files(&test.folder.join("o"));
    inputs.add_programs(packer);
    let plugins = find_plugins();
    for plugin in list_plugins(target) {
        inputs.add_programs(&plugins.join(plugin));
    }
    for (name, value) in &check.environment {
        inputs.add(name, value.as_bytes());
    }
    inputs.judge(|| run_packer(packer, &test, target, check, selection));
}

/// Checks the form, takes the plugins and validates.
fn run_packer(packer: &Path, test: &Test, target: &Target, check: &TargetCheck, selection: &str) {
    let media = target.image().map(ImageTarget::media).unwrap_or_default();
    let plugins = link_plugins(&test.folder, target);
    // A run that is killed leaves a folder without it.
    let build = test.folder.join("o/build.pkr.hcl");
    for (arguments, is_whole) in [
        (&["fmt", "-check", "-diff", "."][..], true),
        (&["init", "."], true),
        (&["validate", "."], true),
        (&["validate", "."], false),
    ] {
        if !is_whole {
            std::fs::remove_file(&build).expect("it was written");
        }
        let mut command = Command::new(packer);
        command
            .args(arguments)
            .current_dir(test.folder.join("o"))
            .env("HOME", &test.folder)
            .env("CHECKPOINT_DISABLE", "1")
            .env("PACKER_PLUGIN_PATH", &plugins)
            // Half of the time of a start is Go's collection of garbage.
            .env("GOGC", "off")
            .env("PKR_VAR_artifact_folder", "/dev/null")
            .envs(&check.environment);
        for medium in media {
            command.env(format!("PKR_VAR_{}", medium.path), "/dev/null");
        }
        let output = command.output().expect("packer starts");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        let is_refused = said.contains("Missing build block");
        assert!(
            output.status.success() == is_whole && is_refused != is_whole,
            "{} {selection}: packer {arguments:?}: {said}",
            target.name,
        );
    }
}

/// Files that Packer reads of each target's workspace, as their reviewer would. Lock, guest plan and payload are left
/// out: the first has a golden file of its own, and `plan --state` shows the others.
const SELECTION: &str = "--k8s 1.36.4 --windows 2025";

const DIGESTED: [&str; 3] = ["guest-plan.json", "imagegen.lock.json", "payload.zip"];

/// The target whose workspace is kept whole.
const WHOLE: &str = "azure";

/// Files that differ by target because it is another target. Of the others, each content is kept once.
const OF_EACH: [&str; 2] = ["imagegen.auto.pkrvars.json", "source.pkr.hcl"];

#[test]
fn workspaces_are_as_their_golden_files() {
    let mut targets = image_targets();
    targets.sort_by_key(|target| target.name != WHOLE);
    let mut whole = BTreeSet::new();
    let mut contents = BTreeSet::new();
    let mut kept = BTreeSet::new();
    for target in targets.iter().map(|target| target.name.as_str()) {
        for (name, content) in write_workspace(target) {
            let is_whole = target == WHOLE;
            if is_whole {
                whole.insert(name.clone());
            }
            let is_own = !whole.contains(&name) && contents.insert(content.clone());
            if is_whole || is_own || OF_EACH.contains(&name.as_str()) {
                golden(&format!("workspace/{target}/{name}"), &content);
                kept.insert(format!("{target}/{name}"));
            }
        }
    }

    let there = files(&root().join("tests/golden/workspace"));
    let there: BTreeSet<String> = there.into_keys().collect();
    assert_eq!(
        there, kept,
        "golden files of workspaces that no test writes"
    );
}

/// The files of a target's workspace, without digests.
fn write_workspace(target: &str) -> Vec<(String, String)> {
    let catalog = ProgramVersion::current().catalog;
    let line = format!("build --no-bake --out o --target {target} {SELECTION}");
    let test = Test::new().line(&line);
    let test = test.env("SOURCE_DATE_EPOCH", "1767225600");
    test.succeeds();

    let mut written = Vec::new();
    for (name, bytes) in files(&test.folder.join("o")) {
        if !DIGESTED.contains(&name.as_str()) {
            let content = String::from_utf8(bytes).expect("UTF-8");
            let content = mask_digests(&content).replace(&catalog, "SHA256");
            written.push((name, content));
        }
    }
    written
}

/// Digests of guest plan and lock change with every fact.
fn mask_digests(text: &str) -> String {
    let is_digest = |word: &str| word.len() == 64 && word.bytes().all(|b| b.is_ascii_hexdigit());
    text.split('"')
        .map(|word| if is_digest(word) { "SHA256" } else { word })
        .collect::<Vec<_>>()
        .join("\"")
}
