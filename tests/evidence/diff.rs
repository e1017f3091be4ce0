//! What `imagegen diff` says of two images.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Test, program, write_program};

const OLD: &str = "--target azure --k8s 1.36.3 --var image_version=20348.2762.241009";
/// Its kubelet has known flaws, of which the lockfile warns.
const FLAWED: &str = "--target azure --k8s 1.31.0 --var image_version=20348.2762.241009";
const NEW: &str = "--target azure --k8s 1.36.4 --var image_version=20348.2966.241205";

/// A step of the user's own.
const STEP: &str = r#"{"id": "own", "summary": "A folder of our own", "phase": "install", "resources": [
    {"name": "folder", "type": "directory", "properties": {"path": "C:\\own"}, "source": "derived: an example"}]}"#;

/// `old.json` and `new.json`: the locks of two images.
fn locks(old: &str, new: &str) -> Test {
    let test = Test::new();
    for (selection, file) in [(old, "old.json"), (new, "new.json")] {
        test.prints(&format!("render {selection} --out w --force"));
        std::fs::rename(
            test.folder.join("w/imagegen.lock.json"),
            test.folder.join(file),
        )
        .expect("lock");
    }
    test
}

pub fn read_diff(test: &Test, line: &str) -> Value {
    let text = test.prints(&format!("diff {line} --format json"));
    serde_json::from_str(&text).expect("JSON")
}

pub fn find<'a>(diff: &'a Value, part: &str, key: &str, name: &str) -> &'a Value {
    let list = diff[part].as_array().expect("a part");
    list.iter()
        .find(|it| it[key] == name)
        .unwrap_or_else(|| panic!("no {name} in {part}: {diff:#}"))
}

#[test]
fn two_releases_read_like_release_notes() {
    let test = locks(OLD, NEW);
    let diff = read_diff(&test, "old.json new.json");
    let node = find(&diff, "components", "component", "kubernetes-node");
    assert_eq!(node["change"], "updated");
    assert_eq!(
        (&node["from"], &node["to"]),
        (&"1.36.3".into(), &"1.36.4".into())
    );
    assert!(
        node["reason"]
            .as_str()
            .is_some_and(|it| it.contains("Kubernetes"))
    );
    let notes = node["releaseNotes"].as_str().expect("release notes");
    assert!(notes.ends_with("CHANGELOG-1.36.md"), "{notes}");
    let base = find(&diff, "build", "path", "baseImage.image_version");
    assert_eq!(base["to"], "20348.2966.241205");
    // Of a pinned base image the rest of the build is the same, and so are unchanged components.
    let components = diff["components"].as_array().expect("components");
    assert!(components.iter().all(|it| it["component"] != "containerd"));

    let text = test.prints("diff old.json new.json");
    for part in [
        "Components: ",
        "Machine: ",
        "Build: ",
        "1.36.3 -> 1.36.4",
        "release notes: https://",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    let markdown = test.prints("diff old.json new.json --format markdown");
    assert!(
        markdown.contains("| updated | `kubernetes-node` | 1.36.3 -&gt; 1.36.4 |"),
        "{markdown}"
    );
    assert!(
        markdown.contains("<details><summary><b>Machine</b>"),
        "{markdown}"
    );
}

#[test]
fn equal_images_have_no_difference() {
    let test = locks(OLD, OLD);
    let ran = test.run_with("diff old.json new.json --exit-code");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(
        ran.stdout.matches("no difference").count(),
        3,
        "{}",
        ran.stdout
    );
    assert_eq!(read_diff(&test, "old.json new.json")["equal"], true);
}

#[test]
fn a_difference_is_exit_code_1_on_request() {
    let test = locks(OLD, NEW);
    let ran = test.run_with("diff old.json new.json --exit-code --only components");
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("old.json and new.json differ"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stdout.contains("Components") && !ran.stdout.contains("Machine"),
        "{}",
        ran.stdout
    );
    // A part that is equal is no difference.
    let test = locks(OLD, &OLD.replace("20348.2762.241009", "20348.2966.241205"));
    for part in ["components", "machine"] {
        let ran = test.run_with(&format!("diff old.json new.json --exit-code --only {part}"));
        assert_eq!(ran.code, Some(0), "{part}: {}", ran.stdout);
    }
}

#[test]
fn other_bytes_under_one_version_are_loud() {
    let test = locks(OLD, OLD);
    let mut lock: Value = serde_json::from_str(&test.text("new.json")).expect("JSON");
    let artifact = lock["artifacts"]
        .as_array_mut()
        .expect("artifacts")
        .iter_mut()
        .find(|it| it["component"] == "containerd")
        .expect("containerd");
    artifact["digests"][0]["digest"] = "ab".repeat(32).into();
    let test = test.file("new.json", &lock.to_string());
    let diff = read_diff(&test, "old.json new.json");
    let change = find(&diff, "components", "component", "containerd");
    assert_eq!(change["change"], "replaced");
    assert_eq!(change["fields"][0]["path"], "sha256");
    let text = test.prints("diff old.json new.json");
    assert!(
        text.contains("OTHER BYTES UNDER THE SAME VERSION"),
        "{text}"
    );
}

/// `new.json` with the first digest, the proofs, the pause image and the warnings of a lock that somebody edited.
fn weaken_lock(test: Test) -> Test {
    let mut lock: Value = serde_json::from_str(&test.text("new.json")).expect("JSON");
    let artifacts = lock["artifacts"].as_array_mut().expect("artifacts");
    let node = artifacts
        .iter_mut()
        .find(|it| it["component"] == "kubernetes-node")
        .expect("the archive");
    node["digests"][0]["confidence"] = "low".into();
    node["evidence"] = json!([]);
    lock["pause"] = "registry.example.com/pause:3.10".into();
    lock["warnings"] = json!([]);
    test.file("new.json", &lock.to_string())
}

#[test]
fn what_was_proven_and_is_no_longer_is_a_difference() {
    let test = locks(FLAWED, FLAWED);
    let mut lock: Value = serde_json::from_str(&test.text("old.json")).expect("JSON");
    let artifacts = lock["artifacts"].as_array_mut().expect("artifacts");
    for artifact in artifacts {
        artifact["evidence"] = json!([{
            "proof": "pin", "verdict": "verified", "subject": "file", "detail": "as the catalog says",
        }]);
    }
    let test = test
        .file("old.json", &lock.to_string())
        .file("new.json", &lock.to_string());
    let test = weaken_lock(test);
    let diff = read_diff(&test, "old.json new.json");
    let node = find(&diff, "components", "component", "kubernetes-node");
    assert_eq!(node["change"], "changed");
    let fields = node["fields"].as_array().expect("fields");
    let confidence = &fields[0];
    assert_eq!(confidence["path"], "confidence.sha512", "{node}");
    assert_eq!(confidence["to"], "low");
    assert_eq!(fields[1]["path"], "proofs");
    assert_eq!(fields[1]["removed"], json!(["pin verified"]));
    find(&diff, "build", "path", "pauseImage");
    let warnings = find(&diff, "build", "path", "warnings");
    assert!(
        warnings["removed"]
            .as_array()
            .is_some_and(|it| !it.is_empty())
    );
}

#[test]
fn command_lines_are_compared_by_words() {
    let test = Test::new();
    for (version, folder) in [("1.36.4", "a"), ("1.20.0", "b")] {
        test.prints(&format!(
            "render --target host --k8s {version} --out {folder}"
        ));
    }
    let diff = read_diff(&test, "a b");
    let kubelet = find(&diff, "machine", "resource", "service `kubelet`");
    assert_eq!(kubelet["change"], "changed");
    let fields = kubelet["fields"].as_array().expect("fields");
    let words = fields
        .iter()
        .find(|it| it["path"] == "arguments")
        .expect("arguments");
    let added = words["added"].as_array().expect("words");
    assert!(
        added
            .iter()
            .all(|word| !word.as_str().expect("text").contains(' ')),
        "{words}"
    );
    // Two guest plans have a machine and nothing else to compare, but for their scripts.
    let diff = read_diff(&test, "a/guest-plan.json b/guest-plan.json");
    assert!(diff["components"].is_null() && diff["machine"].is_array());
}

#[test]
fn things_without_a_common_part_are_refused() {
    let test = locks(OLD, OLD);
    test.prints("render --target host --k8s 1.36.4 --out a");
    let test = test.file("other.json", r#"{"schema": "imagegen.dev/bundle/v1"}"#);
    let ran = test.run_with("diff old.json a/guest-plan.json --only components");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stderr.contains("no part in common"), "{}", ran.stderr);
    let ran = test.run_with("diff old.json other.json");
    assert!(ran.stderr.contains("describes no image"), "{}", ran.stderr);
    let ran = test.run_with("plan --target host --format markdown");
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
}

pub fn git(test: &Test, line: &str) {
    let ran = Command::new("git")
        .args(line.split_whitespace())
        .current_dir(&test.folder)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", &test.folder)
        .env("GIT_AUTHOR_NAME", "a")
        .env("GIT_AUTHOR_EMAIL", "a@example.com")
        .env("GIT_COMMITTER_NAME", "a")
        .env("GIT_COMMITTER_EMAIL", "a@example.com")
        .output()
        .expect("git");
    assert!(
        ran.status.success(),
        "{line}: {}",
        String::from_utf8_lossy(&ran.stderr)
    );
}

#[test]
fn a_path_is_compared_with_itself_in_a_commit() {
    if program("git").is_none() {
        return;
    }
    let definition = |version: &str| {
        format!(r#"{{"target": "host", "kubernetes": "{version}", "steps": ["steps"]}}"#)
    };
    let test = Test::new()
        .file("images/node.json", &definition("1.36.3"))
        .file("images/steps/905-own.json", STEP);
    git(&test, "init -q -b main");
    git(&test, "add -A");
    git(&test, "commit -q -m one");
    let test = test.file("images/node.json", &definition("1.36.4"));
    let before = test.read(".git/index");
    let diff = read_diff(&test, "images/node.json --base HEAD");
    let node = find(&diff, "components", "component", "kubernetes-node");
    assert_eq!(
        (&node["from"], &node["to"]),
        (&"1.36.3".into(), &"1.36.4".into())
    );
    assert_eq!(diff["from"], "images/node.json at HEAD");
    assert_eq!(
        test.read(".git/index"),
        before,
        "the user's index is not touched"
    );
    std::os::unix::fs::symlink("node.json", test.folder.join("images/link.json")).expect("link");
    git(&test, "add -A");
    git(&test, "commit -q -m two");
    for (line, said) in [
        (
            "diff images/link.json --base HEAD",
            "images/link.json is a symbolic link in HEAD",
        ),
        (
            "diff images/node.json --base nothing",
            "git rev-parse: the repository has no commit `nothing`",
        ),
        (
            "diff images/node.json --base=--exec",
            "`--exec` names no commit",
        ),
        (
            "diff images/other.json --base HEAD",
            "does not exist in HEAD",
        ),
    ] {
        let ran = test.run_with(line);
        assert_ne!(ran.code, Some(0), "{line}");
        assert!(ran.stderr.contains(said), "{line}: {}", ran.stderr);
    }
}

/// A container often has a clone of another user, which git refuses.
#[test]
fn what_git_refuses_is_told_with_its_own_remedy() {
    if program("git").is_none() {
        return;
    }
    let test = Test::new().file("node.json", "{}");
    git(&test, "init -q .");
    // git's own tests take every repository for that of another user so.
    // <https://github.com/git/git/blob/v2.39.0/t/t0033-safe-directory.sh>
    let git = program("git").expect("git");
    let script = format!(
        "#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec {} \"$@\"\n",
        git.display()
    );
    write_program(&test.folder.join("git"), &script);
    let path = format!("{}:/usr/bin:/bin", test.folder.display());
    let test = test.env("PATH", &path);
    let ran = test.run_with("diff node.json --base HEAD");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    for said in [
        "dubious ownership in repository",
        "call: git config --global --add safe.directory",
        "hint: correct what git says",
    ] {
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("; ;"), "{}", ran.stderr);
}

/// The copy of a commit has a path that the user cannot name, and is gone when the message is read.
#[test]
fn a_commit_with_other_images_is_named_with_a_way_to_compare() {
    if program("git").is_none() {
        return;
    }
    let several = r#"{"target": "host", "images": {"a": {"kubernetes": "1.36.3"}, "b": {"kubernetes": "1.35"}}}"#;
    let one = r#"{"target": "host", "kubernetes": "1.36.4"}"#;
    for (then, now, path, said) in [
        (
            one,
            several,
            "node.json",
            "node.json defines several images: a, b",
        ),
        (
            one,
            several,
            "node.json#a",
            "node.json at HEAD: unknown image `a`",
        ),
        (
            several,
            one,
            "node.json",
            "node.json at HEAD defines several images: a, b",
        ),
    ] {
        let test = Test::new().file("node.json", then);
        git(&test, "init -q -b main");
        git(&test, "add -A");
        git(&test, "commit -q -m one");
        let test = test.file("node.json", now);
        let ran = test
            .line(&format!("diff {path} --base HEAD"))
            .fails(3, &[said]);
        assert!(!ran.stderr.contains("imagegen-base"), "{}", ran.stderr);
        let is_earlier = said.contains("HEAD");
        assert_eq!(
            ran.stderr.contains("git show HEAD:./FILE"),
            is_earlier,
            "{}",
            ran.stderr
        );
    }
}
