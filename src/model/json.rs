//! Reading JSON that people write, with errors that say where; writing JSON that bytes can be
//! compared of.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A JSON text that is not what it should be.
#[derive(Debug, thiserror::Error)]
#[error("{file}:{line}:{column}: {}{message}", at(.path))]
pub struct JsonError {
    /// File, as the user knows it.
    pub file: String,
    pub line: usize,
    pub column: usize,
    /// Path of the value (`pins[3].digest`), or `.` for the whole.
    pub path: String,
    pub message: String,
}

fn at(path: &str) -> String {
    if path == "." || path == "?" { String::new() } else { format!("`{path}`: ") }
}

/// Parses what people write: unknown fields are errors by the types' own declaration.
///
/// # Errors
/// Malformed JSON, a value of the wrong shape, or anything after the value.
pub fn parse<T: DeserializeOwned>(file: &str, bytes: &[u8]) -> Result<T, JsonError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        json_error(file, path, error.inner())
    })?;
    deserializer.end().map_err(|error| json_error(file, ".".to_owned(), &error))?;
    Ok(value)
}

fn json_error(file: &str, path: String, error: &serde_json::Error) -> JsonError {
    let text = error.to_string();
    // serde_json ends its messages with the place, which stands in front already.
    let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(head, _)| head).to_owned();
    JsonError { file: file.to_owned(), line: error.line(), column: error.column(), path, message }
}

/// Two blanks of indent, a final line end, keys in the order of the type.
///
/// # Panics
/// Never for the types of this crate: they have text keys and finite numbers.
#[must_use]
pub fn pretty<T: Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("values of this crate are JSON");
    text.push('\n');
    text
}
