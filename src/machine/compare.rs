//! Two machines side by side: a prediction and a real one, or two predictions.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::paths;
use super::state::Machine;

/// Something that is not the same on both machines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Difference {
    /// The list it stands in (`services`, `winrm.listeners`), or `machine`.
    pub kind: String,
    /// Empty for what the machine is as a whole.
    pub name: String,
    /// Empty where the whole thing is on one machine only.
    pub property: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<Value>,
}

/// A list of the machine, and the properties by which its entries are known.
struct List {
    kind: &'static str,
    known_by: &'static [&'static str],
}

const LISTS: [List; 20] = [
    List { kind: "services", known_by: &["name"] },
    List { kind: "files", known_by: &["path"] },
    List { kind: "directories", known_by: &["path"] },
    List { kind: "links", known_by: &["path"] },
    List { kind: "registry", known_by: &["key", "name"] },
    List { kind: "features", known_by: &["name"] },
    List { kind: "environment", known_by: &["name"] },
    List { kind: "path", known_by: &["entry"] },
    List { kind: "firewall", known_by: &["name"] },
    List { kind: "portRanges", known_by: &["kind", "protocol", "start"] },
    List { kind: "ports", known_by: &["program", "protocol", "port", "direction"] },
    List { kind: "defender", known_by: &["kind", "value"] },
    List { kind: "users", known_by: &["name"] },
    List { kind: "winrm.listeners", known_by: &["transport"] },
    List { kind: "winrm.settings", known_by: &["name"] },
    List { kind: "packages", known_by: &["creates"] },
    List { kind: "images", known_by: &["namespace", "reference"] },
    List { kind: "system", known_by: &["kind", "name"] },
    List { kind: "assertions", known_by: &["name"] },
    List { kind: "absent", known_by: &["kind", "name"] },
];

/// Every difference, in the order of the machine's lists and then of names. Who made a thing is
/// no difference.
///
/// # Panics
///
/// Never: a machine is plain data, which always becomes JSON.
#[must_use]
pub fn compare(predicted: &Machine, actual: &Machine) -> Vec<Difference> {
    let [predicted, actual] =
        [predicted, actual].map(|machine| serde_json::to_value(machine).expect("a machine is plain data"));
    let mut differences = whole(&predicted, &actual);
    for list in &LISTS {
        let (ours, theirs) = (entries(&predicted, list), entries(&actual, list));
        let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
        for key in keys {
            differences.extend(entry(list.kind, ours.get(key), theirs.get(key)));
        }
    }
    differences
}

/// What is no list: scalars, Sysprep, and the order of the PATH.
fn whole(predicted: &Value, actual: &Value) -> Vec<Difference> {
    let facts = |machine: &Value| {
        let mut facts = machine.as_object().cloned().unwrap_or_default();
        let order = machine["path"]
            .as_array()
            .map(|path| path.iter().map(|entry| entry["entry"].clone()).collect::<Vec<_>>());
        let lists = LISTS.iter().map(|list| list.kind).chain(["winrm"]);
        for kind in lists {
            facts.remove(kind);
        }
        facts.insert("pathOrder".to_owned(), order.into());
        if let Some(Value::Object(sysprep)) = facts.get_mut("sysprep") {
            sysprep.remove("origin");
        }
        facts
    };
    properties("machine", "", &facts(predicted), &facts(actual))
}

struct Entry {
    name: String,
    properties: Map<String, Value>,
}

fn entries(machine: &Value, list: &List) -> BTreeMap<String, Entry> {
    let found = list.kind.split('.').fold(machine, |at, part| &at[part]);
    let mut entries = BTreeMap::new();
    for value in found.as_array().into_iter().flatten() {
        let mut properties = value.as_object().cloned().unwrap_or_default();
        properties.remove("origin");
        let names: Vec<String> =
            list.known_by.iter().filter_map(|name| properties.get(*name)).map(plain).collect();
        let name = names.join(" ");
        list.known_by.iter().for_each(|name| drop(properties.remove(*name)));
        entries.insert(paths::key(&name), Entry { name, properties });
    }
    entries
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn entry(kind: &str, predicted: Option<&Entry>, actual: Option<&Entry>) -> Vec<Difference> {
    match (predicted, actual) {
        (Some(ours), Some(theirs)) => properties(kind, &ours.name, &ours.properties, &theirs.properties),
        (ours, theirs) => {
            let name = ours.or(theirs).map(|entry| entry.name.clone()).unwrap_or_default();
            let value = |entry: Option<&Entry>| entry.map(|entry| Value::Object(entry.properties.clone()));
            vec![Difference {
                kind: kind.to_owned(),
                name,
                property: String::new(),
                predicted: value(ours),
                actual: value(theirs),
            }]
        }
    }
}

fn properties(
    kind: &str,
    name: &str,
    ours: &Map<String, Value>,
    theirs: &Map<String, Value>,
) -> Vec<Difference> {
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let differs = names.into_iter().filter(|property| ours.get(*property) != theirs.get(*property));
    differs
        .map(|property| Difference {
            kind: kind.to_owned(),
            name: name.to_owned(),
            property: property.clone(),
            predicted: ours.get(property).cloned(),
            actual: theirs.get(property).cloned(),
        })
        .collect()
}
