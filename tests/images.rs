//! Many images of one definition or folder, and what helps to write and to type: `init`, completions, manual pages,
//! environment variables of flags.

mod init;

use serde_json::{Value, json};

use crate::support::{Test, files};

const DEFINITION: &str = r#"{
    "note": "Two releases of one line",
    "target": "host", "hostAccess": "services",
    "containerImages": [],
    "images": {
        "new": { "note": { "windows": "the newest" }, "kubernetes": "1.36.0", "windows": "2025" },
        "old": { "kubernetes": "1.20.0", "windows": "2019" }
    }
}"#;

fn several() -> Test {
    Test::new().file("imagegen.json", DEFINITION)
}

#[test]
fn each_image_has_its_lock_and_workspace() {
    let test = several();
    assert_eq!(test.prints("lock --all").matches("# ").count(), 2);
    for (name, release) in [("new", "1.36.0"), ("old", "1.20.0")] {
        let lock = test.text(&format!("imagegen.{name}.lock.json"));
        assert!(
            lock.contains(&format!(r#""kubernetes": "{release}""#)),
            "{lock}"
        );
        assert!(!lock.contains("\"note\""), "{lock}");
        assert!(
            test.prints(&format!("plan {name} --locked"))
                .contains(&format!("Kubernetes {release}"))
        );
    }
    test.prints("build --all --locked --no-bake");
    assert!(
        test.exists("imagegen-out/new/guest-plan.json")
            && test.exists("imagegen-out/old/guest-plan.json")
    );
    test.prints("build new old --no-bake --out o");
    assert!(test.exists("o/new/guest-plan.json") && test.exists("o/old/guest-plan.json"));
    test.prints("build new --no-bake --out one");
    assert!(test.exists("one/guest-plan.json"));
    test.prints("render old");
    assert!(!test.exists("imagegen.lock.json"));
    let plans = test.prints_json("plan --all --format json");
    let plans = &plans["images"];
    assert_eq!(plans["new"]["kubernetes"], "1.36.0");
    assert_eq!(plans["old"]["selection"]["windows"], "2019");
    assert_eq!(
        test.prints_json("plan new --format json")["kubernetes"],
        "1.36.0"
    );
    let fragment = test.prints_json("plan --config imagegen.json#old --format json");
    assert_eq!(fragment["kubernetes"], "1.20.0");
    assert!(
        test.prints("explain kubelet --config imagegen.json#old")
            .contains("kubelet")
    );
    test.prints("list targets");
    // Flags are over every image.
    assert_eq!(
        test.prints_json("plan --all --cni win-bridge --ignore-lock --format json")["images"]["old"]
            ["selection"]["cni"],
        "win-bridge"
    );
}

/// A build with and without `--all`, and the matrix of a pipeline.
#[test]
fn a_definition_has_one_workspace_however_it_is_built() {
    let definition = r#"{"target": "azure", "kubernetes": "1.36.0"}"#;
    for (file, config) in [
        ("imagegen.json", ""),
        ("images/node.json", "--config images/node.json"),
        ("images/node.json", "--config images"),
    ] {
        let mut workspaces = Vec::new();
        for line in [
            "build --no-bake",
            "build --all --no-bake",
            "render",
            "render --all",
        ] {
            let test = Test::new().file(file, definition);
            let rows = test.prints_json(&format!("list images {config} --format json"));
            let workspace = rows["items"][0]["workspace"].as_str().expect("a path");
            test.prints(&format!("{line} {config}"));
            assert!(
                test.exists(&format!("{workspace}/guest-plan.json")),
                "{line} {config}: {workspace}"
            );
            let made = std::fs::read_dir(test.folder.join("imagegen-out"));
            assert_eq!(made.expect("a folder").count(), 1, "{line} {config}");
            workspaces.push(workspace.to_owned());
        }
        workspaces.dedup();
        assert_eq!(workspaces.len(), 1, "{workspaces:?}");
    }

    // Another target has a workspace of its own, as it has a lockfile of its own; flags alone have no name.
    let test = Test::new().file("imagegen.json", definition);
    test.prints("render --target host --windows 2022");
    assert!(test.exists("imagegen-out/host-2022-k8s-1.36.0/guest-plan.json"));
    let test = several();
    let files = ["new", "old"].map(|name| format!("imagegen-out/{name}/guest-plan.json"));
    test.prints("render --all");
    let before = files.each_ref().map(|file| test.text(file));
    for line in ["render --all --target qemu", "render new --target qemu"] {
        test.prints(line);
        assert!(
            test.exists("imagegen-out/new.qemu/guest-plan.json"),
            "{line}"
        );
        assert_eq!(
            files.each_ref().map(|file| test.text(file)),
            before,
            "{line}"
        );
    }
    let test = Test::new();
    test.prints("render --target azure --k8s 1.20.0");
    assert!(test.exists("imagegen-out/azure-2019-k8s-1.20.0/guest-plan.json"));
}

/// It is no address with a user.
#[test]
fn a_name_is_quoted_whole() {
    for (name, quoted) in [
        ("x@y", "`x@y` is not the name"),
        ("https://u@y", "`https://y` is not the name"),
    ] {
        let definition = json!({"target": "host", "images": {name: {}}});
        Test::new()
            .file("imagegen.json", &definition.to_string())
            .line("list images")
            .fails(3, &[quoted]);
    }
}

#[test]
fn a_pipeline_gets_its_matrix() {
    let rows = &several().prints_json("list images --format json")["items"];
    assert_eq!(
        rows[0],
        json!({
            "name": "new", "config": "imagegen.json#new", "target": "host", "windows": "2025", "kubernetes": "1.36.0",
            "lock": "imagegen.new.lock.json", "workspace": "imagegen-out/new",
        })
    );
    assert_eq!(rows[1]["name"], "old");
    let folder = Test::new()
        .file("images/a.json", r#"{"target": "host", "kubernetes": "1.36.0", "hostAccess": "services"}"#)
        .file(
            "images/b.json",
            r#"{"target": "host", "hostAccess": "services", "images": {"c": {"kubernetes": "1.20.0"}}}"#,
        )
        .file("images/README.md", "Two definitions");
    let names: Vec<Value> =
        folder.prints_json("list images --config images --format json")["items"]
            .as_array()
            .expect("rows")
            .iter()
            .map(|row| row["config"].clone())
            .collect();
    assert_eq!(names, ["images/a.json", "images/b.json#c"]);
    folder.prints("lock --config images --all");
    assert!(folder.exists("images/a.lock.json") && folder.exists("images/b.c.lock.json"));
    folder.prints("plan --config images c --locked");
    assert_eq!(
        folder.prints_json("list images --config images --format json")["items"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
}

/// Names with dots: the lockfile of one image is another's, in one folder or in files that are named one by one.
#[test]
fn two_images_have_no_lockfile_in_common() {
    let host = r#"{"target": "host", "kubernetes": "1.36.0"}"#;
    let several = |name: &str| format!(r#"{{"images": {{"{name}": {host}}}}}"#);
    let test = || {
        Test::new()
            .file("d/a.json", &several("b.c"))
            .file("d/a.b.json", &several("c"))
    };
    let said = "would have the same lockfile: d/a.b.c.lock.json";
    let both = "d/a.json#b.c and d/a.b.json#c";
    for line in ["plan --config d --all", "list images --config d"] {
        test().line(line).fails(3, &[said, both]);
    }
    for (line, pair) in [
        ("lock --config d/a.json", "d/a.json#b.c and d/a.b.json#c"),
        ("lock --config d/a.b.json", "d/a.b.json#c and d/a.json#b.c"),
    ] {
        test().line(line).fails(3, &[said, pair]);
    }
    // A neighbor that is no definition has no lockfile.
    let alone = test().file("d/a.json", "[]");
    alone.prints("lock --config d/a.b.json");
}

/// `lock a --target azure` would write the lockfile of the image `a.azure`.
#[test]
fn the_lockfile_for_another_target_is_no_other_images() {
    let definition = r#"{"kubernetes": "1.36.0", "images": {"a": {"target": "host"}, "a.azure": {"target": "azure"}}}"#;
    let test = Test::new().file("imagegen.json", definition);
    test.prints("lock --all");
    let azure = test.text("imagegen.a.azure.lock.json");
    test.line("lock a --target azure").fails(
        3,
        &["imagegen.json#a and imagegen.json#a.azure would have the same lockfile: imagegen.a.azure.lock.json"],
    );
    let test = Test::new()
        .file("imagegen.json", definition)
        .file("imagegen.a.azure.lock.json", &azure);
    // It is not read as that of `a` either.
    test.line("plan a --target azure --locked")
        .fails(3, &["imagegen.a.lock.json"]);
}

#[test]
fn names_are_files_on_every_system() {
    for (names, said) in [
        (
            r#""edge": {}, "Edge": {}"#,
            "imagegen.json#Edge and imagegen.json#edge differ in case alone",
        ),
        (r#""con": {}"#, "con"),
        (r#""aux.new": {}"#, "aux.new"),
    ] {
        let definition = format!(r#"{{"target": "host", "images": {{{names}}}}}"#);
        let test = Test::new().file("imagegen.json", &definition);
        test.line("plan --all").fails(3, &[said]);
    }
}

/// Verbs for one image name it as they take it.
#[test]
fn the_hint_for_several_images_fits_the_verb() {
    for (line, hint) in [
        (
            "report imagegen.json",
            "hint: name one: `imagegen.json#new`\n",
        ),
        (
            "sbom imagegen.json",
            "hint: name one: `imagegen.json#new`\n",
        ),
        (
            "diff imagegen.json imagegen.json",
            "hint: name one: `imagegen.json#new`\n",
        ),
        ("doctor", "hint: name one: `--config imagegen.json#new`\n"),
    ] {
        let ran = several().line(line).run();
        assert_eq!(ran.code, Some(3), "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains(hint), "{line}: {}", ran.stderr);
        assert!(!ran.stderr.contains("--all"), "{line}: {}", ran.stderr);
    }
}

#[test]
fn more_words_name_the_lockfile_of_each_image() {
    let test = several();
    test.prints("lock new");
    for (line, lines) in [
        (
            "plan new -v",
            ["lockfile beside it: imagegen.new.lock.json\n"].as_slice(),
        ),
        (
            "plan --all -v",
            &[
                "lockfile beside it: imagegen.new.lock.json\n",
                "lockfile beside it: none (imagegen.old.lock.json)\n",
            ],
        ),
    ] {
        let said = test.bare().run(line).stderr;
        assert_eq!(
            said.matches("lockfile beside it").count(),
            lines.len(),
            "{said}"
        );
        for line in lines {
            assert!(said.contains(line), "{line}: {said}");
        }
    }
}

#[test]
fn names_that_cannot_be_meant_are_refused() {
    let refused = |line: &str, said: &[&str]| {
        several().line(line).fails(3, said);
    };
    refused(
        "plan",
        &[
            "imagegen.json defines several images: new, old",
            "add `--all`",
            "--config imagegen.json#new",
        ],
    );
    refused("plan nwe", &["unknown image `nwe`", "did you mean `new`?"]);
    refused("plan --config imagegen.json#x", &["unknown image `x`"]);
    refused(
        "plan --config imagegen.json#old new",
        &["unknown image `new`"],
    );
    refused("plan --all --lock l.json", &["`--lock` names one lockfile"]);
    several().line("plan new --all").fails(2, &["--all"]);
    Test::new()
        .line("plan --all")
        .fails(3, &["no image is defined"]);
    for (definition, said) in [
        (r#"{"images": {"a/b": {"target": "host"}}}"#, "images"),
        (
            r#"{"images": {"a": {"images": {"b": {}}}}}"#,
            "an image has no images",
        ),
        (r#"{"images": {"a": {"taget": "host"}}}"#, "taget"),
        (r#"{"images": "a"}"#, "images"),
        (r#"{"note": 5}"#, "note"),
    ] {
        Test::new()
            .file("imagegen.json", definition)
            .line("plan --all")
            .fails(3, &["imagegen.json", said]);
    }
    let twice = Test::new()
        .file("d/a.json", r#"{"images": {"x": {"target": "host"}}}"#)
        .file("d/b.json", r#"{"images": {"x": {"target": "host"}}}"#);
    twice
        .line("list images --config d")
        .fails(3, &["`x` is in d/a.json and d/b.json"]);
}

/// One image that fails is named, and the others are done.
#[test]
fn an_image_that_fails_does_not_keep_the_others() {
    let test = several()
        .file("imagegen.json", &DEFINITION.replace("1.36.0", "1.99.0"))
        .line("lock --all");
    let ran = test.fails(
        3,
        &[
            "error: new: ",
            "unknown Kubernetes version `1.99.0`",
            "1 of 2 images failed:\n  new: ",
        ],
    );
    assert!(ran.stdout.contains("# old"), "{}", ran.stdout);
    assert!(test.exists("imagegen.old.lock.json") && !test.exists("imagegen.new.lock.json"));
}

/// `FILE#NAME` is a definition of one image for every verb.
#[test]
fn a_named_image_of_a_file_is_a_definition_of_its_own() {
    let rows = several().prints_json("list images --config imagegen.json#old --format json");
    let rows = &rows["items"];
    assert_eq!(rows.as_array().map(Vec::len), Some(1), "{rows}");
    let plans = several().prints_json("plan --all --config imagegen.json#old --format json");
    let plans = plans["images"].as_object();
    let names: Vec<&String> = plans.expect("images by name").keys().collect();
    assert_eq!(names, ["old"]);
}

/// Images that bring folders of their own get those, and images without get none of them.
#[test]
fn images_of_one_run_have_their_own_folders() {
    let step = r#"{"id": "mark", "summary": "A mark", "phase": "install", "resources": [
        {"name": "mark", "type": "directory", "source": "derived: a test", "properties": {"path": "{{ paths.kubernetes }}\\mark", "ensure": "present"}}]}"#;
    let definition = r#"{"target": "host", "kubernetes": "1.36.0", "hostAccess": "services", "images": {
        "bare": {}, "marked": {"steps": ["own"]}, "too": {"steps": ["own"]}}}"#;
    let test = Test::new()
        .file("imagegen.json", definition)
        .file("own/905-mark.json", step);
    test.prints("render --all");
    for (name, is_marked) in [("bare", false), ("marked", true), ("too", true)] {
        let plan = test.text(&format!("imagegen-out/{name}/guest-plan.json"));
        assert_eq!(plan.contains("\\mark"), is_marked, "{name}");
    }
}

/// Container images were a list under this name once.
#[test]
fn a_list_of_images_is_that_of_container_images() {
    let image = format!(
        "mcr.microsoft.com/windows/nanoserver@sha256:{}",
        "a".repeat(64)
    );
    for key in ["images", "containerImages"] {
        let definition = json!({ "target": "host", "kubernetes": "1.36.0", key: [image.clone()] });
        let test = Test::new().file("imagegen.json", &definition.to_string());
        let plan = test.prints_json("plan --format json");
        assert_eq!(
            plan["selection"]["containerImages"][0],
            image.as_str(),
            "{key}"
        );
    }
}

#[test]
fn shells_complete_verbs_and_flags() {
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = Test::new()
            .line(&format!("completions {shell}"))
            .succeeds()
            .stdout;
        assert!(script.contains("IMAGEGEN_COMPLETE"), "{shell}: {script}");
    }
    Test::new().line("completions tcsh").fails(3, &["tcsh"]);
}

#[test]
fn every_verb_has_a_manual_page() {
    let test = Test::new();
    test.prints("man --out man");
    let pages = files(&test.folder.join("man"));
    for page in [
        "imagegen.1",
        "imagegen-build.1",
        "imagegen-store-gc.1",
        "imagegen-list-images.1",
    ] {
        let content = String::from_utf8_lossy(pages.get(page).unwrap_or_else(|| panic!("{page}")))
            .into_owned();
        assert!(
            content.starts_with(".ie") && content.contains(".SH NAME"),
            "{page}: {content}"
        );
    }
    assert!(!pages.keys().any(|page| page.contains("-help")));
}

/// An empty matrix would build nothing, and succeed.
#[test]
fn images_that_nobody_defined_are_no_empty_list() {
    Test::new()
        .line("list images")
        .fails(3, &["there is no imagegen.json", "imagegen init"]);
    Test::new()
        .file("d/note.txt", "x")
        .line("list images --config d")
        .fails(3, &["the folder d has no definition"]);
}

#[test]
fn flags_of_every_verb_have_environment_variables() {
    let test = several().env("IMAGEGEN_FORMAT", "json");
    let rows: Value =
        serde_json::from_str(&test.line("list images").succeeds().stdout).expect("JSON");
    assert_eq!(rows["items"][0]["name"], "new");
    let listed = |name: &str, value: &str| several().env(name, value).line("list images");
    listed("IMAGEGEN_FORMAT", "yaml").fails(3, &["yaml"]);
    listed("IMAGEGEN_VERBOSE", "1").succeeds();
    listed("IMAGEGEN_QUIET", "true").succeeds();
    listed("IMAGEGEN_QUIET", "0").succeeds();
    listed("IMAGEGEN_QUIET", "maybe").fails(3, &["maybe"]);
    listed("IMAGEGEN_VERBOSE", "maybe").fails(3, &["maybe"]);
    listed("IMAGEGEN_VERBOSE", "true").succeeds();
    for (variable, flag) in [("IMAGEGEN_QUIET", "-v"), ("IMAGEGEN_VERBOSE", "-q")] {
        for value in ["0", "1", "true"] {
            listed(variable, value).line(flag).succeeds();
        }
    }
    several()
        .line("-q list images -v")
        .fails(2, &["'--quiet' cannot be used with '--verbose...'"]);
    for name in [
        "IMAGEGEN_MANIFESTS",
        "IMAGEGEN_TARGETS",
        "IMAGEGEN_STEPS",
        "IMAGEGEN_COMPONENT_FILES",
    ] {
        Test::new()
            .env(name, "nowhere")
            .line("list targets")
            .fails(3, &["nowhere"]);
    }
    // A flag wins.
    let flag = Test::new()
        .env("IMAGEGEN_FORMAT", "json")
        .line("list targets --format text")
        .succeeds();
    assert!(
        flag.stdout.starts_with("aws") || flag.stdout.starts_with("azure"),
        "{}",
        flag.stdout
    );
}
