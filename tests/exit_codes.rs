//! Each class of error has its exit code, whatever the way into it. The table of the README, the help and
//! `ErrorClass` say the same.

use std::collections::{BTreeMap, BTreeSet};

use imagegen::diagnostic::ErrorClass;

use crate::support::{Test, golden, root};

const AZURE: &str = "--target azure --k8s 1.36.4";
const READY: &str = "--target azure --k8s 1.36.4 --var location=westeurope --var managed_image_resource_group_name=rg";

/// A version that nobody pinned.
const OPEN: &str = "--component crictl=1.36.9";

/// Name of the golden file, exit code, command line.
fn table() -> Vec<(&'static str, i32, String)> {
    let azure = |text: &str| format!("{text} {AZURE}");
    vec![
        ("usage-flag", 2, azure("plan --no-such-flag")),
        ("usage-verb", 2, "bake".to_owned()),
        ("usage-argument", 2, "explain".to_owned()),
        (
            "usage-conflict",
            2,
            azure("build --no-bake --locked --ignore-lock"),
        ),
        (
            "usage-requires",
            2,
            "verify kubelet.exe --root ca.pem".to_owned(),
        ),
        (
            "value-target",
            3,
            "plan --target azur --k8s 1.36.4".to_owned(),
        ),
        ("value-no-target", 3, "plan --k8s 1.36.4".to_owned()),
        ("value-runtime", 3, azure("plan --runtime containrd")),
        ("value-cni", 3, azure("plan --cni flanel-overlay")),
        (
            "value-kubernetes",
            3,
            "plan --target azure --k8s 1.99".to_owned(),
        ),
        ("value-windows", 3, azure("plan --windows 2021")),
        (
            "value-component",
            3,
            azure("plan --component containrd=1.7.27"),
        ),
        (
            "value-component-format",
            3,
            azure("plan --component containerd"),
        ),
        ("value-version", 3, azure("plan --component containerd=v1")),
        ("value-variable", 3, azure("plan --var locatoin=x")),
        ("value-format", 3, azure("plan --format xml")),
        ("value-jobs", 3, azure("fetch --jobs many")),
        ("value-override", 3, azure("plan --override kubelet.uri=x")),
        ("value-schema", 3, "schema lok".to_owned()),
        ("value-name", 3, "explain containrd --k8s 1.36.4".to_owned()),
        ("value-short-name", 3, "explain q --k8s 1.36.4".to_owned()),
        ("value-image", 3, azure("plan --image mcr.example/x")),
        ("value-join", 3, "join-data --k8s 1.36.4".to_owned()),
        (
            "value-cluster",
            3,
            "cluster-manifests --k8s 1.36.4 --cni flannel-overlay".to_owned(),
        ),
        (
            "value-token-variable",
            3,
            "join-data --k8s 1.36.4 --token-env JOIN_TOKEN".to_owned(),
        ),
        ("missing-variable", 3, azure("build")),
        ("missing-config", 3, "plan --config nope.json".to_owned()),
        ("missing-lock", 3, azure("plan --lock nope.json")),
        ("missing-locked", 3, azure("plan --locked")),
        (
            "missing-bundled-lock",
            3,
            "bundle create --out node.zip".to_owned(),
        ),
        ("missing-overrides", 3, azure("plan --overrides nope.json")),
        ("missing-policy", 3, azure("plan --policy nope.json")),
        (
            "missing-manifests",
            3,
            "list windows --manifests nope".to_owned(),
        ),
        ("missing-file", 3, "verify nope.exe".to_owned()),
        ("missing-bundle", 3, "bundle verify nope.zip".to_owned()),
        ("missing-scripts", 3, azure("plan --scripts nope")),
        ("bad-definition", 3, "plan --config bad.json".to_owned()),
        ("bad-lock", 3, azure("plan --lock bad.json")),
        ("bad-policy", 3, azure("plan --policy bad.json")),
        ("offline", 4, format!("build --offline {READY} {OPEN}")),
        ("offline-fetch", 4, azure("fetch --offline")),
        ("offline-list", 4, azure("outdated --offline")),
        (
            "offline-record",
            4,
            "history --offline --from https://records.example/history.json".to_owned(),
        ),
        (
            "unpinned",
            5,
            format!("build --locked --offline --lock open.json {READY} {OPEN}"),
        ),
        (
            "digest",
            5,
            format!("verify file.txt --sha256 {}", "0".repeat(64)),
        ),
        ("not-a-bundle", 5, "bundle verify file.txt".to_owned()),
        ("taken", 6, azure("build --no-bake --out taken")),
        (
            "taken-by-a-file",
            6,
            azure("build --no-bake --out file.txt"),
        ),
    ]
}

fn test(line: &str) -> Test {
    Test::new()
        .file("bad.json", "{\"kubernets\": \"1.36.4\"}")
        .file("file.txt", "content")
        .file("taken/mine.txt", "mine")
        .line(line)
        .env("IMAGEGEN_STORE", "store")
}

#[test]
fn every_way_into_a_class_has_its_exit_code_and_message() {
    for (name, code, line) in table() {
        let test = test(&line);
        if name == "unpinned" {
            let render = format!("render --out o {READY} {OPEN}");
            let other = self::test(&render);
            other.succeeds();
            std::fs::copy(
                other.folder.join("o/imagegen.lock.json"),
                test.folder.join("open.json"),
            )
            .expect("lock");
        }
        let ran = test.run();
        assert_eq!(
            ran.code,
            Some(code),
            "{name}: imagegen {line}\n{}",
            ran.stderr
        );
        let message = ran
            .stderr
            .replace(&test.folder.display().to_string(), "FOLDER");
        golden(
            &format!("messages/{name}.txt"),
            &format!("$ imagegen {line}\n{message}exit code {code}\n"),
        );
    }
}

#[test]
fn a_missing_packer_is_7_and_a_store_that_is_a_file_is_3() {
    let line = "plan --target azure --k8s 1.20.0 --host-access services";
    let packer = "build --out o --host-access services --packer /nowhere/packer --target azure --k8s 1.20.0 \
                  --var location=westeurope --var managed_image_resource_group_name=rg";
    Test::new()
        .line(packer)
        .stocked(line)
        .fails(7, &["/nowhere/packer", "install Packer"]);
    Test::new()
        .file("file", "")
        .line("fetch --store file/store")
        .line(AZURE)
        .fails(3, &["file/store"]);
}

#[test]
fn the_readme_has_the_table() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("README.md");
    let rows: BTreeMap<String, String> = readme
        .split("## Exit codes")
        .nth(1)
        .and_then(|rest| rest.split("\n## ").next())
        .expect("the section")
        .lines()
        .filter_map(|line| {
            line.strip_prefix("| ")?
                .strip_suffix(" |")?
                .split_once(" | ")
        })
        .filter(|(code, _)| code.bytes().all(|byte| byte.is_ascii_digit()))
        .map(|(code, text)| (code.to_owned(), text.to_owned()))
        .collect();
    let known = ErrorClass::ALL.iter();
    let mut expected: BTreeMap<String, String> = known
        .map(|class| {
            (
                class.exit_code().to_string(),
                class.description().to_owned(),
            )
        })
        .collect();
    expected.insert("0".to_owned(), "ok".to_owned());
    assert_eq!(rows, expected);
}

const VERBS: &[&str] = &[
    "attest",
    "history",
    "report",
    "build",
    "bundle",
    "bundle create",
    "bundle extract",
    "bundle verify",
    "catalog",
    "catalog export",
    "catalog lint",
    "cluster-manifests",
    "completions",
    "conformance",
    "diff",
    "doctor",
    "explain",
    "fetch",
    "init",
    "join-data",
    "list",
    "lock",
    "man",
    "outdated",
    "pin",
    "plan",
    "promote",
    "render",
    "retire",
    "sbom",
    "schema",
    "scripts",
    "scripts export",
    "store",
    "store gc",
    "test-clone",
    "verify",
];

#[test]
fn the_help_of_each_verb_is_as_reviewed() {
    let all = Test::new().line("--help").succeeds().stdout;
    golden("help/imagegen.txt", &all);
    let build = Test::new().line("build --help").succeeds().stdout;
    golden("help/build.txt", &build);
    let mut known: BTreeSet<String> = BTreeSet::new();
    for help in [&all, &build] {
        known.extend(split_help(help).iter().map(|part| join_words(part)));
    }
    for verb in VERBS.iter().filter(|verb| **verb != "build") {
        let help = Test::new().line(verb).line("--help").succeeds().stdout;
        let name = format!("help/{}.txt", verb.replace(' ', "-"));
        golden(&name, &shorten_help(&help, &known));
    }
    let commands = all
        .split("Commands:")
        .nth(1)
        .expect("commands")
        .split("\n\n")
        .next()
        .expect("list");
    let verbs = commands
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    for verb in verbs.filter(|verb| !verb.is_empty()) {
        assert!(
            verb == "help" || VERBS.contains(&verb),
            "{verb} has no golden"
        );
    }
}

/// A help page as its flags, with the lines that explain them, and all other lines.
fn split_help(help: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut is_flag = false;
    for line in help.lines() {
        let text = line.trim_start();
        let goes_on = is_flag && line.starts_with("        ") && !text.starts_with('-');
        match parts.last_mut() {
            Some(last) if goes_on => {
                last.push('\n');
                last.push_str(line);
            }
            _ => {
                is_flag = line.starts_with("  ") && text.starts_with('-');
                parts.push(line.to_owned());
            }
        }
    }
    parts
}

/// The width of a column depends on the other flags of a page.
fn join_words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A help page with the names alone of flags that are known.
fn shorten_help(help: &str, known: &BTreeSet<String>) -> String {
    let mut lines = Vec::new();
    for part in split_help(help) {
        let text = part.trim_start();
        let is_flag = text.starts_with('-') && known.contains(&join_words(&part));
        if is_flag {
            let name = text.split("  ").next().unwrap_or(text);
            let name = name.lines().next().unwrap_or(name);
            lines.push(format!("      {name}  …"));
        } else {
            lines.push(part);
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn no_golden_is_an_orphan() {
    let names: Vec<String> = table()
        .iter()
        .map(|(name, _, _)| format!("{name}.txt"))
        .collect();
    let mut verbs: Vec<String> = VERBS
        .iter()
        .map(|verb| format!("{}.txt", verb.replace(' ', "-")))
        .collect();
    verbs.push("imagegen.txt".to_owned());
    for (folder, known) in [("messages", names), ("help", verbs)] {
        for file in crate::support::files(&root().join("tests/golden").join(folder)).into_keys() {
            assert!(
                known.contains(&file),
                "tests/golden/{folder}/{file} belongs to no test"
            );
        }
    }
}

/// As `IMAGEGEN_MIRROR` takes several.
#[test]
fn a_variable_names_several_machines_that_bake() {
    let test = Test::new().env("IMAGEGEN_FOR", "linux/amd64,windows/amd64");
    let line = "fetch --target host --k8s 1.36.4 --offline --store s";
    test.line(line).fails(4, &["is not in the store"]);
}

/// The flag of the error is not on the command line.
#[test]
fn a_variable_with_an_invalid_value_is_named() {
    for (name, value) in [("IMAGEGEN_FORMAT", "yaml"), ("IMAGEGEN_QUIET", "maybe")] {
        let ran = Test::new().env(name, value).run_with("list targets");
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        let tip = format!("tip: the environment variable {name} has this value");
        assert!(ran.stderr.contains(&tip), "{}", ran.stderr);
    }
    let ran = Test::new().run_with("list targets --format yaml");
    assert!(!ran.stderr.contains("tip: "), "{}", ran.stderr);
}
