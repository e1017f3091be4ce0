//! JSON of a list with one item a line: short enough to read, and each change is one line of a difference.

use std::io;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

/// Writes an object with two spaces of indent, and each item of its list `list` on a line of its own.
///
/// # Panics
/// Never for the types of this crate: they are objects with text keys and finite numbers.
pub fn format_items<T: Serialize>(object: &T, list: &str) -> String {
    let value = serde_json::to_value(object).expect("values of this crate are JSON");
    let mut fields = Vec::new();
    for (name, field) in value.as_object().into_iter().flatten() {
        let text = match field.as_array() {
            Some(items) if name == list && !items.is_empty() => format_list(items),
            _ => format_line(field),
        };
        fields.push(format!("  \"{name}\": {text}"));
    }
    format!("{{\n{}\n}}\n", fields.join(",\n"))
}

fn format_list(items: &[Value]) -> String {
    let lines: Vec<String> = items
        .iter()
        .map(|item| format!("    {}", format_line(item)))
        .collect();
    format!("[\n{}\n  ]", lines.join(",\n"))
}

fn format_line(value: &Value) -> String {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, LineFormatter);
    value
        .serialize(&mut serializer)
        .expect("a JSON value can be written to memory");
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

/// One line, with a space behind commas and colons.
struct LineFormatter;

impl Formatter for LineFormatter {
    fn begin_array_value<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        separate(writer, first)
    }

    fn begin_object_key<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        separate(writer, first)
    }

    fn begin_object_value<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

fn separate<W: io::Write + ?Sized>(writer: &mut W, first: bool) -> io::Result<()> {
    if first {
        return Ok(());
    }
    writer.write_all(b", ")
}
