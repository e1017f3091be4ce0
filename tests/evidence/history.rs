//! What a build leaves: records that no later build overwrites, also of builds that fail.

use std::fs;

use serde_json::{Value, json};

use crate::bake::{MANIFEST, REPORT, with_packer};
use crate::publish::Build;
use crate::support::Test;

use super::diff::git;

const PHASE: &str = r#"echo '    imagegen.a.node: imagegen: [1/2] changed kubernetes/kubelet (1500 ms)'
echo '    imagegen.a.node: {"schema":"imagegen.dev/phase-result/v1","phase":"install","mode":"apply","unchanged":1,"changed":1,"failed":0,"restart":false,"error":null}'
echo '==> imagegen.a.node: Restarting Machine'"#;

fn good() -> Test {
    with_packer(&format!(
        "[ \"$1\" = build ] || exit 0\n{PHASE}\n{MANIFEST}\n{REPORT}"
    ))
}

fn read_history(test: &Test) -> Vec<Value> {
    let history = test.bare().prints("history --from o --format json");
    let history: Value = serde_json::from_str(&history).expect("JSON");
    assert_eq!(history["schema"], "imagegen.dev/history/v1");
    history["builds"].as_array().expect("builds").clone()
}

/// The line is that of the real plugin: `bake` runs it.
#[test]
fn the_base_image_of_azure_is_recorded_where_the_builder_resolves_it() {
    let offer = "/subscriptions/s/providers/Microsoft.Compute/locations/westeurope/publishers/m/ArtifactTypes/vmimage/offers/o/skus/k/versions";
    let gallery = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/galleries/n/images/i/versions/1.0.0";
    let managed = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/images/i";
    for (printed, id) in [
        (
            format!("{offer}/20348.2700.240907"),
            format!("{offer}/20348.2700.240907"),
        ),
        (gallery.to_owned(), gallery.to_owned()),
        (managed.to_owned(), managed.to_owned()),
        // Azure itself chooses the version, and the builder does not ask which one.
        (format!("{offer}/latest"), String::new()),
        ("ERR_SOURCE_IMAGE_NAME_NOT_FOUND".to_owned(), String::new()),
    ] {
        let test = with_packer(&format!(
            "[ \"$1\" = build ] || exit 0\necho \"==> x.y:  -> SourceImageName: '{printed}'\"\n{MANIFEST}\n{REPORT}"
        ));
        test.succeeds();
        let image: Value = serde_json::from_str(&test.text("o/image.json")).expect("JSON");
        let recorded = image["baseImage"]["id"].as_str().unwrap_or_default();
        assert_eq!(recorded, id, "{:#}", image["baseImage"]);
        let page = test.bare().prints("report o");
        let page = test.text(page.trim());
        assert_eq!(page.contains("not resolved:"), id.is_empty());
    }
}

#[test]
fn a_record_says_who_built_what_of_what() {
    let test = good()
        .file("imagegen.json", "{}")
        .env("GITHUB_SERVER_URL", "https://github.example.com")
        .env("GITHUB_REPOSITORY", "team/images")
        .env("GITHUB_RUN_ID", "42");
    git(&test, "init -q -b main");
    git(&test, "add imagegen.json");
    git(&test, "commit -q -m one");
    fs::write(test.folder.join("imagegen.json"), "{ }").expect("a change");
    test.succeeds();
    let image: Value = serde_json::from_str(&test.text("o/image.json")).expect("JSON");
    for name in ["started", "finished"] {
        let time = image[name].as_str().expect("time");
        assert!(time.ends_with('Z') && time.len() == 20, "{name}: {time}");
    }
    let phases = image["phases"].as_array().expect("phases");
    let names: Vec<&str> = phases.iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names, ["init", "validate", "install", "build"]);
    assert_eq!(phases[2]["changed"], 1);
    let packer = fs::read(test.folder.join("bin/packer")).expect("program");
    assert_eq!(image["tools"][0]["name"], "packer");
    assert_eq!(
        image["tools"][0]["sha256"],
        imagegen::base::digest::sha256_hex(&packer).as_str()
    );
    assert_eq!(image["git"]["commit"].as_str().expect("commit").len(), 40);
    assert_eq!(image["git"]["dirty"], true);
    assert_eq!(
        image["runUrl"],
        "https://github.example.com/team/images/actions/runs/42"
    );
    assert_eq!(image["baseImage"]["variables"]["image_version"], "latest");

    let version = image["imageVersion"].as_str().expect("version");
    let folder = format!("o/builds/{version}");
    for name in [
        "image.json",
        "imagegen.lock.json",
        "guest-plan.json",
        "packer.log",
        "check-report.json",
        "timeline.json",
        "sbom.cdx.json",
        "sbom.spdx.json",
    ] {
        assert!(test.exists(&format!("{folder}/{name}")), "{name}");
    }
    let timeline: Value =
        serde_json::from_str(&test.text(&format!("{folder}/timeline.json"))).expect("JSON");
    let kinds: Vec<_> = timeline["events"]
        .as_array()
        .expect("events")
        .iter()
        .map(|event| event["kind"].as_str().expect("kind"))
        .collect();
    assert_eq!(kinds, ["resource", "restart"]);
    // The record is an image like others.
    let bom = test.bare().prints(&format!("sbom {folder}"));
    assert_eq!(bom, test.text(&format!("{folder}/sbom.cdx.json")));
    let bom: Value = serde_json::from_str(&bom).expect("JSON");
    let components = bom["components"].as_array().expect("components");
    let mut scripts = components.iter();
    let scripts = scripts.find(|it| it["name"] == "imagegen guest scripts");
    let scripts = scripts.expect("scripts");
    assert_eq!(scripts["version"], image["builtBy"]["version"]);
    assert_eq!(scripts["components"][0]["version"], scripts["version"]);
    let shown = test
        .bare()
        .prints(&format!("history show {version} --from o"));
    for part in [
        version,
        "/subscriptions/s/images/i",
        "phase         install",
        "with changes",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn a_failed_build_leaves_its_error() {
    let test = with_packer("[ $1 = build ] && { echo boom; exit 1; }; exit 0");
    let said = test
        .fails(7, &["record of the failed build: o/builds/"])
        .stderr;
    assert!(!test.exists("o/image.json"), "{said}");
    let builds = read_history(&test);
    let record = &builds[0]["record"];
    assert_eq!(record["error"]["code"], "packer-failed");
    assert_eq!(record["error"]["class"], "packer");
    assert_eq!(record["error"]["location"]["file"], "o/packer.log");
    assert!(record["artifacts"].as_array().is_some_and(Vec::is_empty));
    let place = builds[0]["place"].as_str().expect("place");
    assert!(test.text(&format!("{place}/packer.log")).contains("boom"));
    let text = test.bare().prints("history --from o");
    assert!(
        text.contains("failed") && text.contains("packer-failed"),
        "{text}"
    );
}

#[test]
fn a_build_that_fails_before_packer_leaves_its_error() {
    let test = good();
    let overrides = test
        .text("overrides.json")
        .replace("https://artifacts", "https://other");
    fs::remove_dir_all(test.folder.join("store/objects")).expect("the store is emptied");
    let test = test.file("overrides.json", &overrides);
    test.fails(4, &["[offline]"]);
    let builds = read_history(&test);
    assert_eq!(
        builds[0]["record"]["error"]["code"], "offline",
        "{builds:#?}"
    );
}

/// The record of a workspace is a copy; two of its builds are two, also where their records have the same bytes.
#[test]
fn builds_of_one_second_stay_two() {
    let test = good();
    test.succeeds();
    let place = read_history(&test)[0]["place"]
        .as_str()
        .expect("place")
        .to_owned();
    let second = test.folder.join(format!("{place}-2"));
    fs::create_dir_all(&second).expect("folder");
    fs::write(second.join("image.json"), test.read("o/image.json")).expect("record");
    let builds = read_history(&test);
    assert_eq!(builds.len(), 2);
    let version = builds[0]["record"]["imageVersion"].as_str().expect("one");
    test.bare()
        .prints(&format!("history show {version} --from o"));
}

#[test]
fn pruning_keeps_the_newest_and_the_image_of_the_workspace() {
    let test = good();
    test.succeeds();
    let current = test.text("o/image.json");
    let place = read_history(&test)[0]["place"]
        .as_str()
        .expect("place")
        .to_owned();
    // Older and newer records than that of the image in the workspace.
    for (name, started) in [
        ("old-1", "2020-01-01T00:00:00Z"),
        ("old-2", "2020-01-02T00:00:00Z"),
        ("new", "2099-01-01T00:00:00Z"),
    ] {
        let mut record: Value = serde_json::from_str(&current).expect("JSON");
        record["started"] = started.into();
        record["imageVersion"] = name.into();
        let folder = test.folder.join("o/builds").join(name);
        fs::create_dir_all(&folder).expect("folder");
        fs::write(folder.join("image.json"), record.to_string()).expect("record");
    }
    let listed = test
        .bare()
        .prints("history prune --from o --keep 1 --dry-run");
    assert!(listed.contains("would remove o/builds/old-1") && test.exists("o/builds/old-1"));
    let pruned = test.bare().prints("history prune --from o --keep 1");
    assert!(
        pruned.contains("old-1") && pruned.contains("old-2") && !pruned.contains("new"),
        "{pruned}"
    );
    assert!(test.exists("o/builds/new") && test.exists(&place) && !test.exists("o/builds/old-2"));
    assert_eq!(test.text("o/image.json"), current);
    // A preview leaves the records alone, too.
    let ran = test.run_with("--no-bake");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(test.exists(&place));
}

/// A record of a build that began in this second, and the file of its image.
fn write_build(test: Test, folder: &str, second: usize, has_image: bool) -> Test {
    let version = folder.rsplit('/').next().expect("a name").to_owned();
    let mut record = Build {
        version: &version,
        ..Build::default()
    }
    .record();
    record["started"] = format!("2021-01-01T00:00:{second:02}Z").into();
    if has_image {
        return test
            .file(&format!("{folder}/image.json"), &record.to_string())
            .file(&format!("{folder}/image/disk.qcow2"), "DISK");
    }
    record["artifacts"] = json!([]);
    record["error"] = json!({"schema": "imagegen.dev/error/v1", "code": "packer-failed", "class": "packer", "exitCode": 7, "message": "no", "subject": "", "location": null, "remedy": "", "source": ""});
    test.file(&format!("{folder}/image.json"), &record.to_string())
}

/// A failed build has no image: it takes no place among those that have one.
#[test]
fn pruning_counts_failed_builds_apart() {
    let mut test = Test::new();
    for (second, (version, has_image)) in [
        ("1", true),
        ("2", true),
        ("3", false),
        ("4", false),
        ("5", false),
    ]
    .into_iter()
    .enumerate()
    {
        let folder = format!("imagegen-out/node/builds/{version}");
        test = write_build(test, &folder, second, has_image);
    }
    for (keep, removed) in [(2, "3"), (1, "1 3 4"), (0, "1 3 4 5")] {
        let line = format!("history prune --keep {keep} --dry-run --format json");
        let pruned: Value = serde_json::from_str(&test.bare().prints(&line)).expect("JSON");
        let places = pruned["removed"].as_array().expect("places").iter();
        let mut versions: Vec<&str> = places
            .filter_map(|place| place.as_str()?.rsplit('/').next())
            .collect();
        versions.sort_unstable();
        assert_eq!(versions.join(" "), removed, "--keep {keep}");
    }
}

/// `build --all --out builds` makes workspaces in a folder with the name of that of records.
#[test]
fn pruning_removes_no_workspace() {
    let mut test = Test::new();
    for (second, name) in ["a", "b", "c"].into_iter().enumerate() {
        test = write_build(test, &format!("builds/{name}"), second, true);
        if name != "c" {
            test = write_build(test, &format!("builds/{name}/builds/{name}"), second, true);
        }
    }
    // Without a build that is kept, the list of what imagegen wrote tells a workspace.
    let test = test.file("builds/c/.imagegen.sha256", "");
    let pruned = test.bare().prints("history prune --keep 1 --from builds");
    assert_eq!(pruned, "");
    for name in ["a", "b", "c"] {
        assert!(
            test.exists(&format!("builds/{name}/image/disk.qcow2")),
            "{name}"
        );
    }
}

/// A version that was given may be used again, in a numbered folder.
#[test]
fn a_version_of_several_builds_names_the_one_with_an_image() {
    let folder = "imagegen-out/node/builds";
    let write = |test: Test, name: &str, has_image: bool, number: usize| {
        let test = write_build(test, &format!("{folder}/{name}"), number, has_image);
        let path = format!("{folder}/{name}/image.json");
        let mut record: Value = serde_json::from_str(&test.text(&path)).expect("JSON");
        record["imageVersion"] = "v".into();
        if has_image {
            record["artifacts"][0]["id"] = format!("0b4c5a52-6d9e-4a1e-9b0c-{number:012}").into();
        }
        test.file(&path, &record.to_string())
    };
    let test = write(write(Test::new(), "v", false, 1), "v-2", true, 2);
    for name in ["v", "v-2"] {
        let printed = test.bare().prints(&format!("promote {name}"));
        assert!(printed.contains("-000000000002"), "{name}: {printed}");
    }
    let listed = test.bare().prints("history");
    for place in [
        "(imagegen-out/node/builds/v)",
        "(imagegen-out/node/builds/v-2)",
    ] {
        assert!(listed.contains(place), "{listed}");
    }

    let test = write(test, "v", true, 1);
    for line in ["promote v", "history show v"] {
        let ran = test.bare().run(line);
        assert_eq!(ran.code, Some(3), "{line}: {}", ran.stdout);
        for part in [
            "2 builds have the image version `v`",
            "imagegen-out/node/builds/v-2 (built), imagegen-out/node/builds/v (built)",
        ] {
            assert!(ran.stderr.contains(part), "{line}: {}", ran.stderr);
        }
    }
}

#[test]
fn what_a_pipeline_collected_is_listed() {
    let test = good();
    test.succeeds();
    let published = test.bare().prints("history --from o --format json");
    let test = test.file("web/history.json", &published);
    let from_file = test
        .bare()
        .prints("history --from web/history.json --format json");
    assert_eq!(from_file, published);
    for (line, said) in [
        ("history --from nothing", "nothing does not exist"),
        ("history --from overrides.json", "no records of builds"),
        (
            "history show 1.2.3 --from o",
            "no record of the image version",
        ),
        ("history prune --keep 1 --from nothing", "does not exist"),
    ] {
        let ran = test.bare().run(line);
        assert_eq!(ran.code, Some(3), "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{line}: {}", ran.stderr);
    }
    let empty = Test::new();
    assert_eq!(empty.bare().prints("history"), "no build is recorded\n");
}

/// A record that cannot be read is named, whatever is wrong with it; a file of another program is not.
#[test]
fn records_that_cannot_be_read_are_named() {
    let deep = "[".repeat(500);
    for (content, said) in [
        (r#"{"schema": "imagegen.dev/image/v1", "tar"#, "EOF"),
        ("null", "expected a JSON object"),
        ("\0\0\0\0", "expected value"),
        (deep.as_str(), "recursion limit exceeded"),
        (
            r#"{"schema": "imagegen.dev/image/v9"}"#,
            "`imagegen.dev/image/v9`",
        ),
        (r#"{"schema": "imagegen.dev/image/v1"}"#, "missing field"),
    ] {
        let test = Test::new()
            .file("o/a/image.json", content)
            .file("o/b/image.json", r#"{"schema": {"of": "others"}}"#);
        for line in ["history --from o", "report --all --from o"] {
            let ran = test.bare().run(line);
            assert_eq!(ran.code, Some(0), "{line}: {}", ran.stderr);
            let warnings = ran.stderr.matches("not listed: ").count();
            assert_eq!(warnings, 1, "{line}: {}", ran.stderr);
            assert!(ran.stderr.contains("o/a/image.json: "), "{}", ran.stderr);
            assert!(ran.stderr.contains(said), "{line}: {}", ran.stderr);
        }
    }
}

/// What the fields of another version mean is not known.
#[test]
fn records_of_another_version_are_refused() {
    let test = good();
    test.succeeds();
    let record = test.text("o/image.json");
    let other = record.replacen("image/v1", "image/v9", 1);
    assert_ne!(record, other);
    let history = test.bare().prints("history --from o --format json");
    let test = test
        .file("other/image.json", &other)
        .file("new.json", &history.replace("history/v1", "history/v2"))
        .file("mixed.json", &history.replace("image/v1", "image/v9"));
    for line in [
        "report other",
        "sbom other/image.json",
        "attest other",
        "diff o/image.json other/image.json",
        "history --from other/image.json",
        "history --from new.json",
        "history --from mixed.json",
    ] {
        let ran = test.bare().run(line);
        assert_eq!(ran.code, Some(3), "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains("unsupported schema"), "{}", ran.stderr);
    }
}
