//! JSON values as YAML that people read: blocks for maps and lists, JSON for every scalar.

use std::fmt::Write as _;

use serde_json::Value;

use crate::base::text::fits_literal_block;

/// A document; a map at the top.
pub(super) fn format_document(value: &Value) -> String {
    let mut text = String::new();
    write_block(value, 0, &mut text);
    text
}

fn write_block(value: &Value, indent: usize, text: &mut String) {
    let pad = "  ".repeat(indent);
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let _ = write!(text, "{pad}{key}:");
                write_value(value, indent, text);
            }
        }
        Value::Array(items) => {
            for item in items {
                let _ = write!(text, "{pad}-");
                write_item(item, indent, text);
            }
        }
        scalar => drop(writeln!(text, "{pad}{scalar}")),
    }
}

/// The text after `key:`.
fn write_value(value: &Value, indent: usize, text: &mut String) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            text.push('\n');
            write_block(value, indent + 1, text);
        }
        Value::Array(items) if !items.is_empty() => {
            text.push('\n');
            write_block(value, indent + 1, text);
        }
        Value::String(lines) if fits_literal_block(lines) => {
            text.push_str(" |\n");
            for line in lines.lines() {
                let pad = if line.is_empty() {
                    String::new()
                } else {
                    "  ".repeat(indent + 1)
                };
                let _ = writeln!(text, "{pad}{line}");
            }
        }
        scalar => drop(writeln!(text, " {scalar}")),
    }
}

/// The text after `-`: a map begins on the same line.
fn write_item(item: &Value, indent: usize, text: &mut String) {
    match item {
        Value::Object(map) if !map.is_empty() => {
            let mut inner = String::new();
            write_block(item, indent + 1, &mut inner);
            text.push(' ');
            text.push_str(inner.trim_start());
        }
        scalar => drop(writeln!(text, " {scalar}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn documents_are_laid_out() {
        let value = json!({
            "kind": "X", "empty": [], "n": 1, "text": "a: b\nc\n", "odd": "  a\n",
            "list": ["a", { "k": "v", "deep": { "x": true } }], "map": { "k": ["z"] },
        });
        assert_eq!(
            format_document(&value),
            "kind: \"X\"\nempty: []\nn: 1\ntext: |\n  a: b\n  c\nodd: \"  a\\n\"\nlist:\n  - \"a\"\n  - k: \"v\"\n    deep:\n      x: true\nmap:\n  k:\n    - \"z\"\n"
        );
    }
}
