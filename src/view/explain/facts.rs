//! The facts that expressions of steps may name, with their values in a plan.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::base::url::strip_value;

use super::NameIndex;
use super::resource::shorten_value;

impl NameIndex {
    pub(super) fn add_facts(&mut self, facts: &Value) {
        let meaning = "a step names them as `{{ PATH }}` in a text, or as {\"fact\": \"PATH\"}; in this plan:";
        let mut lines = vec![meaning.to_owned()];
        list_facts("", facts, &mut lines);
        self.add(
            "facts of steps",
            "facts",
            lines,
            "derived: made of the plan",
        );
    }
}

/// A line for each value; the entries of a list have their own fields, which `each` repeats a resource for.
fn list_facts(path: &str, value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, field) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                list_facts(&format!("{path}{dot}{name}"), field, lines);
            }
        }
        Value::Array(entries) if entries.iter().any(Value::is_object) => {
            let mut fields = BTreeSet::new();
            for entry in entries.iter().filter_map(Value::as_object) {
                fields.extend(entry.keys().map(String::as_str));
            }
            let fields: Vec<&str> = fields.into_iter().collect();
            lines.push(format!(
                "{path}: a list of {}, each with {}",
                entries.len(),
                fields.join(", ")
            ));
        }
        _ => lines.push(format!("{path}: {}", shorten_value(&strip_value(value)))),
    }
}
