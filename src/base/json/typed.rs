//! A JSON value as a type. serde takes an array for an object, field by field in the order of the program; other readers
//! of the same file do not, so it is an error here.

use std::fmt::{self, Display};

use serde::de::value::StringDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, Expected, IntoDeserializer,
    MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

use super::{JsonPath, Segment};
use crate::base::names::format_suggestion;

/// A value of the wrong form.
#[derive(Debug)]
pub struct TypeError {
    pub(super) message: String,
    /// From the value to the whole until the whole is read.
    pub(super) path: JsonPath,
}

impl TypeError {
    fn below(mut self, segment: Segment) -> Self {
        self.path.0.push(segment);
        self
    }
}

impl Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.path.name(), self.message)
    }
}

impl std::error::Error for TypeError {}

impl Error for TypeError {
    fn custom<T: Display>(message: T) -> Self {
        Self {
            message: message.to_string(),
            path: JsonPath::default(),
        }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        // A token in the place of an object of headers is not shown.
        match found {
            Unexpected::Str(_) => {
                Self::custom(format!("invalid type: string, expected {expected}"))
            }
            _ => Self::custom(format!("invalid type: {found}, expected {expected}")),
        }
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let suggestion = format_suggestion(field, expected.iter().copied());
        Self::custom(format!("unknown key `{field}`: {suggestion}"))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let suggestion = format_suggestion(variant, expected.iter().copied());
        Self::custom(format!("unknown value `{variant}`: {suggestion}"))
    }
}

pub(super) fn convert<T: DeserializeOwned>(value: Value) -> Result<T, TypeError> {
    T::deserialize(Typed(value))
}

struct Typed(Value);

impl Typed {
    fn refuse<T>(&self, expected: &dyn Expected) -> Result<T, TypeError> {
        let found = match &self.0 {
            Value::Null => Unexpected::Unit,
            Value::Bool(value) => Unexpected::Bool(*value),
            Value::Number(_) => Unexpected::Other("number"),
            Value::String(text) => Unexpected::Str(text),
            Value::Array(_) => Unexpected::Seq,
            Value::Object(_) => Unexpected::Map,
        };
        Err(TypeError::invalid_type(found, expected))
    }
}

impl<'de> Deserializer<'de> for Typed {
    type Error = TypeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::String(text) => visitor.visit_string(text),
            Value::Array(items) => visitor.visit_seq(Items(items.into_iter().enumerate())),
            Value::Object(fields) => visitor.visit_map(Fields {
                fields: fields.into_iter(),
                entry: None,
            }),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => visitor.visit_u64(number),
                (None, Some(number)) => visitor.visit_i64(number),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or_default()),
            },
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, TypeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TypeError> {
        match self.0 {
            Value::Array(_) => self.refuse(&visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TypeError> {
        match self.0 {
            Value::String(name) => visitor.visit_enum(StringDeserializer::new(name)),
            Value::Object(fields) if fields.len() == 1 => visitor.visit_enum(Variant(fields)),
            _ => self.refuse(&visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

struct Items(std::iter::Enumerate<std::vec::IntoIter<Value>>);

impl<'de> SeqAccess<'de> for Items {
    type Error = TypeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, TypeError> {
        let Some((index, item)) = self.0.next() else {
            return Ok(None);
        };
        let value = seed.deserialize(Typed(item));
        value
            .map(Some)
            .map_err(|error| error.below(Segment::Index(index)))
    }
}

struct Fields {
    fields: serde_json::map::IntoIter,
    /// The entry whose key was read.
    entry: Option<(String, Value)>,
}

impl<'de> MapAccess<'de> for Fields {
    type Error = TypeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, TypeError> {
        let Some((key, value)) = self.fields.next() else {
            return Ok(None);
        };
        self.entry = Some((key.clone(), value));
        let found = seed.deserialize(StringDeserializer::<TypeError>::new(key.clone()));
        found
            .map(Some)
            .map_err(|error| error.below(Segment::Key(key)))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, TypeError> {
        let (key, value) = self.entry.take().unwrap_or_default();
        let value = seed.deserialize(Typed(value));
        value.map_err(|error| error.below(Segment::Key(key)))
    }
}

/// `{"NAME": CONTENT}`
struct Variant(Map<String, Value>);

impl<'de> EnumAccess<'de> for Variant {
    type Error = TypeError;
    type Variant = VariantContent;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, VariantContent), TypeError> {
        let (name, content) = self.0.into_iter().next().unwrap_or_default();
        let variant = seed.deserialize(IntoDeserializer::<TypeError>::into_deserializer(
            name.clone(),
        ))?;
        Ok((variant, VariantContent { name, content }))
    }
}

struct VariantContent {
    name: String,
    content: Value,
}

impl VariantContent {
    fn pass<T>(self, read: impl FnOnce(Typed) -> Result<T, TypeError>) -> Result<T, TypeError> {
        read(Typed(self.content)).map_err(|error| error.below(Segment::Key(self.name)))
    }
}

impl<'de> VariantAccess<'de> for VariantContent {
    type Error = TypeError;

    fn unit_variant(self) -> Result<(), TypeError> {
        self.pass(serde::Deserialize::deserialize)
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, TypeError> {
        self.pass(|content| seed.deserialize(content))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, TypeError> {
        self.pass(|content| content.deserialize_any(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TypeError> {
        self.pass(|content| content.deserialize_struct("", &[], visitor))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::parse_json;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    struct Pair {
        #[serde(default)]
        left: Option<String>,
        #[serde(default)]
        right: BTreeMap<String, serde_json::Value>,
        #[serde(default)]
        note: Vec<String>,
    }

    #[test]
    fn json_that_serde_accepts_and_people_do_not_mean_is_refused() {
        for (text, error) in [
            (
                r#"["a"]"#,
                "f:1:1: invalid type: sequence, expected struct Pair",
            ),
            (
                r#"{"left": "a", "left": "b"}"#,
                "f:1:20: the key `left` is given twice; keep one of them",
            ),
            (
                r#"{"right": {"a": {"b": 1, "b": 2}}}"#,
                "`right.a`: the key `b` is given twice",
            ),
            (
                "{\"left\": \"a\\u202eb\"}",
                "`left`: the text contains the control character U+202E; remove it",
            ),
            (
                "{\"left\": \"a\\nb\"}",
                "`left`: the text contains the control character U+000A",
            ),
            (
                "{\"right\": {\"a\\u0000\": 1}}",
                "the text contains the control character U+0000",
            ),
            (
                r#"{"lft": "a"}"#,
                "`lft`: unknown key `lft`: did you mean `left`?",
            ),
            (
                r#"{"right": 7}"#,
                "`right`: invalid type: integer `7`, expected a map",
            ),
            (
                r#"{"left": ["x"]}"#,
                "`left`: invalid type: sequence, expected a string",
            ),
        ] {
            let message = parse_json::<Pair>("f", text.as_bytes())
                .expect_err(text)
                .to_string();
            assert!(message.contains(error), "{text}: {message}");
        }
        let pair: Pair = parse_json(
            "f",
            b"\xef\xbb\xbf{\"note\": [\"a\\nb\"], \"right\": {\"x\": [1]}}",
        )
        .expect("JSON");
        assert!(pair.left.is_none() && pair.right.len() == 1 && pair.note.len() == 1);
    }

    #[test]
    fn a_fault_has_its_place() {
        let utf16: Vec<u8> = "\u{feff}{}"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let cases: [(&[u8], &str); 7] = [
            (&utf16, "f:1:1: the file is not UTF-8; save it as UTF-8"),
            (b"{\"left\": \xff}", "f:1:1: the file is not UTF-8"),
            (
                b"target: host\n",
                "f:1:2: the file is not JSON: expected ident",
            ),
            (
                b"\n",
                "f:2:1: the file is not JSON: EOF while parsing a value",
            ),
            (b"{\"left\": \"a\",}", "f:1:14: trailing comma"),
            (
                b"{\n  \"right\": {},\n  \"note\": [\"a\", {\n\"b\": 1}]}",
                "f:3:17: `note[1]`: invalid type: map, expected a string",
            ),
            (
                b"{\"right\": {\"a/b\": [}}",
                "f:1:20: `right.a/b[0]`: expected value",
            ),
        ];
        for (bytes, expected) in cases {
            let message = parse_json::<Pair>("f", bytes)
                .expect_err(expected)
                .to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
