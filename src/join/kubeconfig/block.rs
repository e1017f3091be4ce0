//! YAML in the block form that kubeadm and kubectl write, each line one field or one value of a list. Every reader takes
//! such a text alike; what another reader could take in another way (flow style, anchors, tags, escapes, several lines
//! for one value, a field twice) is refused.

use serde_json::{Map, Value};

use crate::base::text::{is_alphanumeric_or, is_control};

/// Lists and fields in each other, however deep the file is.
const DEEPEST: usize = 32;

/// A line with something in it.
struct BlockLine<'a> {
    number: usize,
    indent: usize,
    /// Without its indent.
    text: &'a str,
}

struct Reader<'a> {
    lines: Vec<BlockLine<'a>>,
    next: usize,
}

/// The tree of a text. Values are texts, whatever type YAML gives them; those that YAML takes as nothing are null.
///
/// # Errors
/// A line is more than `name: value`, or a value of a list.
pub(super) fn read_block(text: &str) -> Result<Value, String> {
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let bare = line.trim_start_matches(' ');
        let is_start = at == 0 && line == "---";
        if bare.contains(is_control) {
            return Err(refuse_line(at + 1));
        }
        if bare.is_empty() || bare.starts_with('#') || is_start {
            continue;
        }
        lines.push(BlockLine {
            number: at + 1,
            indent: line.len() - bare.len(),
            text: bare,
        });
    }

    let mut reader = Reader { lines, next: 0 };
    let value = match reader.find_next() {
        Some((0, _)) => reader.read_node(0, 0)?,
        Some(_) => return Err(reader.refuse_next()),
        None => Value::Null,
    };
    match reader.find_next() {
        None => Ok(value),
        Some(_) => Err(reader.refuse_next()),
    }
}

fn refuse_line(number: usize) -> String {
    format!("has more than `name: value` in line {number}")
}

impl<'a> Reader<'a> {
    /// Indent and text of the next line.
    fn find_next(&self) -> Option<(usize, &'a str)> {
        let line = self.lines.get(self.next)?;
        Some((line.indent, line.text))
    }

    fn refuse_next(&self) -> String {
        refuse_line(self.lines.get(self.next).map_or(0, |line| line.number))
    }

    fn read_node(&mut self, indent: usize, depth: usize) -> Result<Value, String> {
        let is_list = self.find_next().is_some_and(|(_, text)| is_item(text));
        if depth == DEEPEST {
            Err(self.refuse_next())
        } else if is_list {
            self.read_list(indent, depth)
        } else {
            self.read_map(indent, depth)
        }
    }

    fn read_list(&mut self, indent: usize, depth: usize) -> Result<Value, String> {
        let mut items = Vec::new();
        while let Some((_, text)) = self
            .find_next()
            .filter(|(at, text)| *at == indent && is_item(text))
        {
            let rest = text[1..].trim_start_matches(' ');
            if split_field(rest).is_some() || is_item(rest) {
                let line = &mut self.lines[self.next];
                line.indent += text.len() - rest.len();
                line.text = rest;
                items.push(self.read_node(indent + text.len() - rest.len(), depth + 1)?);
                continue;
            }
            items.push(read_scalar(rest).ok_or_else(|| self.refuse_next())?);
            self.next += 1;
        }
        Ok(items.into())
    }

    fn read_map(&mut self, indent: usize, depth: usize) -> Result<Value, String> {
        let mut fields = Map::new();
        while let Some((_, text)) = self
            .find_next()
            .filter(|(at, text)| *at == indent && !is_item(text))
        {
            let (name, value) = split_field(text).ok_or_else(|| self.refuse_next())?;
            let value = read_scalar(value).ok_or_else(|| self.refuse_next())?;
            if fields.contains_key(&name) {
                return Err(self.refuse_next());
            }
            self.next += 1;
            let is_empty = split_field(text).is_some_and(|(_, value)| is_nothing(value));
            let below = self
                .find_next()
                .filter(|(at, text)| is_empty && (*at > indent || *at == indent && is_item(text)));
            let value = match below {
                Some((at, _)) => self.read_node(at, depth + 1)?,
                None => value,
            };
            fields.insert(name, value);
        }
        match self.find_next() {
            Some((at, _)) if at > indent => Err(self.refuse_next()),
            _ => Ok(fields.into()),
        }
    }
}

fn is_item(text: &str) -> bool {
    text.starts_with("- ")
}

/// Name and value of `server: https://a.example:6443` or `"server": 'https://a.example:6443' # comment`.
fn split_field(text: &str) -> Option<(String, &str)> {
    let (name, value) = text.split_once(':')?;
    if !value.is_empty() && !value.starts_with(' ') {
        return None;
    }
    let name = read_text(name.trim_end())?;
    let is_name = !name.is_empty() && is_alphanumeric_or(&name, "-_");
    is_name.then_some((name, value))
}

fn cut_comment(text: &str) -> &str {
    text.split(" #").next().unwrap_or(text).trim()
}

fn is_nothing(text: &str) -> bool {
    cut_comment(text).is_empty()
}

fn read_scalar(text: &str) -> Option<Value> {
    let text = cut_comment(text);
    match text {
        "" | "null" | "Null" | "NULL" => Some(Value::Null),
        "[]" => Some(Value::Array(Vec::new())),
        "{}" => Some(Value::Object(Map::new())),
        _ => read_text(text).map(Value::String),
    }
}

/// A text in quotes without quotes and escapes in it, or one that YAML takes as it stands.
fn read_text(text: &str) -> Option<String> {
    let quoted = ['"', '\'']
        .iter()
        .find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    if let Some(inner) = quoted {
        return (!inner.contains(['"', '\'', '\\'])).then(|| inner.to_owned());
    }
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphanumeric() || "/-.=_+".contains(c))
        && !text.contains(": ")
        && !text.ends_with(':')
        && !is_item(text)
        && text != "-";
    is_plain.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const TEXT: &str = "---\n# comment\napiVersion: v1\nclusters:\n- cluster:\n    \"server\": 'https://a:1' # b\n  \
                        name: \"\"\nlists:\n  - - a\n    - b\n  - x: 1\n    y:\n    - true\nusers: null\nnone:\nmap: {}\n";

    #[test]
    fn reads_as_other_readers_do() {
        let expected = json!({
            "apiVersion": "v1",
            "clusters": [{ "cluster": { "server": "https://a:1" }, "name": "" }],
            "lists": [["a", "b"], { "x": "1", "y": ["true"] }],
            "users": null, "none": null, "map": {},
        });
        assert_eq!(read_block(TEXT), Ok(expected.clone()));
        let mut other: Value = serde_yaml_ng::from_str(TEXT).expect("YAML");
        other["lists"][1] = json!({ "x": "1", "y": ["true"] });
        assert_eq!(other, expected);
    }

    #[test]
    fn refuses_what_is_not_one_field_a_line() {
        for text in [
            "  a: b\n",
            "a: b\n  c: d\n",
            "a: b\na: c\n",
            "- a\nb: c\n",
            "a:\n  b: c\n d: e\n",
            "a: - b\n",
            "a: b: c\n",
            "a: b:\n",
            "a: |\n  b\n",
            "a: *b\n",
            "...\n",
        ] {
            assert!(read_block(text).is_err(), "{text}");
        }
        let deep: String = (0..=DEEPEST)
            .map(|depth| format!("{}a:\n", " ".repeat(depth)))
            .collect();
        assert_eq!(
            read_block(&deep),
            Err(refuse_line(DEEPEST + 1)),
            "a file that is deeper than a kubeconfig"
        );
    }
}
