//! JSON of others: publishers, registries, builders, records of earlier runs. A key that stands twice is an error,
//! because readers differ in which of the two they take; fields that are not known are left alone.

use serde::de::{DeserializeOwned, IgnoredAny};

use super::strict::Strict;
use crate::base::text::strip_byte_order_mark;

/// Parses JSON whose form its author decides, in one pass.
///
/// # Errors
/// Malformed JSON, a key that stands twice in one object, or a value of the wrong form.
pub fn parse_foreign<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_slice(strip_byte_order_mark(bytes));
    let value = T::deserialize(Strict::of_program(&mut json))?;
    json.end()?;
    Ok(value)
}

/// Whether the bytes are one JSON value, whatever stands in it: they may also be several, one on each line.
#[expect(clippy::disallowed_methods, reason = "the form alone is asked for")]
pub fn is_one_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::Value;

    use super::*;

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
        Listed { items: Vec<Value> },
    }

    #[test]
    fn a_key_stands_once_in_variants() {
        for (text, is_good) in [
            (r#"{"Named": {"a": 1, "b": 1}}"#, true),
            (r#"{"Named": {"a": 1, "a": 1}}"#, false),
            (r#"{"Listed": {"items": [{"a": 1}]}}"#, true),
            (r#"{"Listed": {"items": [{"a": 1, "a": 1}]}}"#, false),
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
        ] {
            parse_foreign::<Named>(text.as_bytes()).expect_err(text);
        }
    }
}
