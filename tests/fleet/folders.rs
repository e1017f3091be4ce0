//! Folders of definitions: each entry is a definition, or is named; a bad file stops its own images alone.

use std::process::Command;

use super::list_names;
use crate::support::Test;

const GOOD: &str = r#"{"target": "host", "kubernetes": "1.36.0", "hostAccess": "services"}"#;

/// `a` and `c` are good; `b` is broken.
fn broken() -> Test {
    Test::new()
        .file("team/a.json", GOOD)
        .file("team/b.json", "{\n  \"target\": 7\n}\n")
        .file("team/c.json", GOOD)
}

#[test]
fn a_broken_definition_stops_its_own_image_alone() {
    let test = broken();
    for jobs in [1, 2] {
        let line = format!("build --config team --all --no-bake --out o{jobs} --jobs {jobs}");
        let ran = test.run_with(&line);
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        assert!(
            ran.stderr
                .contains("1 of 3 images failed:\n  b: team/b.json"),
            "{}",
            ran.stderr
        );
        assert!(test.exists(&format!("o{jobs}/a/guest-plan.json")));
        assert!(test.exists(&format!("o{jobs}/c/guest-plan.json")));
    }
    test.prints("plan a --config team");
    test.prints("plan --config team#a");
    for (line, said) in [
        ("plan b --config team", "team/b.json:2"),
        ("plan --config team#b", "team/b.json:2"),
        ("plan d --config team", "unknown image `d`, and a file"),
        ("plan --config team", "team/b.json:2"),
        // Locks of images that are not known may not be retired.
        (
            "retire --keep 1 --keep-current --config team",
            "team/b.json:2",
        ),
    ] {
        let ran = test.run_with(line);
        assert_eq!(ran.code, Some(3), "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{line}: {}", ran.stderr);
    }
}

/// Where a file system does not tell case apart, one of the two would overwrite the files of the other.
#[test]
fn names_that_differ_in_case_stop_their_own_images_alone() {
    let test = Test::new()
        .file("team/a.json", GOOD)
        .file("team/Web.json", GOOD)
        .file("team/web.json", GOOD)
        .file(
            "team/c.json",
            &format!(r#"{{"images": {{"a": {GOOD}, "d": {GOOD}}}}}"#),
        );
    let ran = test.run_with("build --config team --all --no-bake -q --out o");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    for said in [
        "error: Web: team/Web.json and team/web.json differ in case alone",
        "error: web: team/Web.json and team/web.json differ in case alone",
        "error: a: `a` is in team/a.json and team/c.json",
        "3 of 4 images failed:",
    ] {
        assert_eq!(
            ran.stderr.matches(said).count(),
            1,
            "{said}: {}",
            ran.stderr
        );
    }
    assert!(test.exists("o/d/guest-plan.json") && !test.exists("o/web"));
    test.prints("plan d --config team");
    for line in [
        "plan web --config team",
        "plan --config team#Web",
        "list images --config team",
    ] {
        let ran = test.run_with(line);
        assert_eq!(ran.code, Some(3), "{line}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("differ in case"),
            "{line}: {}",
            ran.stderr
        );
    }
    let listed = test.run_with("list images --config team").stderr;
    assert_eq!(listed.matches("differ in case").count(), 1, "{listed}");
    // One file is mended by the person who wrote it.
    let both = format!(r#"{{"images": {{"Web": {GOOD}, "web": {GOOD}, "d": {GOOD}}}}}"#);
    Test::new()
        .file("imagegen.json", &both)
        .line("plan d")
        .fails(3, &["differ in case alone"]);
}

/// The names of a matrix come from its lists: a list with one value tells the files apart.
#[test]
fn matrices_of_two_files_are_told_apart_by_a_list() {
    let same = r#""matrix": {"windows": ["2022"], "kubernetes": ["1.35", "1.36"]}"#;
    let test = Test::new()
        .file("team/one.json", &format!(r#"{{"target": "host", {same}}}"#))
        .file(
            "team/other.json",
            &format!(r#"{{"target": "media", {same}}}"#),
        );
    let ran = test.run_with("list images --config team");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let hint =
        r#"in a `matrix`, add a list of what tells the files apart, such as `"target": […]`"#;
    assert!(ran.stderr.contains(hint), "{}", ran.stderr);

    let one = r#"{"matrix": {"target": ["host"], "windows": ["2022"]}}"#;
    let other = r#"{"matrix": {"target": ["media"], "windows": ["2022"]}}"#;
    let test = Test::new()
        .file("team/one.json", one)
        .file("team/other.json", other);
    let listed = test.prints("list images --config team");
    assert!(listed.starts_with("host-2022 "), "{listed}");
    assert!(listed.contains("\nmedia-2022 "), "{listed}");
}

#[test]
fn a_list_has_the_good_images_and_fails_by_each_bad_file() {
    let test = broken().file("team/d.json", "[");
    let ran = test.run_with("list images --config team --format json");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let rows = serde_json::from_str(&ran.stdout).expect("JSON alone");
    assert_eq!(list_names(&rows), ["a", "c"]);
    for file in ["team/b.json", "team/d.json"] {
        assert!(ran.stderr.contains(file), "{}", ran.stderr);
    }
}

#[test]
fn missing_and_empty_definitions_are_told_apart() {
    let test = Test::new()
        .file("empty/README.md", "")
        .file("outer/inner/a.json", "{}");
    // The lockfile of the working folder is that of another definition.
    test.prints("lock --target host --k8s 1.36.0");
    for (line, said) in [
        ("plan --config empty", "the folder empty has no"),
        ("plan --config outer", "the folder outer has no"),
        ("lock --config empty", "the folder empty has no"),
        ("build --no-bake --config empty", "the folder empty has no"),
        ("list images", "there is no imagegen.json in the working"),
        ("plan --all", "there is no imagegen.json in the working"),
        ("list images --config empty", "the folder empty has no"),
        ("plan --all --config empty", "the folder empty has no"),
        ("plan --config team#1/x.json", "reading team#1/x.json"),
    ] {
        let ran = test.run_with(line);
        assert_eq!(ran.code, Some(3), "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{line}: {}", ran.stderr);
    }
}

#[cfg(unix)]
#[test]
fn no_entry_of_a_folder_is_left_out_silently() {
    let test = Test::new()
        .file("team/a.json", GOOD)
        .file("team/a.lock.json", "{}")
        .file("team/B.JSON", GOOD)
        .file("team/c.yaml", "target: host")
        .file("team/README.md", "")
        .file("team/sub/d.json", GOOD)
        .file("team/steps/905-own.json", r#"{"id": "own"}"#)
        .file("team/.hidden.json", "{");
    let link = test.folder.join("team/link.json");
    std::os::unix::fs::symlink("nothing.json", link).expect("link");
    let pipe = test.folder.join("team/pipe.json");
    let made = Command::new("mkfifo").arg(pipe).status().expect("mkfifo");
    assert!(made.success());

    let ran = test.run_with("list images --config team");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stdout.starts_with("a "), "{}", ran.stdout);
    for said in [
        "error: team/B.JSON: the name of a definition ends in `.json`",
        "error: team/link.json: it is a link that leads to no file",
        "error: team/pipe.json: it is a device, pipe or socket",
        "warning: team/c.yaml is not read",
        "warning: the definitions in team/sub are not read",
    ] {
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
    }
    for other in ["README.md", "steps", "hidden", "a.lock.json"] {
        assert!(!ran.stderr.contains(other), "{other}: {}", ran.stderr);
    }
    let ran = test.run_with("list images --config team -v");
    assert!(
        ran.stderr.contains("team: not read: README.md, steps"),
        "{}",
        ran.stderr
    );
}

/// A name of `images` is refused by the same type.
#[test]
fn a_file_names_its_image_as_images_could() {
    let long = "x".repeat(81);
    let names = [
        "x\ny", "con", "a:b", "dot.", "trail ", "--all", "a b", &long,
    ];
    for name in names {
        let test = Test::new().file(&format!("team/{name}.json"), GOOD);
        let ran = test.run_with("list images --config team");
        assert_eq!(ran.code, Some(3), "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains("rename the file"), "{}", ran.stderr);

        let images = serde_json::json!({ "images": { name: {} } });
        let test = Test::new().file("imagegen.json", &images.to_string());
        let ran = test.run_with("list images");
        assert_eq!(ran.code, Some(3), "{name}: {}", ran.stderr);
        let is_refused = ran.stderr.contains("name of an image");
        let has_control = ran.stderr.contains("control character");
        assert!(is_refused || has_control, "{}", ran.stderr);
    }
    let longest = "x".repeat(80);
    let test = Test::new().file(&format!("team/{longest}.json"), GOOD);
    let rows = test.prints_json("list images --config team --format json");
    assert_eq!(list_names(&rows), [longest.as_str()]);
    test.prints("lock --all --config team");
    test.prints("build --all --no-bake --config team");
}
