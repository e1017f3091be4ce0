//! Variables that decide only how, where and under which name an image is built: one lock serves the laptop and the
//! pipeline, today and tomorrow.

use std::collections::BTreeMap;

use imagegen::catalog::lint_targets;
use imagegen::embedded::Tree;
use imagegen::model::target::Target;
use imagegen::model::variable::DefaultFrom;
use serde_json::{Value, json};

use crate::bake::with_packer;
use crate::support::Test;

const SELECTION: &str = "--target azure --k8s 1.36.0 --host-access services";

fn values(test: &Test) -> Value {
    serde_json::from_str(&test.text("o/imagegen.auto.pkrvars.json")).expect("JSON")
}

fn targets() -> Vec<Target> {
    let packer = Tree::embedded_packer();
    let path = |name: &String| format!("targets/{name}/target.json");
    let read = |name| {
        packer
            .read_json(&path(&name))
            .expect("a target")
            .expect("a file")
    };
    packer
        .list_folders("targets")
        .into_iter()
        .map(read)
        .collect()
}

/// Signs in otherwise, builds elsewhere, publishes more: the lock is the same, byte for byte.
#[test]
fn a_lock_is_the_same_whoever_builds_where() {
    let lock = |test: Test, line: &str| {
        let test = test.line("lock").line(SELECTION).line(line);
        test.succeeds();
        test.text("imagegen.lock.json")
    };
    let plain = lock(Test::new(), "");
    let pipeline = Test::new()
        .env("ARM_CLIENT_SECRET", "s3cret-of-the-test")
        .env("PKR_VAR_vm_size", "Standard_D8s_v5")
        .env("SOURCE_DATE_EPOCH", "1767225600");
    let line = "--var location=westeurope --var output=gallery --var gallery_name=nodes --image-version 1.2.3";
    assert_eq!(plain, lock(pipeline, line));
    for word in [
        "\"auth\"",
        "westeurope",
        "managed_image",
        "gallery_",
        "vm_size",
        "imageVersion",
    ] {
        assert!(!plain.contains(word), "the lock names {word}");
    }
    let other = lock(Test::new(), "--var image_version=20348.2762.241009");
    assert_ne!(plain, other);
    let build = |line: &str| {
        let test = Test::new()
            .file("imagegen.lock.json", &plain)
            .line("build --no-bake --locked --out o");
        test.env("ARM_CLIENT_SECRET", "s3cret-of-the-test")
            .line(SELECTION)
            .line(line)
    };
    build("--var location=northeurope --var vm_size=Standard_D8s_v5 --var gallery_image_version=1.2.3")
        .succeeds();
    build("--var auth=azure_cli --var gallery_end_of_life_date=2030-01-01T00:00:00Z").succeeds();
    build("--image-version 7.0.0").succeeds();
    build("--var os_disk_size_gb=200").fails(3, &["is stale", "os_disk_size_gb"]);
}

#[test]
fn an_image_has_a_name_of_its_own_in_every_build() {
    let built = |test: Test, line: &str| {
        let test = test.line("build --no-bake --out o --var output=managed_image_and_gallery");
        let test = test.line(SELECTION).line(line);
        test.succeeds();
        let values = values(&test);
        ["managed_image_name", "gallery_image_version"]
            .map(|name| values[name].as_str().expect(name).to_owned())
    };
    let dated = built(Test::new().env("SOURCE_DATE_EPOCH", "1795316081"), "");
    assert_eq!(
        dated,
        [
            "windows-2022-k8s-1.36.0-20261122-025441",
            "1036000.20261122.25441"
        ]
    );
    let named = built(
        Test::new().env("SOURCE_DATE_EPOCH", "1795316081"),
        "--image-version 1.36.7",
    );
    assert_eq!(named, ["windows-2022-k8s-1.36.0-1.36.7", "1.36.7"]);
    let given = built(
        Test::new(),
        "--image-version 7.0.1 --var managed_image_name=node",
    );
    assert_eq!(given, ["node", "7.0.1"]);
    let filed = Test::new().file("imagegen.json", r#"{"imageVersion": "7.0.2"}"#);
    assert_eq!(built(filed, "")[1], "7.0.2");
    // Without a time, a preview is named by what is in the image.
    assert_ne!(
        built(Test::new(), ""),
        built(Test::new(), "--feature hyper-v")
    );
    assert_eq!(built(Test::new(), ""), built(Test::new(), ""));
}

#[test]
fn image_versions_that_a_name_cannot_have_are_refused() {
    let plan = |line: &str| Test::new().line("plan").line(SELECTION).line(line);
    plan("--image-version a/b").fails(3, &["--image-version", "letters, digits"]);
    plan("--image-version v7 --var output=gallery").fails(
        3,
        &[
            "`gallery_image_version` is `v7`, which does not match",
            "choose another `--image-version`",
        ],
    );
    plan("--image-version v7 --var output=gallery --var gallery_image_version=1.0.0").succeeds();
    plan("")
        .env("SOURCE_DATE_EPOCH", "soon")
        .fails(3, &["SOURCE_DATE_EPOCH", "found `soon`", "date +%s"]);
    Test::new()
        .file("imagegen.json", r#"{"imageVersion": "a b"}"#)
        .line("plan --target host")
        .fails(3, &["imagegen.json", "imageVersion"]);
}

/// The same lock is baked twice: Packer gets another name each time.
#[test]
fn a_lock_bakes_more_than_one_image() {
    let script = "[ \"$1\" = build ] || exit 0\ncp imagegen.auto.pkrvars.json \"$OUT/../values.json\"\nexit 1";
    let name = |epoch: &str| {
        let test = with_packer(script);
        let test = if epoch.is_empty() {
            test
        } else {
            test.env("SOURCE_DATE_EPOCH", epoch)
        };
        test.fails(7, &["packer build failed"]);
        let values: Value = serde_json::from_str(&test.text("values.json")).expect("JSON");
        values["managed_image_name"]
            .as_str()
            .expect("a name")
            .to_owned()
    };
    let now = name("");
    assert!(now.starts_with("windows-2019-k8s-1.20.0-20"), "{now}");
    let (first, second) = (name("1795316081"), name("1795316082"));
    assert!(
        first < second && first < now.replace("-20", "-9"),
        "{first} {second} {now}"
    );
}

#[test]
fn packers_environment_variables_count_or_are_refused() {
    let script = "[ \"$1\" = build ] || exit 0\necho \"size $PKR_VAR_vm_size, name $PKR_VAR_managed_image_name\"\nexit 1";
    let test = with_packer(script)
        .env("PKR_VAR_vm_size", "Standard_D8s_v5")
        .env("PKR_VAR_managed_image_name", "mine")
        .env("PKR_VAR_network", "existing")
        .env("PKR_VAR_virtual_network_name", "net");
    test.fails(7, &["size Standard_D8s_v5, name mine"]);
    let values = values(&test);
    assert!(
        values["vm_size"].is_null() && values["managed_image_name"].is_null(),
        "{values}"
    );
    assert!(test.text("o/variables.pkr.hcl").contains("\"vm_size\""));
    assert!(
        test.text("o/variables.pkr.hcl")
            .contains("\"virtual_network_name\"")
    );
    // A flag wins over the environment.
    let flag = Test::new()
        .env("PKR_VAR_vm_size", "Standard_D8s_v5")
        .line("build --no-bake --out o")
        .line(SELECTION);
    let flag = flag.line("--var vm_size=Standard_D2s_v5");
    flag.succeeds();
    assert_eq!(self::values(&flag)["vm_size"], "Standard_D2s_v5");
    let plan = |name: &str, value: &str| Test::new().env(name, value).line("plan").line(SELECTION);
    plan("PKR_VAR_auth", "nonsense").fails(3, &["`auth` is not `nonsense`"]);
    plan("PKR_VAR_machine", "gen1").fails(
        3,
        &[
            "PKR_VAR_machine",
            "[variable-environment]",
            "--var machine=…",
        ],
    );
    plan("PKR_VAR_image_version", "20348.2762.241009")
        .fails(3, &["PKR_VAR_image_version", "[variable-environment]"]);
    plan("PKR_VAR_gallery_name", "nodes")
        .line("--var output=managed_image")
        .fails(
            3,
            &[
                "PKR_VAR_gallery_name",
                "`gallery_name` applies only with",
                "unset PKR_VAR_gallery_name",
            ],
        );
    let implied = plan("PKR_VAR_gallery_name", "nodes").succeeds().stdout;
    assert!(
        implied
            .lines()
            .any(|line| line.split_whitespace().eq(["output", "gallery"])),
        "{implied}"
    );
}

/// Every variable of every target: its environment variable is used, or refused by name.
#[test]
fn no_environment_variable_that_a_variable_has_is_ignored() {
    for target in targets().iter().filter(|target| target.image().is_some()) {
        for variable in &target.variables {
            let name = format!("PKR_VAR_{}", variable.name);
            let line = format!(
                "build --no-bake --out o --target {} --k8s 1.36.0",
                target.name
            );
            let test = Test::new().env(&name, "value").line(&line);
            let ran = test.run();
            if ran.code != Some(0) {
                let names = [name.clone(), format!("`{}`", variable.name)];
                assert!(
                    names.iter().any(|name| ran.stderr.contains(name)),
                    "{}: {name}: {}",
                    target.name,
                    ran.stderr
                );
                continue;
            }
            assert!(variable.build_time, "{name}");
            let declared = format!("variable \"{}\"", variable.name);
            assert!(
                test.text("o/variables.pkr.hcl").contains(&declared),
                "{}: {name} is ignored",
                target.name
            );
            assert!(
                values(&test)[&variable.name].is_null(),
                "{}: {name} loses",
                target.name
            );
        }
    }
}

#[test]
fn what_explain_says_of_the_environment_holds() {
    let explain = |name: &str| {
        Test::new()
            .line(&format!("explain {name} {SELECTION}"))
            .succeeds()
            .stdout
    };
    assert!(explain("vm_size").contains("not part of the lock; environment: PKR_VAR_vm_size"));
    assert!(
        explain("client_secret").contains("environment: PKR_VAR_client_secret, ARM_CLIENT_SECRET")
    );
    assert!(explain("auth").contains("not part of the lock; environment: PKR_VAR_auth"));
    for name in ["machine", "image_sku", "os_disk_size_gb"] {
        assert!(
            explain(name).contains("part of the lock; the environment cannot set it"),
            "{name}"
        );
    }
}

/// The path of a medium is that of the verified file; nobody gives another one.
#[test]
fn verified_media_cannot_be_replaced() {
    let plan = || Test::new().line("plan --target qemu --k8s 1.36.0");
    plan()
        .line("--var windows_iso=/tmp/other.iso")
        .fails(3, &["imagegen sets `windows_iso`"]);
    plan()
        .env("PKR_VAR_windows_iso", "/tmp/other.iso")
        .fails(3, &["imagegen sets `windows_iso`", "unset"]);
}

#[test]
fn targets_say_which_variables_the_lock_records() {
    let messages = |tree: &Tree| {
        lint_targets(tree)
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    let shipped = messages(&Tree::embedded_packer());
    assert!(shipped.is_empty(), "{}", shipped.join("\n"));
    for target in targets() {
        let has = |from: DefaultFrom| {
            target
                .variables
                .iter()
                .any(|it| it.default_from == Some(from))
        };
        let image = target.image().is_some();
        let named = [DefaultFrom::ImageName, DefaultFrom::ImageNameLabel]
            .into_iter()
            .any(has);
        assert!(
            named || !image,
            "{}: no variable names the image",
            target.name
        );
    }
    let variable = |name: &str, more: Value| {
        let mut value = json!({ "name": name, "type": "string", "description": "d", "source": "derived: a test" });
        value
            .as_object_mut()
            .expect("object")
            .extend(more.as_object().expect("object").clone());
        value
    };
    let target = json!({
        "name": "own", "title": "t", "kind": { "machine": { "delivery": ["download"] } },
        "selectors": [
            { "name": "machine", "description": "d", "default": "a", "buildTime": true,
              "values": [{ "value": "a", "description": "d", "sourceImage": "a" }], "source": "derived: a test" },
            { "name": "place", "description": "d", "default": "a", "buildTime": true,
              "values": [{ "value": "a", "description": "d" }], "source": "derived: a test" },
        ],
        "variables": [
            variable("secret", json!({ "sensitive": true })),
            variable("tenant", json!({ "environment": ["TENANT"] })),
            variable("label", json!({ "defaultFrom": "imageName" })),
            variable("base", json!({ "baseImage": true, "buildTime": true })),
            variable("disk", json!({ "when": { "place": ["a"] } })),
            variable("good", json!({ "when": { "place": ["a"] }, "buildTime": true })),
        ],
    });
    let files = BTreeMap::from([(
        "targets/own/target.json".to_owned(),
        target.to_string().into_bytes(),
    )]);
    let found = messages(&Tree::from_files("packer".to_owned(), files)).join("\n");
    for name in ["machine", "secret", "tenant", "label", "base", "disk"] {
        assert!(found.contains(&format!("`{name}` ")), "{name}: {found}");
    }
    assert!(
        !found.contains("`good`") && !found.contains("`place` "),
        "{found}"
    );
}

/// `verify` takes the choices of a build from `imagegen.workspace.json`, not from text that Packer or people read, and
/// believes it for build-time variables alone.
#[test]
fn verify_reads_recorded_choices_and_no_text() {
    let line = "build --no-bake --out o";
    let test = Test::new().line(line).line(SELECTION);
    let test = test.env("PKR_VAR_vm_size", "Standard_D2s_v5");
    test.succeeds();
    let differing = || {
        let mut command = Test::new().line("verify o --format json").command();
        let output = command.current_dir(&test.folder).output().expect("starts");
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let evidence = told["evidence"].as_array().expect("evidence");
        let failed = evidence.iter().filter(|it| it["verdict"] == "failed");
        let names = failed.map(|it| it["subject"].as_str().expect("a subject").to_owned());
        names.collect::<Vec<_>>()
    };
    let change = |name: &str, from: &str, to: &str| {
        let text = test.text(name);
        assert!(text.contains(from), "{name}: {from}");
        std::fs::write(test.folder.join(name), text.replacen(from, to, 1)).expect("write");
    };
    assert_eq!(differing(), Vec::<String>::new());

    let (from, to) = ("variable \"vm_size\" {", "variable  \"vm_size\"  {");
    change("o/variables.pkr.hcl", from, to);
    assert_eq!(differing(), ["variables.pkr.hcl"]);
    change("o/variables.pkr.hcl", to, from);

    change("o/README.md", "- `", "* `");
    assert_eq!(differing(), ["README.md"]);
    change("o/README.md", "* `", "- `");

    // What decides the content of the image is not believed.
    for (from, to) in [
        (
            "\"declared\": [",
            "\"declared\": [\n    \"os_disk_size_gb\",",
        ),
        (
            "\"selectors\": {",
            "\"selectors\": {\n    \"machine\": \"gen1\",",
        ),
    ] {
        change("o/imagegen.workspace.json", from, to);
        assert_eq!(differing(), ["imagegen.workspace.json"], "{to}");
        change("o/imagegen.workspace.json", to, from);
    }
    std::fs::remove_file(test.folder.join("o/imagegen.workspace.json")).expect("remove");
    assert!(differing().contains(&"imagegen.workspace.json".to_owned()));
}

/// What the environment gave to a build is no difference for who verifies its workspace without that environment.
#[test]
fn a_workspace_is_verified_without_the_environment_of_its_build() {
    let builds: [(&[(&str, &str)], &str); 4] = [
        (&[("PKR_VAR_vm_size", "Standard_D2s_v5")], ""),
        (
            &[
                ("ARM_CLIENT_SECRET", "s3cret-of-the-test"),
                ("ARM_CLIENT_ID", "x"),
            ],
            "--var location=westeurope",
        ),
        (
            &[
                ("PKR_VAR_gallery_name", "nodes"),
                ("PKR_VAR_location", "westeurope"),
            ],
            "--image-version 1.2.3",
        ),
        (
            &[],
            "--var output=gallery --var network=existing --var virtual_network_name=net",
        ),
    ];
    for (environment, line) in builds {
        let test = Test::new()
            .line("build --no-bake --out o")
            .line(SELECTION)
            .line(line);
        let test = environment
            .iter()
            .fold(test, |test, (name, value)| test.env(name, value));
        test.succeeds();
        let verified = |name: &str, value: &str| {
            let mut command = Test::new().line("verify o").env(name, value).command();
            command
                .current_dir(&test.folder)
                .output()
                .expect("the program starts")
        };
        for (name, value) in [
            ("X", "x"),
            ("ARM_CLIENT_SECRET", "other"),
            ("PKR_VAR_encryption_at_host", "true"),
        ] {
            let output = verified(name, value);
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(
                output.status.success(),
                "{environment:?} {line} {name}: {said}"
            );
        }
    }
    // What decides the content is not taken from the workspace.
    let test = Test::new().line("build --no-bake --out o").line(SELECTION);
    test.succeeds();
    let kept = |name: &str, drop: &str| {
        let lines: Vec<String> = test
            .text(name)
            .lines()
            .filter(|line| !line.contains(drop))
            .map(str::to_owned)
            .collect();
        lines.join("\n") + "\n"
    };
    let source = kept("o/source.pkr.hcl", "image_version");
    std::fs::write(test.folder.join("o/source.pkr.hcl"), source).expect("write");
    let mut command = Test::new().line("verify o").command();
    assert_eq!(
        command
            .current_dir(&test.folder)
            .status()
            .expect("start")
            .code(),
        Some(5)
    );
}
