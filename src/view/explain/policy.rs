//! Keys of a policy: the codes of its findings are made from them.

use schemars::schema_for;
use serde_json::Value;

use crate::model::policy::Policy;

use super::NameIndex;

const KIND: &str = "rule of a policy";

/// Keys that demand nothing.
const TITLES: &[&str] = &["$schema", "name", "note"];

impl NameIndex {
    pub(super) fn add_policy(&mut self) {
        let schema = schema_for!(Policy);
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            let meaning = property["description"].as_str();
            let Some(meaning) = meaning.filter(|_| !TITLES.contains(&name.as_str())) else {
                continue;
            };
            let lines = vec![meaning.replace('\n', " ")];
            self.add(KIND, name, lines, "derived: defined by imagegen");
        }
    }
}
