//! Values of steps: rendered one at a time over the facts.

use std::collections::BTreeMap;

use imagegen::embedded::Tree;
use imagegen::guest::StepRenderer;
use serde_json::{Value, json};

fn tree() -> Tree {
    let files = [
        ("templates/a.toml", "v = '{{ paths.k }}'\n"),
        ("templates/bad.toml", "{{ nothing }}"),
    ];
    let files: BTreeMap<_, _> = files
        .into_iter()
        .map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()))
        .collect();
    Tree::from_files("provisioners".to_owned(), files)
}

fn facts() -> Value {
    json!({
        "paths": { "k": r"C:\k" }, "list": ["a", "b"], "yes": true, "quoted": "a'b\u{2019}",
        "archives": { "hns.psm1": [{ "members": [{ "member": "x/a.exe", "file": "a.exe" }] }] }
    })
}

#[test]
fn values_are_replaced_and_stay_values() {
    let (facts, tree) = (facts(), tree());
    let renderer = StepRenderer::new(&facts, &tree);
    let item = json!({ "members": [{ "member": "x/a.exe", "file": "a.exe" }] });
    for (given, expected) in [
        (json!("{{ paths.k }}\\x"), json!("C:\\k\\x")),
        (json!("plain"), json!("plain")),
        (json!("$k = {{ paths.k | literal }}"), json!("$k = 'C:\\k'")),
        (
            json!("{{ quoted | literal }}"),
            json!("'a''b\u{2019}\u{2019}'"),
        ),
        (json!(5), json!(5)),
        (json!({ "fact": "yes" }), json!(true)),
        (
            json!({ "fact": "archives.hns.psm1" }),
            facts["archives"]["hns.psm1"].clone(),
        ),
        (json!({ "template": "a.toml" }), json!("v = 'C:\\k'\n")),
        (
            json!({ "concat": [["x"], { "fact": "list" }] }),
            json!(["x", "a", "b"]),
        ),
        (
            json!({ "membersOf": "item", "into": "{{ paths.k }}" }),
            json!([{ "member": "x/a.exe", "path": "C:\\k\\a.exe" }]),
        ),
    ] {
        let value = renderer
            .render_value(&given, Some(&item))
            .unwrap_or_else(|error| panic!("{given}: {error}"));
        assert_eq!(value, expected, "{given}");
    }
}

#[test]
fn unknown_names_are_errors() {
    let (facts, tree) = (facts(), tree());
    let renderer = StepRenderer::new(&facts, &tree);
    for (given, part) in [
        (json!("{{ nothing }}"), "nothing"),
        (json!("{{ paths.nothing }}"), "nothing"),
        (
            json!({ "fact": "paths.nothing" }),
            "no fact `paths.nothing`",
        ),
        (json!({ "fact": "item.x" }), "no fact `item.x`"),
        (json!({ "template": "none" }), "no template `none`"),
        (json!({ "template": "bad.toml" }), "templates/bad.toml"),
        (json!({ "concat": ["x"] }), "expects lists"),
    ] {
        let result = renderer.render_value(&given, None);
        let message = result.expect_err(&given.to_string()).to_string();
        assert!(message.contains(part), "{given}: {message}");
    }
}
