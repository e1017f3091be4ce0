//! JSON that people write, with errors that name file, line and path; JSON output with fixed bytes.

mod example;
mod message;
mod strict;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::diagnostic::{Classify, ErrorClass};

use strict::Strict;

/// A JSON text that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{file}:{line}:{column}: {}{message}", format_path(.path))]
pub struct JsonError {
    /// File, as the user knows it.
    pub file: String,
    pub line: usize,
    pub column: usize,
    /// Path of the value (`pins[3].digest`), or `.` for the whole.
    pub path: String,
    pub message: String,
}

impl Classify for JsonError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Selection
    }
}

fn format_path(path: &str) -> String {
    // `?` stands for a key that was not taken.
    let path = path.trim_end_matches(['.', '?']);
    if path.is_empty() { String::new() } else { format!("`{path}`: ") }
}

/// Parses JSON that people write. Unknown keys, repeated keys, arrays in place of objects and control
/// characters are errors.
///
/// # Errors
/// Malformed JSON, a value of the wrong form, or text after the value.
pub fn parse_json<'a, T: Deserialize<'a> + JsonSchema>(file: &str, bytes: &'a [u8]) -> Result<T, JsonError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let mut track = serde_path_to_error::Track::new();
    let value = T::deserialize(serde_path_to_error::Deserializer::new(Strict::new(&mut json), &mut track));
    let value = value.map_err(|error| {
        let path = track.path();
        let example = example::find_example::<T>(&path);
        json_error(file, bytes, path.to_string(), &error, example.as_deref())
    })?;
    json.end().map_err(|error| json_error(file, bytes, ".".to_owned(), &error, None))?;
    Ok(value)
}

/// Parses a file that is built into the program. A test parses the same files with [`parse_json`].
///
/// # Errors
/// As [`parse_json`], without repeated keys, arrays in place of objects and control characters.
pub fn parse_embedded<'a, T: Deserialize<'a> + JsonSchema>(
    file: &str,
    bytes: &'a [u8],
) -> Result<T, JsonError> {
    // As text: a slice is checked for UTF-8 at each string, a file is one.
    let value = std::str::from_utf8(bytes).ok().and_then(|text| serde_json::from_str(text).ok());
    value.map_or_else(|| parse_json(file, bytes), Ok)
}

fn json_error(
    file: &str,
    bytes: &[u8],
    path: String,
    error: &serde_json::Error,
    example: Option<&str>,
) -> JsonError {
    let message = message::describe_error(error, bytes, example);
    JsonError {
        file: file.to_owned(),
        line: error.line().max(1),
        column: error.column().max(1),
        path,
        message,
    }
}

/// Two spaces of indent, a final line end, keys in the order of the type.
///
/// # Panics
/// Never for the types of this crate: they have text keys and finite numbers.
#[must_use]
pub fn format_json<T: Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("values of this crate are JSON");
    text.push('\n');
    text
}

/// In one line, for digests.
///
/// # Panics
/// Never for the types of this crate.
#[must_use]
pub fn to_bytes<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("values of this crate are JSON")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

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
            (r#"{"left": "a", "left": "b"}"#, "f:1:20: the key `left` is given twice; keep one of them"),
            (r#"{"right": {"a": {"b": 1, "b": 2}}}"#, "`right.a`: the key `b` is given twice"),
            (
                "{\"left\": \"a\\u202eb\"}",
                "`left`: the text contains the control character U+202E; remove it",
            ),
            ("{\"left\": \"a\\nb\"}", "`left`: the text contains the control character U+000A"),
            ("{\"right\": {\"a\\u0000\": 1}}", "contains a control character"),
            (r#"{"lft": "a"}"#, "`lft`: unknown key `lft`: did you mean `left`?"),
            (r#"{"right": 7}"#, "`right`: expected an object, found the number `7`"),
            (r#"{"left": ["x"]}"#, "`left`: expected a string such as `\"a\"`, found an array"),
        ] {
            let message = parse_json::<Pair>("f", text.as_bytes()).expect_err(text).to_string();
            assert!(message.contains(error), "{text}: {message}");
        }
        let pair: Pair =
            parse_json("f", b"\xef\xbb\xbf{\"note\": [\"a\\nb\"], \"right\": {\"x\": [1]}}").expect("JSON");
        assert!(pair.left.is_none() && pair.right.len() == 1 && pair.note.len() == 1);
    }

    #[test]
    fn other_formats_are_recognised() {
        let utf16: Vec<u8> = "\u{feff}{}".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let cases: [(&[u8], &str); 12] = [
            (&utf16, "the file is UTF-16; save it as UTF-8"),
            (b"target: host\n", "the file is YAML; write it as JSON"),
            (b"---\ntarget: host\n", "the file is YAML; write it as JSON"),
            (b"\xef\xbb\xbftarget: host\n", "the file is YAML"),
            (b"target = \"host\"\n", "the file is TOML; write it as JSON"),
            (b"<html></html>", "the file is XML or HTML"),
            (b"{'left': 'a'}", "expected a key in double quotes"),
            (b"{\"left\": 'a'}", "expected a value such as `\"a\"`; texts stand in double quotes"),
            (b"\n", "the file is empty"),
            (b"{ // target\n}", "JSON has no comments; remove them"),
            (b"{\"left\": \xff}", "the file is not UTF-8"),
            (b"{\"left\": \"a\",}", "remove the comma"),
        ];
        for (bytes, expected) in cases {
            let message = parse_json::<Pair>("f", bytes).expect_err(expected).to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
