//! A deserializer for JSON of people and of programs: a key stands once, and an array is not an object. A text of one
//! line that people write holds no control character. serde accepts all three.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::value::StringDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

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

/// Wraps a deserializer, a visitor or an access of the format.
#[derive(Debug)]
pub(super) struct Strict<T> {
    inner: T,
    author: Author,
    /// Whether texts may have several lines.
    lines: bool,
    /// Whether an object is expected that serde would take an array for.
    object: bool,
}

/// Author of a JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Author {
    Person,
    Program,
}

impl<T> Strict<T> {
    /// For JSON that people write.
    pub(super) fn of_person(inner: T) -> Self {
        Self {
            inner,
            author: Author::Person,
            lines: false,
            object: false,
        }
    }

    /// For JSON of programs: their texts are theirs.
    pub(super) fn of_program(inner: T) -> Self {
        Self {
            author: Author::Program,
            ..Self::of_person(inner)
        }
    }

    fn wrap<U>(&self, inner: U) -> Strict<U> {
        Strict {
            inner,
            author: self.author,
            lines: self.lines,
            object: false,
        }
    }

    fn find_control(&self, text: &str) -> Option<char> {
        match self.author {
            Author::Person => find_control(text, self.lines),
            Author::Program => None,
        }
    }

    fn check_text<E: Error>(&self, text: &str) -> Result<(), E> {
        match self.find_control(text) {
            None => Ok(()),
            Some(c) => Err(E::custom(format!(
                "the text contains the control character U+{:04X}; remove it",
                u32::from(c)
            ))),
        }
    }
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Strict<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.wrap(visitor);
        self.inner.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.wrap(visitor);
        self.inner.deserialize_option(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.wrap(visitor);
        self.inner.deserialize_newtype_struct(name, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = Strict {
            inner: visitor,
            author: self.author,
            lines: self.lines,
            object: true,
        };
        self.inner.deserialize_struct(name, fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.wrap(visitor);
        self.inner.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Strict<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<V::Value, E> {
        self.inner.visit_bool(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<V::Value, E> {
        self.inner.visit_i64(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<V::Value, E> {
        self.inner.visit_u64(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<V::Value, E> {
        self.inner.visit_f64(value)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<V::Value, E> {
        self.check_text(text)?;
        self.inner.visit_str(text)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<V::Value, E> {
        self.check_text(text)?;
        self.inner.visit_borrowed_str(text)
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        let value = self.wrap(value);
        self.inner.visit_some(value)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        let value = self.wrap(value);
        self.inner.visit_newtype_struct(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
        if self.object {
            return Err(A::Error::invalid_type(Unexpected::Seq, &self.inner));
        }
        let items = self.wrap(items);
        self.inner.visit_seq(items)
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<V::Value, A::Error> {
        let entries = Entries {
            entries: self.wrap(entries),
            keys: BTreeSet::new(),
        };
        self.inner.visit_map(entries)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, variant: A) -> Result<V::Value, A::Error> {
        let variant = self.wrap(variant);
        self.inner.visit_enum(variant)
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for Strict<A> {
    type Error = A::Error;
    type Variant = Strict<A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), A::Error> {
        let (author, lines) = (self.author, self.lines);
        let (name, inner) = self.inner.variant_seed(seed)?;
        let content = Strict {
            inner,
            author,
            lines,
            object: false,
        };
        Ok((name, content))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Strict<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.wrap(seed);
        self.inner.newtype_variant_seed(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let visitor = self.wrap(visitor);
        self.inner.tuple_variant(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let visitor = self.wrap(visitor);
        self.inner.struct_variant(fields, visitor)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Strict<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<S::Value, D::Error> {
        let value = self.wrap(value);
        self.inner.deserialize(value)
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Strict<A> {
    type Error = A::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, A::Error> {
        let seed = self.wrap(seed);
        self.inner.next_element_seed(seed)
    }
}

/// The entries of an object, with the keys that were read.
struct Entries<A> {
    entries: Strict<A>,
    keys: BTreeSet<String>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Entries<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let Some(key) = self.entries.inner.next_key::<String>()? else {
            return Ok(None);
        };
        self.entries.lines = false;
        if self.entries.find_control(&key).is_some() {
            return Err(A::Error::custom(format!(
                "the key {key:?} contains a control character"
            )));
        }
        if !self.keys.insert(key.clone()) {
            let message = match self.entries.author {
                Author::Person => format!("the key `{key}` is given twice; keep one of them"),
                Author::Program => format!("the key `{key}` stands twice"),
            };
            return Err(A::Error::custom(message));
        }
        self.entries.lines = MULTILINE.contains(&key.as_str());
        seed.deserialize(StringDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.entries.wrap(seed);
        self.entries.inner.next_value_seed(seed)
    }
}
