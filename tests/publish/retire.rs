//! Builds that `retire` keeps, and those that it takes.

use imagegen::base::digest::sha256_hex;
use serde_json::{Value, json};

use super::{Build, MANAGED, glance, list_versions, with_builds};
use crate::support::Test;

#[test]
fn keeps_the_newest_builds_and_those_that_are_young() {
    let test = with_builds(4);
    assert_eq!(list_versions(&test, "retire --keep 3"), ["1"]);
    assert_eq!(list_versions(&test, "retire --keep 1"), ["1", "2", "3"]);
    assert_eq!(list_versions(&test, "retire --keep 4"), [""; 0]);
    assert_eq!(
        list_versions(&test, "retire --keep 0"),
        ["1", "2", "3", "4"]
    );
    assert_eq!(
        list_versions(&test, "retire --older-than 30"),
        ["1", "2", "3", "4"]
    );

    let test = Build {
        version: "5",
        day: "2999-01-01",
        id: &glance(5),
        ..Build::default()
    }
    .write(test, "imagegen-out/node");
    assert_eq!(
        list_versions(&test, "retire --older-than 30"),
        ["1", "2", "3", "4"]
    );
    assert_eq!(
        list_versions(&test, "retire --keep 2 --older-than 30"),
        ["1", "2", "3"]
    );
    assert_eq!(list_versions(&test, "retire 2 4"), ["2", "4"]);
    assert!(
        test.text("imagegen-out/node/builds/1/image.json")
            .contains("\"1\"")
    );
}

/// The definition may have gone back to an older lockfile, whose image clusters then use. Of two builds of one lockfile the
/// newer one stays.
#[test]
fn keeps_the_newest_build_of_each_current_lockfile() {
    let mut test = with_builds(4);
    for version in ["1", "2"] {
        let path = format!("imagegen-out/node/builds/{version}/image.json");
        let mut record: Value = serde_json::from_str(&test.text(&path)).expect("JSON");
        record["lockfile"] = json!(sha256_hex(b"\"older\"\n"));
        test = test.file(&path, &record.to_string());
    }
    let ran = test.bare().run("retire --keep 1 --keep-current");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stderr.contains("no image is defined"), "{}", ran.stderr);

    let test = test
        .file("imagegen.json", "{\"target\": \"openstack\"}")
        .file("imagegen.lock.json", "\"older\"\n");
    let kept = "retire --keep 1 --keep-current";
    assert_eq!(list_versions(&test, "retire --keep 1"), ["1", "2", "3"]);
    assert_eq!(list_versions(&test, kept), ["1", "3"]);
    let test = test.file("imagegen.lock.json", "\"other\"\n");
    assert_eq!(list_versions(&test, kept), ["1", "2", "3"]);
}

/// A failed build has no image, so it takes no place among those that are kept.
#[test]
fn failed_builds_do_not_count() {
    let test = with_builds(3);
    let mut failed = Build {
        version: "4",
        day: "2020-01-01",
        ..Build::default()
    }
    .record();
    failed["artifacts"] = json!([]);
    failed["error"] = json!({"schema": "imagegen.dev/error/v1", "code": "packer-failed", "class": "packer", "exitCode": 7, "message": "no", "subject": "", "location": null, "remedy": "", "source": ""});
    let test = test.file("imagegen-out/node/builds/4/image.json", &failed.to_string());
    let ran = test.bare().run("retire --keep 2 --format json");
    assert!(!ran.stderr.contains("not listed"), "{}", ran.stderr);
    assert_eq!(list_versions(&test, "retire --keep 2"), ["1"]);
    for verb in ["retire", "promote"] {
        let ran = test.bare().run(&format!("{verb} 4"));
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("the build 4 failed: it has no image"),
            "{}",
            ran.stderr
        );
    }
}

/// A workspace has a group of its own, and a line of Kubernetes has one in all workspaces.
#[test]
fn groups_are_workspaces_or_lines() {
    let mut test = Test::new();
    for (version, kubernetes, day, workspace) in [
        ("a1", "1.36.0", "2020-01-01", "imagegen-out/a"),
        ("a2", "1.36.1", "2020-02-01", "imagegen-out/a"),
        ("b1", "1.36.2", "2020-03-01", "imagegen-out/b"),
        ("c1", "1.35.9", "2020-01-15", "imagegen-out/c"),
    ] {
        let number = usize::from(version.as_bytes()[0]) * 10 + usize::from(version.as_bytes()[1]);
        let id = glance(number);
        test = Build {
            version,
            kubernetes,
            day,
            id: &id,
            ..Build::default()
        }
        .write(test, workspace);
    }
    assert_eq!(list_versions(&test, "retire --keep 1"), ["a1"]);
    assert_eq!(
        list_versions(&test, "retire --keep 1 --per line"),
        ["a1", "a2"]
    );
}

/// Two pipelines have the same folders: each history has builds of its own.
#[test]
fn workspaces_of_two_histories_are_two() {
    let mut test = Test::new();
    for (name, number) in [("eu", 1), ("us", 2)] {
        let (version, day) = (number.to_string(), format!("2020-01-0{number}"));
        let build = Build {
            version: &version,
            day: &day,
            id: &glance(number),
            ..Build::default()
        };
        let place = "imagegen-out/node/builds/20200101";
        let history = json!({
            "schema": "imagegen.dev/history/v1", "builds": [{"place": place, "record": build.record()}],
        });
        test = test.file(&format!("{name}.json"), &history.to_string());
    }
    let line = "--delete --from eu.json --from us.json";
    assert_eq!(
        list_versions(&test, &format!("retire --keep 1 {line}")),
        [""; 0]
    );
    let line = format!("retire --keep 1 --per line {line}");
    assert_eq!(list_versions(&test, &line), ["1"]);
}

/// Images of one line that differ in what a record does not name, such as the generation of the machine: each keeps its
/// newest builds. A name may be made from the release.
#[test]
fn images_of_one_line_are_counted_apart() {
    let mut test = Test::new();
    for (number, image, kubernetes) in [
        (1, "gen1", "1.36.0"),
        (2, "gen2", "1.36.0"),
        (3, "gen2", "1.36.1"),
        (4, "node-1.36.0-core", "1.36.0"),
        (5, "node-1.36.1-core", "1.36.1"),
    ] {
        let build = Build {
            version: &number.to_string(),
            kubernetes,
            day: &format!("2020-01-0{number}"),
            id: &glance(number),
            ..Build::default()
        };
        let mut record = build.record();
        record["image"] = json!(image);
        let path = format!("imagegen-out/{image}/builds/{number}/image.json");
        test = test.file(&path, &record.to_string());
    }
    assert_eq!(
        list_versions(&test, "retire --keep 1 --per line"),
        ["2", "4"]
    );
}

/// A name may be used again: then the image of an old record is that of the newest.
#[test]
fn an_image_that_a_newer_build_replaced_stays() {
    let mut test = Test::new();
    for (version, day, id) in [
        ("1", "2020-01-01", MANAGED.to_owned()),
        ("2", "2020-01-02", format!("{MANAGED}-other")),
        (
            "3",
            "2020-01-03",
            MANAGED
                .to_uppercase()
                .replace("MICROSOFT.COMPUTE", "Microsoft.Compute"),
        ),
    ] {
        test = Build {
            version,
            day,
            id: &id,
            target: "azure",
            ..Build::default()
        }
        .write(test, "imagegen-out/node");
    }
    assert_eq!(list_versions(&test, "retire --keep 1 --delete"), ["2"]);
    let ran = test.bare().run("retire --keep 1");
    assert!(
        ran.stderr
            .contains("1 stays: its image is also that of the newer build 3"),
        "{}",
        ran.stderr
    );
    // A path and a copy of the record name the same image.
    let old = test.text("imagegen-out/node/builds/1/image.json");
    let test = test.file("copy.json", &old);
    for name in [
        "1",
        "imagegen-out/node/builds/1",
        "imagegen-out/node/builds/1/image.json",
        "copy.json --from imagegen-out",
    ] {
        let ran = test.bare().run(&format!("retire {name} --delete"));
        assert_eq!(ran.code, Some(3), "{name}: {}", ran.stdout);
        for part in [
            "the image of 1 is also that of the newer build 3",
            "hint: name the newer build",
        ] {
            assert!(ran.stderr.contains(part), "{name}: {}", ran.stderr);
        }
    }
    assert_eq!(
        list_versions(&test, "retire imagegen-out/node/builds/3"),
        ["3"]
    );
}

#[test]
fn a_build_without_time_is_never_old() {
    let mut record = Build::default().record();
    record["finished"] = json!("");
    let test = Test::new().file(
        "imagegen-out/node/builds/one/image.json",
        &record.to_string(),
    );
    let ran = test.bare().run("retire --older-than 1");
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.is_empty(), "{}", ran.stdout);
    assert!(
        ran.stderr
            .contains("one stays: its record does not say when"),
        "{}",
        ran.stderr
    );
}

/// It counts as no newer one either, though the text of its time comes after every date.
#[test]
fn a_build_with_an_unreadable_time_takes_no_place() {
    let mut test = Test::new();
    for (version, started) in [
        ("1", "2026-01-01T00:00:00Z"),
        ("2", "2026-02-01T00:00:00Z"),
        ("3", "yesterday"),
    ] {
        let mut record = Build {
            version,
            id: &format!("00000000-0000-0000-0000-00000000000{version}"),
            ..Build::default()
        }
        .record();
        record["started"] = json!(started);
        let path = format!("imagegen-out/node/builds/{version}/image.json");
        test = test.file(&path, &record.to_string());
    }
    let ran = test.bare().run("retire --keep 1");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.starts_with("# 1 openstack "), "{}", ran.stdout);
    assert_eq!(ran.stdout.matches("# ").count(), 1, "{}", ran.stdout);
    let said = "3 stays: its record does not say when";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    let pruned = test.bare().prints("history prune --keep 1 --dry-run");
    assert!(!pruned.contains("builds/2"), "{pruned}");
}
