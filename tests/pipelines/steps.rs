//! Steps of `node-images` by themselves.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::azure::Azure;
use super::forge::{Checkout, Forge, Machine};
use super::github::Github;
use super::shell::Ran;
use super::story::Pipeline as _;

/// A clone of `main`, in which a script runs with imagegen and `node-images` on the path.
pub struct Bench<'a> {
    pub machine: Machine<'a>,
    environment: BTreeMap<String, String>,
}

impl<'a> Bench<'a> {
    pub fn new(forge: &'a Forge) -> Self {
        let machine = forge.machine(&Checkout {
            origin: "forge://x-access-token:writer-github@forge.test/nodes".to_owned(),
            kept: None,
            depth: None,
            revision: "origin/main".to_owned(),
        });
        let path = &machine.environment["PATH"];
        let release = forge.path("release").display().to_string();
        let path = format!("{release}:{path}");
        let store = forge.path("bench-store").display().to_string();
        let environment = BTreeMap::from([
            ("PATH".to_owned(), path),
            ("IMAGEGEN_STORE".to_owned(), store),
        ]);
        Self {
            machine,
            environment,
        }
    }

    pub fn run(&self, script: &str) -> Ran {
        let script = format!("step() {{ bash ci/node-images \"$@\"; }}\n{script}");
        let options = ["-e", "-u", "-o", "pipefail"];
        self.machine.run(&options, &script, &self.environment)
    }

    #[track_caller]
    fn print(&self, script: &str) -> String {
        let ran = self.run(script);
        assert_eq!(ran.code, Some(0), "{script}\n{}", ran.log);
        ran.stdout
    }
}

/// A login as `az` keeps it.
const SIGN_IN: &str = "mkdir -p \"$HOME/.azure\"; touch \"$HOME/.azure/login\"";

/// Services refuse a comment that is too long, and a block that stays open swallows what follows.
#[test]
fn shortens_a_comment_at_the_end_of_a_line() {
    let Some(forge) = Forge::new() else { return };
    let bench = Bench::new(&forge);
    let mut blocks = vec!["### Images of this change\n".to_owned()];
    for number in 0..40 {
        blocks.push(format!(
            "#### n{number}\n```\nplan of {number}\nmüch more\n```\n"
        ));
    }
    let text = blocks.concat();
    std::fs::write(bench.machine.work.join("long.md"), &text).expect("file");
    assert_eq!(bench.print("step shorten 100000 long.md"), text);

    for limit in [300, 310, 320, 330, 340] {
        let short = bench.print(&format!("step shorten {limit} long.md"));
        assert!(short.len() <= limit, "{short}");
        let (kept, last) = short.trim_end().rsplit_once("\n\n").expect("a last line");
        let lines: Vec<&str> = kept.lines().collect();
        let fences = lines.iter().filter(|line| **line == "```").count();
        assert_eq!(fences % 2, 0, "{short}");
        let known: Vec<&str> = text.lines().collect();
        assert!(lines.iter().all(|line| known.contains(line)), "{short}");
        let images = lines
            .iter()
            .filter(|line| line.starts_with("#### "))
            .count();
        let left = 40 - images;
        assert_eq!(last, format!("Cut here, {left} more images: see the run"));
    }
    for (length, left) in [(1995, "1 more image"), (2015, "the rest of the last image")] {
        let text = format!(
            "{}#### last\n{}",
            "first\n".repeat(315),
            "line\n".repeat(40)
        );
        std::fs::write(bench.machine.work.join("last.md"), &text).expect("file");
        let short = bench.print(&format!("step shorten {length} last.md"));
        let expected = format!("\n\nCut here, {left}: see the run\n");
        assert!(short.ends_with(&expected), "{short}");
    }
}

/// A version of a gallery is its latest from the start, unless it says otherwise. The record of an image that is both
/// names the managed image, so that a person promotes its version.
#[test]
fn an_image_of_a_gallery_is_not_the_latest_before_its_promotion() {
    let Some(forge) = Forge::new() else { return };
    let group = "--var=temp_resource_group_name=imagegen-bake-c1";
    let bake = "step bake imagegen.json#node-1 out imagegen-bake-c1 --var auth=azure_cli";
    let bench = Bench::new(&forge);
    let last_bake = || {
        let ran = forge.read("ran");
        let mut bakes = ran
            .lines()
            .filter(|line| line.starts_with("imagegen build"));
        bakes.next_back().expect("a bake").to_owned()
    };
    let start = "imagegen build --config imagegen.json#node-1 --locked --var auth=azure_cli";
    let ran = bench.run(bake);
    assert_eq!(last_bake(), format!("{start} {group} --out out"));
    assert!(!ran.log.contains("of its gallery"), "{}", ran.log);

    let gallery = json!({
        "location": "westeurope", "gallery_name": "nodes", "gallery_resource_group": "rg",
        "gallery_image_name": "windows",
    });
    let managed = json!({"managed_image_resource_group_name": "rg"});
    let latest = "--var=gallery_exclude_from_latest=true";
    for (more, is_both) in [(Value::Null, false), (managed, true)] {
        let change = format!(
            "jq '.variables = {gallery} + ({more} // {{}})' imagegen.json >changed.json
             mv changed.json imagegen.json
             \"$STORY_IMAGEGEN\" lock --all --offline
             {bake}"
        );
        let ran = bench.run(&change);
        assert_eq!(last_bake(), format!("{start} {group} {latest} --out out"));
        let by_hand = "promote the gallery version of imagegen.json#node-1 by hand";
        assert_eq!(ran.log.contains(by_hand), is_both, "{}", ran.log);
    }
}

/// A sign-in that fails between the bake and its test, or a run that is killed there, leaves an image of which no record
/// tells.
#[test]
fn an_image_whose_test_never_began_is_deleted() {
    let Some(forge) = Forge::new() else { return };
    let bench = Bench::new(&forge);
    let end = "step end-test out --var location=westeurope --clone c123";
    bench.print(&format!(
        "{SIGN_IN}; step bake imagegen.json#node-1 out imagegen-bake-c1 --var auth=azure_cli; {end}"
    ));
    assert_eq!(forge.read("deleted").lines().count(), 1);
    // What an earlier run left in the workspace is not of this one.
    bench.print(end);
    assert_eq!(forge.read("deleted").lines().count(), 1);
}

/// Somebody's own clone stays as it is: its history, what is not committed yet, the branch, hooks and the key.
#[test]
fn a_step_by_hand_leaves_a_clone_as_it_was() {
    let Some(forge) = Forge::new() else { return };
    forge.add_old_records("promoted", "old", 2, "imagegen.node.1.lock.json");
    forge.write("newer", "1-old\n");
    let bench = Bench::new(&forge);
    bench.print(&format!(
        "git switch --quiet --create mine
         git config commit.gpgSign true
         git config gpg.program false
         printf '#!/bin/sh\\nexit 1\\n' | tee .git/hooks/pre-commit >.git/hooks/pre-push
         chmod +x .git/hooks/pre-commit .git/hooks/pre-push
         {SIGN_IN}
         step retire old-1 --run
         step update requests"
    ));
    let records = forge.list_records();
    let retired = "promoted/old-1/retirement.json".to_owned();
    assert!(records.contains(&retired), "{records:?}");
    let state = "git rev-parse --is-shallow-repository; git branch --format '%(refname:short)'; git status --porcelain -uno";
    let expected = bench.print(state);
    assert!(expected.starts_with("false\n"), "{expected}");
    assert!(expected.contains("mine\n"), "{expected}");
    assert!(!expected.contains("imagegen-update"), "{expected}");

    let ran = bench.run("git symbolic-ref HEAD; echo >>imagegen.json; step update requests");
    assert_eq!(ran.code, Some(1), "{}", ran.log);
    assert!(ran.stdout.starts_with("refs/heads/mine\n"), "{}", ran.log);
    let said = "the update would discard changes of this clone";
    assert!(ran.log.contains(said), "{}", ran.log);
    let changed = bench.print(state);
    assert!(changed.ends_with(" M imagegen.json\n"), "{changed}");
}

/// An image that is taken out of use could not be kept as such.
#[test]
fn nothing_is_retired_by_whoever_may_not_push() {
    let Some(forge) = Forge::new() else { return };
    forge.add_old_records("promoted", "old", 2, "imagegen.node.1.lock.json");
    let bench = Bench::new(&forge);
    let reader = "git remote set-url --push origin /nowhere/else";
    let ran = bench.run(&format!("{SIGN_IN}; {reader}; step retire old-1 --run"));
    assert_ne!(ran.code, Some(0), "{}", ran.log);
    assert_eq!(forge.read("tags"), "");
}

#[test]
fn a_record_of_no_image_does_not_stop_the_week() {
    let Some(forge) = Forge::new() else { return };
    forge.add_old_records("promoted", "old", 2, "imagegen.node.1.lock.json");
    forge.add_old_records("promoted", "changed", 2, "imagegen.node.1.lock.json");
    forge.develop(
        "git fetch --quiet origin image-records
         git worktree add --quiet --detach records FETCH_HEAD
         sed -i 's#/images/changed-1#/images/-#' records/promoted/changed-1/image.json
         git -C records commit --quiet --all --message changed
         git push --quiet origin \"$(git -C records rev-parse HEAD)\":refs/heads/image-records
         git worktree remove --force records",
    );
    let bench = Bench::new(&forge);
    let ran = bench.run(&format!(
        "{SIGN_IN}; step retire --keep 1 --per line --older-than 30 --run"
    ));
    assert_eq!(ran.code, Some(3), "{}", ran.log);
    let said = "images/-` has the form of no image";
    assert!(ran.log.contains(said), "{}", ran.log);
    assert!(forge.read("tags").contains("old-1"), "{}", ran.log);
    let records = forge.list_records();
    let retired = "promoted/old-1/retirement.json".to_owned();
    assert!(records.contains(&retired), "{records:?}");
}

/// A definition of several targets: the pipelines bake the images of one.
#[test]
fn lists_unbuilt_images_of_one_target() {
    let Some(forge) = Forge::new() else { return };
    let bench = Bench::new(&forge);
    let names =
        |options: &str| bench.print(&format!("step unbuilt {options} | jq -r '.items[].name'"));
    bench.print(
        "jq '.images.other = {target: \"aws\", kubernetes: \"1.36.0\"}' imagegen.json >changed.json
         mv changed.json imagegen.json",
    );
    assert_eq!(names(""), "1-old\nnode-1\nnode.1\nother\n");
    assert_eq!(names("--target azure"), "1-old\nnode-1\nnode.1\n");
    assert_eq!(names("--target aws"), "other\n");
    let built = bench.run("step all-built --target gcp");
    assert_eq!(built.code, Some(0), "{}", built.log);
    let left = bench.run("step all-built --target aws");
    assert_eq!(left.code, Some(1), "{}", left.log);
    assert!(
        left.log.contains("imagegen.json#other has no build"),
        "{}",
        left.log
    );
}

/// An image that was kept after the approval was asked for waits for the next one. Each image has a sign-in of its own,
/// which lasts about an hour.
#[test]
fn promotes_what_was_shown_and_nothing_else() {
    let Some(forge) = Forge::new() else { return };
    forge.add_old_records("built", "shown", 2, "imagegen.node.1.lock.json");
    let mut bench = Bench::new(&forge);
    // The first was built from a lockfile that `main` does not have.
    let shown = bench.print("step waiting names.txt; cat names.txt");
    assert!(
        shown.starts_with("- node.1 shown-2: /subscriptions/"),
        "{shown}"
    );
    assert!(shown.ends_with("\nshown-2\n"), "{shown}");
    forge.add_old_records("built", "late", 2, "imagegen.node.1.lock.json");

    for (name, value) in [
        ("CLIENT", "client"),
        ("TENANT", "tenant"),
        ("ARM_OIDC_TOKEN", "oidc-github"),
    ] {
        bench.environment.insert(name.to_owned(), value.to_owned());
    }
    let ran = bench.run("step promote $(cat names.txt) gone-1");
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    assert!(
        ran.log.contains("gone-1 does not wait any more"),
        "{}",
        ran.log
    );
    assert_eq!(forge.read("tags"), "imagegen-channel=stable shown-2\n");
    assert_eq!(forge.read("ran").matches("az login").count(), 1);
    let records = forge.list_records();
    assert!(
        records.contains(&"built/late-2/image.json".to_owned()),
        "{records:?}"
    );

    bench.print("step discard late-1 --run; step discard --older-than 30 --run");
    assert_eq!(forge.read("deleted"), "late-1\nshown-1\n");
    assert_eq!(forge.read("ran").matches("az login").count(), 3);
    let ran = bench.run("step discard --older-than 9000 --run");
    let said = "no build is older than 9000 days; nothing is to be done\n";
    assert!(ran.log.starts_with(said), "{}", ran.log);
}

/// An image that was deleted cannot be promoted, also if its lockfile is that of `main` again.
#[test]
fn a_deleted_image_waits_for_no_promotion() {
    let Some(forge) = Forge::new() else { return };
    forge.add_old_records("built", "stray", 2, "imagegen.node.1.lock.json");
    let bench = Bench::new(&forge);
    assert_eq!(
        bench.print("step waiting names.txt >shown; cat names.txt"),
        "stray-2\n"
    );
    // A checkout on Windows has other line ends.
    assert_eq!(
        bench.print(
            "sed -i 's/$/\\r/' imagegen.node.1.lock.json; step waiting names.txt >shown; cat names.txt; \
             git checkout --quiet -- imagegen.node.1.lock.json"
        ),
        "stray-2\n"
    );
    bench.print(&format!("{SIGN_IN}; step discard stray-2 --run"));
    assert_eq!(forge.read("deleted"), "stray-2\n");
    assert_eq!(bench.print("step waiting names.txt; cat names.txt"), "");
}

/// Who may push the branch may push anything.
#[test]
fn a_record_without_a_lockfile_stops_no_promotion() {
    let Some(forge) = Forge::new() else { return };
    forge.add_old_records("built", "good", 2, "imagegen.node.1.lock.json");
    forge.develop(
        "git fetch --quiet origin image-records && git worktree add --quiet --detach records FETCH_HEAD
         mkdir records/built/bad-1 records/built/bad-2
         echo '{}' >records/built/bad-1/image.json
         echo 'no JSON' >records/built/bad-2/image.json
         git -C records add . && git -C records commit --quiet --message bad
         git push --quiet origin \"$(git -C records rev-parse HEAD)\":refs/heads/image-records
         git worktree remove --force records",
    );
    let bench = Bench::new(&forge);
    let ran = bench.run("step waiting names.txt; cat names.txt");
    assert!(ran.stdout.ends_with("\ngood-2\n"), "{}", ran.log);
    for name in ["bad-1", "bad-2"] {
        let said = format!("the record '{name}' names no lockfile");
        assert!(ran.log.contains(&said), "{}", ran.log);
    }
}

/// A repository may have its images in a folder, and a fleet thousands of records: jq does not start for each.
#[test]
fn records_are_read_from_a_folder_below_the_top_and_at_once() {
    let Some(forge) = Forge::new() else { return };
    forge.add_old_records("built", "old", 2, "imagegen.node.1.lock.json");
    let bench = Bench::new(&forge);
    let shown = bench.print(
        "mkdir --parents infra/images && git mv ci imagegen*.json infra/images && cd infra/images
         jq() { echo >>\"$HOME/started\"; command jq \"$@\"; }; export -f jq
         step waiting names.txt >shown; cat names.txt; wc --lines <\"$HOME/started\"",
    );
    assert_eq!(shown, "old-2\n2\n");
}

/// The images of one folder would be old builds of the other's lockfiles, and its updates other people's.
#[test]
fn folders_of_one_repository_have_branches_of_their_own() {
    let Some(forge) = Forge::new() else { return };
    forge.add_old_records("built", "old", 2, "imagegen.node.1.lock.json");
    forge.write("newer", "1-old\n");
    let bench = Bench::new(&forge);
    let shown = bench.print(
        "export NODE_IMAGES_NAME=web
         step waiting names.txt >shown; cat names.txt; step update requests; ls requests
         git ls-remote --heads origin 'imagegen-update-*' | cut -d / -f 3",
    );
    assert_eq!(
        shown,
        "imagegen-update-web-1.35.0\nimagegen-update-web-1.35.0\n"
    );
    let kept = bench.print(
        "export NODE_IMAGES_NAME=web; echo '{\"imageVersion\": \"20260101-000000\"}' >image.json
         step keep image.json; git fetch --quiet origin image-records-web
         git ls-tree -r --name-only FETCH_HEAD | cut -d / -f 1",
    );
    assert_eq!(kept, "built\n");
}

/// A rule of the forge stays; a network comes back. What was promoted keeps no other image from it.
#[test]
fn a_refusal_that_stays_is_not_repeated_for_half_an_hour() {
    let Some(forge) = Forge::new() else { return };
    forge.add_old_records("built", "one", 2, "imagegen.node.1.lock.json");
    forge.add_old_records("built", "two", 2, "imagegen.node.1.lock.json");
    forge.write("fails/records", "");
    let bench = Bench::new(&forge);
    let ran = bench.run(&format!("{SIGN_IN}; step promote one-2 two-2"));
    assert_eq!(ran.code, Some(1), "{}", ran.log);
    let refusals = ran.log.matches("GH013").count();
    assert_eq!(refusals, 6, "{}", ran.log);
    for name in ["one-2", "two-2"] {
        let said = format!("{name} is promoted, and its record could not be kept as such");
        assert!(ran.log.contains(&said), "{}", ran.log);
    }
    assert_eq!(
        forge.read("tags"),
        "imagegen-channel=stable one-2\nimagegen-channel=stable two-2\n"
    );
}

/// Who cannot see a branch does not know whose it is, and it may change after it was seen.
#[test]
fn the_branch_of_a_person_is_never_pushed_over() {
    let Some(forge) = Forge::new() else { return };
    forge.write("newer", "1-old\n");
    let push = |message: &str| {
        forge.develop(&format!(
            "git switch --quiet --detach main && git commit --quiet --allow-empty --message {message}
             git push --quiet --force origin HEAD:refs/heads/person && git rev-parse HEAD"
        ))
    };
    let head = || forge.develop("git -C ../origin rev-parse imagegen-update-1.35.0");
    let bench = Bench::new(&forge);
    let late = push("late");
    forge.write(
        "person",
        &format!("{} imagegen-update-1.35.0\n", late.trim()),
    );
    let ran = bench.run("step update requests");
    assert_eq!((ran.code, head()), (Some(1), late), "{}", ran.log);

    let mine = push("mine");
    forge.develop("git push --quiet --force origin HEAD:refs/heads/imagegen-update-1.35.0");
    forge.write("unreachable", "");
    let ran = bench.run("step update requests");
    assert_eq!((ran.code, head()), (Some(1), mine), "{}", ran.log);
    assert!(!forge.has("unreachable"));
}

/// The request has a part of a long difference. One that nobody may make keeps no other from being made.
#[test]
fn the_summary_of_a_run_has_the_whole_of_its_updates() {
    let Some(forge) = Forge::new() else { return };
    forge.write("newer", "1-old\nnode.1\n");
    forge.write("fails/request-imagegen-update-1.35.0", "");
    assert!(!Github::new().nightly(&forge));
    assert!(forge.has("requests/imagegen-update-1.36.0"));
    let github = forge.read("machine-1/summary");
    assert!(!Azure::new().nightly(&forge));
    assert!(forge.has("requests/imagegen-update-1.36.0.id"));
    let azure = forge.read("machine-2/temp/updates.md");
    for summary in [github, azure] {
        for name in ["1-old", "node.1"] {
            let heading = format!("#### imagegen.{name}.lock.json\n");
            assert!(summary.contains(&heading), "{summary}");
        }
    }
}

/// `v1.36.0` is the line of `1.36.0`, and an image without a release has one, too.
#[test]
fn every_image_is_updated_with_its_line() {
    let Some(forge) = Forge::new() else { return };
    forge.write("newer", "1-old\nnode.1\nnode-1\n");
    let bench = Bench::new(&forge);
    bench.print(
        "jq '.images[\"node.1\"].kubernetes = \"v1.36.0\" | del(.images[\"1-old\"].kubernetes)' imagegen.json >changed.json
         mv changed.json imagegen.json
         git -c user.name=a -c user.email=a@example.com commit --quiet --all --message other
         step update requests",
    );
    let requests = bench.print("ls requests; grep '^####' requests/*/body.md | cut -d : -f 2");
    assert_eq!(
        requests,
        "imagegen-update-1.36.0\nimagegen-update-default\n#### imagegen.node-1.lock.json\n\
         #### imagegen.node.1.lock.json\n#### imagegen.1-old.lock.json\n"
    );
}

#[test]
fn a_preview_names_lockfiles_that_go() {
    let Some(forge) = Forge::new() else { return };
    let bench = Bench::new(&forge);
    let text = bench.print(
        "git rm --quiet imagegen.1-old.lock.json
         jq 'del(.images[\"1-old\"])' imagegen.json >changed.json
         mv changed.json imagegen.json
         step preview HEAD",
    );
    let expected = "#### imagegen.1-old.lock.json\nThis change removes the lockfile";
    assert!(text.contains(expected), "{text}");
    assert!(!text.contains("node"), "{text}");
}
