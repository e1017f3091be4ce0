//! JSON of others: publishers, registries, builders. A key that stands twice is an error, because readers differ in
//! which of the two they take; fields that are not known are left alone.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeOwned, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Parses JSON whose form its author decides.
///
/// # Errors
/// Malformed JSON, a key that stands twice in one object, or a value of the wrong form.
pub fn parse_foreign<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice::<UniqueKeys>(bytes)?;
    serde_json::from_slice(bytes)
}

/// Any JSON value in which no object has a key twice.
struct UniqueKeys;

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueKeysVisitor)
    }
}

struct UniqueKeysVisitor;

impl<'de> Visitor<'de> for UniqueKeysVisitor {
    type Value = UniqueKeys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_i64<E>(self, _: i64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_u64<E>(self, _: u64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_f64<E>(self, _: f64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_str<E>(self, _: &str) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_unit<E>(self) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<UniqueKeys, A::Error> {
        while items.next_element::<UniqueKeys>()?.is_some() {}
        Ok(UniqueKeys)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<UniqueKeys, A::Error> {
        let mut seen = BTreeSet::new();
        while let Some(key) = fields.next_key::<String>()? {
            if let Some(key) = seen.replace(key) {
                return Err(A::Error::custom(format!("the key `{key}` stands twice")));
            }
            fields.next_value::<UniqueKeys>()?;
        }
        Ok(UniqueKeys)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_key_stands_once_at_every_depth() {
        for text in [
            r#"{"a": 1, "a": 1}"#,
            r#"{"a": [{"b": {"c": 1, "\u0063": 2}}]}"#,
            r#"[{"": 1, "": 2}]"#,
        ] {
            let error = parse_foreign::<Value>(text.as_bytes()).expect_err(text);
            assert!(error.to_string().contains("stands twice"), "{error}");
        }
        let good = r#"{"a": {"a": [1, -2, 3.5, "x", null, true]}, "A": {}}"#;
        assert_eq!(
            parse_foreign::<Value>(good.as_bytes()).expect("JSON"),
            serde_json::from_str::<Value>(good).expect("JSON")
        );
    }
}
