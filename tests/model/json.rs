//! JSON that people write: strict, with the place and an example in each error.

use std::collections::BTreeMap;

use imagegen::base::json::parse_json;
use imagegen::model::definition::ImageDefinition;
use imagegen::model::policy::Policy;
use schemars::JsonSchema;

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Pair {
    #[serde(default)]
    #[schemars(example = &"a")]
    left: Option<String>,
    #[serde(default)]
    right: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    note: Vec<String>,
}

#[test]
fn json_that_serde_accepts_and_people_do_not_mean_is_refused() {
    for (text, error) in [
        (r#"["a"]"#, "f:1:1: expected an object, found an array"),
        (
            r#"{"left": "a", "left": "b"}"#,
            "f:1:20: the key `left` is given twice; keep one of them",
        ),
        (
            r#"{"right": {"a": {"b": 1, "b": 2}}}"#,
            "`right.a`: the key `b` is given twice",
        ),
        (
            "{\"left\": \"a\\u202eb\"}",
            "`left`: the text contains the control character U+202E; remove it",
        ),
        (
            "{\"left\": \"a\\nb\"}",
            "`left`: the text contains the control character U+000A",
        ),
        (
            "{\"right\": {\"a\\u0000\": 1}}",
            "contains a control character",
        ),
        (
            r#"{"lft": "a"}"#,
            "`lft`: unknown key `lft`: did you mean `left`?",
        ),
        (
            r#"{"right": 7}"#,
            "`right`: expected an object, found the number `7`",
        ),
        (
            r#"{"left": ["x"]}"#,
            "`left`: expected a string such as `\"a\"`, found an array",
        ),
    ] {
        let message = parse_json::<Pair>("f", text.as_bytes())
            .expect_err(text)
            .to_string();
        assert!(message.contains(error), "{text}: {message}");
    }
    let pair: Pair = parse_json(
        "f",
        b"\xef\xbb\xbf{\"note\": [\"a\\nb\"], \"right\": {\"x\": [1]}}",
    )
    .expect("JSON");
    assert!(pair.left.is_none() && pair.right.len() == 1 && pair.note.len() == 1);
}

#[test]
fn other_formats_are_recognised() {
    let utf16: Vec<u8> = "\u{feff}{}"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let cases: [(&[u8], &str); 12] = [
        (&utf16, "the file is UTF-16; save it as UTF-8"),
        (b"target: host\n", "the file is YAML; write it as JSON"),
        (b"---\ntarget: host\n", "the file is YAML; write it as JSON"),
        (b"\xef\xbb\xbftarget: host\n", "the file is YAML"),
        (b"target = \"host\"\n", "the file is TOML; write it as JSON"),
        (b"<html></html>", "the file is XML or HTML"),
        (b"{'left': 'a'}", "expected a key in double quotes"),
        (
            b"{\"left\": 'a'}",
            "expected a value such as `\"a\"`; texts stand in double quotes",
        ),
        (b"\n", "the file is empty"),
        (b"{ // target\n}", "JSON has no comments; remove them"),
        (b"{\"left\": \xff}", "the file is not UTF-8"),
        (b"{\"left\": \"a\",}", "remove the comma"),
    ];
    for (bytes, expected) in cases {
        let message = parse_json::<Pair>("f", bytes)
            .expect_err(expected)
            .to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_wrong_value_is_answered_with_an_example_of_its_place() {
    for (text, expected) in [
        (
            r#"{"target": 7}"#,
            r#"expected a string such as `"host"`, found the number `7`"#,
        ),
        (
            r#"{"target": host}"#,
            r#"expected a value such as `"host"`"#,
        ),
        (
            r#"{"kubernetes": 1.36}"#,
            r#"expected a string such as `"1.36.4"`"#,
        ),
        (
            r#"{"features": "gmsa"}"#,
            r#"expected an array such as `["gmsa"]`, found the string "gmsa""#,
        ),
        (
            r#"{"features": [7]}"#,
            r#"expected a string such as `"gmsa"`"#,
        ),
        (
            r#"{"components": ["containerd"]}"#,
            r#"expected an object such as `{"containerd": "2.3.4"}`"#,
        ),
        (
            r#"{"mirrors": {"docker.io": "https://a.example"}}"#,
            r#"expected an array such as `["https://mirror.example.com"]`"#,
        ),
        (
            r#"{"volumePlugins": []}"#,
            r#"expected an object such as `{"microsoft.com~smb.cmd": [{"file": "smb.cmd", "#,
        ),
        (
            r#"{"updates": {"kbs": "KB5058411"}}"#,
            r#"expected an array such as `["KB5058411"]`"#,
        ),
        (
            r#"{"updates": {"categories": 1}}"#,
            r#"expected an array such as `["CriticalUpdates"]`"#,
        ),
        (
            r#"{"proxy": {"http": 1}}"#,
            r#"expected a string such as `"http://proxy.example:3128"`"#,
        ),
        (
            r#"{"overrides": {"kubelet": {"size": "1"}}}"#,
            "expected a whole number such as `1`",
        ),
        (
            r#"{"variables": []}"#,
            r#"expected an object such as `{"location": "westeurope"}`"#,
        ),
    ] {
        let error = parse_json::<ImageDefinition>("f", text.as_bytes())
            .expect_err(text)
            .to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn policies_have_examples() {
    for (text, expected) in [
        (r#"{"name": 1}"#, "expected a string"),
        (
            r#"{"name": "x", "require": {}}"#,
            "expected an array such as `[",
        ),
        (
            r#"{"name": "x", "allowedHosts": "dl.k8s.io"}"#,
            r#"expected an array such as `["dl.k8s.io"]`"#,
        ),
    ] {
        let error = parse_json::<Policy>("f", text.as_bytes())
            .expect_err(text)
            .to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}
