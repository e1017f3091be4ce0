//! What every pipeline does with a repository of three images, from the first commit on.

use std::fs;

use serde::Deserialize as _;
use serde_json::Value;

use super::forge::{Forge, NODE_DASH, NODE_DOT, OLD};
use crate::support::root;

/// A pipeline of a service, run as the service runs it. Each run says whether it succeeded.
pub trait Pipeline {
    /// A request to merge the branch `change`.
    fn preview(&self, forge: &Forge) -> bool;
    /// A commit on `main`, with every approval.
    fn main(&self, forge: &Forge) -> bool;
    fn nightly(&self, forge: &Forge) -> bool;
    fn weekly(&self, forge: &Forge) -> bool;
    /// Markdown of the last preview.
    fn read_preview(&self, forge: &Forge) -> String;
    /// Panics unless only one run at a time bakes an image.
    fn check_lock(&self);
    /// Signal of a run that a person cancels, for all its processes.
    fn cancel_signal(&self) -> &'static str;
}

/// Documents of a pipeline's file.
pub fn read_pipeline(name: &str) -> Vec<Value> {
    let path = root().join("ci/publish/pipelines").join(name);
    let text = fs::read_to_string(path).expect("the pipeline");
    let documents = serde_yaml_ng::Deserializer::from_str(&text);
    documents
        .map(|document| Value::deserialize(document).expect("YAML"))
        .collect()
}

/// Lines that came since the last call.
fn take(forge: &Forge, name: &str) -> Vec<String> {
    let text = forge.read(name);
    forge.write(name, "");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Images that were baked since the last call. Their number in the cloud goes on.
fn take_baked(forge: &Forge) -> Vec<String> {
    take(forge, "baked")
}

fn count_records(forge: &Forge, folder: &str) -> usize {
    let paths = forge.list_records();
    paths.iter().filter(|path| path.starts_with(folder)).count()
}

fn promoted(names: &[&str]) -> Vec<String> {
    let mut lines: Vec<String> = names
        .iter()
        .map(|name| format!("imagegen-channel=stable {name}"))
        .collect();
    lines.sort();
    lines
}

fn take_promoted(forge: &Forge) -> Vec<String> {
    take_names(forge, "tags")
}

/// Names in the cloud end with a number.
fn take_names(forge: &Forge, name: &str) -> Vec<String> {
    let lines = take(forge, name).into_iter();
    lines
        .map(|line| line.rsplit_once('-').expect("a number").0.to_owned())
        .collect()
}

pub fn tell(pipeline: &impl Pipeline) {
    let Some(forge) = Forge::new() else { return };
    show_a_change(pipeline, &forge);
    bake_what_is_new(pipeline, &forge);
    fail_one_image(pipeline, &forge);
    kill_a_bake(pipeline, &forge);
    cancel_a_clone(pipeline, &forge);
    fail_a_promotion(pipeline, &forge);
    kill_a_promotion(pipeline, &forge);
    bake_once(pipeline, &forge);
    update_a_line(pipeline, &forge);
    retire_old_images(pipeline, &forge);
}

/// `main` moved on after the branch began: its change is none of the request's.
fn show_a_change(pipeline: &impl Pipeline, forge: &Forge) {
    forge.change_image("change", "node-1", "9.9001.1");
    forge.develop("git switch --quiet main");
    forge.change_image("main", "1-old", "9.9001.1");
    // The comment of the first is replaced.
    assert!(pipeline.preview(forge));
    assert!(pipeline.preview(forge));
    let text = pipeline.read_preview(forge);
    assert!(text.contains("#### node-1\n"), "{text}");
    assert!(text.contains("Kubernetes 1.36.0"), "{text}");
    assert!(text.contains("9.9001.1"), "{text}");
    assert!(
        !text.contains("node.1") && !text.contains("1-old"),
        "{text}"
    );
    assert_eq!(take_baked(forge), [""; 0]);
}

fn bake_what_is_new(pipeline: &impl Pipeline, forge: &Forge) {
    forge.develop("git switch --quiet main");
    // Another job makes the branch just before this one does.
    forge.write("race", "");
    assert!(pipeline.main(forge));
    assert!(!forge.has("race"));
    assert_eq!(take_baked(forge), [OLD, NODE_DOT, NODE_DASH]);
    assert_eq!(take_promoted(forge), promoted(&[OLD, NODE_DOT, NODE_DASH]));
    assert_eq!(forge.list("groups"), [""; 0]);
    assert_eq!(
        count_records(forge, "promoted/"),
        3,
        "{:?}",
        forge.list_records()
    );

    assert!(pipeline.main(forge));
    assert_eq!(take_baked(forge), [""; 0]);

    // Other jobs push before this one, again and again.
    forge.write("race", "13");
    forge.change_image("main", "node-1", "9.9001.2");
    assert!(pipeline.main(forge));
    assert!(!forge.has("race"));
    assert_eq!(take_baked(forge), [NODE_DASH]);
    assert_eq!(take_promoted(forge), promoted(&[NODE_DASH]));
    let records = forge.list_records();
    assert_eq!(records.len(), 5, "{records:?}");
    assert!(records.contains(&"other".to_owned()), "{records:?}");
}

/// A bake and a clone that fail, beside an image that passes.
fn fail_one_image(pipeline: &impl Pipeline, forge: &Forge) {
    for (name, version) in [
        ("node.1", "9.9001.3"),
        ("node-1", "9.9001.3"),
        ("1-old", "9.9001.3"),
    ] {
        forge.change_image("main", name, version);
    }
    forge.write(&format!("fails/bake-{NODE_DOT}"), "");
    forge.write(&format!("fails/clone-{NODE_DASH}"), "");
    assert!(!pipeline.main(forge));
    assert_eq!(take_baked(forge), [OLD, NODE_DASH]);
    assert_eq!(forge.list("groups"), [""; 0]);
    // Nobody can use the image that did not pass.
    assert_eq!(take_names(forge, "deleted"), [NODE_DASH]);
    // The image that passed does not wait for the others.
    assert_eq!(take_promoted(forge), promoted(&[OLD]));
    // The image that passed is not baked again.
    assert_eq!(forge.list_records().len(), 6, "{:?}", forge.list_records());

    forge.remove(&format!("fails/bake-{NODE_DOT}"));
    forge.remove(&format!("fails/clone-{NODE_DASH}"));
    assert!(pipeline.main(forge));
    assert_eq!(take_baked(forge), [NODE_DOT, NODE_DASH]);
    assert_eq!(
        count_records(forge, "promoted/"),
        7,
        "{:?}",
        forge.list_records()
    );
    assert_eq!(take_promoted(forge), promoted(&[NODE_DOT, NODE_DASH]));
}

/// What Packer had made is deleted by the pipeline.
fn kill_a_bake(pipeline: &impl Pipeline, forge: &Forge) {
    forge.change_image("main", "node-1", "9.9001.35");
    forge.write("fails/killed", "");
    assert!(!pipeline.main(forge));
    forge.remove("fails/killed");
    assert_eq!(take_baked(forge), [""; 0]);
    assert_eq!(forge.list("groups"), [""; 0]);
}

fn cancel_a_clone(pipeline: &impl Pipeline, forge: &Forge) {
    forge.change_image("main", "node-1", "9.9001.4");
    // The test leaves its machine, and what is left of the bake cannot be deleted.
    forge.write("fails/killed-test", "");
    forge.write("fails/groups", "");
    assert!(!pipeline.main(forge));
    forge.remove("fails/groups");
    forge.remove("fails/killed-test");
    assert_eq!(take_baked(forge), [NODE_DASH]);
    assert_eq!(forge.list("groups"), [""; 0]);
    // Nobody knows whether it passes, and the next run bakes another.
    assert_eq!(take_names(forge, "deleted"), [NODE_DASH]);

    forge.write("hangs", pipeline.cancel_signal());
    assert!(!pipeline.main(forge));
    assert!(!forge.has("hangs"));
    assert_eq!(take_baked(forge), [NODE_DASH]);
    assert_eq!(forge.list("groups"), [""; 0]);
    assert_eq!(take_names(forge, "deleted"), [NODE_DASH]);
    assert_eq!(forge.list_records().len(), 8, "{:?}", forge.list_records());
    assert_eq!(take_promoted(forge), [""; 0]);
}

/// The record waits for the next run.
fn fail_a_promotion(pipeline: &impl Pipeline, forge: &Forge) {
    forge.change_image("main", "node-1", "9.9001.5");
    forge.write("fails/tag", "");
    assert!(!pipeline.main(forge));
    forge.remove("fails/tag");
    assert_eq!(take_baked(forge), [NODE_DASH]);
    assert_eq!(take_promoted(forge), [""; 0]);
    assert_eq!(
        count_records(forge, "built/"),
        1,
        "{:?}",
        forge.list_records()
    );

    assert!(pipeline.main(forge));
    assert_eq!(take_baked(forge), [""; 0]);
    assert_eq!(take_promoted(forge), promoted(&[NODE_DASH]));
    assert_eq!(
        count_records(forge, "built/"),
        0,
        "{:?}",
        forge.list_records()
    );
}

/// What was promoted before the kill is not promoted again. The forge does not answer one of the jobs that keep records.
fn kill_a_promotion(pipeline: &impl Pipeline, forge: &Forge) {
    forge.change_image("main", "node-1", "9.9001.52");
    forge.change_image("main", "node.1", "9.9001.52");
    forge.write("fails/killed-tag", "");
    forge.write("fails/forge", "");
    assert!(!pipeline.main(forge));
    assert!(!forge.has("unreachable"));
    forge.remove("fails/killed-tag");
    assert_eq!(take_baked(forge), [NODE_DOT, NODE_DASH]);
    let first = take_promoted(forge);
    assert_eq!(first.len(), 1, "{first:?}");
    assert_eq!(count_records(forge, "built/"), 1);

    assert!(pipeline.main(forge));
    let second = take_promoted(forge);
    assert_eq!(second.len(), 1, "{second:?}");
    assert_ne!(first, second);
    assert_eq!(count_records(forge, "built/"), 0);
}

/// Another run baked the image after this one listed it.
fn bake_once(pipeline: &impl Pipeline, forge: &Forge) {
    pipeline.check_lock();
    let list = "\"$STORY_IMAGEGEN\" list images --format json | jq '.items |= map(select(.name == \"node-1\"))'";
    forge.write("stale", &forge.develop(list));
    assert!(pipeline.main(forge));
    assert!(!forge.has("stale"));
    assert_eq!(take_baked(forge), [""; 0]);
    assert_eq!(take_promoted(forge), [""; 0]);

    // Records that cannot be read are no build.
    forge.write("stale", &forge.develop(list));
    forge.write("fails/unbuilt", "");
    assert!(!pipeline.main(forge));
    forge.remove("fails/unbuilt");
    assert_eq!(take_baked(forge), [""; 0]);
}

fn update_a_line(pipeline: &impl Pipeline, forge: &Forge) {
    let branches = "git -C ../origin branch --list 'imagegen-update-*' --format '%(refname:short)'";
    assert!(pipeline.nightly(forge));
    assert_eq!(forge.develop(branches), "");

    forge.write("newer", "1-old\n");
    let head = "git -C ../origin rev-parse imagegen-update-1.35.0";
    let mut heads = Vec::new();
    for _night in [1, 2] {
        assert!(pipeline.nightly(forge));
        assert_eq!(forge.develop(branches), "imagegen-update-1.35.0\n");
        let changed =
            forge.develop("git -C ../origin diff --name-only main imagegen-update-1.35.0");
        assert_eq!(changed, "imagegen.1-old.lock.json\n");
        let message = forge.develop("git -C ../origin log -1 --format=%B imagegen-update-1.35.0");
        assert!(
            message.starts_with("Newer releases for the node images of Kubernetes 1.35.0\n"),
            "{message}"
        );
        assert!(
            message.contains("#### imagegen.1-old.lock.json\n"),
            "{message}"
        );
        assert!(message.contains("1.99.0"), "{message}");
        heads.push(forge.develop(head));
    }
    // What was checked and approved stays so.
    assert_eq!(heads[0], heads[1]);

    // Once `main` moves on, the branch follows it.
    forge.develop(
        "git switch --quiet main && git commit --quiet --allow-empty --message other
         git push --quiet origin main",
    );
    assert!(pipeline.nightly(forge));
    assert_ne!(forge.develop(head), heads[0]);

    // A line that fails keeps no other from its update, and a commit of a person stays until it is merged.
    forge.develop(
        "git fetch --quiet origin && git switch --quiet --detach origin/imagegen-update-1.35.0
         git commit --quiet --allow-empty --message mine
         git push --quiet origin HEAD:imagegen-update-1.35.0",
    );
    let mine = forge.develop(head);
    forge.write("newer", "1-old\nnode.1\nnode-1\n");
    assert!(!pipeline.nightly(forge));
    assert_eq!(forge.develop(head), mine);
    let both = "imagegen-update-1.35.0\nimagegen-update-1.36.0\n";
    assert_eq!(forge.develop(branches), both);
    forge.develop(
        "git switch --quiet main
         git merge --quiet --no-ff --message merge origin/imagegen-update-1.35.0
         git push --quiet origin main",
    );
    forge.write("release-newer", "1.99.1\n");
    assert!(pipeline.nightly(forge));
    let message = forge.develop("git -C ../origin log -1 --format=%B imagegen-update-1.35.0");
    assert!(message.contains("1.99.1"), "{message}");

    forge.develop("git push --quiet origin --delete imagegen-update-1.35.0 imagegen-update-1.36.0");
    forge.write("fails/update", "1-old\n");
    assert!(!pipeline.nightly(forge));
    forge.remove("fails/update");
    assert_eq!(forge.develop(branches), "imagegen-update-1.36.0\n");
    forge.write("newer", "");
}

/// Two builds of the image are newer than these. `main` went back to the lockfile of the second.
fn retire_old_images(pipeline: &impl Pipeline, forge: &Forge) {
    assert!(pipeline.weekly(forge));
    assert_eq!(take(forge, "tags"), [""; 0]);
    forge.develop("git switch --quiet main");
    forge.change_image("main", "node.1", "9.9001.6");
    forge.add_old_records("promoted", "aged", 4, "imagegen.node.1.lock.json");
    forge.add_old_records("built", "stray", 3, "imagegen.node.1.lock.json");
    assert!(pipeline.weekly(forge));
    // Nobody promoted these, and `main` may still want the second.
    assert_eq!(take(forge, "deleted"), ["stray-1", "stray-3"]);
    let retired = take(forge, "tags");
    let expected = ["aged-1", "aged-3"].map(|name| format!("imagegen-channel=retired {name}"));
    assert!(
        expected.iter().all(|line| retired.contains(line)),
        "{retired:?}"
    );
    assert!(
        retired
            .iter()
            .all(|line| line.contains("aged-") && !line.contains("aged-2")),
        "{retired:?}"
    );

    // What was retired is in the branch, and the next week leaves it alone.
    let records = forge.list_records();
    let kept: Vec<&String> = records
        .iter()
        .filter(|path| path.ends_with("/retirement.json"))
        .collect();
    assert_eq!(kept.len(), retired.len() + 2, "{records:?}");
    for name in ["promoted/aged-1", "built/stray-1"] {
        let path = format!("{name}/retirement.json");
        assert!(records.contains(&path), "{records:?}");
    }
    assert!(pipeline.weekly(forge));
    assert_eq!(take(forge, "tags"), [""; 0]);
    assert_eq!(take(forge, "deleted"), [""; 0]);
}
