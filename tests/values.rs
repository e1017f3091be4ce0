//! Values that a user gives: parsed where they enter, refused with the form that is expected.

use crate::support::{Test, root};

/// JSON files that are not templates.
fn json_files() -> impl Iterator<Item = std::path::PathBuf> {
    ["manifests", "packer", "provisioners"]
        .into_iter()
        .flat_map(|tree| walkdir::WalkDir::new(root().join(tree)))
        .map(|entry| entry.expect("entry").into_path())
        .filter(|path| path.extension().is_some_and(|suffix| suffix == "json"))
        .filter(|path| {
            !["cni", "templates"].iter().any(|folder| path.parent().is_some_and(|it| it.ends_with(folder)))
        })
}

#[test]
fn embedded_files_have_no_repeated_keys_and_no_control_characters() {
    let mut files = 0;
    for path in json_files() {
        let bytes = std::fs::read(&path).expect("file");
        let name = path.display().to_string();
        if let Err(error) = imagegen::model::json::parse::<serde_json::Value>(&name, &bytes) {
            panic!("{error}");
        }
        files += 1;
    }
    assert!(files > 100, "{files} files");
    let manifests = root().join("manifests").display().to_string();
    Test::new().line("catalog lint --manifests").args([manifests.as_str()]).succeeds();
}

#[test]
fn a_definition_in_another_format_is_recognised() {
    for (text, message) in [
        ("target: azure\nkubernetes: 1.36\n", "the file is YAML; write it as JSON"),
        ("", "imagegen.json:1:1: the file is empty; expected a JSON object such as"),
        ("[]", "imagegen.json:1:2: expected an object such as `{\"target\": \"azure\"}`, found an array"),
        ("{\"target\": \"azure\", \"target\": \"host\"}", "the key `target` is given twice"),
        (
            "{\"components\": {\"wins\": \"1\", \"wins\": \"2\"}}",
            "`components`: the key `wins` is given twice",
        ),
        (
            "{\"updates\": []}",
            "`updates`: expected an object such as `{\"kbs\": [\"KB5058411\"]}`, found an array",
        ),
        ("{\"updates\": \"KB5058411\"}", "found the string \"KB5058411\""),
        ("{\"target\": \"a\\u001b[2J\"}", "`target`: the text holds the control character U+001B; remove it"),
    ] {
        Test::new().file("imagegen.json", text).line("plan --target azure --k8s 1.36").fails(3, &[message]);
    }
}

#[test]
fn no_control_character_reaches_the_terminal() {
    let ran = Test::new().args(["plan", "--target", "azure\u{1b}[2J\u{9b}2J", "--k8s", "1.36"]).run();
    assert_ne!(ran.code, Some(0));
    assert!(ran.stderr.contains("azure\\u{1b}[2J\\u{9b}2J"), "{:?}", ran.stderr);
    let lock = "{\"schema\": \"a\\u009b2J\"}";
    let ran = Test::new().file("imagegen.lock.json", lock).line("plan --target azure --k8s 1.36").run();
    assert!(!ran.stderr.contains('\u{9b}'), "{:?}", ran.stderr);
}
