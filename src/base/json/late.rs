//! A list that stays JSON until it is looked at.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::OnceLock;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{DeserializeOwned, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// The name by which a deserializer that checks whole files knows such a list.
pub(super) const LATE_LIST: &str = "imagegen::LateList";

/// A list of a file that the program carries stays JSON until it is looked at: a component has some hundred digests,
/// of which an image uses one. In a file of the user's it is parsed with the rest.
#[derive(Debug, Clone)]
pub struct LateList<T> {
    /// Each item that was not parsed with the file.
    late: Vec<Box<RawValue>>,
    items: OnceLock<Vec<T>>,
}

impl<T: DeserializeOwned + Clone> LateList<T> {
    /// # Panics
    /// Never: only files of the program are parsed late, and a test parses all of them.
    fn items(&self) -> &[T] {
        self.items
            .get_or_init(|| self.late.iter().map(|item| parse(item.get())).collect())
    }

    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items().iter()
    }

    /// The items for which `is_wanted` holds. All of them have the text in their JSON: others are not parsed.
    pub fn filter(&self, text: &str, is_wanted: impl Fn(&T) -> bool) -> Vec<T> {
        if let Some(items) = self.items.get() {
            let wanted = items.iter().filter(|item| is_wanted(item));
            return wanted.cloned().collect();
        }
        let mut wanted = Vec::new();
        for late in &self.late {
            if late.get().contains(text) {
                let item = parse(late.get());
                if is_wanted(&item) {
                    wanted.push(item);
                }
            }
        }
        wanted
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test reads the program's own files strictly"
)]
fn parse<'a, T: Deserialize<'a>>(json: &'a str) -> T {
    serde_json::from_str(json).expect("the program's own files are what they should be")
}

impl<T> FromIterator<T> for LateList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self {
            late: Vec::new(),
            items: Vec::from_iter(items).into(),
        }
    }
}

impl<T> Default for LateList<T> {
    fn default() -> Self {
        Self::from_iter([])
    }
}

impl<'a, T: DeserializeOwned + Clone> IntoIterator for &'a LateList<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: DeserializeOwned + Clone + PartialEq> PartialEq for LateList<T> {
    fn eq(&self, other: &Self) -> bool {
        self.items() == other.items()
    }
}

impl<T: DeserializeOwned + Clone + Serialize> Serialize for LateList<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.items().serialize(serializer)
    }
}

impl<T: JsonSchema> JsonSchema for LateList<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Vec::<T>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<T>::json_schema(generator)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for LateList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(LATE_LIST, ListVisitor(PhantomData))
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = LateList<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, list: D) -> Result<LateList<T>, D::Error> {
        Ok(LateList {
            late: Vec::deserialize(list)?,
            items: OnceLock::new(),
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<LateList<T>, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(items)).map(LateList::from_iter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::json::{parse_embedded, parse_json};

    #[test]
    fn files_of_the_user_are_parsed_at_once() {
        let json = br#"["a", "a\u0000", 7]"#;
        let error = parse_json::<LateList<String>>("f", json).expect_err("a control character");
        assert!(
            error
                .to_string()
                .contains("`[1]`: the text contains the control character U+0000"),
            "{error}"
        );
        assert!(
            parse_embedded::<LateList<String>>("f", json).is_ok_and(|list| list.late.len() == 3)
        );
    }

    #[test]
    fn a_late_list_has_the_same_items() {
        let json = br#"[ "abc", "b", "bc" ]"#;
        let late: LateList<String> = parse_embedded("f", json).expect("a list");
        let early: LateList<String> = parse_json("f", json).expect("a list");
        let find = |list: &LateList<String>| list.filter("b", |item| item.len() > 1);
        assert_eq!(find(&late), ["abc", "bc"]);
        assert_eq!(find(&late), find(&early));
        assert_eq!(late, early);
        assert_eq!(find(&late), find(&early), "after all of them were parsed");
        assert_eq!(
            serde_json::to_string(&late).expect("JSON"),
            r#"["abc","b","bc"]"#
        );
    }
}
