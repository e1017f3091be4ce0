//! Errors of serde in the words of the files' documentation.

use serde_json::error::Category;

use crate::base::names::format_suggestion;
use crate::base::text::is_alphanumeric_or;

/// Characters of the longest example of a whole file.
const LONGEST_EXAMPLE: usize = 80;

/// The fault, the expected form, and an example where one helps.
pub(super) fn describe_error(
    error: &serde_json::Error,
    bytes: &[u8],
    example: Option<&str>,
) -> String {
    if let Category::Syntax | Category::Eof = error.classify()
        && let Some(form) = find_conflict(bytes)
            .or_else(|| describe_form(bytes, example))
            .or_else(|| find_comment(error, bytes))
    {
        return form;
    }
    let text = error.to_string();
    // serde_json ends its messages with the position, which the error names already.
    let message = match text.rsplit_once(" at line ") {
        Some((head, _)) => head,
        None => &text,
    };
    translate_message(message, example).unwrap_or_else(|| message.to_owned())
}

/// A file in which git could not merge two changes.
fn find_conflict(bytes: &[u8]) -> Option<String> {
    let mut lines = bytes.split(|b| *b == b'\n');
    let marked = lines.any(|line| line.starts_with(b"<<<<<<< "));
    marked.then(|| "git left a conflict in the file; keep one of the two sides".to_owned())
}

/// A file that is not JSON, by what it looks like.
fn describe_form(bytes: &[u8], example: Option<&str>) -> Option<String> {
    if bytes.starts_with(b"\xff\xfe")
        || bytes.starts_with(b"\xfe\xff")
        || bytes.iter().take(4).any(|b| *b == 0)
    {
        return Some("the file is UTF-16; save it as UTF-8".to_owned());
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Some("the file is not UTF-8; save it as UTF-8".to_owned());
    };
    let text = text.trim_start();
    // An example with gaps, or that of a large file, says nothing of use.
    let example = example.filter(|it| it.len() <= LONGEST_EXAMPLE && !it.contains('…'));
    if text.is_empty() {
        let form = example.map_or_else(String::new, |it| format!(" such as `{it}`"));
        return Some(format!("the file is empty; expected a JSON object{form}"));
    }
    let form = other_format(text)?;
    let example = example.map_or_else(String::new, |it| format!(", such as `{it}`"));
    Some(format!("the file is {form}; write it as JSON{example}"))
}

fn other_format(text: &str) -> Option<&'static str> {
    if is_yaml(text) {
        Some("YAML")
    } else if is_toml(text) {
        Some("TOML")
    } else {
        text.starts_with('<').then_some("XML or HTML")
    }
}

fn find_comment(error: &serde_json::Error, bytes: &[u8]) -> Option<String> {
    let line = bytes
        .split(|b| *b == b'\n')
        .nth(error.line().checked_sub(1)?)?;
    let rest = line.get(error.column().checked_sub(1)?..)?;
    (rest.starts_with(b"//") || rest.starts_with(b"/*"))
        .then(|| "JSON has no comments; remove them".to_owned())
}

fn is_yaml(text: &str) -> bool {
    starts_with_key(text, ':')
        || ["---", "# ", "- ", "%YAML"]
            .iter()
            .any(|start| text.starts_with(start))
}

fn is_toml(text: &str) -> bool {
    starts_with_key(text, '=')
}

/// Whether the first line is a bare key, the separator and a value.
fn starts_with_key(text: &str, separator: char) -> bool {
    let line = text
        .lines()
        .next()
        .and_then(|line| line.split_once(separator));
    line.is_some_and(|(key, _)| is_key(key.trim_end()))
}

fn is_key(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || "_$".contains(c))
        && is_alphanumeric_or(text, "_-$.")
}

fn translate_message(text: &str, example: Option<&str>) -> Option<String> {
    let mismatch = text.strip_prefix("invalid type: ");
    if let Some(rest) = mismatch.or(text.strip_prefix("invalid value: ")) {
        let (found, expected) = rest.rsplit_once(", expected ")?;
        let expected = add_example(describe_expected(expected), example);
        // Values of HTTP headers stand in objects: a token in the place of one is not shown.
        let found = if expected.starts_with("an object") && found.starts_with("string ") {
            "a string".to_owned()
        } else {
            describe_found(found)
        };
        return Some(format!("expected {expected}, found {found}"));
    }
    if let Some(rest) = text.strip_prefix("unknown field ") {
        return Some(format!("unknown key {}", suggest_name(rest)?));
    }
    if let Some(rest) = text.strip_prefix("unknown variant ") {
        return Some(format!("unknown value {}", suggest_name(rest)?));
    }
    if let Some(rest) = text.strip_prefix("missing field ") {
        return Some(format!("the key {rest} is missing"));
    }
    if let Some(rest) = text.strip_prefix("EOF while parsing ") {
        return Some(format!("the file ends inside {}", describe_end(rest)));
    }
    Some(match text {
        "expected ident" | "expected value" => {
            let example = example.unwrap_or("\"text\"`, `1`, `true` or `[]");
            format!("expected a value such as `{example}`; texts stand in double quotes")
        }
        "key must be a string" => {
            "expected a key in double quotes, such as `\"target\"`".to_owned()
        }
        "trailing comma" => "remove the comma before the closing bracket".to_owned(),
        "trailing characters" => "unexpected text after the end of the JSON value".to_owned(),
        _ => return None,
    })
}

/// The expected form, with an example where it has none yet.
fn add_example(expected: &str, example: Option<&str>) -> String {
    match example {
        Some(example) if !expected.contains('`') => format!("{expected} such as `{example}`"),
        _ => expected.to_owned(),
    }
}

/// `` `a`, expected one of `b`, `c` `` as a suggestion.
fn suggest_name(text: &str) -> Option<String> {
    let (name, known) = text.split_once(", ")?;
    let known = known.split('`').skip(1).step_by(2);
    Some(format!(
        "{name}: {}",
        format_suggestion(name.trim_matches('`'), known)
    ))
}

fn describe_end(what: &str) -> &str {
    match what {
        "an object" => "an object; a `}` is missing",
        "a list" => "an array; a `]` is missing",
        "a string" => "a string; a `\"` is missing",
        other => other,
    }
}

fn describe_expected(expected: &str) -> &str {
    match expected {
        "a map" => "an object",
        "a sequence" => "an array",
        "a boolean" => "`true` or `false`",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number",
        "f64" => "a number",
        text if text.starts_with("struct ") => "an object",
        text if text.starts_with("enum ") || text.starts_with("variant of enum ") => "a string",
        text => text,
    }
}

fn describe_found(found: &str) -> String {
    let number = found
        .strip_prefix("integer ")
        .or_else(|| found.strip_prefix("floating point "));
    match (found, number) {
        (_, Some(number)) => format!("the number {number}"),
        ("map", _) => "an object".to_owned(),
        ("sequence", _) => "an array".to_owned(),
        ("null" | "unit", _) => "`null`".to_owned(),
        (text, _) => match text.strip_prefix("string ") {
            Some(string) => format!("the string {string}"),
            None => text.strip_prefix("boolean ").unwrap_or(text).to_owned(),
        },
    }
}
