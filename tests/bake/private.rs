//! What a bake reads, runs and writes: its private folder, an environment made from nothing, and results that follow no
//! link.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::Value;

use super::{MANIFEST, REPORT, with_packer};
use crate::support::Test;

/// Notes everything that this Packer was given.
const LOOK: &str = r#"[ "$1" = build ] || exit 0
env > "$OUT/environment"
pwd > "$OUT/folder"
stat -c %a .. > "$OUT/mode"
ls -A > "$OUT/names"
ls -AR "$HOME" > "$OUT/home""#;

fn look(script: &str) -> Test {
    with_packer(&format!("{LOOK}\n{script}\n{MANIFEST}\n{REPORT}"))
}

#[test]
fn packer_runs_in_a_folder_of_its_own_that_goes_with_the_bake() {
    let test = look("").file(
        "store/work/run2147483600-0123456789abcdef/file",
        "of a run that was killed",
    );
    test.succeeds();
    let folder = test.text("o/folder");
    let work = test.folder.join("store/work").display().to_string();
    assert!(folder.starts_with(&work), "{folder}");
    assert_eq!(test.text("o/mode"), "700\n");
    let left = fs::read_dir(test.folder.join("store/work")).expect("the store");
    assert_eq!(left.count(), 0);
    let names = test.text("o/names");
    for name in ["build.pkr.hcl", "payload.zip", "imagegen.auto.pkrvars.json"] {
        assert!(names.contains(name), "{names}");
    }
}

/// The environment of the building machine decides nothing that nobody named.
#[test]
fn packer_gets_an_environment_made_from_nothing() {
    let test = look("");
    let bin = test.folder.join("bin").display().to_string();
    let test = test
        .env("AWS_SECRET_ACCESS_KEY", "of-another-build")
        .env("PACKER_LOG", "1")
        .env("PACKER_LOG_PATH", "/dev/null")
        .env("PACKER_CONFIG", "/etc/packerconfig")
        .env("LD_LIBRARY_PATH", "/somewhere")
        .env("TMPDIR", "/tmp")
        .env("HTTPS_PROXY", "http://127.0.0.1:9")
        .env("PATH", &format!(".:{bin}:/usr/bin::/bin:relative"))
        .env("TEAM", "nodes")
        .line("--pass-env TEAM");
    test.succeeds();
    let environment = test.text("o/environment");
    let value = |name: &str| {
        let mut lines = environment.lines().filter_map(|line| line.split_once('='));
        lines.find(|(key, _)| *key == name).map(|(_, value)| value)
    };
    let folder = test.text("o/folder");
    let own = folder.trim_end().trim_end_matches("/workspace");
    for (name, below) in [("HOME", "home"), ("PACKER_CONFIG_DIR", "config")] {
        assert_eq!(value(name), Some(&*format!("{own}/{below}")), "{name}");
    }
    assert!(value("TMPDIR").is_some_and(|folder| folder != "/tmp"));
    for (name, expected) in [
        ("TEAM", Some("nodes")),
        ("HTTPS_PROXY", Some("http://127.0.0.1:9")),
        ("PATH", Some(&*format!("{bin}:/usr/bin:/bin"))),
        ("CHECKPOINT_DISABLE", Some("1")),
        ("PACKER_LOG", Some("")),
        ("PACKER_LOG_PATH", None),
        ("PACKER_CONFIG", None),
        ("LD_LIBRARY_PATH", None),
        ("AWS_SECRET_ACCESS_KEY", None),
    ] {
        assert_eq!(value(name), expected, "{name}");
    }
    for name in ["HOME", "PACKER_LOG", "PKR_VAR_x", "a=b", ""] {
        let test = look("").args(["--pass-env", name]);
        test.fails(3, &["--pass-env"]);
    }
}

/// Of the home, a bake sees what the chosen way to sign in needs.
#[test]
fn the_home_is_empty_but_for_the_sign_in() {
    let test = look("[ -s \"$HOME/.azure/azureProfile.json\" ] || exit 1")
        .file(".azure/azureProfile.json", "{}")
        .file(".packer.d/plugins/packer-plugin-evil_v1.0.0_x5.0", "")
        .file(".packerconfig", "{}")
        .file(".aws/credentials", "of another cloud");
    test.succeeds();
    let home = test.text("o/home");
    assert!(home.contains(".azure"), "{home}");
    for name in [".packer.d", ".packerconfig", ".aws", "credentials"] {
        assert!(!home.contains(&format!("{name}\n")), "{name}: {home}");
    }
}

/// Somebody who may write to the workspace puts links there while Packer runs.
#[test]
fn results_follow_no_link() {
    for name in ["packer.log", "check-report.json", "image.json"] {
        let test = look(&format!(
            "rm -f \"$OUT/{name}\"; ln -s ../precious \"$OUT/{name}\""
        ))
        .file("precious", "old");
        test.fails(1, &[name]);
        assert_eq!(test.text("precious"), "old", "{name}");
    }
    // Before the bake, a link goes like every trace of an earlier one.
    let test = look("").file("precious", "old").file("o/keep", "");
    fs::remove_file(test.folder.join("o/keep")).expect("removed");
    symlink("../precious", test.folder.join("o/packer.log")).expect("link");
    test.succeeds();
    assert_eq!(test.text("precious"), "old");
    assert!(
        test.folder
            .join("o/packer.log")
            .symlink_metadata()
            .is_ok_and(|it| it.is_file())
    );
}

/// `--work` names another place, which only its owner may write to.
#[test]
fn the_private_folder_lies_where_the_user_says() {
    let test = look("").line("--work disk");
    test.succeeds();
    let folder = test.text("o/folder");
    let place = test.folder.join("disk").display().to_string();
    assert!(folder.starts_with(&place), "{folder}");

    let mode = fs::Permissions::from_mode(0o777);
    fs::set_permissions(test.folder.join("disk"), mode).expect("mode");
    fs::remove_dir_all(test.folder.join("o")).expect("removed");
    test.fails(1, &["other users can exchange"]);
}

/// After an error the folder is there to look into, if the user wants that.
#[test]
fn an_aborted_bake_keeps_its_folder() {
    let test = with_packer("[ $1 = build ] && exit 1; exit 0").line("--on-error abort");
    let ran = test.fails(7, &["the folder of the bake is kept: "]);
    let (_, rest) = ran.stderr.split_once("is kept: ").expect("seen");
    let folder = test.folder.join(rest.lines().next().expect("a path"));
    assert!(folder.join("workspace/build.pkr.hcl").exists());
    let log: Value = test.text("o/packer.log").into();
    assert!(log.is_string());
}
