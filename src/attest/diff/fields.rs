//! Two JSON values, property by property.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::base::json::format_plain;

/// A property that differs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldChange {
    /// Path of the property, such as `variables.image_version`.
    pub path: String,
    /// The value of the first; absent if the first has none.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub from: Value,
    /// The value of the second; absent if the second has none.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub to: Value,
    /// Items of a list, or lines of a text, that only the first has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// Items of a list, or lines of a text, that only the second has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
}

impl FieldChange {
    pub(super) fn new(path: impl Into<String>, from: Value, to: Value) -> Self {
        Self {
            path: path.into(),
            from,
            to,
            removed: Vec::new(),
            added: Vec::new(),
        }
    }
}

/// Properties that differ, in the order of their paths. A list is compared by its items, a text of several lines by
/// its lines, and a list of objects by their names.
pub(super) fn compare_values(from: &Value, to: &Value) -> Vec<FieldChange> {
    let mut changes = Vec::new();
    compare_at("", from, to, &mut changes);
    changes
}

fn compare_at(path: &str, from: &Value, to: &Value, changes: &mut Vec<FieldChange>) {
    if from == to {
        return;
    }
    let none = Map::new();
    match (from, to) {
        (Value::Object(from), Value::Object(to)) => compare_objects(path, from, to, changes),
        (Value::Object(from), Value::Null) => compare_objects(path, from, &none, changes),
        (Value::Null, Value::Object(to)) => compare_objects(path, &none, to, changes),
        (Value::Array(from), Value::Array(to)) => compare_lists(path, from, to, changes),
        (Value::Array(from), Value::Null) => compare_lists(path, from, &[], changes),
        (Value::Null, Value::Array(to)) => compare_lists(path, &[], to, changes),
        (Value::String(one), Value::String(other))
            if one.contains('\n') || other.contains('\n') =>
        {
            compare_lines(path, one, other, changes);
        }
        _ => changes.push(FieldChange::new(path, from.clone(), to.clone())),
    }
}

fn compare_objects(
    path: &str,
    from: &Map<String, Value>,
    to: &Map<String, Value>,
    changes: &mut Vec<FieldChange>,
) {
    let mut names: Vec<&String> = from.keys().chain(to.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        let inner = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        let (one, other) = (
            from.get(name).unwrap_or(&Value::Null),
            to.get(name).unwrap_or(&Value::Null),
        );
        compare_at(&inner, one, other, changes);
    }
}

fn compare_lists(path: &str, from: &[Value], to: &[Value], changes: &mut Vec<FieldChange>) {
    if let (Some(from), Some(to)) = (index_by_name(from), index_by_name(to)) {
        let mut names: Vec<&String> = from.keys().chain(to.keys()).collect();
        names.sort();
        names.dedup();
        for name in names {
            let (one, other) = (
                from.get(name).copied().unwrap_or(&Value::Null),
                to.get(name).copied().unwrap_or(&Value::Null),
            );
            compare_at(&format!("{path}[{name}]"), one, other, changes);
        }
        return;
    }
    let (one, other) = (list_texts(from), list_texts(to));
    compare_items(path, &one, &other, changes);
}

fn compare_lines(path: &str, from: &str, to: &str, changes: &mut Vec<FieldChange>) {
    let one: Vec<String> = from.lines().map(str::to_owned).collect();
    let other: Vec<String> = to.lines().map(str::to_owned).collect();
    compare_items(path, &one, &other, changes);
}

/// Items that only one side has. If there are none, the order differs, and both lists are shown whole.
fn compare_items(path: &str, from: &[String], to: &[String], changes: &mut Vec<FieldChange>) {
    let (removed, added) = (subtract_items(from, to), subtract_items(to, from));
    let whole = removed.is_empty() && added.is_empty();
    changes.push(FieldChange {
        path: path.to_owned(),
        from: if whole { from.into() } else { Value::Null },
        to: if whole { to.into() } else { Value::Null },
        removed,
        added,
    });
}

/// Items of a list without those of another, each as often as it occurs.
fn subtract_items(list: &[String], other: &[String]) -> Vec<String> {
    let mut rest: BTreeMap<&str, usize> = BTreeMap::new();
    for item in other {
        *rest.entry(item).or_default() += 1;
    }
    let mut found = Vec::new();
    for item in list {
        match rest.get_mut(item.as_str()) {
            Some(count) if *count > 0 => *count -= 1,
            _ => found.push(item.clone()),
        }
    }
    found
}

/// Objects by the property that names them; none if an item has no name, or two have the same.
fn index_by_name(list: &[Value]) -> Option<BTreeMap<String, &Value>> {
    let mut index = BTreeMap::new();
    for item in list {
        let name = ["name", "component", "member", "url"]
            .iter()
            .find_map(|key| item.get(key)?.as_str())?;
        if index.insert(name.to_owned(), item).is_some() {
            return None;
        }
    }
    Some(index)
}

fn list_texts(list: &[Value]) -> Vec<String> {
    list.iter().map(format_value).collect()
}

/// A value in one line: a text as it is, anything else as JSON.
pub(super) fn format_value(value: &Value) -> String {
    match value {
        Value::Null => "(none)".to_owned(),
        other => format_plain(other),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_are_compared_by_their_items() {
        let from = json!({"arguments": ["--a=1", "--b", "--b"], "same": 1});
        let to = json!({"arguments": ["--b", "--a=2"], "same": 1});
        let changes = compare_values(&from, &to);
        assert_eq!(changes.len(), 1);
        assert_eq!(changes[0].removed, ["--a=1", "--b"]);
        assert_eq!(changes[0].added, ["--a=2"]);
    }

    #[test]
    fn another_order_shows_both_lists() {
        let changes = compare_values(&json!({"a": ["1", "2"]}), &json!({"a": ["2", "1"]}));
        assert_eq!(changes[0].from, json!(["1", "2"]));
        assert_eq!(changes[0].to, json!(["2", "1"]));
    }

    #[test]
    fn objects_of_a_list_are_compared_by_name() {
        let from =
            json!({"plugins": [{"name": "a", "version": "1"}, {"name": "b", "version": "1"}]});
        let to = json!({"plugins": [{"name": "b", "version": "2"}, {"name": "a", "version": "1"}]});
        let changes = compare_values(&from, &to);
        assert_eq!(changes[0].path, "plugins[b].version");
        assert_eq!(changes.len(), 1);
    }

    #[test]
    fn a_value_that_appears_has_no_first_value() {
        let changes = compare_values(&json!({}), &json!({"a": {"b": 1}}));
        assert_eq!(changes, [FieldChange::new("a.b", Value::Null, json!(1))]);
    }
}
