//! Every name that the program prints can be explained.

use std::collections::BTreeSet;

use clap::CommandFactory as _;
use imagegen::base::choice::{Delivery, HostAccess, Runtime};
use imagegen::base::code::TABLES;
use imagegen::catalog::Trees;
use imagegen::cli::Cli;
use imagegen::commands::list_options;
use imagegen::model::definition::ImageDefinition;
use imagegen::model::evidence::ProofKind;
use imagegen::selection::{DefinedImage, Flags, SourceFolders, read_sources};
use imagegen::view::{Explanation, NameIndex, index_names, read_words};
use regex_lite::Regex;
use serde_json::Value;

use crate::support::targets::all_targets;
use crate::support::{Test, files, root};

/// Selections whose names are walked: targets, runtimes, networks and ages.
const SELECTIONS: &[(&str, &str, &[&str])] = &[
    ("azure", "1.36.4", &[]),
    ("azure", "1.20.0", &[]),
    ("host", "1.24.17", &["gmsa", "hyper-v"]),
    ("qemu", "1.30.0", &["smb", "crash-dumps"]),
];

fn selection(target: &str, kubernetes: &str, features: &[&str]) -> Flags {
    let definition = ImageDefinition {
        target: Some(target.to_owned()),
        kubernetes: Some(kubernetes.to_owned()),
        features: features.iter().map(|name| (*name).to_owned()).collect(),
        ..ImageDefinition::default()
    };
    Flags {
        definition,
        ..Flags::default()
    }
}

fn print_json(line: &str) -> Value {
    let ran = Test::new().line(line).line("--format json").run();
    serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("{line}: {error}\n{}", ran.stderr))
}

/// Values of these keys anywhere in a value.
fn collect_values(value: &Value, keys: &[&str], names: &mut BTreeSet<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                if let (true, Some(text)) = (keys.contains(&key.as_str()), value.as_str()) {
                    names.insert(text.to_owned());
                }
                collect_values(value, keys, names);
            }
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect_values(item, keys, names)),
        _ => {}
    }
}

/// What `plan` prints: components, groups, steps, variables, warnings, and the resources of the machine.
fn names_of_plan(flags: &str) -> BTreeSet<String> {
    let plan = print_json(&format!("plan {flags}"));
    let mut names = BTreeSet::new();
    collect_values(
        &plan["components"],
        &["component", "confidence"],
        &mut names,
    );
    for row in plan["components"]
        .as_array()
        .expect("groups")
        .iter()
        .chain(plan["steps"].as_array().expect("steps"))
    {
        names.extend(
            row["name"]
                .as_str()
                .or(row["id"].as_str())
                .map(str::to_owned),
        );
    }
    for warning in plan["warnings"].as_array().expect("warnings") {
        names.insert(warning["id"].as_str().expect("id").to_owned());
    }
    names.extend(
        plan["selection"]["variables"]
            .as_object()
            .into_iter()
            .flat_map(|it| it.keys().cloned()),
    );
    let missing = plan["missing"].as_array().expect("missing").iter();
    names.extend(
        missing
            .flat_map(|it| it["names"].as_array().expect("names"))
            .map(|it| it.as_str().expect("name").to_owned()),
    );
    names.insert(plan["pause"].as_str().expect("pause").to_owned());
    let state = print_json(&format!("plan {flags} --state"));
    collect_values(
        &state["resources"],
        &["resource", "step", "path"],
        &mut names,
    );
    names
}

#[test]
fn names_of_plans_are_explained() {
    let trees = read_sources(&SourceFolders::default(), &[]).expect("trees");
    for (target, kubernetes, features) in SELECTIONS {
        let (index, _) = index_names(
            &selection(target, kubernetes, features),
            &list_options(),
            &DefinedImage::empty(),
            &trees,
        )
        .expect("index");
        let features: Vec<String> = features
            .iter()
            .map(|name| format!("--feature {name}"))
            .collect();
        let flags = format!(
            "--target {target} --k8s {kubernetes} {}",
            features.join(" ")
        );
        let names = names_of_plan(&flags);
        assert!(names.len() > 60, "{flags}: {names:?}");
        let unknown: Vec<&String> = names
            .iter()
            .filter(|name| index.find(name).is_none())
            .collect();
        assert!(unknown.is_empty(), "{flags}: {unknown:#?}");
    }
}

#[test]
fn names_of_lists_and_words_are_explained() {
    let trees = read_sources(&SourceFolders::default(), &[]).expect("trees");
    let (index, _) = index_names(
        &Flags::default(),
        &list_options(),
        &DefinedImage::empty(),
        &trees,
    )
    .expect("index");
    let mut names = BTreeSet::new();
    for what in [
        "targets",
        "kubernetes",
        "windows",
        "networks",
        "features",
        "variables",
        "steps",
        "rules",
        "components",
    ] {
        let rows = print_json(&format!("list {what}"));
        let rows = rows["items"].as_array().expect("rows");
        assert!(rows.len() > 2, "{what}");
        let name = |row: &Value| {
            ["name", "minor", "release"]
                .iter()
                .find_map(|key| row[key].as_str().map(str::to_owned))
        };
        names.extend(
            rows.iter()
                .map(|row| name(row).unwrap_or_else(|| panic!("{what}: {row}"))),
        );
    }
    collect_values(&print_json("conformance --k8s 1.36.4"), &["id"], &mut names);
    collect_values(
        &print_json("doctor --target azure --k8s 1.36.4 --store store")["checks"],
        &["name"],
        &mut names,
    );
    names.extend(ProofKind::ALL.iter().map(|kind| kind.as_str().to_owned()));
    names.extend(Delivery::ALL.iter().map(ToString::to_string));
    names.extend(Runtime::ALL.iter().map(ToString::to_string));
    names.extend(HostAccess::ALL.iter().map(ToString::to_string));
    names.insert("pause".to_owned());
    let unknown: Vec<&String> = names
        .iter()
        .filter(|name| index.find(name).is_none())
        .collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
    for entry in index.entries() {
        assert!(
            !entry.lines.is_empty() && !entry.source.is_empty(),
            "{} {}",
            entry.kind,
            entry.name
        );
    }
}

/// The code of a clause is its key in kebab case.
#[test]
fn clauses_of_a_policy_are_explained() {
    let clauses = TABLES.iter().find(|table| table.kind == "policy clause");
    for (code, _) in clauses.expect("table").rows {
        let words = code.as_str().strip_prefix("policy-").expect("its prefix");
        let mut key = String::new();
        for (number, word) in words.split('-').enumerate() {
            let (first, rest) = word.split_at(1);
            key += &if number == 0 {
                word.to_owned()
            } else {
                first.to_uppercase() + rest
            };
        }
        let found = explain(&key);
        let kinds: Vec<&str> = found.iter().filter_map(|it| it["kind"].as_str()).collect();
        assert!(kinds.contains(&"rule of a policy"), "{key}: {kinds:?}");
    }
}

#[test]
fn a_flag_with_a_value_is_explained_as_people_type_it() {
    for (typed, other) in [
        ("--runtime docker", "runtime=docker"),
        ("--join none", "join=none"),
        ("--component containerd=2.2.0", "component=containerd=2.2.0"),
        ("--no-such docker", ""),
    ] {
        let ran = Test::new()
            .args(["explain", "--format", "json", "--", typed])
            .run();
        if other.is_empty() {
            assert_eq!(ran.code, Some(3), "{typed}: {}", ran.stderr);
        } else {
            let found: Value = serde_json::from_str(&ran.stdout).expect(typed);
            assert_eq!(found["items"], Value::Array(explain(other)), "{typed}");
        }
    }
}

/// A flag without an end is not one of its first line alone.
#[test]
fn lines_of_a_flag_are_told_with_their_end() {
    for (flag, lines) in [
        ("--max-pods", "kubelet: Kubernetes from 1.17 on"),
        ("--dynamic-config-dir", "kubelet: Kubernetes 1.17 to 1.23"),
    ] {
        let ran = Test::new().args(["explain", "--", flag]).run();
        assert!(ran.stdout.contains(lines), "{flag}: {}", ran.stdout);
    }
}

fn explain(name: &str) -> Vec<Value> {
    let found = print_json(&format!("explain {name}"));
    found["items"].as_array().expect("explanations").clone()
}

/// A gate that `--help` of a line hides is not gone.
#[test]
fn gates_are_explained_with_their_locks() {
    let found = explain("SidecarContainers");
    let kubelet = found
        .iter()
        .find(|it| it["lines"][0] == "kubelet: Kubernetes 1.28 to 1.36");
    let kubelet = kubelet.unwrap_or_else(|| panic!("{found:?}"));
    assert_eq!(
        kubelet["lines"][1],
        "locked to true: Kubernetes 1.33 to 1.36"
    );
}

#[test]
fn codes_of_errors_are_listed() {
    let printed = Regex::new(r"\[([a-z]+(?:-[a-z0-9]+)*)\]").expect("pattern");
    let rules = print_json("list rules");
    let mut names = BTreeSet::new();
    collect_values(&rules, &["name"], &mut names);
    for (file, bytes) in files(&root().join("tests/golden/messages")) {
        for found in printed.captures_iter(&String::from_utf8_lossy(&bytes)) {
            assert!(names.contains(&found[1]), "{file}: [{}]", &found[1]);
        }
    }
}

#[test]
fn help_and_readme_examples_of_explain_work() {
    for name in [
        "containerd",
        "--windows-priorityclass",
        "EnableCompartmentNamespace",
        "component-range",
        "pause",
    ] {
        let ran = Test::new().args(["explain", name]).succeeds();
        assert!(ran.stdout.contains("source: "), "{name}: {}", ran.stdout);
    }
    // A flag that imagegen does not set, and a name that is none.
    let ran = Test::new().args(["explain", "--v"]).succeeds();
    assert!(ran.stdout.contains("not set by imagegen"), "{}", ran.stdout);
    Test::new()
        .line("explain containrd")
        .fails(3, &["did you mean `containerd`?"]);
    let ran = Test::new()
        .line("explain qqqqqqqqqqqq")
        .fails(3, &["`imagegen list` shows"]);
    assert!(!ran.stderr.contains("names are known"), "{}", ran.stderr);
}

/// Helps, errors and the plan's missing values name them.
#[test]
fn variables_of_the_environment_are_explained() {
    for (name, said) in [
        ("IMAGEGEN_STORE", "option of imagegen --store\n"),
        ("IMAGEGEN_FORMAT", "environment: IMAGEGEN_FORMAT\n"),
        ("PKR_VAR_location", "variable location\n  target azure"),
        ("ARM_CLIENT_ID", "variable client_id\n"),
    ] {
        let ran = Test::new().args(["explain", name]).succeeds();
        assert!(ran.stdout.contains(said), "{name}: {}", ran.stdout);
    }
}

/// Long flags of every verb.
fn list_flags(command: &clap::Command, found: &mut BTreeSet<String>) {
    for argument in command.get_arguments() {
        let name = argument.get_long().filter(|name| *name != "help");
        found.extend(name.map(|name| format!("--{name}")));
    }
    for command in command.get_subcommands() {
        list_flags(command, found);
    }
}

/// Names with values: every value of a flag or variable that the catalog knows, and a version of each component.
fn list_values(index: &NameIndex, trees: &Trees) -> BTreeSet<(String, &'static str)> {
    let mut values = BTreeSet::new();
    for (flag, kind) in [
        ("--cni", "pod network"),
        ("--delivery", "delivery"),
        ("--feature", "feature"),
        ("--host-access", "host access"),
        ("--join", "join"),
        ("--k8s", "kubernetes line"),
        ("--runtime", "runtime"),
        ("--target", "target"),
        ("--windows", "windows release"),
    ] {
        let names = index.entries().filter(|it| it.kind == kind);
        let named: BTreeSet<(String, &str)> = names
            .map(|it| (format!("{flag}={}", it.name), kind))
            .collect();
        assert!(named.len() > 1, "{flag}: {named:?}");
        values.extend(named);
    }
    for name in trees.catalog.component_names() {
        let component = trees.catalog.load_component(&name).expect("component");
        for pin in component.pins.list().iter().take(1) {
            values.insert((format!("--component={name}={}", pin.version), "version"));
            values.insert((format!("{name}={}", pin.version), "version"));
        }
    }
    for target in all_targets() {
        for selector in &target.selectors {
            for value in &selector.values {
                let value = format!("{}={}", selector.name, value.value);
                values.insert((value, "variable value"));
            }
        }
        for source in target.releases.values().flatten() {
            for (name, value) in &source.variables {
                values.insert((format!("{name}={value}"), "variable value"));
            }
        }
    }
    values.insert((
        "--waive=kubelet=cosign-key".to_owned(),
        ProofKind::CosignKey.as_str(),
    ));
    values
}

/// A source is something that a reader can open, or says from what it follows.
fn is_source(text: &str) -> bool {
    let form =
        Regex::new(r"^(https?://[^ ]+|[\w.-]+/[\w.-]+@[^ ]+ .+|derived: .{4,})").expect("pattern");
    root().join("provisioners").join(text).is_file()
        || root().join(text).exists()
        || text.split("; ").any(|part| form.is_match(part))
}

#[test]
fn every_flag_and_value_has_a_fact_with_its_source() {
    let trees = read_sources(&SourceFolders::default(), &[]).expect("trees");
    let (index, plan) = index_names(
        &selection("azure", "1.36.4", &[]),
        &list_options(),
        &DefinedImage::empty(),
        &trees,
    )
    .expect("index");
    let mut flags = BTreeSet::new();
    list_flags(&Cli::command(), &mut flags);
    assert!(flags.len() > 60, "{flags:?}");
    for flag in &flags {
        let found = index.explain(flag, &plan, &trees).expect("explained");
        assert!(
            found.iter().any(|it| it.kind == "option of imagegen"),
            "{flag}: {found:#?}"
        );
    }
    let mut names: BTreeSet<(String, &str)> = list_values(&index, &trees);
    assert!(names.len() > 150, "{}", names.len());
    for (kind, words) in read_words() {
        // Codes and rules: the word alone is the fact.
        if ["error", "refusal", "warning", "rule"]
            .iter()
            .any(|word| kind.contains(word))
        {
            names.extend(words.into_keys().map(|name| (name, "")));
        }
    }
    for (name, kind) in &names {
        let found = index.explain(name, &plan, &trees).expect("explained");
        let is_named = |it: &Explanation| kind.is_empty() || it.kind == *kind || it.name == *kind;
        assert!(found.iter().any(is_named), "{name}: {found:#?}");
        for it in &found {
            assert!(
                !it.lines.is_empty() && is_source(&it.source),
                "{name}: {it:#?}"
            );
            let refuses = |line: &String| {
                // `x` is no runtime: containerd, docker
                let is_unknown = line.starts_with('`') && line.contains("` is no ");
                is_unknown || line.contains("is not a value") || line.is_empty()
            };
            assert!(
                kind.is_empty() || !it.lines.iter().any(refuses),
                "{name}: {it:#?}"
            );
        }
    }
}

#[test]
fn values_of_flags_and_variables_are_explained() {
    let explain = |name: &str| {
        Test::new()
            .line("explain --target azure --k8s 1.36.4")
            .args([name])
            .succeeds()
            .stdout
    };
    for (name, said) in [
        (
            "--windows-priorityclass=ABOVE_NORMAL_PRIORITY_CLASS",
            "is the value that images get",
        ),
        (
            "--windows-priorityclass=x",
            "is not the value that images get",
        ),
        ("output=managed_image", "this plan has"),
        ("output=x", "is not a value of it"),
        ("image_version=20348.1.1", "this plan has `latest`"),
        ("runtime=containerd", "runtime containerd"),
        ("runtime=podman", "is no runtime: containerd, docker"),
        ("cni=flannel-overlay", "pod network flannel-overlay"),
        ("config", "Image definition"),
        ("component=containerd=1.7.2", "version containerd 1.7.2"),
        (
            "EnableCompartmentNamespace=1",
            "`1` is its data in this plan",
        ),
        ("EnableCompartmentNamespace=2", "no property of it is `2`"),
        (
            "image_publisher=MicrosoftWindowsServer",
            "Windows 2019, gen1",
        ),
        ("lock-stale", "The lockfile was made from another selection"),
        ("packer-failed", "A step of Packer"),
    ] {
        let text = explain(name);
        assert!(text.contains(said), "{name}: {text}");
    }
    let ran = Test::new().line("explain no-such-thing=1").run();
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
}
