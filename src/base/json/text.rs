//! A JSON text as a value. serde_json takes the last of two equal keys; here they are an error. A text of one line that
//! people write holds no control character.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::typed::TypeError;
use super::{JsonFault, JsonPath, Segment};
use crate::base::text::find_control;

/// Keys whose values have several lines: keys and certificates in PEM, notes, scripts and files.
const MULTILINE: &[&str] = &[
    "ca",
    "content",
    "fragments",
    "key",
    "note",
    "roots",
    "set",
    "test",
];

/// Author of a JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Author {
    Person,
    /// Their texts are theirs.
    Program,
}

/// Reads the value that stands at a path. After an error, the path is that of the fault.
pub(super) struct TextReader<'a> {
    path: &'a mut Vec<Segment>,
    author: Author,
    /// Whether texts may have several lines.
    lines: bool,
}

impl TextReader<'_> {
    pub(super) fn read(text: &str, author: Author) -> Result<Value, JsonFault> {
        let mut path = Vec::new();
        let mut json = serde_json::Deserializer::from_str(text);
        let reader = TextReader {
            path: &mut path,
            author,
            lines: false,
        };
        let value = reader.deserialize(&mut json);
        let value = value.and_then(|value| json.end().map(|()| value));
        value.map_err(|error| {
            let message = error.to_string();
            // serde_json ends its messages with the position.
            let (message, _) = message.rsplit_once(" at line ").unwrap_or((&message, ""));
            let is_other = !text.trim_start().starts_with(['{', '[']);
            let form = if is_other {
                "the file is not JSON: "
            } else {
                ""
            };
            JsonFault {
                line: error.line().max(1),
                column: error.column().max(1),
                path: JsonPath(path),
                message: format!("{form}{message}"),
            }
        })
    }

    fn enter(&mut self, segment: Segment, lines: bool) -> TextReader<'_> {
        self.path.push(segment);
        TextReader {
            path: self.path,
            author: self.author,
            lines,
        }
    }

    fn check_text<E: Error>(&self, text: &str, lines: bool) -> Result<(), E> {
        match find_control(text, lines) {
            Some(c) if self.author == Author::Person => Err(E::custom(format!(
                "the text contains the control character U+{:04X}; remove it",
                u32::from(c)
            ))),
            _ => Ok(()),
        }
    }
}

impl<'de> DeserializeSeed<'de> for TextReader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<Value, D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TextReader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        self.check_text(text, self.lines)?;
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let mut found = Vec::new();
        let lines = self.lines;
        while let Some(item) =
            items.next_element_seed(self.enter(Segment::Index(found.len()), lines))?
        {
            found.push(item);
            self.path.pop();
        }
        self.path.pop();
        Ok(Value::Array(found))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Value, A::Error> {
        let mut found = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            self.check_text(&key, false)?;
            if found.contains_key(&key) {
                return Err(A::Error::custom(match self.author {
                    Author::Person => format!("the key `{key}` is given twice; keep one of them"),
                    Author::Program => format!("the key `{key}` stands twice"),
                }));
            }
            let lines = MULTILINE.contains(&key.as_str());
            let value = entries.next_value_seed(self.enter(Segment::Key(key.clone()), lines))?;
            self.path.pop();
            found.insert(key, value);
        }
        Ok(Value::Object(found))
    }
}

/// A fault of a value, with the place where the value stands in the text.
pub(super) fn locate_fault(text: &str, error: TypeError) -> JsonFault {
    let TypeError { message, path } = error;
    let mut place = text.trim_start();
    for segment in &path.0 {
        match find_part(place, segment) {
            Some(part) => place = part,
            None => break,
        }
    }
    let before = &text[..place.as_ptr().addr() - text.as_ptr().addr()];
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    JsonFault {
        line: before.matches('\n').count() + 1,
        column: before.len() - line_start + 1,
        path,
        message,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the whole text was read strictly before"
)]
fn find_part<'a>(text: &'a str, segment: &Segment) -> Option<&'a str> {
    let part: &RawValue = match segment {
        Segment::Key(key) => serde_json::from_str::<BTreeMap<String, _>>(text)
            .ok()?
            .remove(key)?,
        Segment::Index(index) => serde_json::from_str::<Vec<_>>(text)
            .ok()?
            .into_iter()
            .nth(*index)?,
    };
    Some(part.get())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::Value;

    use super::super::{is_one_json, parse_foreign};

    #[derive(Debug, PartialEq, Deserialize)]
    struct Named {
        name: Option<String>,
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the other reader is compared")]
    fn a_key_stands_once_at_every_depth() {
        for text in [
            r#"{"a": 1, "a": 1}"#,
            r#"{"a": [{"b": {"c": 1, "\u0063": 2}}]}"#,
            r#"[{"": 1, "": 2}]"#,
        ] {
            let error = parse_foreign::<Value>(text.as_bytes()).expect_err(text);
            assert!(error.to_string().contains("stands twice"), "{error}");
            assert!(is_one_json(text.as_bytes()));
        }
        let good = r#"{"a": {"a": [1, -2, 3.5, "x\n", null, true]}, "A": {}}"#;
        assert_eq!(
            parse_foreign::<Value>(good.as_bytes()).expect("JSON"),
            serde_json::from_str::<Value>(good).expect("JSON")
        );
    }

    #[derive(Debug, Deserialize)]
    enum Choice {
        #[expect(dead_code, reason = "the reader is what is tested")]
        Named(Value),
        #[expect(dead_code, reason = "the reader is what is tested")]
        Listed {
            items: Vec<Value>,
        },
        Bare,
    }

    #[test]
    fn a_key_stands_once_in_variants() {
        for (text, is_good) in [
            (r#""Bare""#, true),
            (r#"{"Bare": null}"#, true),
            (r#"{"Bare": 1}"#, false),
            (r#""Listed""#, false),
            (r#"{"Named": {"a": 1, "b": 1}}"#, true),
            (r#"{"Named": {"a": 1, "a": 1}}"#, false),
            (r#"{"Listed": {"items": [{"a": 1}]}}"#, true),
            (r#"{"Listed": {"items": [{"a": 1, "a": 1}]}}"#, false),
            (r#"{"Listed": [[{"a": 1}]]}"#, false),
            (r#"{"Named": 1, "Listed": 1}"#, false),
        ] {
            let found = parse_foreign::<Choice>(text.as_bytes());
            assert_eq!(found.is_ok(), is_good, "{text}: {found:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_content() {
        let named = parse_foreign::<Named>("\u{feff}{\"name\": \"a\"}".as_bytes());
        let name = Some("a".to_owned());
        assert_eq!(named.expect("JSON"), Named { name });
    }

    #[test]
    fn a_key_stands_once_in_fields_that_nobody_reads() {
        let named = parse_foreign::<Named>(br#"{"other": {"b": 1}, "name": "a\tb"}"#);
        let name = Some("a\tb".to_owned());
        assert_eq!(named.expect("JSON"), Named { name });
        for text in [
            r#"{"other": {"b": 1, "b": 2}, "name": "a"}"#,
            r#"{"name": "a", "other": [[{"b": 1, "b": 1}]]}"#,
            r#"{"name": "a", "name": "a"}"#,
            r#"{"name": "a"} {}"#,
            r#"["a"]"#,
        ] {
            parse_foreign::<Named>(text.as_bytes()).expect_err(text);
        }
    }
}
