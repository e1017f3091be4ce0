//! What a user types and reads.

use crate::support::{Test, files, golden};

#[test]
fn two_previews_have_the_same_bytes() {
    for line in [
        "build --target azure --k8s 1.20.0 --no-bake --out o",
        "build --target azure --k8s 1.36.4 --windows 2025 --no-bake --out o",
    ] {
        let (first, second) = (Test::new().line(line), Test::new().line(line));
        let said = first.succeeds();
        assert!(said.stdout.contains("payload.zip"), "{}", said.stdout);
        second.succeeds();
        let (first, second) = (
            files(&first.folder.join("o")),
            files(&second.folder.join("o")),
        );
        assert_eq!(first.len(), 10);
        assert_eq!(first, second);
    }
}

#[test]
fn predicted_machines_are_as_reviewed() {
    for (line, name) in [
        (
            "plan --target azure --k8s 1.20.0 --state",
            "azure-2019-k8s-1.20.0.txt",
        ),
        (
            "plan --target azure --k8s 1.36.4 --windows 2025 --state",
            "azure-2025-k8s-1.36.4.txt",
        ),
    ] {
        golden(
            &format!("state/{name}"),
            &Test::new().line(line).succeeds().stdout,
        );
    }
}

#[test]
fn bad_input_is_named_with_its_remedy() {
    for (line, code, said) in [
        (
            "plan --target azure --k8s 1.99",
            3,
            "unknown Kubernetes version `1.99`",
        ),
        (
            "plan --target azure --k8s 1.36.99",
            3,
            "the latest known of 1.36 is 1.36.6",
        ),
        (
            "plan --target azure --k8s stabel",
            3,
            "did you mean `--k8s stable`?",
        ),
        (
            "plan --target azure --k8s 1.30.01",
            3,
            "unknown Kubernetes version `1.30.01`",
        ),
        (
            "plan --target azure --k8s 1.030.1",
            3,
            "give a release such as `1.37.2`",
        ),
        (
            "plan --target azure --k8s 1.30.1+k3s1",
            3,
            "`1.30.1+k3s1` is a release of a product that is built from Kubernetes 1.30.1",
        ),
        (
            "plan --target azure --k8s v1.30.1+rke2r1",
            3,
            "choose `--join none`, and install RKE2 on the clone; Kubernetes' own release is `--k8s 1.30.1`",
        ),
        (
            "plan --target azure --k8s v1.99.0-alpha.2",
            3,
            "unknown Kubernetes version `1.99.0-alpha.2`",
        ),
        (
            "plan --target azure --k8s 1.30.1-eks-1",
            3,
            "is a release of Amazon EKS, not of Kubernetes",
        ),
        (
            "join-data --k8s 1.30.01 --endpoint a.example:6443",
            3,
            "unknown Kubernetes version `1.30.01`",
        ),
        (
            "cluster-manifests --k8s 1.30.1+rke2r1",
            3,
            "is a release of RKE2",
        ),
        (
            "plan --target azure --k8s 1.24 --component containerd=latest",
            3,
            "`latest` is not a release of containerd: its releases have 3 numbers",
        ),
        (
            "plan --target azure --k8s 1.30 --component containerd=2.0",
            3,
            "choose `--component containerd=2.0.",
        ),
        (
            "plan --target azure --k8s 1.20 --runtime docker --component nerdctl=1.7.7",
            3,
            "this image does not use the component nerdctl",
        ),
        (
            "plan --target azur --k8s 1.20.0",
            3,
            "unknown target `azur`: did you mean `azure`?",
        ),
        ("plan --k8s 1.20.0", 3, "the selection names no target"),
        (
            "plan --target azure --k8s 1.20.0 --windows 2021",
            3,
            "unknown Windows release `2021`",
        ),
        (
            "plan --target azure --k8s 1.20.0 --runtime containrd",
            3,
            "did you mean `containerd`?",
        ),
        (
            "plan --target azure --k8s 1.20.0 --cni flanel-overlay",
            3,
            "did you mean `flannel-overlay`?",
        ),
        (
            "plan --target azure --k8s 1.20.0 --component containrd=1.7.27",
            3,
            "did you mean `containerd`?",
        ),
        (
            "plan --target azure --k8s 1.20.0 --component containerd",
            3,
            "NAME=VERSION",
        ),
        (
            "plan --target azure --k8s 1.20.0 --component containerd=v1",
            3,
            "leave out the leading `v`",
        ),
        (
            "plan --target azure --k8s 1.20.0 --var locatoin=x",
            3,
            "did you mean `location`?",
        ),
        (
            "plan --target azure --k8s 1.20.0 --var location=West_Europe",
            3,
            "does not match",
        ),
        (
            "plan --target azure --k8s 1.20.0 --var client_secret=x",
            3,
            "is a secret",
        ),
        (
            "plan --target azure --k8s 1.20.0 --image mcr.example/x",
            3,
            "is not an image",
        ),
        (
            "plan --target azure --k8s 1.20.0 --no-such-flag",
            2,
            "--no-such-flag",
        ),
        (
            "fetch --target azure --k8s 1.20.0 --jobs 0",
            3,
            "expected a number from 1 to 64",
        ),
        (
            "explain containrd --k8s 1.20.0",
            3,
            "did you mean `containerd`?",
        ),
        ("schema lok", 3, "did you mean `lock`?"),
        (
            "build --target azure --k8s 1.20.0 --no-bake --locked",
            3,
            "--locked` requires it",
        ),
        (
            "build --target azure --k8s 1.20.0 --no-bake --lock other.json",
            3,
            "the lockfile other.json does not exist, but `--lock` requires it",
        ),
    ] {
        let ran = Test::new().line(line).fails(code, &[said]);
        assert!(ran.stdout.is_empty(), "{line}: {}", ran.stdout);
    }
}

/// A hint is copied into a shell: an example with a blank is one word.
#[test]
fn examples_of_missing_values_are_words_of_a_shell() {
    for (line, said) in [
        (
            "plan --target hyperv --k8s 1.36.4 --windows 2025",
            "--var switch_name='Default Switch'",
        ),
        (
            "plan --target azure --k8s 1.36.4",
            "--var managed_image_resource_group_name=…",
        ),
    ] {
        let printed = Test::new().prints(line);
        assert!(printed.contains(said), "{line}: {printed}");
    }
}

#[test]
fn a_definition_that_is_wrong_is_named_with_path_and_line() {
    for (text, said) in [
        (
            "{\n  \"target\": \"azure\",\n  \"kubernets\": \"1.20.0\"\n}",
            "imagegen.json:3:16: `kubernets`: unknown key `kubernets`: did you mean `kubernetes`?",
        ),
        (
            "{\n  \"target\": \"azure\"\n  \"kubernetes\": 1\n}",
            "imagegen.json:3:3: expected `,` or `}`",
        ),
        (
            "{\"components\": {\"containerd\": 7}}",
            "`components.containerd`: invalid type: integer `7`, expected a string",
        ),
        (
            "{\"runtime\": \"podman\"}",
            "`runtime`: unknown value `podman`: expected one of containerd, docker",
        ),
        ("{} x", "trailing characters"),
        ("{", "EOF while parsing an object"),
    ] {
        Test::new()
            .file("imagegen.json", text)
            .line("plan")
            .fails(3, &[said]);
    }
}

#[test]
fn flags_win_over_the_definition() {
    let test = Test::new()
        .file(
            "imagegen.json",
            r#"{"target": "azure", "kubernetes": "1.20.0", "hostAccess": "services"}"#,
        )
        .line("plan --k8s 1.36.4 --format json");
    let plan: serde_json::Value = serde_json::from_str(&test.succeeds().stdout).expect("JSON");
    assert_eq!(plan["kubernetes"], "1.36.4");
    assert_eq!(plan["selection"]["hostAccess"], "services");
}

#[test]
fn a_place_that_is_taken_is_refused() {
    let build = "build --target azure --k8s 1.20.0 --no-bake --out o";
    let test = Test::new().file("o/mine.txt", "mine").line(build);
    test.fails(
        6,
        &[
            "o is not empty: it contains `mine.txt`",
            "move `mine.txt` away",
        ],
    );
    assert_eq!(test.text("o/mine.txt"), "mine");
    let test = Test::new().file("o/image.json", "{}").line(build);
    test.fails(6, &["the result of a bake"]);
    let test = Test::new().file("o", "a file").line(build);
    test.fails(6, &["o is not a directory"]);
    // Force removes results of imagegen, never what others wrote or changed.
    let test = Test::new()
        .file("o/mine.txt", "mine")
        .file("o/image.json", "{}")
        .line(build)
        .line("--force");
    test.fails(6, &["o is not empty: it contains `mine.txt`"]);
    assert_eq!(test.text("o/mine.txt"), "mine");
    std::fs::remove_file(test.folder.join("o/mine.txt")).expect("mine");
    test.succeeds();
    assert!(test.exists("o/payload.zip") && !test.exists("o/image.json"));
    // What imagegen wrote it may write again; the user's values stay.
    let values = test.folder.join("o/own.auto.pkrvars.json");
    std::fs::write(&values, "{}").expect("values");
    test.succeeds();
    assert!(values.exists());
    std::fs::write(test.folder.join("o/build.pkr.hcl"), "edited").expect("edit");
    test.fails(
        6,
        &["o: `build.pkr.hcl` has changed since imagegen wrote it"],
    );
    assert_eq!(test.text("o/build.pkr.hcl"), "edited");
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let test = Test::new()
        .file("f", "a file")
        .line("build --target azure --k8s 1.20.0 --no-bake --out f/o");
    test.fails(6, &["f/o", "ot a directory"]);
}

#[test]
fn a_stale_lock_says_what_moved() {
    let locked = Test::new().line("lock --target azure --k8s 1.20.0 --host-access services");
    locked.succeeds();
    let lock = locked.text("imagegen.lock.json");
    assert!(!lock.contains("timestamp"));
    let build = |line: &str| {
        Test::new()
            .file("imagegen.lock.json", &lock)
            .line(line)
            .line("--host-access services")
    };
    build("build --target azure --k8s 1.20.0 --no-bake --locked").succeeds();
    build("build --target azure --k8s 1.20.5 --no-bake --locked").fails(
        3,
        &[
            "is stale",
            "`kubernetes` was 1.20.0 and is 1.20.5",
            "run `imagegen lock`",
        ],
    );
    build("build --target azure --k8s 1.20.0 --component cni-plugins=1.9.1 --no-bake")
        .fails(3, &["imagegen.lock.json is stale"]);
    build("build --target azure --k8s 1.20.5 --no-bake --ignore-lock").succeeds();
    Test::new()
        .file(
            "imagegen.lock.json",
            "{\"schema\": \"imagegen.dev/lock/v9\"}",
        )
        .line("build --target azure --k8s 1.20.0 --no-bake")
        .fails(3, &["schema `imagegen.dev/lock/v9`"]);
}

#[test]
fn a_bake_refuses_what_is_unpinned_and_what_is_missing() {
    Test::new()
        .line("build --target azure --k8s 1.20.0 --host-access services")
        .fails(
            3,
            &["no value for required variables: location, managed_image_resource_group_name"],
        );
    let ready = "--target azure --k8s 1.20.0 --var location=westeurope --var managed_image_resource_group_name=rg";
    Test::new()
        .line("build --offline --component wins=0.1.3")
        .line(ready)
        .fails(
            4,
            &["wins 0.1.3", "is not in the store", "run `imagegen fetch`"],
        );
    Test::new()
        .line("build --offline --out o --host-access services")
        .line(ready)
        .fails(4, &["is not in the store"]);
    let test = Test::new()
        .line("build --out o --host-access services --packer /nowhere/packer")
        .line(ready)
        .stocked("plan --target azure --k8s 1.20.0 --host-access services");
    test.fails(7, &["Packer not found: /nowhere/packer", "install Packer"]);
    assert!(!test.exists("o"), "nothing was written");
}

#[test]
fn every_verb_has_help_and_schemas_are_published() {
    for verb in [
        "", "build", "render", "plan", "lock", "explain", "list", "catalog", "schema",
    ] {
        let help = Test::new()
            .args([verb, "--help"].into_iter().filter(|word| !word.is_empty()))
            .succeeds()
            .stdout;
        assert!(help.contains("Usage:"), "{help}");
    }
    let names = Test::new().line("schema").succeeds().stdout;
    for name in names.lines() {
        let schema = Test::new().args(["schema", name]).succeeds().stdout;
        let schema: serde_json::Value = serde_json::from_str(&schema).expect(name);
        assert!(schema["$schema"].is_string(), "{name}");
    }
}

#[test]
fn a_secret_in_the_environment_chooses_the_sign_in_and_stays_there() {
    let test = Test::new()
        .env("ARM_CLIENT_SECRET", "s3cret-of-the-test")
        .line("build --target azure --k8s 1.20.0 --no-bake --out o");
    let ran = test.succeeds();
    assert!(ran.stdout.contains("missing: client_id"), "{}", ran.stdout);
    let source = test.text("o/source.pkr.hcl");
    let words: Vec<&str> = source.split_whitespace().collect();
    assert!(
        words
            .join(" ")
            .contains("client_secret = var.client_secret"),
        "{source}"
    );
    for (name, bytes) in files(&test.folder) {
        let content = String::from_utf8_lossy(&bytes).into_owned();
        assert!(!content.contains("s3cret-of-the-test"), "{name}");
    }
    assert!(!(ran.stdout + &ran.stderr).contains("s3cret-of-the-test"));
}

/// Settings may name mirrors: they are not passed over, and the message says how to do without them.
#[test]
fn places_that_cannot_be_used_are_named_with_a_way_around() {
    let test = Test::new().file(".config/imagegen", "a file in the way");
    let line = "fetch --target host --k8s 1.36.4 --offline";
    let ran = test.run_with(line);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    for said in [".config/imagegen/settings.json", "`IMAGEGEN_SETTINGS=`"] {
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }

    let test = Test::new().file(".cache", "a file in the way");
    let ran = test.run_with(line);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stderr.contains("--store DIR"), "{}", ran.stderr);
    // Where the store would be is said all the same.
    assert!(
        test.prints("store path")
            .ends_with("/.cache/imagegen/store\n")
    );
    assert_eq!(
        test.prints("store path --store s").matches("/s\n").count(),
        1
    );
    assert!(!test.exists("s"));
}

#[test]
fn flags_of_every_verb_stand_anywhere_beside_a_topic() {
    let text = Test::new().prints("help air-gap");
    for line in [
        "help air-gap -q",
        "-q help air gap",
        "--format json help air-gap",
        "help --steps help air-gap",
    ] {
        assert_eq!(Test::new().prints(line), text, "{line}");
    }
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_no_text_is_named() {
    use std::os::unix::ffi::OsStrExt as _;
    let test = Test::new().line("plan --target host");
    let value = std::ffi::OsStr::from_bytes(b"\xff");
    let mut command = test.command();
    let output = command.env("IMAGEGEN_FORMAT", value).output().expect("run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("IMAGEGEN_FORMAT is not UTF-8"), "{said}");
}

#[test]
fn a_relative_home_makes_no_folder() {
    let test = Test::new().env("HOME", "home").line("store path");
    test.fails(3, &["no absolute home directory", "--store DIR"]);
    assert!(!test.exists("home"));
}

#[test]
fn an_empty_name_is_not_explained() {
    for name in ["", " "] {
        Test::new()
            .args(["explain", name])
            .fails(3, &["the name to explain is empty"]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_an_error() {
    for line in ["--help", "--version", "help", "build --help"] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let output = Test::new()
            .line(line)
            .command()
            .stdout(full.expect("/dev/full"))
            .output()
            .expect("start");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}: {said}");
        assert!(said.contains("writing to stdout"), "{line}: {said}");
    }
}
