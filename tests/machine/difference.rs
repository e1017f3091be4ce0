//! Two machines side by side: a prediction and a real one, or two predictions.

use std::collections::BTreeSet;

use imagegen::machine::{Machine, PlacedResource};
use imagegen::windows::resource::Identity;
use serde_json::{Map, Value, json};

/// Something that is not the same on both machines.
#[derive(Debug, PartialEq, Eq)]
pub struct Difference {
    /// The resource type, or `machine`.
    pub kind: String,
    /// Empty for what the machine is as a whole.
    pub name: String,
    /// Empty where the whole thing is on one machine only, or of another type.
    pub property: String,
    pub predicted: Option<Value>,
    pub actual: Option<Value>,
}

/// All differences: of the machines, then by identity. The origin of a thing is ignored.
pub fn compare_machines(predicted: &Machine, actual: &Machine) -> Vec<Difference> {
    let mut differences = compare_properties(
        "machine",
        "",
        &collect_properties(predicted),
        &collect_properties(actual),
    );
    let identities: BTreeSet<&Identity> = predicted
        .resources
        .keys()
        .chain(actual.resources.keys())
        .collect();
    for identity in identities {
        let (ours, theirs) = (
            predicted.resources.get(identity),
            actual.resources.get(identity),
        );
        differences.extend(compare_things(identity, ours, theirs));
    }
    differences
}

/// Everything but the resources.
fn collect_properties(machine: &Machine) -> Map<String, Value> {
    let json = json!({
        "target": machine.target, "windows": machine.windows, "build": machine.build,
        "restarts": machine.restarts, "path": machine.path, "ports": machine.ports,
    });
    json.as_object().cloned().unwrap_or_default()
}

fn compare_things(
    identity: &Identity,
    ours: Option<&PlacedResource>,
    theirs: Option<&PlacedResource>,
) -> Vec<Difference> {
    let types = [ours, theirs].map(|placed| placed.map(|placed| placed.kind.to_json().0));
    let kind = types.iter().flatten().next().cloned().unwrap_or_default();
    let facts = |placed: &PlacedResource| placed.kind.facts();
    match (ours, theirs) {
        (Some(ours), Some(theirs)) if types[0] == types[1] => {
            compare_properties(&kind, identity.name(), &facts(ours), &facts(theirs))
        }
        _ => vec![Difference {
            kind,
            name: identity.name().to_owned(),
            property: String::new(),
            predicted: ours.map(|placed| facts(placed).into()),
            actual: theirs.map(|placed| facts(placed).into()),
        }],
    }
}

fn compare_properties(
    kind: &str,
    name: &str,
    ours: &Map<String, Value>,
    theirs: &Map<String, Value>,
) -> Vec<Difference> {
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let differs = names
        .into_iter()
        .filter(|property| ours.get(*property) != theirs.get(*property));
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
