//! The forms in which programs repeat a value and that no reading of a text undoes: base64 and hexadecimal,
//! also inside of longer data. Escapes are undone by `view`.

use std::collections::BTreeSet;

use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::Value;

use super::is_secret_name;

/// Shorter values are not masked: they are parts of ordinary words.
pub const SHORTEST: usize = 4;
/// Shorter lines and encoded forms are not.
const SHORTEST_PART: usize = 6;

/// Forms of a secret to look for, without blanks.
pub(super) fn list_forms(value: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut forms = BTreeSet::new();
    for (index, part) in list_parts(value).iter().enumerate() {
        let shortest = if index == 0 { SHORTEST } else { SHORTEST_PART };
        forms.extend(Some(strip_blanks(part)).filter(|form| form.len() >= shortest));
        add_encodings(part, &mut forms);
        let wide: Vec<u8> = String::from_utf8_lossy(part)
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        add_encodings(&wide, &mut forms);
    }
    forms
}

/// The value, the same with line ends of Windows, its lines, and values of secret fields in it.
#[expect(
    clippy::disallowed_methods,
    reason = "a value is masked, whatever stands in it twice"
)]
fn list_parts(value: &[u8]) -> Vec<Vec<u8>> {
    let text = String::from_utf8_lossy(value);
    let whole = text.trim();
    let mut parts = vec![if std::str::from_utf8(value).is_ok() {
        whole.into()
    } else {
        value.to_vec()
    }];

    if whole.contains('\n') {
        let lines: Vec<&str> = whole.lines().map(str::trim).collect();
        parts.push(lines.join("\n").into_bytes());
        parts.push(lines.join("\r\n").into_bytes());
        for line in &lines {
            parts.push(line.as_bytes().to_vec());
        }
        for line in &lines {
            if let Some(field) = find_field(line) {
                parts.push(field.as_bytes().to_vec());
            }
        }
    }
    if let Ok(json) = serde_json::from_str::<Value>(whole) {
        collect_fields("", &json, &mut parts);
    }
    parts
}

/// `client-key-data: abc` and `password=abc` → `abc`.
fn find_field(line: &str) -> Option<&str> {
    let (name, value) = line.split_once([':', '='])?;
    let value = value.trim().trim_matches(['"', '\'', ',']);
    is_secret_name(name).then_some(value)
}

fn collect_fields(name: &str, json: &Value, parts: &mut Vec<Vec<u8>>) {
    match json {
        Value::String(text) if is_secret_name(name) => parts.extend(list_parts(text.as_bytes())),
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect_fields(name, item, parts)),
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, item)| collect_fields(name, item, parts)),
        _ => {}
    }
}

fn add_encodings(bytes: &[u8], forms: &mut BTreeSet<Vec<u8>>) {
    let mut base64 = Vec::new();
    for before in 0..3 {
        base64.push(encode_inside(&STANDARD, bytes, before));
        base64.push(encode_inside(&URL_SAFE, bytes, before));
    }
    let hex = hex::encode(bytes);
    let mut found = vec![hex.to_uppercase().into_bytes(), hex.into_bytes()];
    // Documents in base64 hold values in base64: user-data, secrets of Kubernetes.
    for form in &base64 {
        for before in 0..3 {
            found.push(encode_inside(&STANDARD, form, before));
        }
    }
    for before in 0..5 {
        found.push(encode_base32(bytes, before));
    }
    found.append(&mut base64);
    found.retain(|form| form.len() >= SHORTEST_PART);
    forms.extend(found);
}

/// As [`encode_inside`], of RFC 4648's base32.
fn encode_base32(bytes: &[u8], before: usize) -> Vec<u8> {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let (first, last) = ((before * 8).div_ceil(5), (before + bytes.len()) * 8 / 5);
    let mut encoded = Vec::with_capacity(last.saturating_sub(first));
    for digit in first..last {
        let mut value = 0;
        for bit in 5 * digit..5 * digit + 5 {
            let byte = bytes.get(bit / 8 - before).copied().unwrap_or_default();
            value = 2 * value + usize::from(byte >> (7 - bit % 8) & 1);
        }
        encoded.push(ALPHABET[value]);
    }
    encoded
}

/// The characters of base64 that these bytes alone decide, where `before` bytes (modulo 3) stand in front.
fn encode_inside(engine: &impl base64::Engine, bytes: &[u8], before: usize) -> Vec<u8> {
    let padded = [&[0, 0][..before], bytes].concat();
    let whole = engine.encode(&padded).into_bytes();
    let (first, last) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
    whole.get(first..last).unwrap_or_default().to_vec()
}

pub(super) fn strip_blanks(bytes: &[u8]) -> Vec<u8> {
    bytes
        .iter()
        .copied()
        .filter(|byte| !is_blank(*byte))
        .collect()
}

/// Programs wrap and indent long lines.
pub(super) fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte.is_ascii_control()
}
