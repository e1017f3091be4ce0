//! Configuration files in TOML: a user's part of one, and its merge by key into the complete file.
//!
//! Values are written anew: containerd reads TOML 1.0, and the text of a user may have forms of TOML 1.1.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map as JsonMap, Value as JsonValue};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::secret::is_secret_name;
use super::text::is_alphanumeric_or;

/// Longest part of a configuration file; real ones have less than a hundredth.
pub const LONGEST_FRAGMENT: usize = 256 << 10;
/// How deep tables are nested.
const DEEPEST_TABLE: usize = 32;

/// A user's part of a configuration file that says which version of the file's form it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TomlFragment {
    text: String,
    version: i64,
}

/// The text is no such part. The text itself is not shown: it may hold anything.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FragmentError {
    #[error("line {line}: {message}")]
    Syntax { line: usize, message: String },
    #[error("it is larger than {} KiB", LONGEST_FRAGMENT >> 10)]
    Size,
    #[error("its tables are nested deeper than {DEEPEST_TABLE}")]
    Depth,
    #[error(
        "it has no `version`; expected the version of the file that it is a part of, such as `version = 3`"
    )]
    Version,
    #[error(
        "the name of `{0}` says that its value is a secret, which every user of the image could read"
    )]
    Secret(String),
}

impl TomlFragment {
    /// Its `version`.
    pub fn version(&self) -> i64 {
        self.version
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for TomlFragment {
    type Err = FragmentError;

    fn from_str(text: &str) -> Result<Self, FragmentError> {
        if text.len() > LONGEST_FRAGMENT {
            return Err(FragmentError::Size);
        }
        let text = text.trim_start_matches('\u{feff}');
        let document = parse_document(text)?;
        check_table(document.as_table(), &mut Vec::new())?;
        let version = document.get("version").and_then(Item::as_integer);
        Ok(Self {
            text: text.to_owned(),
            version: version.ok_or(FragmentError::Version)?,
        })
    }
}

fn parse_document(text: &str) -> Result<DocumentMut, FragmentError> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let start = error.span().map_or(0, |span| span.start);
        let before = text.as_bytes().get(..start).unwrap_or_default();
        FragmentError::Syntax {
            line: before.split(|byte| *byte == b'\n').count(),
            message: error.message().trim().replace('\n', ", "),
        }
    })
}

/// Refuses secrets by the names of their keys, and tables that are nested without end.
fn check_table(table: &dyn TableLike, path: &mut Vec<String>) -> Result<(), FragmentError> {
    if path.len() > DEEPEST_TABLE {
        return Err(FragmentError::Depth);
    }
    for (key, item) in table.iter() {
        path.push(key.to_owned());
        if !item.is_table_like() && is_secret_name(key) {
            return Err(FragmentError::Secret(format_key(path)));
        }
        for inner in list_tables(item) {
            check_table(inner, path)?;
        }
        path.pop();
    }
    Ok(())
}

/// The tables directly in an item: itself, or those of an array.
fn list_tables(item: &Item) -> Vec<&dyn TableLike> {
    if let Some(table) = item.as_table_like() {
        return vec![table];
    }
    if let Some(tables) = item.as_array_of_tables() {
        return tables.iter().map(|it| it as &dyn TableLike).collect();
    }
    let values = item.as_array().into_iter().flat_map(Array::iter);
    values
        .filter_map(Value::as_inline_table)
        .map(|it| it as &dyn TableLike)
        .collect()
}

/// A key that only the complete file sets: an entry of `provisioners/closed.json`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClosedKey {
    /// From the root; `*` is any name. Everything below is closed, too.
    pub key: Vec<String>,
    /// The value that the complete file relies on, such as the program's default.
    pub value: JsonValue,
    /// Texts that the value may not be or contain. Without them, no other value is allowed.
    #[serde(default)]
    pub forbidden: Vec<String>,
    /// Next step of the user, after the reason.
    pub remedy: String,
    pub source: String,
}

/// A key of a fragment against a fact of the complete file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the fragment sets `{key}` to {given}, but the file has {own}")]
pub struct Contradiction {
    /// Dotted, from the root.
    pub key: String,
    pub given: String,
    pub own: String,
    /// Of the closed key; none where the complete file itself sets the key.
    pub remedy: Option<String>,
}

/// The complete file with the keys of the fragments. Comments of the file stay, those of the fragments go.
///
/// # Errors
/// A fragment sets a key that the file sets to another value, or a closed key.
///
/// # Panics
/// Never: `file` is TOML of our own templates, which tests parse.
pub fn merge_fragments(
    file: &str,
    fragments: &[TomlFragment],
    closed: &[ClosedKey],
) -> Result<String, Contradiction> {
    if fragments.is_empty() {
        return Ok(file.to_owned());
    }
    let mut document: DocumentMut = file.parse().expect("a template of ours is TOML");
    for fragment in fragments {
        let part = parse_document(&fragment.text).expect("a `TomlFragment` is TOML");
        let mut path = Vec::new();
        merge_table(document.as_table_mut(), part.as_table(), &mut path, closed)?;
    }
    Ok(document.to_string())
}

fn merge_table(
    file: &mut dyn TableLike,
    part: &dyn TableLike,
    path: &mut Vec<String>,
    closed: &[ClosedKey],
) -> Result<(), Contradiction> {
    for (key, item) in part.iter() {
        path.push(key.to_owned());
        if let Some(inner) = item.as_table_like() {
            merge_inner(file, key, inner, path, closed)?;
        } else {
            merge_value(file, key, item, path, closed)?;
        }
        path.pop();
    }
    Ok(())
}

fn merge_inner(
    file: &mut dyn TableLike,
    key: &str,
    inner: &dyn TableLike,
    path: &mut Vec<String>,
    closed: &[ClosedKey],
) -> Result<(), Contradiction> {
    if !file.contains_key(key) {
        if inner.is_empty() {
            check_closed(&JsonValue::Object(JsonMap::new()), path, closed)?;
        }
        let mut table = Table::new();
        // A table without values of its own gets no header.
        table.set_implicit(!inner.is_empty());
        file.insert(key, Item::Table(table));
    }
    let own = file.get_mut(key).expect("it was inserted");
    if own.is_table_like() {
        let own = own.as_table_like_mut().expect("it is a table");
        return merge_table(own, inner, path, closed);
    }
    Err(Contradiction {
        key: format_key(path),
        given: "a table".to_owned(),
        own: format_item(own),
        remedy: None,
    })
}

fn merge_value(
    file: &mut dyn TableLike,
    key: &str,
    item: &Item,
    path: &[String],
    closed: &[ClosedKey],
) -> Result<(), Contradiction> {
    if let Some(own) = file.get(key) {
        if convert_item(own) == convert_item(item) {
            return Ok(());
        }
        return Err(Contradiction {
            key: format_key(path),
            given: format_item(item),
            own: format_item(own),
            remedy: find_closed(closed, path).map(|known| known.remedy.clone()),
        });
    }
    check_closed(&convert_item(item), path, closed)?;
    file.insert(key, renew_item(item));
    Ok(())
}

fn check_closed(
    value: &JsonValue,
    path: &[String],
    closed: &[ClosedKey],
) -> Result<(), Contradiction> {
    match find_closed(closed, path) {
        Some(known) if is_forbidden(known, value) => Err(Contradiction {
            key: format_key(path),
            given: format_json(value),
            own: format_json(&known.value),
            remedy: Some(known.remedy.clone()),
        }),
        _ => Ok(()),
    }
}

fn find_closed<'a>(closed: &'a [ClosedKey], path: &[String]) -> Option<&'a ClosedKey> {
    closed.iter().find(|known| {
        let mut pairs = known.key.iter().zip(path);
        known.key.len() <= path.len() && pairs.all(|(name, key)| name == "*" || name == key)
    })
}

fn is_forbidden(closed: &ClosedKey, value: &JsonValue) -> bool {
    if closed.forbidden.is_empty() {
        // The value that the file relies on changes nothing.
        return *value != closed.value;
    }
    let single = std::slice::from_ref(value);
    let values = value.as_array().map_or(single, Vec::as_slice);
    let mut texts = values.iter().filter_map(JsonValue::as_str);
    texts.any(|text| closed.forbidden.iter().any(|known| known == text))
}

/// `plugins.'io.containerd.cri.v1.images'.snapshotter`
fn format_key(path: &[String]) -> String {
    let mut parts = Vec::new();
    for part in path {
        parts.push(if !part.is_empty() && is_alphanumeric_or(part, "-_") {
            part.clone()
        } else {
            format!("'{part}'")
        });
    }
    parts.join(".")
}

fn format_item(item: &Item) -> String {
    format_json(&convert_item(item))
}

/// `"windows"`, `true`, `["a"]`; at most 80 characters.
fn format_json(value: &JsonValue) -> String {
    let text = value.to_string();
    let short: String = text.chars().take(80).collect();
    let rest = if short.len() < text.len() { "…" } else { "" };
    format!("`{short}{rest}`")
}

/// The value without its spelling.
fn convert_item(item: &Item) -> JsonValue {
    match item {
        Item::None => JsonValue::Null,
        Item::Value(value) => convert_value(value),
        Item::Table(table) => convert_table(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| convert_table(table)).collect(),
    }
}

fn convert_table(table: &dyn TableLike) -> JsonValue {
    let entries = table.iter();
    entries
        .map(|(key, item)| (key.to_owned(), convert_item(item)))
        .collect()
}

fn convert_value(value: &Value) -> JsonValue {
    match value {
        Value::String(text) => text.value().as_str().into(),
        Value::Integer(number) => (*number.value()).into(),
        Value::Float(number) => (*number.value()).into(),
        Value::Boolean(value) => (*value.value()).into(),
        Value::Datetime(date) => date.value().to_string().into(),
        Value::Array(list) => list.iter().map(convert_value).collect(),
        Value::InlineTable(table) => convert_table(table),
    }
}

/// The item in the spelling of the writer.
fn renew_item(item: &Item) -> Item {
    match item {
        Item::Value(value) => Item::Value(renew_value(value)),
        Item::ArrayOfTables(tables) => {
            let tables = tables.iter().map(|it| Value::InlineTable(renew_table(it)));
            Item::Value(Value::Array(tables.collect()))
        }
        Item::Table(table) => Item::Value(Value::InlineTable(renew_table(table))),
        Item::None => Item::None,
    }
}

fn renew_table(table: &dyn TableLike) -> InlineTable {
    let mut renewed = InlineTable::new();
    for (key, item) in table.iter() {
        if let Item::Value(value) = renew_item(item) {
            renewed.insert(key, value);
        }
    }
    renewed
}

fn renew_value(value: &Value) -> Value {
    match value {
        Value::String(text) => text.value().as_str().into(),
        Value::Integer(number) => (*number.value()).into(),
        Value::Float(number) => (*number.value()).into(),
        Value::Boolean(value) => (*value.value()).into(),
        Value::Datetime(date) => (*date.value()).into(),
        Value::Array(list) => Value::Array(list.iter().map(renew_value).collect()),
        Value::InlineTable(table) => Value::InlineTable(renew_table(table)),
    }
}

impl fmt::Display for TomlFragment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# Ours.\nversion = 3\n\n[grpc]\n  address = '\\\\.\\pipe\\x'\n\n# A comment.\n[plugins.'a.b'.inner]\n  one = 1\n";

    fn merge(fragment: &str, closed: &[ClosedKey]) -> Result<String, Contradiction> {
        let fragment = fragment.parse::<TomlFragment>().expect(fragment);
        merge_fragments(FILE, &[fragment], closed)
    }

    fn closed(key: &[&str], value: JsonValue, forbidden: &[&str]) -> ClosedKey {
        ClosedKey {
            key: key.iter().map(|&part| part.to_owned()).collect(),
            value,
            forbidden: forbidden.iter().map(|&it| it.to_owned()).collect(),
            remedy: "do that".to_owned(),
            source: "derived: a test".to_owned(),
        }
    }

    #[test]
    fn keys_join_the_tables_of_the_file() {
        let part = "version = 3\n[plugins.'a.b'.inner]\ntwo = \"\"\"x\ny\"\"\" # mine\n[plugins.'a.b'.other.deep]\nlist = [1, {k = true}]\n[timeouts]\n'x.y' = '5s'\n[[many]]\nname = 'n'\n";
        let merged = merge(part, &[]).expect("no contradiction");
        let parsed: DocumentMut = merged.parse().expect(&merged);
        let value = convert_table(parsed.as_table());
        assert_eq!(
            value,
            serde_json::json!({
                "version": 3, "grpc": { "address": r"\\.\pipe\x" },
                "plugins": { "a.b": { "inner": { "one": 1, "two": "x\ny" }, "other": { "deep": { "list": [1, { "k": true }] } } } },
                "timeouts": { "x.y": "5s" }, "many": [{ "name": "n" }],
            })
        );
        for kept in ["# Ours.", "# A comment.", "[plugins.'a.b'.inner]"] {
            assert!(merged.contains(kept), "{merged}");
        }
        assert!(!merged.contains("mine"), "{merged}");
        // A file without fragments keeps its bytes.
        assert_eq!(merge_fragments(FILE, &[], &[]).expect("nothing"), FILE);
    }

    #[test]
    fn a_value_of_the_file_is_changed_by_no_fragment() {
        for (part, key, given, own) in [
            ("version = 2", "version", "`2`", "`3`"),
            (
                "version = 3\ngrpc.address = 'y'",
                "grpc.address",
                "`\"y\"`",
                "`\"\\\\\\\\.\\\\pipe\\\\x\"`",
            ),
            (
                "version = 3\n[grpc.address]\nz = 1",
                "grpc.address",
                "a table",
                "`\"\\\\\\\\.\\\\pipe\\\\x\"`",
            ),
            (
                "version = 3\nplugins.'a.b' = 1",
                "plugins.'a.b'",
                "`1`",
                "`{\"inner\":{\"one\":1}}`",
            ),
        ] {
            let found = merge(part, &[]).expect_err(part);
            assert_eq!((&*found.key, &*found.given, &*found.own), (key, given, own));
        }
        let same = "version = 3\ngrpc.address = \"\\\\\\\\.\\\\pipe\\\\x\"\n";
        assert_eq!(merge(same, &[]).expect("the same value"), FILE);
    }

    #[test]
    fn closed_keys_take_the_value_that_the_file_relies_on() {
        let keys = [
            closed(&["plugins", "*", "inner", "kind"], "plain".into(), &[]),
            closed(&["off"], JsonValue::Array(Vec::new()), &["needed"]),
        ];
        for good in [
            "plugins.q.inner.kind = 'plain'",
            "off = ['x']",
            "plugins.q.kind = 'z'",
        ] {
            merge(&format!("version = 3\n{good}"), &keys).expect(good);
        }
        for (bad, own) in [
            ("plugins.q.inner.kind = 'z'", "`\"plain\"`"),
            ("plugins.q.inner.kind.deeper = 1", "`\"plain\"`"),
            ("[plugins.q.inner.kind]", "`\"plain\"`"),
            ("off = ['x', 'needed']", "`[]`"),
        ] {
            let found = merge(&format!("version = 3\n{bad}"), &keys).expect_err(bad);
            assert_eq!(found.own, own);
            assert_eq!(found.remedy.as_deref(), Some("do that"));
        }
    }

    #[test]
    fn a_fragment_is_toml_with_a_version_and_without_secrets() {
        let deep = format!("version = 3\n{} = 1", vec!["a"; 64].join("."));
        let long = format!("version = 3 # {}", "x".repeat(LONGEST_FRAGMENT));
        for (text, said) in [
            ("a = 1", "it has no `version`"),
            ("version = '3'", "it has no `version`"),
            ("version = 3\nx = \n", "line 2: "),
            (
                "version = 3\n[a]\n[[b]]\npassword = 's3cret'",
                "`b.password`",
            ),
            (
                "version = 3\na = [{identitytoken = 's3cret'}]",
                "`a.identitytoken`",
            ),
            (&deep, "nested deeper"),
            (&long, "larger than 256 KiB"),
        ] {
            let error = text.parse::<TomlFragment>().expect_err(said).to_string();
            assert!(error.contains(said), "{error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
    }
}
