//! JSON that people write, with errors that name file, line and path; JSON output with fixed bytes.

mod example;
mod foreign;
mod line;
mod message;
mod strict;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_path_to_error::{Path, Segment};

use super::text::strip_byte_order_mark;
use strict::Strict;

pub use foreign::{is_one_json, parse_foreign};
pub use line::format_items;

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
    /// The same as a JSON pointer (RFC 6901).
    pub pointer: String,
    pub message: String,
}

fn format_path(path: &str) -> String {
    // `?` stands for a key that was not taken.
    let path = path.trim_end_matches(['.', '?']);
    if path.is_empty() {
        String::new()
    } else {
        format!("`{path}`: ")
    }
}

/// Parses JSON that people write. Unknown keys, repeated keys, arrays in place of objects and control
/// characters are errors.
///
/// # Errors
/// Malformed JSON, a value of the wrong form, or text after the value.
pub fn parse_json<'a, T: Deserialize<'a> + JsonSchema>(
    file: &str,
    bytes: &'a [u8],
) -> Result<T, JsonError> {
    let bytes = strip_byte_order_mark(bytes);
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let mut track = serde_path_to_error::Track::new();
    let value = T::deserialize(serde_path_to_error::Deserializer::new(
        Strict::of_person(&mut json),
        &mut track,
    ));
    let value = value.map_err(|error| {
        let path = track.path();
        let example = example::find_example::<T>(&path);
        json_error(file, bytes, &path, &error, example.as_deref())
    })?;
    json.end().map_err(|error| {
        let whole = serde_path_to_error::Track::new().path();
        json_error(file, bytes, &whole, &error, None)
    })?;
    Ok(value)
}

/// Parses what is built into the program; none where it is no such value. A test parses the same files with
/// [`parse_json`], which says why.
#[expect(
    clippy::disallowed_methods,
    reason = "a test reads the program's own files strictly"
)]
pub fn parse_embedded<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_str(text).ok()
}

fn json_error(
    file: &str,
    bytes: &[u8],
    path: &Path,
    error: &serde_json::Error,
    example: Option<&str>,
) -> JsonError {
    let message = message::describe_error(error, bytes, example);
    JsonError {
        file: file.to_owned(),
        line: error.line().max(1),
        column: error.column().max(1),
        path: path.to_string(),
        pointer: format_pointer(path),
        message,
    }
}

/// The path of a value as a JSON pointer (RFC 6901, section 4); empty for the whole.
fn format_pointer(path: &Path) -> String {
    let mut pointer = String::new();
    for segment in path {
        let part = match segment {
            Segment::Seq { index } => index.to_string(),
            Segment::Map { key } => key.replace('~', "~0").replace('/', "~1"),
            // The name of a variant is a key; an unknown segment has no name.
            Segment::Enum { variant } => variant.clone(),
            Segment::Unknown => continue,
        };
        pointer.push('/');
        pointer.push_str(&part);
    }
    pointer
}

/// Two spaces of indent, a final line end, keys in the order of the type.
///
/// # Panics
/// Never for the types of this crate: they have text keys and finite numbers.
pub fn format_json<T: Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("values of this crate are JSON");
    text.push('\n');
    text
}

/// In one line, for digests.
///
/// # Panics
/// Never for the types of this crate.
pub fn to_bytes<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("values of this crate are JSON")
}

/// A value as a user writes it: a text without quotes, anything else as JSON.
pub fn format_plain(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
