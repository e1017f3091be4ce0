//! The catalog that ships, and what the lint finds in one that is wrong.

mod anchors;
mod artifacts;
mod rules;

use std::collections::{BTreeMap, BTreeSet};

use imagegen::base::json::parse_json;
use imagegen::catalog::{Catalog, lint_catalog, lint_sources};
use imagegen::embedded::Tree;
use imagegen::model::pins::{PinFile, PinList};
use serde_json::{Value, json};

use crate::support::{Test, files, root};

#[test]
fn what_ships_has_no_findings() {
    let findings = lint_catalog(&Catalog::new(Tree::embedded_manifests()));
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
    for tree in [Tree::embedded_packer(), Tree::embedded_provisioners()] {
        let lines: Vec<String> = lint_sources(&tree)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert!(lines.is_empty(), "{}", lines.join("\n"));
    }
}

/// `OWNER/REPO` of a release page on GitHub.
fn find_release_page(source: &str) -> Option<String> {
    let mut parts = source
        .strip_prefix("https://github.com/")?
        .split(['/', ' ']);
    let repository = format!("{}/{}", parts.next()?, parts.next()?);
    (parts.next() == Some("releases")).then_some(repository)
}

/// The release page that a component's release names is the one of the repository that serves it, or of the
/// component's package URL.
#[test]
fn release_pages_belong_to_the_component() {
    let catalog = Catalog::new(Tree::embedded_manifests());
    let mut pages = 0;
    for name in catalog.component_names() {
        let component = catalog.load_component(&name).expect("a component");
        for release in &component.definition.releases {
            for page in release.source.split("; ").filter_map(find_release_page) {
                let purl = component.definition.purl.to_lowercase();
                let is_own =
                    release.url.to_string().contains(&page) || purl.contains(&page.to_lowercase());
                assert!(
                    is_own,
                    "{name}: {page} is not where {} comes from",
                    release.url
                );
                pages += 1;
            }
        }
    }
    assert!(pages > 10, "{pages} release pages");
}

/// A source that has the form.
const SOURCE: &str = "https://example.com/facts";

/// Digits that could be those of a digest: one digit over and over could not.
fn hex(digit: &str, length: usize) -> String {
    format!("{digit}0").chars().cycle().take(length).collect()
}

fn pin(version: &str, algorithm: &str, digest: &str) -> Value {
    json!({ "version": version, "algorithm": algorithm, "digest": digest, "confidence": "medium", "source": [SOURCE] })
}

/// A small catalog in which nothing is wrong.
fn small() -> BTreeMap<String, Value> {
    let component = |name: &str| {
        json!({
            "name": name, "summary": "s", "license": "MIT", "purl": "pkg:generic/x@{version}",
            "choices": [{ "kubernetes": "*", "default": "1.0.0", "allowed": "<2.0.0", "reason": "r", "source": SOURCE }],
            "releases": [{ "versions": "<9.0.0", "url": "https://x.example/{version}", "kind": "exe", "source": SOURCE }]
        })
    };
    let pins = json!({
        "component": "containerd",
        "pins": [pin("1.0.0", "sha256", &hex("a", 64)), pin("1.1.0", "sha256", &hex("b", 64))]
    });
    let range = |name: &str, field: &str| json!([{ "kubernetes": "*", name: field, "reason": "r", "source": SOURCE }]);
    let api = |api: &str| json!([{ "kubernetes": "*", "api": api, "source": SOURCE }]);
    let support = json!({
        "runtimes": range("name", "containerd"), "hostAccess": range("name", "services"),
        "networks": [{ "name": "none", "reason": "r", "source": SOURCE }],
        "cri": api("v1"), "kubeadmApi": api("v1beta3"),
        "pause": [{ "kubernetes": "*", "kubeadm": "p:1", "image": "p:1", "source": SOURCE }],
        "pauseImages": { "images": [{ "image": "p:1", "builds": [17763] }], "source": SOURCE }
    });
    let line = |minor: &str| json!({ "minor": minor, "patches": [format!("{minor}.0"), format!("{minor}.1")], "source": SOURCE });
    let survey = |minor: &str| json!({ "minor": minor, "release": format!("{minor}.0") });
    let programs = json!({
        "source": SOURCE,
        "surveyed": [survey("1.19"), survey("1.20"), survey("1.21")],
        "flags": { "kubelet": [
            { "since": "1.19", "until": "1.19", "names": ["a"] },
            { "since": "1.19", "until": "1.20", "names": ["b", "c"] },
            { "since": "1.21", "names": ["a"] },
        ] },
        "featureGates": [],
        "configuration": { "KubeletConfiguration": [{ "since": "1.19", "names": ["address"] }] }
    });
    let windows = json!({
        "release": "2019", "title": "t", "build": 17763, "channel": "ltsc", "containerTag": "1809",
        "kubernetes": [{ "versions": ">=1.19.0", "default": true, "source": SOURCE }],
        "runsImagesOf": [17763], "minimumUpdates": [], "registry": [], "source": SOURCE
    });
    [
        ("components/containerd.json", component("containerd")),
        ("pins/containerd.json", pins),
        ("kubernetes/lines/1.19.json", line("1.19")),
        ("kubernetes/lines/1.20.json", line("1.20")),
        ("kubernetes/lines/1.21.json", line("1.21")),
        ("kubernetes/support.json", support),
        ("kubernetes/programs.json", programs),
        ("kubernetes/flags.json", json!({ "flags": [], "featureGates": [] })),
        ("windows/2019.json", windows),
        ("networks/none.json", json!({ "name": "none", "title": "t", "components": [], "source": SOURCE })),
        (
            "contents.json",
            json!({ "groups": [{ "name": "containerd", "alternatives": [[{ "component": "containerd" }]], "reason": "r", "source": SOURCE }] }),
        ),
        ("features.json", json!({ "features": [] })),
        ("rules.json", json!({ "refusals": [] })),
    ]
    .into_iter()
    .map(|(path, value)| (path.to_owned(), value))
    .collect()
}

fn findings(files: &BTreeMap<String, Value>) -> Vec<String> {
    let bytes = files
        .iter()
        .map(|(path, value)| (path.clone(), value.to_string().into_bytes()))
        .collect();
    lint_catalog(&Catalog::new(Tree::from_files("m".to_owned(), bytes)))
        .iter()
        .map(ToString::to_string)
        .collect()
}

/// The program finds its own pins by the beginning of their lines.
#[test]
fn pins_stand_one_a_line_by_version() {
    let mut seen = 0;
    for (name, bytes) in files(&root().join("manifests/pins")) {
        let text: &'static str = String::from_utf8(bytes).expect("UTF-8").leak();
        let file: PinFile = parse_json(&name, text.as_bytes()).expect("pins");
        assert_eq!(file.format(), text, "{name}");
        let mut versions = file.pins.iter().map(|pin| &pin.version);
        assert!(versions.by_ref().is_sorted(), "{name}");

        let lines = PinList::BuiltIn(text);
        let loaded = PinList::Loaded(file.pins.clone());
        assert_eq!(lines.list(), file.pins, "{name}");
        for pin in &file.pins {
            let of_version = lines.find_version(&pin.version);
            assert!(of_version.contains(pin), "{name}: {}", pin.version);
            assert_eq!(of_version, loaded.find_version(&pin.version));
            let digest = pin.digest.as_str();
            assert!(lines.find_digest(digest).contains(pin), "{name}: {digest}");
            assert_eq!(lines.find_digest(digest), loaded.find_digest(digest));
            seen += 1;
        }
    }
    assert!(seen > 1500, "{seen}");
}

#[test]
fn a_file_of_pins_needs_its_component() {
    let mut files = small();
    let mut pins = files["pins/containerd.json"].clone();
    set(&mut pins, "/component", json!("containred"));
    files.insert("pins/containred.json".to_owned(), pins);
    let found = findings(&files);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(
        found[0].contains("no components/containred.json [dangling-reference]"),
        "{found:#?}"
    );
}

/// A name that vanishes and comes back is known where it is, and nowhere else.
#[test]
fn programs_know_what_their_line_has() {
    let files = small()
        .into_iter()
        .map(|(path, value)| (path, value.to_string().into_bytes()))
        .collect();
    let catalog = Catalog::new(Tree::from_files("m".to_owned(), files));
    let table = catalog.load_programs().expect("programs");
    for (minor, flags) in [
        ("1.19", &["a", "b", "c"][..]),
        ("1.20", &["b", "c"]),
        ("1.21", &["a"]),
    ] {
        assert_eq!(
            table.list_programs(minor.parse().expect(minor))["kubelet"].flags,
            flags,
            "{minor}"
        );
    }
    assert!(
        table
            .list_programs("1.22".parse().expect("a line"))
            .is_empty()
    );
    let shipped = Catalog::new(Tree::embedded_manifests());
    let shipped = shipped.load_programs().expect("programs");
    let gates = |minor: &str| {
        let minor = minor.parse().expect(minor);
        shipped.list_programs(minor)["kubelet"]
            .feature_gates
            .clone()
    };
    // Those that `--help` hides, too; each with the value to which it is locked.
    for (minor, gate, known) in [
        ("1.28", "SeparateCacheWatchRPC", Some(None)),
        ("1.29", "SeparateCacheWatchRPC", None),
        ("1.30", "SeparateCacheWatchRPC", Some(None)),
        ("1.36", "SeparateCacheWatchRPC", Some(Some(false))),
        ("1.25", "WindowsHostProcessContainers", Some(None)),
        ("1.27", "WindowsHostProcessContainers", Some(Some(true))),
        ("1.28", "WindowsHostProcessContainers", None),
        ("1.20", "ExecProbeTimeout", Some(None)),
        ("1.34", "ExecProbeTimeout", Some(None)),
        ("1.36", "ExecProbeTimeout", Some(Some(true))),
        ("1.36", "SidecarContainers", Some(Some(true))),
        ("1.33", "WinDSR", Some(None)),
        ("1.34", "WinDSR", Some(Some(true))),
    ] {
        assert_eq!(gates(minor).get(gate).copied(), known, "{minor} {gate}");
    }
}

/// A folder whose catalog `mine` was not told what the programs of 1.37 know.
pub fn forget_survey() -> Test {
    let test = Test::new().line("catalog export --out mine");
    test.succeeds();
    let path = "mine/kubernetes/programs.json";
    let mut programs: Value = serde_json::from_str(&test.text(path)).expect("JSON");
    let surveyed = programs["surveyed"].as_array_mut().expect("surveyed");
    assert_eq!(surveyed.pop().expect("a survey")["minor"], "1.37");
    test.file(path, &programs.to_string())
}

#[test]
fn a_line_that_is_not_surveyed_is_loud() {
    let message = "the programs of Kubernetes 1.37 are not surveyed";
    let catalog = forget_survey();
    for line in [
        "plan --target azure --k8s 1.37",
        "catalog lint",
        "explain kubelet --k8s 1.37",
    ] {
        let ran = catalog.bare().run(&format!("{line} --manifests mine"));
        assert!(
            format!("{}{}", ran.stdout, ran.stderr).contains(message),
            "{line}: {} {}",
            ran.stdout,
            ran.stderr
        );
    }
    let plan = catalog
        .bare()
        .run("plan --target azure --k8s 1.37 --format json --manifests mine");
    let plan: Value = serde_json::from_str(&plan.stdout).expect("JSON");
    let warnings = plan["warnings"].as_array().expect("warnings");
    assert!(
        warnings
            .iter()
            .any(|warning| warning["id"] == "not-surveyed" && warning["subject"] == "1.37")
    );
    let surveyed = Test::new()
        .line("plan --target azure --k8s 1.36.4 --format json")
        .succeeds()
        .stdout;
    assert!(!surveyed.contains("not-surveyed"));
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
        test = test.file(
            &format!("mine/{name}"),
            std::str::from_utf8(&bytes).expect("UTF-8"),
        );
    }
    let test = test.line("--manifests mine catalog lint");
    assert!(
        test.succeeds()
            .stderr
            .contains("mine: no errors, 0 warning(s)")
    );
    let broken = test
        .text("mine/components/crictl.json")
        .replacen("\"summary\"", "\"sumary\"", 1);
    let test = test.file("mine/components/crictl.json", &broken);
    let ran = test.fails(3, &["mine: 1 error(s)"]);
    assert!(
        ran.stdout.contains("mine/components/crictl.json:"),
        "{}",
        ran.stdout
    );
    Test::new()
        .line("--manifests nowhere list windows")
        .fails(3, &["nowhere"]);
}

/// A catalog may be somebody else's.
#[test]
fn names_of_images_are_rendered_within_bounds() {
    let test = Test::new().line("catalog export --out mine");
    test.succeeds();
    let index = test.text("mine/cluster/index.json");
    let mut index: Value = serde_json::from_str(&index).expect("JSON");
    for image in index["images"].as_array_mut().expect("images") {
        image["reference"] = json!("{% for a in range(end=1000000000) %}x{% endfor %}");
    }
    let test = test.file("mine/cluster/index.json", &index.to_string());
    let line = "plan --target host --k8s 1.36.4 --images agents --manifests mine";
    let ran = test.bare().run(line);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    for said in ["cluster/index.json", "`range` counts up by at most 256"] {
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
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
        (
            "explain HNSControlFlag --windows 2019 --k8s 1.20.0",
            "conflict:",
        ),
    ] {
        let ran = Test::new().line(line).succeeds();
        assert!(ran.stdout.contains(said), "{line}: {}", ran.stdout);
        let value = Test::new()
            .line(line)
            .line("--format json")
            .succeeds()
            .stdout;
        let value: Value = serde_json::from_str(&value).expect(line);
        let items = value["items"].as_array().expect("a list");
        assert!(!items.is_empty(), "{line}");
    }
}

/// `OWNER/REPO@TAG PATH` in the sources of a JSON file.
fn collect_github_sources(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(source)) = fields.get("source") {
                for one in source.split("; ") {
                    let one = one.split(" (").next().unwrap_or_default();
                    let parts = one.split_once(' ').zip(one.split_once('@'));
                    if parts.is_some_and(|((_, path), (name, _))| {
                        !path.contains(' ') && name.matches('/').count() == 1 && !name.contains(':')
                    }) {
                        found.insert(one.to_owned());
                    }
                }
            }
            for field in fields.values() {
                collect_github_sources(field, found);
            }
        }
        Value::Array(items) => {
            for item in items {
                collect_github_sources(item, found);
            }
        }
        _ => {}
    }
}

/// A file that was opened has a line of it in the record, and a file that nobody opened is listed as such: a new
/// source is in neither, and this test names it.
#[test]
fn sources_on_github_are_recorded_with_a_line_of_theirs() {
    let mut named = BTreeSet::new();
    let plugins = "tests/fixtures/plugins";
    for folder in ["manifests", "provisioners", "packer", plugins] {
        for (path, bytes) in files(&root().join(folder)) {
            // Templates of JSON are none.
            let extension = std::path::Path::new(&path).extension();
            if extension.is_some_and(|extension| extension == "json")
                && let Ok(value) = serde_json::from_slice(&bytes)
            {
                collect_github_sources(&value, &mut named);
            }
        }
    }
    let path = root().join("tests/fixtures/sources.json");
    let text = std::fs::read(path).expect("the record");
    let record: Value = serde_json::from_slice(&text).expect("JSON");

    let mut recorded = BTreeSet::new();
    for entry in record["read"].as_array().expect("read") {
        let source = entry["source"].as_str().expect("a source");
        assert!(
            recorded.insert(source.to_owned()),
            "{source} is there twice"
        );
        let words = entry["quote"].as_str().expect("a line").split_whitespace();
        assert!((1..=15).contains(&words.count()), "{entry}");
        let commit = entry["openedAt"].as_str();
        let is_commit =
            |text: &str| text.len() == 40 && text.bytes().all(|b| b.is_ascii_hexdigit());
        assert!(commit.is_none_or(is_commit), "{entry}");
    }
    let opened = recorded.len();
    for source in record["unread"].as_array().expect("unread") {
        let source = source.as_str().expect("a source");
        assert!(
            recorded.insert(source.to_owned()),
            "{source} is there twice"
        );
    }
    let missing: Vec<&String> = named.difference(&recorded).collect();
    assert!(
        missing.is_empty(),
        "open these, and record a line: {missing:#?}"
    );
    let stale: Vec<&String> = recorded.difference(&named).collect();
    assert!(stale.is_empty(), "no fact names these: {stale:#?}");
    assert!(opened >= 70, "{opened}");
}
