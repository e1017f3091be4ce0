//! The commands run, and what became of an image is kept beside its record: then it takes no place among builds that stay.

use serde_json::{Value, json};

use super::{Build, glance, list_versions, make_executable, with_builds};
use crate::support::Test;

/// The program of a platform, which refuses the image whose id ends in `BUSY`.
const PROGRAM: &str = "#!/bin/sh
echo \"$*\" >> \"$HOME/ran\"
case \"$*\" in *\"${BUSY:-none}\") echo 'HTTP 409 in use' >&2; exit 1 ;; esac
";

/// Builds `1` to `count`, and a program of their platform.
fn with_platform(count: usize) -> Test {
    let test = with_builds(count).file("bin/openstack", PROGRAM);
    make_executable(&test, "bin/openstack");
    test.env("PATH", "bin:/usr/bin:/bin")
}

fn count_commands(test: &Test) -> usize {
    if test.exists("ran") {
        test.text("ran").lines().count()
    } else {
        0
    }
}

fn list_states(test: &Test) -> Vec<(String, String)> {
    let listed = test.bare().prints("history");
    let mut states = Vec::new();
    for line in listed.lines().skip(1) {
        let words: Vec<&str> = line.split_whitespace().collect();
        states.push((words[0].to_owned(), words[2].to_owned()));
    }
    states
}

/// Nothing runs unasked, and a program that is missing stops everything before the first command.
#[test]
fn commands_run_when_the_user_says_so() {
    let test = with_builds(2);
    let test = test.env("PATH", "bin:/usr/bin:/bin");
    let ran = test.bare().run("retire --keep 1 --run");
    assert_eq!(ran.code, Some(7), "{}", ran.stderr);
    for part in [
        "`openstack` is not installed, so nothing was run",
        "leave out `--run`",
    ] {
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }

    let program = "#!/bin/sh\necho \"$*\" >> \"$HOME/ran\"\ncase \"$*\" in *000000000001) echo 'Failed: No Image found for 0b4c5a52-6d9e-4a1e-9b0c-000000000001' >&2; exit 1 ;; *000000000002) echo 'HTTP 401 Unauthorized' >&2; exit 1 ;; esac\n";
    let test = test.file("bin/openstack", program);
    make_executable(&test, "bin/openstack");
    test.bare().prints("retire --keep 1");
    assert!(!test.exists("ran"), "nothing runs unasked");

    // What is gone is retired; the image that fails does not stop the next one.
    let test = Build {
        version: "3",
        id: &glance(3),
        day: "2003-01-01",
        ..Build::default()
    }
    .write(test, "imagegen-out/node");
    let ran = test.bare().run("retire --keep 0 --run --delete");
    assert_eq!(ran.code, Some(7), "{}", ran.stderr);
    assert_eq!(test.text("ran").lines().count(), 3);
    for part in [
        "the image is gone, or this project",
        "-000000000002` failed",
        "HTTP 401 Unauthorized",
        "hint: correct the cause",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    // A record of another machine does not know what is gone, and the platform does.
    for number in [1, 3] {
        let path = format!("imagegen-out/node/builds/{number}/image.json");
        let record = test.text(&path);
        std::fs::write(test.folder.join(format!("{number}.json")), record).expect("record");
    }
    let printed = test
        .bare()
        .prints("retire 1.json 3.json --run --format json");
    let printed: Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(printed["images"][0]["commands"][0]["state"], "notFound");
    assert_eq!(printed["images"][1]["commands"][0]["state"], "done");
    // What is gone cannot be promoted.
    let ran = test.bare().run("promote 1.json --run");
    assert_eq!(ran.code, Some(7), "{}", ran.stderr);
}

/// A list that is empty is no rule that keeps builds.
#[test]
fn no_build_that_is_recorded_is_said_as_such() {
    let test = Test::new();
    for line in [
        "retire --keep 0",
        "retire --older-than 30",
        "retire --keep 3 --delete --run",
    ] {
        let ran = test.bare().run(line);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(ran.stderr, "no build is recorded; nothing is to be done\n");
    }
}

/// The newest build is bad. Without a mark, the next `--keep 1` counts it, and deletes the images that are left.
#[test]
fn a_deleted_build_takes_no_place() {
    let test = with_platform(3);
    test.bare().prints("retire 3 --delete --run");
    assert_eq!(list_versions(&test, "retire --keep 1 --delete"), ["1"]);
    test.bare().prints("retire --keep 1 --delete --run");
    assert_eq!(count_commands(&test), 2);
    let states = list_states(&test);
    let states: Vec<(&str, &str)> = states.iter().map(|(a, b)| (&**a, &**b)).collect();
    assert_eq!(states, [("3", "deleted"), ("2", "built"), ("1", "deleted")]);

    // Neither another step nor the same again does anything to it.
    for line in ["retire --keep 1 --delete --run", "retire --keep 1 --run"] {
        let ran = test.bare().run(line);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(
            ran.stderr
                .contains("no group has a build beyond its newest 1; nothing is to be done"),
            "{}",
            ran.stderr
        );
    }
    for line in ["retire 1 3 --delete --run", "retire 1 3 --run"] {
        let ran = test.bare().run(line);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(
            ran.stderr
                .contains("nothing left to do: 3 is deleted already"),
            "{}",
            ran.stderr
        );
    }
    assert_eq!(count_commands(&test), 2);
    for line in ["promote 3 --run", "test-clone 3 --var flavor=m1"] {
        let ran = test.bare().run(line);
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        for part in ["the image of 3 was deleted at 2", "hint: name a build"] {
            assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
        }
    }
    test.bare()
        .prints("test-clone 3 --var flavor=m1 --clone one --delete");

    // What `history` prints says the same.
    let history = test.bare().prints("history --format json");
    let test = test.file("history.json", &history);
    let line = "retire --keep 0 --delete --from history.json";
    assert_eq!(list_versions(&test, line), ["2"]);
}

#[test]
fn a_retired_build_takes_no_place_until_it_is_promoted() {
    let test = with_platform(3);
    let current = test.text("imagegen-out/node/builds/3/image.json");
    let test = test.file("imagegen-out/node/image.json", &current);
    // The image that lies in a workspace is that of the record in its `builds`.
    test.bare().prints("retire imagegen-out/node --run");
    assert!(test.exists("imagegen-out/node/builds/3/retirement.json"));
    assert!(!test.exists("imagegen-out/node/retirement.json"));
    assert_eq!(list_states(&test)[0].1, "retired");
    assert_eq!(list_versions(&test, "retire --keep 1"), ["1"]);
    for name in ["3", "imagegen-out/node", "imagegen-out/node/image.json"] {
        assert_eq!(list_versions(&test, &format!("retire {name}")), [""; 0]);
    }
    // To delete is a further step: a retired build counts as what it is, and takes no place of one in use.
    assert_eq!(list_versions(&test, "retire --keep 1 --delete"), ["1"]);
    assert_eq!(
        list_versions(&test, "retire --keep 0 --delete"),
        ["1", "2", "3"]
    );
    assert_eq!(list_versions(&test, "retire 3 --delete"), ["3"]);

    test.bare().prints("promote 3 --run");
    assert!(!test.exists("imagegen-out/node/builds/3/retirement.json"));
    assert_eq!(list_versions(&test, "retire --keep 1"), ["1", "2"]);
}

/// The definition went back to the lockfile of a build whose image is gone.
#[test]
fn a_deleted_build_is_not_that_of_a_lockfile() {
    use imagegen::base::digest::sha256_hex;
    let mut test = with_platform(3)
        .file("imagegen.json", "{\"target\": \"openstack\"}")
        .file("imagegen.lock.json", "\"older\"\n");
    for version in ["1", "2"] {
        let path = format!("imagegen-out/node/builds/{version}/image.json");
        let mut record: Value = serde_json::from_str(&test.text(&path)).expect("JSON");
        record["lockfile"] = json!(sha256_hex(b"\"older\"\n"));
        test = test.file(&path, &record.to_string());
    }
    let kept = "retire --keep 1 --keep-current";
    assert_eq!(list_versions(&test, kept), ["1"]);
    test.bare().prints("retire 2 --delete --run");
    assert_eq!(list_versions(&test, kept), [""; 0]);
}

/// A name was used again: the image of the older build went with that of the newer one, and takes no place either.
#[test]
fn an_image_that_went_with_another_takes_no_place() {
    let mut test = with_platform(3);
    let path = "imagegen-out/node/builds/2/image.json";
    let mut record: Value = serde_json::from_str(&test.text(path)).expect("JSON");
    record["artifacts"][0]["id"] = json!(glance(3));
    test = test.file(path, &record.to_string());
    test.bare().prints("retire 3 --delete --run");
    assert_eq!(list_versions(&test, "retire --keep 1 --delete"), [""; 0]);
}

/// The folder of a workspace may have the record alone; that of a later build takes its place.
#[test]
fn a_retirement_is_that_of_its_record() {
    let test = with_platform(1);
    let first = Build::default().record();
    let test = test.file("copied/image.json", &first.to_string());
    test.bare().prints("retire copied --run");
    assert!(test.exists("copied/retirement.json"));
    assert_eq!(list_versions(&test, "retire copied"), [""; 0]);
    let later = Build {
        version: "two",
        day: "2021-01-01",
        id: &glance(9),
        ..Build::default()
    };
    let test = test.file("copied/image.json", &later.record().to_string());
    assert_eq!(list_versions(&test, "retire copied"), ["two"]);

    let test = test.file("copied/retirement.json", "{}");
    let ran = test.bare().run("retire copied/image.json");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("copied/retirement.json: unsupported schema"),
        "{}",
        ran.stderr
    );
}

#[test]
fn nothing_is_kept_beside_the_entry_of_a_list() {
    let test = with_platform(2);
    let history = test.bare().prints("history --format json");
    let test = test.file("history.json", &history);
    let ran = test.bare().run("retire --keep 1 --run --from history.json");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for part in [
        "a later `retire --keep` does not know what was done to 1",
        "give that folder by `--from`",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert!(!test.exists("imagegen-out/node/builds/1/retirement.json"));
}

/// What was done to the other images is told and kept.
#[test]
fn an_image_that_fails_hides_no_other() {
    let test = with_platform(3).env("BUSY", "2");
    let ran = test.bare().run("retire 1 2 3 --delete --run --format json");
    assert_eq!(ran.code, Some(7), "{}", ran.stderr);
    let printed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let images = printed["images"].as_array().expect("images").iter();
    let states: Vec<_> = images.map(|it| &it["commands"][0]["state"]).collect();
    assert_eq!(states, ["done", "failed", "done"]);
    let kept = [1, 2, 3].map(|number| {
        test.exists(&format!(
            "imagegen-out/node/builds/{number}/retirement.json"
        ))
    });
    assert_eq!(kept, [true, false, true]);

    let test = test.env("BUSY", "none");
    let done = test.bare().prints("retire 1 2 3 --delete --run");
    assert_eq!(done, format!("deleted 2 {}\n", glance(2)));
}

/// A version and paths name the same build, which has its commands once.
#[test]
fn a_build_that_is_named_twice_has_its_commands_once() {
    let test = with_builds(2);
    let line = "retire 1 1 imagegen-out/node/builds/1 2";
    assert_eq!(list_versions(&test, line), ["1", "2"]);
}
