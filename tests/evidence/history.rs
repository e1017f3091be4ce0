//! What a build leaves: records that no later build overwrites, also of builds that fail.

use std::fs;

use serde_json::Value;

use crate::bake::{MANIFEST, REPORT, with_packer};
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
