//! The forms in which programs repeat a value.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::is_secret_name;

/// Shorter values are not masked: they are parts of ordinary words.
pub const SHORTEST: usize = 4;
/// Shorter lines and encoded forms are not.
const SHORTEST_PART: usize = 6;

/// Longer values and lines are masked as they are. Whole files are as long, which nobody encodes as a whole, and the
/// search takes some hundred bytes for each character of each form.
const LONGEST_ENCODED: usize = 8 << 10;

/// All but the unreserved characters of RFC 3986, section 2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Adds a value, its lines and the secret fields of a document, each as it is, in base64, in URLs and in JSON.
pub(super) fn add_forms(value: &[u8], forms: &mut BTreeSet<String>) {
    let text = String::from_utf8_lossy(value);
    let whole = text.trim();
    let mut found = list_encodings(whole);
    if whole.len() >= SHORTEST && !whole.contains('\n') {
        forms.insert(whole.to_owned());
    }
    for part in list_parts(whole) {
        found.push(part.to_owned());
        found.extend(list_encodings(part));
    }
    found.retain(|form| form.len() >= SHORTEST_PART);
    forms.extend(found);
}

/// The lines of a text, and values of its secret fields: `client-key-data: abc`, `password=abc`, and a private key in
/// JSON, with `\n` for its line ends.
fn list_parts(text: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = text.lines().map(str::trim).collect();
    for field in text.split(['\n', ',', '{', '}']) {
        if let Some((name, value)) = field.split_once([':', '='])
            && is_secret_name(name)
        {
            parts.extend(value.trim().trim_matches(['"', '\'']).split("\\n"));
        }
    }
    parts
}

fn list_encodings(text: &str) -> Vec<String> {
    if text.len() > LONGEST_ENCODED {
        return Vec::new();
    }
    // PowerShell's `-EncodedCommand`
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut encodings = Vec::new();
    for before in 0..3 {
        for bytes in [text.as_bytes(), &wide] {
            encodings.push(encode_inside(&STANDARD, bytes, before));
            encodings.push(encode_inside(&URL_SAFE, bytes, before));
        }
    }
    encodings.push(utf8_percent_encode(text, RESERVED).to_string());

    let json = Value::from(text).to_string();
    let json = json[1..json.len() - 1].to_owned();
    // Go's encoding/json escapes what HTML would take for a tag.
    encodings.push(
        json.replace('<', "\\u003c")
            .replace('>', "\\u003e")
            .replace('&', "\\u0026"),
    );
    encodings.push(json);
    encodings
}

/// The characters of base64 that these bytes alone decide, where `before` bytes (modulo 3) stand in front.
fn encode_inside(engine: &impl Engine, bytes: &[u8], before: usize) -> String {
    let padded = [&[0, 0][..before], bytes].concat();
    let whole = engine.encode(&padded);
    let (first, last) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
    whole.get(first..last).unwrap_or_default().to_owned()
}
