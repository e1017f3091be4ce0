//! Whose repository git reads, and what it runs there.

use imagegen::records::read_git_state;
use serde_json::Value;

use super::diff::{find, git, read_diff};
use crate::support::{Test, program, write_program};

/// A repository of a pull request in the folder `web`, whose settings run a program that writes `ran`.
fn plant_repository(test: &Test) {
    git(test, "init -q -b main planted");
    let ran = test.folder.join("ran");
    let script = format!("#!/bin/sh\ntouch {}\ncat\n", ran.display());
    write_program(&test.folder.join("planted/program"), &script);
    let attributes = test.folder.join("planted/.gitattributes");
    std::fs::write(attributes, "* filter=planted\n").expect("attributes");
    std::fs::write(test.folder.join("planted/imagegen.json"), "{}").expect("file");
    let commit = ["add -A", "commit -q -m planted"].map(|it| format!("-C planted {it}"));
    for line in &commit {
        git(test, line);
    }
    let program = test.folder.join("web/program").display().to_string();
    for name in [
        "core.fsmonitor",
        "core.sshCommand",
        "filter.planted.smudge",
        "filter.planted.clean",
    ] {
        git(test, &format!("-C planted config {name} {program}"));
    }
    // With a folder of files, commands that want one go on.
    let web = test.folder.join("web").display().to_string();
    git(test, &format!("-C planted config core.worktree {web}"));
    git(
        test,
        "-C planted config remote.origin.url https://example.com/planted",
    );
    std::fs::rename(test.folder.join("planted/program"), &program).expect("program");
    for entry in ["HEAD", "config", "index", "objects", "refs"] {
        let from = test.folder.join("planted/.git").join(entry);
        std::fs::rename(from, test.folder.join("web").join(entry)).expect("planted");
    }
    // The content differs from the index, so that a filter is asked.
    std::fs::write(test.folder.join("imagegen.json"), "{ }").expect("file");
}

#[test]
fn git_takes_no_folder_of_a_pull_request_for_a_repository() {
    if program("git").is_none() {
        return;
    }
    let definition = |version: &str| format!(r#"{{"target": "host", "kubernetes": "{version}"}}"#);
    let test = Test::new().file("web/imagegen.json", &definition("1.36.3"));
    git(&test, "init -q -b main");
    git(&test, "add -A");
    git(&test, "commit -q -m one");
    git(&test, "remote add origin https://example.com/own");
    let test = test.file("web/imagegen.json", &definition("1.36.4"));
    plant_repository(&test);

    let ran = test.run_with("diff web/imagegen.json --base main --format json");
    assert!(!test.folder.join("ran").exists(), "{}", ran.stderr);
    let diff: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let programs = find(&diff, "components", "component", "kubernetes-node");
    assert_eq!(
        programs["from"], "1.36.3",
        "the base is another repository's"
    );
    let state = read_git_state(&test.folder.join("web")).expect("state");
    assert!(
        !test.folder.join("ran").exists(),
        "a bake asked the program"
    );
    assert_eq!(state.repository.as_deref(), Some("https://example.com/own"));
    assert!(state.dirty);

    // Without a repository of the user's own there is none.
    std::fs::remove_dir_all(test.folder.join(".git")).expect("gone");
    let ran = test.run_with("diff web/imagegen.json --base main");
    let said = "is in no git repository";
    assert!(
        ran.code == Some(3) && ran.stderr.contains(said),
        "{}",
        ran.stderr
    );
    assert!(read_git_state(&test.folder.join("web")).is_none());
    // An empty folder is no repository either, and git before 2.38 would go on.
    std::fs::create_dir(test.folder.join("web/.git")).expect("folder");
    let ran = test.run_with("diff web/imagegen.json --base main");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(!test.folder.join("ran").exists(), "{}", ran.stderr);
}

/// The attributes of a commit choose among the filters that the user has for other repositories.
#[test]
fn a_commit_chooses_no_filter_and_no_hook() {
    if program("git").is_none() {
        return;
    }
    let test = Test::new()
        .file("node.json", r#"{"target": "host", "kubernetes": "1.36.3"}"#)
        .file(".gitattributes", "* filter=own\n");
    git(&test, "init -q -b main");
    git(&test, "add -A");
    git(&test, "commit -q -m one");
    let script = format!(
        "#!/bin/sh\ntouch {}\ncat\n",
        test.folder.join("ran").display()
    );
    for name in [
        "program",
        ".git/hooks/post-checkout",
        ".git/hooks/post-index-change",
    ] {
        write_program(&test.folder.join(name), &script);
    }
    let program = test.folder.join("program").display().to_string();
    for name in ["smudge", "clean"] {
        git(&test, &format!("config filter.own.{name} {program}"));
    }
    git(&test, "config filter.own.required true");
    let test = test.file("node.json", r#"{"target": "host", "kubernetes": "1.36.4"}"#);
    read_diff(&test, "node.json --base HEAD");
    assert!(read_git_state(&test.folder).expect("state").dirty);
    assert!(!test.folder.join("ran").exists());
}
