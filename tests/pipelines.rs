//! The scripts of the pipelines for users, run as they stand: with git, jq and this program, and with stand-ins for
//! what only a service has.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::publish::Build;
use crate::support::{Test, root};

const DEFINITION: &str = r#"{ "target": "host", "kubernetes": "1.36.0", "images": { "east": {}, "west": {}, "old": { "kubernetes": "1.35.0" } } }"#;

/// A repository with three images, its `origin`, and a folder with programs that stand for others.
struct Repository {
    test: Test,
}

impl Repository {
    /// None without the programs.
    fn new() -> Option<Self> {
        for program in ["jq", "git", "bash"] {
            let there = Command::new(program).arg("--version").output();
            if there.is_err() {
                println!("skipped: needs {program}");
                return None;
            }
        }
        let test = Test::new()
            .file("work/imagegen.json", DEFINITION)
            .file("bin/gh", "#!/bin/sh\necho \"gh $*\" >>\"$LOG\"\n")
            .file("bin/az", "#!/bin/sh\nexit 0\n");
        let repository = Self { test };
        repository.write_program();
        for name in ["east", "west", "old"] {
            repository.write_lock(name, "one");
        }
        let made = repository.bash(
            "chmod +x ../bin/*; git init -q --bare ../origin -b main; git init -q -b main;
            git add .; git commit -q -m one; git remote add origin \"$PWD/../origin\"; git push -q origin main; git fetch -q",
        );
        assert!(made.status.success(), "{}", text(&made));
        Some(repository)
    }

    /// This program; what asks publishers is answered here.
    fn write_program(&self) {
        let program = env!("CARGO_BIN_EXE_imagegen");
        let script = format!(
            r#"#!/bin/bash
echo "imagegen $*" >>"$LOG"
case "$1" in
outdated) ;;
lock) for name in "${{@:2}}"; do case "$name" in --*) ;; *) echo '"newer"' >"imagegen.$name.lock.json" ;; esac; done ;;
plan | diff) echo "$1 of ${{*: -1}}" ;;
promote | retire) ;;
*) exec {program} "$@" ;;
esac
"#
        );
        std::fs::write(self.test.folder.join("bin/imagegen"), script).expect("write");
    }

    fn write_lock(&self, name: &str, text: &str) {
        let path = format!("work/imagegen.{name}.lock.json");
        std::fs::write(self.test.folder.join(path), format!("\"{name} {text}\"\n")).expect("write");
    }

    /// Digest of an image's lockfile.
    fn digest(&self, name: &str) -> String {
        let said = self.bash(&format!("sha256sum imagegen.{name}.lock.json"));
        text(&said)[..64].to_owned()
    }

    fn bash(&self, script: &str) -> Output {
        let folder = &self.test.folder;
        let path = std::env::var("PATH").expect("PATH");
        Command::new("bash")
            .args(["-e", "-o", "pipefail", "-c", script])
            .current_dir(folder.join("work"))
            .env("PATH", format!("{}:{path}", folder.join("bin").display()))
            .env("HOME", folder)
            .env("LOG", folder.join("log"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs([
                ("GIT_AUTHOR_NAME", "a"),
                ("GIT_AUTHOR_EMAIL", "a@example.com"),
            ])
            .envs([
                ("GIT_COMMITTER_NAME", "a"),
                ("GIT_COMMITTER_EMAIL", "a@example.com"),
            ])
            .env("GITHUB_OUTPUT", folder.join("output"))
            .env("GITHUB_STEP_SUMMARY", folder.join("summary"))
            .env("GITHUB_SHA", "main")
            .env("BASE", "origin/main")
            .output()
            .expect("bash")
    }

    fn run(&self, script: &str) {
        let ran = self.bash(script);
        assert!(ran.status.success(), "{script}\n{}", text(&ran));
    }
}

fn text(output: &Output) -> String {
    let said = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&said).into_owned()
}

/// The script of a step of GitHub's pipeline.
fn read_step(job: &str, name: &str) -> String {
    let path = root().join("ci/publish/pipelines/github.yml");
    let pipeline = std::fs::read_to_string(path).expect("the pipeline");
    let pipeline: Value = serde_yaml_ng::from_str(&pipeline).expect("YAML");
    let steps = pipeline["jobs"][job]["steps"].as_array().expect("steps");
    let step = steps.iter().find(|step| step["name"] == name);
    let script = step.and_then(|step| step["run"].as_str());
    script.expect("a script").to_owned()
}

fn write_record(folder: &Path, name: &str, lock: &str) {
    let mut record = Build {
        version: name,
        ..Build::default()
    }
    .record();
    record["lock"] = json!(lock);
    std::fs::create_dir_all(folder.join(name)).expect("folder");
    std::fs::write(folder.join(name).join("image.json"), record.to_string()).expect("write");
}

#[test]
fn a_pull_request_shows_the_images_that_changed() {
    let Some(repository) = Repository::new() else {
        return;
    };
    repository.write_lock("west", "two");
    repository.run(&read_step("preview", "Difference to the base branch"));
    let comment = repository.test.text("work/comment.md");
    assert!(
        comment.contains("#### west") && comment.contains("plan of west"),
        "{comment}"
    );
    assert!(comment.contains("diff of markdown"), "{comment}");
    assert!(
        !comment.contains("east") && !comment.contains("old"),
        "{comment}"
    );
}

#[test]
fn images_are_baked_once_for_each_lockfile() {
    let Some(repository) = Repository::new() else {
        return;
    };
    let images = "Images without a build of their lockfile";
    let script = read_step("check", images);
    repository.run(&script);
    let matrix = |repository: &Repository| {
        let output = repository.test.text("output");
        let last = output.lines().last().expect("a line").to_owned();
        let matrix: Value =
            serde_json::from_str(last.strip_prefix("matrix=").expect("matrix")).expect("JSON");
        let items = matrix.as_array().expect("items").clone();
        items
            .iter()
            .map(|item| item["config"].as_str().expect("config").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        matrix(&repository),
        [
            "imagegen.json#east",
            "imagegen.json#old",
            "imagegen.json#west"
        ]
    );

    // The records of two runs are kept side by side.
    let keep = read_step("promote", "The records are kept");
    for name in ["east", "old"] {
        let lock = repository.digest(name);
        write_record(&repository.test.folder.join("work/images"), name, &lock);
        repository.run(&keep);
        repository.run("git worktree remove --force records; rm -rf images");
    }
    repository.run("rm -rf records");
    repository.run(&script);
    assert_eq!(matrix(&repository), ["imagegen.json#west"]);

    repository.run("rm -rf records");
    repository.write_lock("east", "two");
    repository.run(&script);
    assert_eq!(
        matrix(&repository),
        ["imagegen.json#east", "imagegen.json#west"]
    );
}

#[test]
fn newer_releases_come_as_a_pull_request_for_each_line() {
    let Some(repository) = Repository::new() else {
        return;
    };
    repository.run(&read_step("nightly", "Newer releases"));
    let log = repository.test.text("log");
    for line in ["1.35.0", "1.36.0"] {
        let title = format!(
            "gh pr create --title Newer releases for the node images of Kubernetes {line} \
             --body-file body.md --head imagegen-update-{line}"
        );
        assert!(log.contains(&title), "{log}");
    }
    let branches = repository.bash("git ls-remote --heads origin");
    assert_eq!(text(&branches).matches("imagegen-update-").count(), 2);
    // Each branch changes the lockfiles of its line and no other.
    let changed = repository.bash("git diff --name-only origin/main imagegen-update-1.35.0");
    assert_eq!(text(&changed), "imagegen.old.lock.json\n");
}

#[test]
fn images_that_share_a_lockfile_are_listed_until_they_differ() {
    let Some(repository) = Repository::new() else {
        return;
    };
    let folder = &repository.test.folder;
    for name in ["east", "west"] {
        std::fs::write(
            folder.join(format!("work/imagegen.{name}.lock.json")),
            "\"same\"\n",
        )
        .expect("write");
    }
    std::fs::remove_file(folder.join("work/imagegen.old.lock.json")).expect("remove");
    write_record(
        &folder.join("work/records"),
        "east",
        &repository.digest("east"),
    );
    let listed = repository.bash("imagegen list images --unbuilt --from records");
    assert_eq!(text(&listed).lines().count(), 3, "{}", text(&listed));

    repository.write_lock("west", "two");
    let listed = repository.bash("imagegen list images --unbuilt --from records --format json");
    let listed: Value = serde_json::from_str(&text(&listed)).expect("JSON");
    let names = listed["items"].as_array().expect("items");
    let names: Vec<&Value> = names.iter().map(|row| &row["name"]).collect();
    assert_eq!(names, ["old", "west"]);
}
