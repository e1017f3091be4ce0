//! The catalog that ships, and what the lint finds in one that is wrong.

use std::collections::BTreeMap;

use imagegen::catalog::{Catalog, lint};
use imagegen::embedded::Tree;
use serde_json::{Value, json};

use crate::support::{Test, files, root};

#[test]
fn what_ships_has_no_findings() {
    let findings = lint(&Catalog::new(Tree::manifests()));
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

fn hex(digit: &str, length: usize) -> String {
    digit.repeat(length)
}

fn pin(version: &str, algorithm: &str, digest: &str) -> Value {
    json!({ "version": version, "algorithm": algorithm, "digest": digest, "confidence": "medium", "source": ["s"] })
}

/// A small catalog in which nothing is wrong.
fn small() -> BTreeMap<String, Value> {
    let component = |name: &str| {
        json!({
            "name": name, "summary": "s", "license": "MIT", "purl": "pkg:generic/x@{version}",
            "releases": [{ "versions": "<9.0.0", "url": "https://x.example/{version}", "kind": "exe", "source": "s" }],
            "pins": [pin("1.0.0", "sha256", &hex("a", 64)), pin("1.1.0", "sha256", &hex("b", 64))]
        })
    };
    let line = json!({
        "minor": "1.20", "patches": ["1.20.0"], "latest": "1.20.0",
        "windows": [{ "value": "2019", "source": "s" }],
        "runtimes": [{ "name": "containerd", "reason": "r", "source": "s" }],
        "hostAccess": [{ "name": "services", "reason": "r", "source": "s" }],
        "cri": ["v1alpha2"], "pause": { "kubeadmDefault": "p:1", "default": "p:1", "source": "s" },
        "components": { "containerd": { "default": "1.0.0", "allowed": "<2.0.0", "reason": "r", "source": "s" } },
        "kubeadmApi": ["v1beta2"], "kubeletConfigMap": "c", "securityFloor": [], "programs": {}, "configuration": {},
        "source": "s"
    });
    let windows = json!({
        "release": "2019", "title": "t", "build": 17763, "channel": "ltsc", "containerTag": "1809",
        "runsImagesOf": [17763], "pause": ["p:1"], "minimumUpdates": [], "registry": [], "source": "s"
    });
    [
        ("components/containerd.json", component("containerd")),
        ("kubernetes/1.20.json", line),
        ("kubernetes/flags.json", json!({ "flags": [], "featureGates": [] })),
        ("windows/2019.json", windows),
        (
            "contents.json",
            json!({ "groups": [{ "name": "containerd", "alternatives": [[{ "component": "containerd" }]], "reason": "r", "source": "s" }] }),
        ),
        ("features.json", json!({ "features": [] })),
        ("rules.json", json!({ "refusals": [] })),
    ]
    .into_iter()
    .map(|(path, value)| (path.to_owned(), value))
    .collect()
}

fn findings(files: &BTreeMap<String, Value>) -> Vec<String> {
    let bytes = files.iter().map(|(path, value)| (path.clone(), value.to_string().into_bytes())).collect();
    lint(&Catalog::new(Tree::loaded("m".to_owned(), bytes))).iter().map(ToString::to_string).collect()
}

#[test]
fn each_rule_has_a_catalog_that_breaks_it() {
    assert_eq!(findings(&small()), Vec::<String>::new());
    let component = "components/containerd.json";
    let line = "kubernetes/1.20.json";
    let flag = |versions: &str| json!({ "program": "kubelet", "flag": "--x", "versions": versions, "reason": "r", "source": "s" });
    for (file, pointer, value, said) in [
        (component, "/pins/1/digest", json!(hex("a", 64)), "1.0.0 and 1.1.0 have the same digest"),
        (
            component,
            "/pins",
            json!([
                pin("1.0.0", "sha1", &hex("c", 40)),
                pin("1.0.0", "sha256", &format!("{}{}", hex("c", 40), hex("d", 24)))
            ]),
            "it is made up [invented-digest]",
        ),
        (
            component,
            "/pins/0/digest",
            json!(hex("a", 63)),
            "a Sha256 digest has 64 digits, this has 63 [digest-length]",
        ),
        (component, "/pins/0/digest", json!(hex("A", 64)), "lower-case hexadecimal [digest-case]"),
        (
            component,
            "/pins/0/source",
            json!([""]),
            "a digest without source proves nothing [pin-without-source]",
        ),
        (
            component,
            "/pins/0/version",
            json!("9.1.0"),
            "no release entry says where 9.1.0 is published [dangling-reference]",
        ),
        (
            component,
            "/releases/0/versions",
            json!("<0.5.0"),
            "no release entry holds the default 1.0.0 [unreachable-default]",
        ),
        (component, "/name", json!("other"), "names itself `other`"),
        (component, "/pins/0/colour", json!(1), "unknown key `colour`"),
        (line, "/latest", json!("1.20.9"), "latest 1.20.9 is not one of patches [unreachable-default]"),
        (
            line,
            "/patches",
            json!(["1.20.0", "1.21.0"]),
            "a patch release is not of 1.20 [dangling-reference]",
        ),
        (line, "/windows/0/value", json!("2031"), "no windows/2031.json [dangling-reference]"),
        (
            line,
            "/components/containerd/default",
            json!("2.5.0"),
            "the default 2.5.0 is outside `<2.0.0` [unreachable-default]",
        ),
        (
            line,
            "/runtimes/0/name",
            json!("docker"),
            "runtime docker has no version in components [unreachable-default]",
        ),
        (
            "contents.json",
            "/groups/0/alternatives/0/0/component",
            json!("nothing"),
            "no components/nothing.json [dangling-reference]",
        ),
        (
            "rules.json",
            "/refusals",
            json!([{ "id": "r", "components": { "nothing": "*" }, "reason": "r", "instead": "i", "source": "s" }]),
            "r: no components/nothing.json [dangling-reference]",
        ),
        (
            "kubernetes/flags.json",
            "/flags",
            json!([flag("<1.24.0"), flag(">=1.20.0")]),
            "kubelet --x: `<1.24.0` and `>=1.20.0` overlap [overlapping-ranges]",
        ),
        ("windows/2019.json", "/build", json!("x"), "expected a whole number"),
    ] {
        let mut files = small();
        set(files.get_mut(file).expect(file), pointer, value);
        let found = findings(&files);
        assert!(
            found.iter().any(|finding| finding.contains(said)),
            "{file}{pointer}: no `{said}` in {found:#?}"
        );
    }
    let mut files = small();
    let releases = files.get_mut(component).expect("component").pointer_mut("/releases").expect("releases");
    let first = releases[0].clone();
    releases.as_array_mut().expect("list").push(first);
    assert!(findings(&files).iter().any(|finding| finding.contains("[overlapping-ranges]")));
}

fn set(file: &mut Value, pointer: &str, value: Value) {
    let (parent, key) = pointer.rsplit_once('/').expect("pointer");
    let parent = file.pointer_mut(parent).expect(pointer);
    match parent {
        Value::Array(items) => items[key.parse::<usize>().expect("index")] = value,
        other => other[key] = value,
    }
}

#[test]
fn another_catalog_takes_the_place_of_the_built_in_one() {
    let mut test = Test::new();
    for (name, bytes) in files(&root().join("manifests")) {
        test = test.file(&format!("mine/{name}"), std::str::from_utf8(&bytes).expect("UTF-8"));
    }
    let test = test.line("--manifests mine catalog lint");
    assert!(test.succeeds().stderr.contains("mine: nothing found"));
    let broken = test.text("mine/components/crictl.json").replacen("\"summary\"", "\"sumary\"", 1);
    let test = test.file("mine/components/crictl.json", &broken);
    let ran = test.fails(3, &["mine: 1 finding(s)"]);
    assert!(ran.stdout.contains("mine/components/crictl.json:"), "{}", ran.stdout);
    Test::new().line("--manifests nowhere list windows").fails(3, &["nowhere"]);
}

#[test]
fn lists_and_explanations_name_their_sources() {
    for (line, said) in [
        ("list targets", "azure"),
        ("list kubernetes", "1.20"),
        ("list windows", "build 26100"),
        ("list components", "containerd"),
        ("list components kubelet", "1.20.0"),
        ("explain containerd --k8s 1.20.0", "default"),
        ("explain --network-plugin --k8s 1.20.0", "kubelet: versions"),
        ("explain WinOverlay", "kube-proxy: versions"),
        ("explain kubernetes --k8s 1.36.4", "kubernetes/"),
        ("explain dockershim-removed", "refused:"),
        ("explain location", "Azure region"),
        ("explain HNSControlFlag --windows 2019 --k8s 1.20.0", "conflict:"),
    ] {
        let ran = Test::new().line(line).succeeds();
        assert!(ran.stdout.contains(said), "{line}: {}", ran.stdout);
        let value = Test::new().line(line).line("--format json").succeeds().stdout;
        let value: Value = serde_json::from_str(&value).expect(line);
        assert!(!value.as_array().expect("a list").is_empty(), "{line}");
    }
}
