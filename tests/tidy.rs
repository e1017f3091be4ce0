//! Rules of the house that no compiler knows: who may use whom, how long a file may be, what a
//! template may name.

mod links;
mod packer;

use std::collections::BTreeSet;

use imagegen::catalog::names_notes;
use imagegen::embedded::Tree;
use serde_json::Value;

use crate::support::targets::image_targets;
use crate::support::{Test, files, root};

/// A module may use those before it in the order of `src/lib.rs`.
fn module_order() -> Vec<String> {
    let library = std::fs::read_to_string(root().join("src/lib.rs")).expect("src/lib.rs");
    let modules = library
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    modules.chain(["main"]).map(str::to_owned).collect()
}

/// Folders of sources and data.
const FOLDERS: &[&str] = &[
    "src",
    "tests",
    "provisioners",
    "packer",
    "manifests",
    "help",
    "ci",
];

/// These turn values into values or bytes and never touch the world.
const PURE: &[&str] = &[
    "base",
    "diagnostic",
    "windows",
    "model",
    "embedded",
    "catalog",
    "template",
    "resolve",
    "lock",
    "trust",
    "machine",
    "guest",
    "verify",
    "join",
    "cluster",
    "render",
];

fn module(path: &str) -> &str {
    path.split('/')
        .next()
        .unwrap_or(path)
        .trim_end_matches(".rs")
}

/// Without a module of tests at the end, which may be for one system.
fn cut_tests(source: &str) -> &str {
    let starts = ["#[cfg(test)]", "#[cfg(all(test,"];
    let found = starts.iter().filter_map(|start| source.find(start));
    &source[..found.min().unwrap_or(source.len())]
}

/// Names behind `crate::` (or the crate's own name in the program), tests left out.
fn uses(source: &str) -> BTreeSet<String> {
    let code = cut_tests(source);
    let mut names = BTreeSet::new();
    for prefix in ["crate::", "imagegen::"] {
        for part in code.split(prefix).skip(1) {
            let inner: Vec<&str> = match part.strip_prefix('{') {
                Some(list) => list.split('}').next().unwrap_or("").split(',').collect(),
                None => vec![part],
            };
            for name in inner {
                let name: String = name
                    .trim()
                    .chars()
                    .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                    .collect();
                names.insert(name);
            }
        }
    }
    names
}

#[test]
fn modules_use_only_those_before_them() {
    let order = module_order();
    let place = |name: &str| order.iter().position(|known| known == name);
    let mut seen = BTreeSet::new();
    for (path, bytes) in files(&root().join("src")) {
        let name = module(&path);
        if name == "lib" {
            continue;
        }
        let own = place(name)
            .unwrap_or_else(|| panic!("{path}: the order of modules does not name `{name}`"));
        seen.insert(name.to_owned());
        for used in uses(std::str::from_utf8(&bytes).expect("UTF-8")) {
            let Some(other) = place(&used) else { continue };
            assert!(other <= own, "{path} uses {used}, which comes after {name}");
            assert!(
                name != "base" || used == "base",
                "{path} uses {used}: `base` imports nothing of the crate"
            );
            assert!(
                !(PURE.contains(&name) && used == "io"),
                "{path} touches the world"
            );
        }
    }
    assert_eq!(seen.len(), order.len(), "{seen:?}");
}

/// A template or a regular expression that another module compiles has no bounds.
#[test]
fn engines_with_bounds_are_created_once() {
    let mut created = Vec::new();
    for (path, bytes) in files(&root().join("src")) {
        let text = String::from_utf8(bytes).expect("UTF-8");
        for name in [
            "Tera::new",
            "Tera::default",
            "Regex::new",
            "RegexBuilder::new",
        ] {
            let count = text.matches(name).count();
            created.extend(vec![format!("{path}: {name}"); count]);
        }
    }
    let expected = [
        "base/pattern.rs: RegexBuilder::new",
        "template.rs: Tera::new",
    ];
    assert_eq!(created, expected);
}

/// Git runs what the settings of a repository name; `records/git.rs` says which repository that may be.
#[test]
fn git_is_started_in_one_place() {
    let mut started = Vec::new();
    for (path, bytes) in files(&root().join("src")) {
        let text = String::from_utf8(bytes).expect("UTF-8");
        let quoted = text.matches("\"git\"").count() + text.matches("\"git.exe\"").count();
        // The record of an image has a field of this name.
        if quoted > 0 && !text.contains("record[\"git\"]") {
            started.push(format!("{path}: {quoted}"));
        }
    }
    assert_eq!(started, ["records/git.rs: 1"]);
    for (path, bytes) in files(&root().join("ci/publish/pipelines")) {
        let text = String::from_utf8_lossy(&bytes);
        let bare = text.contains("git -c safe.bareRepository=explicit");
        assert_eq!(bare, path == "node-images", "{path}");
    }
}

#[test]
fn the_layering_test_can_fail() {
    let source = "use crate::{bake, model::json};\nuse crate::io::fs;\nfn f() { crate::ui::x() }\n";
    let tests = "#[cfg(all(test, unix))]\nmod tests { use crate::cli; }\n#[cfg(test)]\nmod more {}";
    let found = uses(&format!("{source}{tests}"));
    assert_eq!(
        found.into_iter().collect::<Vec<_>>(),
        ["bake", "io", "model", "ui"]
    );
}

#[test]
fn files_are_short() {
    for folder in ["src", "tests"] {
        let sources = files(&root().join(folder));
        for (path, bytes) in sources
            .iter()
            .filter(|(path, _)| path.strip_suffix(".rs").is_some())
        {
            // A table of its own tests stands below the code it tests.
            let code = cut_tests(std::str::from_utf8(bytes).expect("UTF-8"));
            let lines = code.lines().count();
            assert!(lines <= 500, "{folder}/{path} has {lines} lines");
        }
    }
}

/// A program that was built into the tree is no source.
#[test]
fn files_are_small() {
    for folder in FOLDERS {
        for (path, bytes) in files(&root().join(folder)) {
            let size = bytes.len();
            assert!(size <= 512 << 10, "{folder}/{path} has {size} bytes");
        }
    }
}

/// A reader can open every source that code, comments and documents name.
#[test]
fn no_text_names_research_notes() {
    let own = ["src/catalog/lint/sources.rs", "tests/catalog/rules.rs"];
    let mut checked = 0;
    for folder in FOLDERS {
        for (path, bytes) in files(&root().join(folder)) {
            let path = format!("{folder}/{path}");
            let Some(text) = String::from_utf8(bytes)
                .ok()
                .filter(|_| !own.contains(&path.as_str()))
            else {
                continue;
            };
            let found = text.lines().find(|line| names_notes(line));
            assert_eq!(found, None, "{path}");
            checked += 1;
        }
    }
    for document in ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        let text = std::fs::read_to_string(root().join(document)).expect(document);
        assert_eq!(
            text.lines().find(|line| names_notes(line)),
            None,
            "{document}"
        );
    }
    assert!(checked > 500, "{checked}");
}

/// Image targets of the program, by name.
/// A definition is read as a whole; the long lists of digests stand beside it.
#[test]
fn the_definition_of_a_component_is_short() {
    let definitions = files(&root().join("manifests/components"));
    assert!(definitions.len() > 40, "{}", definitions.len());
    for (path, bytes) in definitions {
        let lines = std::str::from_utf8(&bytes).expect("UTF-8").lines().count();
        assert!(lines <= 300, "{path} has {lines} lines; the limit is 300");
    }
}

/// Templates that are one component's data may name it and its publisher: they stand in a folder of its name.
fn is_of_a_component(path: &str) -> bool {
    let folder = path.split_once('/').map(|(folder, _)| folder);
    folder.is_some_and(|folder| {
        root()
            .join(format!("manifests/components/{folder}.json"))
            .is_file()
    })
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part)
    })
}

/// Names of the Open Container Initiative, which a cloud has as well.
const CONTAINER_STANDARD: &[&str] = &[
    "vnd.oci.",
    "pkg:oci/",
    "oci layout",
    "oci-layout",
    "io::oci",
    "mod oci;",
    "oci::self",
    "oci::authorize_image",
];

/// Targets are data: neither the program nor the engine nor a template names one, nor its builder or plugins.
/// Left out are `packer/targets`, which are the targets; Markdown, which tells of them; sources of facts, which
/// are addresses; and templates that are one component's data.
#[test]
fn no_code_names_a_target() {
    let folders = [
        "src",
        "provisioners/engine",
        "provisioners/resources",
        "provisioners/installer",
        "provisioners/templates",
        "packer",
    ];
    let mut words = BTreeSet::new();
    for target in image_targets() {
        let image = target.image().expect("an image");
        words.insert(target.name.to_lowercase());
        words.extend(target.builders().map(str::to_lowercase));
        words.extend(
            image
                .plugins
                .as_slice()
                .iter()
                .map(|plugin| plugin.name.to_lowercase()),
        );
    }
    let mut checked = 0;
    for folder in folders {
        for (path, bytes) in files(&root().join(folder)) {
            let is_text = std::path::Path::new(&path)
                .extension()
                .is_some_and(|it| it == "md");
            if path.starts_with("targets/") || is_text || is_of_a_component(&path) {
                continue;
            }
            let text = String::from_utf8(bytes).expect("UTF-8").to_lowercase();
            for line in text.lines().filter(|line| !line.contains("https://")) {
                let of_target = CONTAINER_STANDARD
                    .iter()
                    .fold(line.to_owned(), |line, name| line.replace(name, ""));
                for word in &words {
                    assert!(
                        !has_word(&of_target, word),
                        "{folder}/{path} names the target {word}: {line}"
                    );
                }
            }
            checked += 1;
        }
    }
    assert!(
        checked > 100 && words.contains("azure"),
        "{checked}: {words:?}"
    );
    assert!(has_word("the azure one", "azure") && !has_word("azures", "azure"));
}

/// Every argument of a source block is one that the pinned plugin knows; the default workspace uses only
/// arguments that the plugin of the tests knows.
#[test]
fn source_arguments_are_known_to_the_plugin() {
    let packer = Tree::embedded_packer();
    for target in image_targets() {
        let folder = format!("targets/{}", target.name);
        let fields = root().join(format!("tests/fixtures/plugins/{}.json", target.name));
        let fields = std::fs::read(fields).expect("the arguments of the plugin");
        let fields: Value = serde_json::from_slice(&fields).expect("JSON");
        let (mut known, mut tested) = (BTreeSet::new(), BTreeSet::new());
        collect(&fields["newer"], &mut known);
        collect(&fields["tested"], &mut tested);
        known.extend(tested.iter().cloned());
        let source = packer
            .get(&format!("{folder}/source.pkr.hcl"))
            .expect("source");
        let template = std::str::from_utf8(source).expect("UTF-8");
        let line = format!(
            "build --target {} --k8s 1.36.4 --no-bake --out o",
            target.name
        );
        let workspace = Test::new().line(&line);
        workspace.succeeds();
        for (text, known) in [
            (template, &known),
            (&workspace.text("o/source.pkr.hcl"), &tested),
        ] {
            for argument in arguments(text) {
                assert!(
                    known.contains(&argument),
                    "{}: the plugin does not know `{argument}`",
                    target.name
                );
            }
        }
    }
}

fn arguments(text: &str) -> Vec<String> {
    let source = text.split("\nsource ").last().unwrap_or(text);
    let lines = source
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            line.split_once(" =")
                .map(|(name, _)| name.trim().to_owned())
        })
        .filter(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
        .filter(|name| !["name", "for_each"].contains(&name.as_str()))
        .collect()
}

fn collect(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
        Value::Object(entries) => entries.values().for_each(|item| collect(item, names)),
        Value::String(name) => {
            names.insert(name.clone());
        }
        _ => {}
    }
}

/// An error type without a class would end with exit code 1. `?` does not take one; this finds those that
/// travel inside others, too.
#[test]
fn every_error_type_has_a_class() {
    let mut errors = BTreeSet::new();
    let mut classified = BTreeSet::new();
    for (_, bytes) in files(&root().join("src")) {
        let text = String::from_utf8(bytes).expect("UTF-8");
        for part in text.split("thiserror::Error)]").skip(1) {
            let declaration = part.split("pub ").nth(1).expect("a public type");
            let name: String = declaration
                .split(' ')
                .nth(1)
                .expect("name")
                .chars()
                .take_while(|c| c.is_alphanumeric())
                .collect();
            errors.insert(name);
        }
        let declared = text.split("\nclassify!(").skip(1);
        for part in text.split("impl Classify for ").skip(1).chain(declared) {
            classified.insert(part.split(' ').next().expect("name").to_owned());
        }
    }
    // The reason inside a `FetchError`, which classifies it.
    errors.remove("FetchFailure");
    assert!(errors.len() > 25, "{errors:?}");
    assert_eq!(errors, classified);
}

/// A verb parses, calls stages and prints; what a second verb needs is in a stage.
#[test]
fn verbs_are_short() {
    for (path, bytes) in files(&root().join("src/commands")) {
        let lines = std::str::from_utf8(&bytes).expect("UTF-8").lines().count();
        assert!(lines <= 140, "src/commands/{path} has {lines} lines");
    }
}

/// A doc comment names the thing, as the documentation's index shows it, and does not begin with a question.
#[test]
fn docs_name_the_thing() {
    let question = regex_lite::Regex::new(r"^\s*//[/!] (What|Who)\b").expect("pattern");
    let mut looked_at = 0;
    for (path, bytes) in files(&root().join("src")) {
        let text = String::from_utf8(bytes).expect("UTF-8");
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let is_first = at == 0 || !lines[at - 1].trim_start().starts_with("//");
            looked_at += usize::from(is_first);
            assert!(
                !(is_first && question.is_match(line)),
                "src/{path}:{}: {line}",
                at + 1
            );
        }
    }
    assert!(looked_at > 10_000, "{looked_at}");
}

/// One name, one type. The variants of a file for each system are one type.
#[test]
fn no_type_name_is_defined_twice() {
    let mut files_of: std::collections::BTreeMap<String, BTreeSet<String>> =
        std::collections::BTreeMap::default();
    for (path, bytes) in files(&root().join("src")) {
        let path = path.replace("/elsewhere.rs", "/unix.rs");
        let text = String::from_utf8(bytes).expect("UTF-8");
        for line in text.lines() {
            if let Some(name) = type_of_line(line) {
                files_of.entry(name).or_default().insert(path.clone());
            }
        }
    }
    assert!(files_of.len() > 500, "{}", files_of.len());
    let twice: Vec<_> = files_of
        .iter()
        .filter(|(_, files)| files.len() > 1)
        .collect();
    assert!(twice.is_empty(), "{twice:?}");
}

/// The type that a line at the left margin defines.
fn type_of_line(line: &str) -> Option<String> {
    let mut words = line.split([' ', '<', '(', ';', '{', ':']);
    let mut word = words.next()?;
    if word == "pub" {
        // `pub(super)` has its parenthesis as a separator.
        word = words.find(|word| ["struct", "enum", "trait", "type"].contains(word))?;
    }
    ["struct", "enum", "trait", "type"]
        .contains(&word)
        .then(|| words.next().map(str::to_owned))?
}
