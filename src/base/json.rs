//! JSON in two steps: a text becomes a value in which each key stands once, and the value becomes a type. Errors name
//! line, column and path. JSON output has fixed bytes.

mod line;
mod text;
mod typed;

use std::fmt;

use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use super::text::strip_byte_order_mark;
use super::url::{find_password, hide_login};
use text::{Author, TextReader};

pub use line::format_items;
pub use typed::TypeError;

/// A JSON text of people that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{file}:{}:{}: {}{}", .fault.line, .fault.column, .fault.path.name(), .fault.message)]
pub struct JsonError {
    /// File, as the user knows it.
    pub file: String,
    pub fault: JsonFault,
}

/// The fault of a JSON text, with its place.
#[derive(Debug, thiserror::Error)]
#[error("{}{message} at line {line} column {column}", .path.name())]
pub struct JsonFault {
    pub line: usize,
    pub column: usize,
    pub path: JsonPath,
    pub message: String,
}

/// The way from the whole to a value: `pins[3].digest`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JsonPath(Vec<Segment>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Key(String),
    Index(usize),
}

impl JsonPath {
    /// The path in front of a message; nothing for the whole.
    fn name(&self) -> String {
        if self.0.is_empty() {
            String::new()
        } else {
            format!("`{self}`: ")
        }
    }

    /// As a JSON pointer (RFC 6901, section 4); empty for the whole.
    pub fn to_pointer(&self) -> String {
        let mut pointer = String::new();
        for segment in &self.0 {
            pointer.push('/');
            match segment {
                Segment::Key(key) => {
                    pointer.push_str(&show_key(key).replace('~', "~0").replace('/', "~1"));
                }
                Segment::Index(index) => pointer.push_str(&index.to_string()),
            }
        }
        pointer
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Nobody reads a longer one, and a text may nest 128 levels.
        const LONGEST: usize = 24;
        if self.0.len() > LONGEST {
            return f.write_str("…");
        }
        for (at, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Key(key) if at == 0 => f.write_str(&show_key(key))?,
                Segment::Key(key) => write!(f, ".{}", show_key(key))?,
                Segment::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// A key may be an address with a password.
fn show_key(key: &str) -> String {
    match find_password(key) {
        Some(_) => hide_login(key),
        None => key.to_owned(),
    }
}

/// Parses JSON that people write. Unknown keys, repeated keys, arrays in place of objects and control
/// characters are errors.
///
/// # Errors
/// Malformed JSON, a value of the wrong form, or text after the value.
pub fn parse_json<T: DeserializeOwned>(file: &str, bytes: &[u8]) -> Result<T, JsonError> {
    parse_text(bytes, Author::Person).map_err(|fault| JsonError {
        file: file.to_owned(),
        fault,
    })
}

/// Parses JSON of others, whose form its author decides: publishers, registries, builders, records of earlier runs.
/// A key that stands twice is an error, because readers differ in which of the two they take; fields that are not known
/// are left alone.
///
/// # Errors
/// Malformed JSON, a key that stands twice in one object, or a value of the wrong form.
pub fn parse_foreign<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, JsonFault> {
    parse_text(bytes, Author::Program)
}

fn parse_text<T: DeserializeOwned>(bytes: &[u8], author: Author) -> Result<T, JsonFault> {
    let (text, value) = read_value(bytes, author)?;
    convert_value(value).map_err(|error| text::locate_fault(text, error))
}

/// Converts a value of JSON to a type.
///
/// # Errors
/// The value has another form.
pub fn convert_value<T: DeserializeOwned>(value: Value) -> Result<T, TypeError> {
    typed::convert(value).map_err(|mut error: TypeError| {
        error.path.0.reverse();
        error
    })
}

fn read_value(bytes: &[u8], author: Author) -> Result<(&str, Value), JsonFault> {
    let bytes = strip_byte_order_mark(bytes);
    let text = std::str::from_utf8(bytes).map_err(|_| JsonFault {
        line: 1,
        column: 1,
        path: JsonPath::default(),
        message: "the file is not UTF-8; save it as UTF-8".to_owned(),
    })?;
    Ok((text, TextReader::read(text, author)?))
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

/// Whether the bytes are one JSON value, whatever stands in it: they may also be several, one on each line.
#[expect(clippy::disallowed_methods, reason = "the form alone is asked for")]
pub fn is_one_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
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
pub fn format_plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
