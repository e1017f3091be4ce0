//! Many images of one repository: a matrix, several at once, and what is said of those that fail.

mod failures;
mod folders;
mod warnings;

use imagegen::base::digest::sha256_hex;
use serde_json::{Value, json};

use crate::support::{Test, files};

const MATRIX: &str = r#"{
    "hostAccess": "services",
    "matrix": {
        "target": ["host", "media"], "windows": ["2022", "2025"], "kubernetes": ["1.36.0", "1.36.4"],
        "exclude": [{"target": "media"}, {"windows": "2022", "kubernetes": "1.36.4"}],
        "include": [{"target": "host", "windows": "2019", "kubernetes": "1.20.0"}]
    },
    "images": {
        "host-2022-1.36.0": {"cni": "flannel-hostgw"},
        "own": {"target": "host", "windows": "2022", "kubernetes": "1.36.0"}
    }
}"#;

fn list_names(rows: &Value) -> Vec<&str> {
    let rows = rows["items"].as_array().expect("rows").iter();
    rows.map(|row| row["name"].as_str().expect("a name"))
        .collect()
}

#[test]
fn a_matrix_gives_an_image_for_every_combination() {
    let test = Test::new().file("imagegen.json", MATRIX);
    let rows = test.prints_json("list images --format json");
    assert_eq!(
        list_names(&rows),
        [
            "host-2019-1.20.0",
            "host-2022-1.36.0",
            "host-2025-1.36.0",
            "host-2025-1.36.4",
            "own"
        ]
    );
    let rows = &rows["items"];
    assert_eq!(rows[0]["lock"], "imagegen.host-2019-1.20.0.lock.json");
    assert_eq!(rows[0]["target"], "host");

    let plans = test.prints_json("plan --all --format json");
    let selection = |name: &str, field: &str| plans["images"][name]["selection"][field].clone();
    assert_eq!(selection("host-2022-1.36.0", "cni"), "flannel-hostgw");
    assert_ne!(selection("host-2025-1.36.0", "cni"), "flannel-hostgw");
    assert_eq!(selection("host-2019-1.20.0", "hostAccess"), "services");
    assert_eq!(selection("host-2025-1.36.4", "windows"), "2025");
    test.prints("lock host-2025-1.36.0 host-2019-1.20.0");
    let lock = test.text("imagegen.host-2025-1.36.0.lock.json");
    assert!(!lock.contains("matrix"), "{lock}");
    test.prints("plan host-2025-1.36.0 --locked");
}

/// `--quiet` leaves out what work says of itself, of one image and of many; what was asked for comes.
#[test]
fn quiet_work_is_silent_and_questions_are_answered() {
    let test = Test::new().file("imagegen.json", MATRIX);
    assert_eq!(test.prints("build --all --no-bake --quiet"), "");
    assert_eq!(test.prints("lock own --quiet"), "");
    let built = test.prints_json("build --all --no-bake --quiet --format json");
    assert!(built["images"]["own"]["files"].is_object(), "{built}");
    let plan = test.prints("plan own --quiet");
    assert!(plan.contains("kubernetes-node"), "{plan}");
}

#[test]
fn a_matrix_that_cannot_be_meant_is_refused() {
    for (matrix, said) in [
        (json!({}), "`matrix` combines nothing"),
        (json!({"windows": []}), "`matrix.windows` is an empty list"),
        (
            json!({"windows": ["2022", ""]}),
            "`matrix.windows[1]` is an empty text",
        ),
        (
            json!({"windows": ["2022", "2022"]}),
            "`matrix.windows` has `2022` twice",
        ),
        (
            json!({"kubernetes": ["1.36", "v1.36"]}),
            "`matrix.kubernetes` has `v1.36` twice",
        ),
        (
            json!({"kubernetes": ["v1.36"], "include": [{"kubernetes": "1.36"}]}),
            "`matrix.include[0]` is `1.36`, which is there already",
        ),
        (
            json!({"kubernetes": ["v1.36"], "exclude": [{"kubernetes": "1.36"}]}),
            "`matrix` combines nothing",
        ),
        (
            json!({"target": ["a", "a-1"], "cni": ["1-b", "b"]}),
            "`matrix` gives the name `a-1-b` to target a, cni 1-b and to target a-1, cni b",
        ),
        (
            json!({"windows": ["2022"], "exclude": [{"windows": "2019"}]}),
            "`matrix.exclude[0]` leaves no image out",
        ),
        (
            json!({"windows": ["2022"], "exclude": [{}]}),
            "`matrix.exclude[0]` leaves no image out",
        ),
        (
            json!({"windows": ["2022"], "exclude": [{"windows": "2022"}]}),
            "`matrix` combines nothing",
        ),
        (
            json!({"windows": ["2022"], "include": [{"windows": "2022"}]}),
            "`matrix.include[0]` is `2022`, which is there already",
        ),
        (
            json!({"windows": ["2022"], "include": [{}]}),
            "`matrix.include[0]` has no value",
        ),
        (json!({"runtime": ["rkt"]}), "rkt"),
        (json!({"colour": ["red"]}), "colour"),
        (json!({"windows": ["../2022"]}), "../2022"),
    ] {
        let definition = json!({"target": "host", "kubernetes": "1.36.0", "matrix": matrix});
        Test::new()
            .file("imagegen.json", &definition.to_string())
            .line("list images")
            .fails(3, &["imagegen.json", said]);
    }
    let definition = json!({"matrix": {"windows": ["2022"], "exclude": [{"windows": "2019"}]}});
    Test::new()
        .file("imagegen.json", &definition.to_string())
        .line("list images")
        .fails(3, &["hint: remove the entry"]);
    let definition = json!({"matrix": {"windows": ["2022"], "exclude": [{"windows": "2022"}]}});
    Test::new()
        .file("imagegen.json", &definition.to_string())
        .line("list images")
        .fails(
            3,
            &[
                "`exclude` leaves every image out",
                "hint: remove an entry of `exclude`",
            ],
        );
    let values: Vec<String> = (0..101).map(|number| number.to_string()).collect();
    let matrix = json!({"windows": values, "kubernetes": values});
    Test::new()
        .file("imagegen.json", &json!({ "matrix": matrix }).to_string())
        .line("list images")
        .fails(3, &["more than 10000 images"]);
    let nested = json!({"images": {"a": {"matrix": {"windows": ["2022"]}}}});
    Test::new()
        .file("imagegen.json", &nested.to_string())
        .line("list images")
        .fails(3, &["`images.a.matrix`", "directly below `images`"]);
}

/// Each entry leaves images of the whole matrix out, whatever another one leaves out.
#[test]
fn entries_that_leave_images_out_may_overlap() {
    for exclude in [
        json!([{"windows": "2022"}, {"windows": "2022", "kubernetes": "1.35"}]),
        json!([{"windows": "2022", "kubernetes": "1.35"}, {"windows": "2022"}]),
    ] {
        let matrix = json!({"windows": ["2022", "2025"], "kubernetes": ["1.35", "1.36"], "exclude": exclude});
        let definition = json!({"target": "host", "matrix": matrix});
        let test = Test::new().file("imagegen.json", &definition.to_string());
        let rows = test.prints_json("list images --format json");
        assert_eq!(list_names(&rows), ["2025-1.35", "2025-1.36"]);
    }
}

/// macOS writes `._NAME` beside each file on volumes of others, and editors have hidden files, too.
#[test]
fn hidden_files_of_a_folder_are_no_definitions() {
    let test = Test::new()
        .file(
            "images/a.json",
            r#"{"target": "host", "kubernetes": "1.36"}"#,
        )
        .bytes("images/._a.json", b"\x00\x05\x16\x07Mac OS X")
        .file("images/.a.json", "{");
    let rows = test.prints_json("list images --config images --format json");
    assert_eq!(list_names(&rows), ["a"]);
}

/// A folder with `count` definitions, of which every seventh is wrong.
fn folder(count: usize) -> Test {
    (0..count).fold(Test::new(), |test, number| {
        let release = if number % 7 == 3 { "1.99.0" } else { "1.36.0" };
        let definition = json!({"target": "host", "kubernetes": release, "hostAccess": "services"});
        test.file(
            &format!("images/node-{number:03}.json"),
            &definition.to_string(),
        )
    })
}

/// Whatever ends first, the output is that of one image after the other.
#[test]
fn several_images_at_once_print_what_one_after_the_other_does() {
    let test = folder(22);
    for line in [
        "plan --config images --all",
        "plan --config images --all --format json",
        "build --config images --all --no-bake --out o",
    ] {
        let one = test.run_with(&format!("{line} --jobs 1"));
        let several = test.run_with(&format!("{line} --jobs 5"));
        assert_eq!(one.code, Some(3), "{}", one.stderr);
        assert_eq!(several.code, Some(3), "{}", several.stderr);
        assert_eq!(one.stdout, several.stdout, "{line}");
        assert_eq!(one.stderr, several.stderr, "{line}");
        assert!(
            one.stderr.contains("3 of 22 images failed:"),
            "{}",
            one.stderr
        );
        for said in ["error: node-003: ", "\n  node-017: "] {
            let is_text = !line.ends_with("json");
            assert_eq!(one.stderr.contains(said), is_text, "{}", one.stderr);
        }
    }
    let one = files(&test.folder.join("o/node-000"));
    assert_eq!(one, files(&test.folder.join("o/node-021")));
    assert!(one.len() > 5 && !test.exists("o/node-003"));
    let plans = test.run_with("plan --config images --all --format json");
    let plans: Value = serde_json::from_str(&plans.stdout).expect("one object");
    let plans = &plans["images"];
    assert_eq!(plans.as_object().map(serde_json::Map::len), Some(19));
}

#[test]
fn no_image_is_begun_after_a_failure_that_ends_the_run() {
    let test = folder(22);
    for (line, failed) in [
        (
            "--jobs 1 --fail-fast",
            "1 of 22 images failed, 18 were not begun:",
        ),
        ("--jobs 1 --keep-going", "3 of 22 images failed:"),
    ] {
        let ran = test.run_with(&format!("plan --config images --all {line}"));
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        assert!(ran.stderr.contains(failed), "{}", ran.stderr);
    }
    for jobs in ["0", "65", "x"] {
        let line = format!("plan --config images --all --jobs {jobs}");
        assert_eq!(test.run_with(&line).code, Some(3), "{jobs}");
    }
}

/// The exit code says what is worst, not what came first.
#[test]
fn the_exit_code_is_that_of_the_worst_failure() {
    let good = r#"{"target": "host", "kubernetes": "1.36.0", "hostAccess": "services"}"#;
    let test = Test::new()
        .file("images/a.json", &good.replace("1.36.0", "1.99.0"))
        .file("images/b.json", good)
        .file("images/c.json", good)
        .file("o/b/mine", "a file of the user's");
    for jobs in [1, 3] {
        let line = format!("build --config images --all --no-bake --out o --jobs {jobs}");
        let ran = test.run_with(&line);
        assert_eq!(ran.code, Some(6), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("2 of 3 images failed:\n  a: "),
            "{}",
            ran.stderr
        );
    }
}

/// A command line that bakes the images `one` and `two`, and what Packer does in its build.
fn two_bakes(packer: &str) -> Test {
    let ready = "build one two --out o --var location=westeurope \
                 --var managed_image_resource_group_name=rg";
    let plan = "plan --target azure --k8s 1.20.0 --host-access services";
    let (manifest, report) = (crate::bake::MANIFEST, crate::bake::REPORT);
    let script = format!("[ \"$1\" = build ] || exit 0\n{packer}\n{manifest}\n{report}");
    let definition = json!({
        "target": "azure", "kubernetes": "1.20.0", "hostAccess": "services",
        "images": {"one": {}, "two": {}},
    });
    crate::bake::with_packer_for(&script, ready, plan)
        .file("imagegen.json", &definition.to_string())
}

/// Bakes at once: each has its log, and each line the name of its image.
#[test]
fn bakes_at_once_have_their_own_logs_and_prefixes() {
    let test = two_bakes("echo \"==> built in $PWD\"").line("--jobs 2");
    let ran = test.succeeds();
    for name in ["one", "two"] {
        assert!(test.exists(&format!("o/{name}/image.json")));
        let log = test.text(&format!("o/{name}/packer.log"));
        assert_eq!(log.matches("built in").count(), 1, "{log}");
        assert!(
            ran.stderr.contains(&format!("{name} | built in ")),
            "{}",
            ran.stderr
        );
    }
    assert_eq!(ran.stdout.matches("/subscriptions/s/images/i").count(), 2);
    assert!(ran.stdout.find("# one") < ran.stdout.find("# two"));
}

/// A bake completes the lock with the members of archives, and the image still counts as built from its lockfile.
#[test]
fn a_baked_image_is_not_listed_as_unbuilt() {
    let packer = "[ \"$1\" = build ] || exit 0\n";
    let script = format!("{packer}{}\n{}", crate::bake::MANIFEST, crate::bake::REPORT);
    let ready = "build one --locked --out o --var location=westeurope \
                 --var managed_image_resource_group_name=rg";
    let plan = "plan --target azure --k8s 1.20.0 --host-access services";
    let definition = json!({
        "target": "azure", "kubernetes": "1.20.0", "hostAccess": "services",
        "images": {"one": {}, "two": {}},
    });
    let test = crate::bake::with_packer_for(&script, ready, plan)
        .file("imagegen.json", &definition.to_string());
    let network = "--offline --store store --overrides overrides.json";
    test.bare().prints(&format!("lock one {network}"));
    test.succeeds();
    let record: Value = serde_json::from_str(&test.text("o/image.json")).expect("JSON");
    let lockfile = sha256_hex(&test.read("imagegen.one.lock.json"));
    assert_eq!(record["lockfile"], lockfile);
    assert_ne!(record["lock"], lockfile);

    let listed = test
        .bare()
        .prints("list images --unbuilt --from o --format json");
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    assert_eq!(list_names(&listed), ["two"]);

    // A checkout on Windows has other line ends, and the image is the same.
    let lock = test.text("imagegen.one.lock.json");
    let test = test.file("imagegen.one.lock.json", &lock.replace('\n', "\r\n"));
    let listed = test
        .bare()
        .prints("list images --unbuilt --from o --format json");
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    assert_eq!(list_names(&listed), ["two"]);
    let test = test.file("imagegen.one.lock.json", &lock);

    // Values of build time are no part of a lockfile: of two images that have the same, one is built.
    let test = test.file("imagegen.two.lock.json", &lock);
    let listed = test
        .bare()
        .prints("list images --unbuilt --from o --format json");
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    assert_eq!(list_names(&listed), ["two"]);
    let mut renamed = record.clone();
    renamed["image"] = json!("two");
    let test = test.file("o/builds/second/image.json", &renamed.to_string());
    let listed = test
        .bare()
        .prints("list images --unbuilt --from o --format json");
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    assert_eq!(list_names(&listed), [""; 0]);
}

#[test]
fn an_image_of_several_has_its_own_workspace_however_it_is_named() {
    let test = Test::new().file("imagegen.json", MATRIX);
    test.prints("build --config imagegen.json#own --no-bake -q");
    test.prints("build --config imagegen.json#host-2022-1.36.0 --no-bake -q");
    for name in ["own", "host-2022-1.36.0"] {
        assert!(
            test.folder.join("imagegen-out").join(name).is_dir(),
            "{name}"
        );
    }
}

#[test]
fn an_image_that_is_named_twice_is_built_once() {
    let test = Test::new().file("imagegen.json", MATRIX);
    test.prints("build own own own --no-bake --jobs 3 -q");
    let plans = test.prints("plan own own host-2025-1.36.0 --format json");
    assert_eq!(plans.matches("\"own\":").count(), 1, "{plans}");
}

#[test]
fn an_error_of_one_of_several_images_names_it() {
    let test = Test::new().file(
        "imagegen.json",
        r#"{"matrix": {"windows": ["2022", "2025"]}}"#,
    );
    let output = test.line("plan --all --format json").fails(3, &[]);
    let errors: Vec<Value> = output
        .stderr
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(|line: &Value| line["schema"] == "imagegen.dev/error/v1")
        .collect();
    let images: Vec<&Value> = errors.iter().map(|error| &error["image"]).collect();
    assert_eq!(images[..2], [&json!("2022"), &json!("2025")], "{errors:?}");
}

#[test]
fn an_empty_variable_of_the_environment_says_nothing() {
    for name in [
        "FORMAT",
        "VERBOSE",
        "MANIFESTS",
        "TARGETS",
        "STEPS",
        "MIRROR",
        "WAIVE",
    ] {
        Test::new()
            .env(&format!("IMAGEGEN_{name}"), "")
            .prints("plan --target host --k8s 1.36.0");
    }
}

#[test]
fn a_mirror_without_a_url_or_beside_another_is_refused() {
    for (line, said) in [
        (
            "--mirror https://github.com/=",
            "no URL follows `https://github.com/=`",
        ),
        (
            "--mirror https://a.example --mirror https://b.example",
            "two mirrors for `https://`",
        ),
    ] {
        let line = format!("plan --target host --k8s 1.36.0 {line}");
        Test::new().line(&line).fails(3, &[said]);
    }
}

/// `--target` gives an image a workspace of its own, whose name another image may have.
#[test]
fn no_image_takes_the_workspace_of_another() {
    let definition = r#"{"kubernetes": "1.36.0", "images": {"n": {"target": "host"}, "n.azure": {"target": "azure"}}}"#;
    let said = "imagegen.json#n and imagegen.json#n.azure would have the same workspace: imagegen-out/n.azure";
    for line in [
        "build n --target azure --no-bake",
        "render --all --target azure",
    ] {
        let test = Test::new().file("imagegen.json", definition);
        test.line(line).fails(3, &[said, "`--out FOLDER`"]);
    }
    let test = Test::new().file("imagegen.json", definition);
    test.prints("build n --target azure --no-bake --out other");
    test.prints("build n --target media --no-bake");
    assert!(test.exists("imagegen-out/n.media/guest-plan.json"));
}

#[test]
fn a_name_is_explained_in_a_repository_of_many_images() {
    let images: Vec<String> = (10..40)
        .map(|number| {
            format!(
                r#""n{number}": {{"target": "host", "kubernetes": "1.36.{}"}}"#,
                number % 2
            )
        })
        .collect();
    let definition = format!(r#"{{"images": {{{}}}}}"#, images.join(", "));
    let test = Test::new().file("imagegen.json", &definition);
    let ran = test.bare().run("explain kubelet-socket-left");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("of the image imagegen.json#n10"),
        "{}",
        ran.stderr
    );
    // What is about one image asks for it, without a line of all of them.
    test.line("join-data --k8s 1.36.1 --endpoint a.example:6443 --as ps1")
        .fails(3, &["n19, and 20 more", "--config imagegen.json#n10"]);
}
