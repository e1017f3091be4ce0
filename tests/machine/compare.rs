use std::collections::BTreeSet;

use imagegen::machine::Machine;
use imagegen::windows::resource::ResourceKind;
use serde_json::{Value, json};

use super::difference::compare_machines;
use super::plan::Plan;

/// A resource type, a property that says nothing about the thing's name, and another value of it.
fn mutations() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("directory", "sddl", json!("O:BAG:SYD:AI(A;;FA;;;SY)")),
        ("file", "content", json!("other")),
        ("symlink", "target", json!(r"C:\other")),
        ("artifact", "digest", json!("0".repeat(64))),
        (
            "archive",
            "members",
            json!([{"member": "other", "path": r"C:\Program Files\containerd\containerd.exe"}]),
        ),
        ("msi", "arguments", json!([])),
        ("registryValue", "data", json!(1)),
        ("environmentVariable", "value", json!("other")),
        ("service", "startType", json!("disabled")),
        ("windowsFeature", "installed", json!(false)),
        ("firewallRule", "action", json!("block")),
        ("portRange", "count", json!(1)),
        ("winrmSetting", "value", json!("other")),
        ("localUser", "ensure", json!("present")),
        ("containerImage", "program", json!(r"C:\other.exe")),
        ("assertion", "holds", json!(false)),
        ("sysprep", "finish", json!("shutdown")),
        ("hotfix", "digest", json!("0".repeat(64))),
        ("windowsCapability", "installed", json!(false)),
        ("scheduledTask", "trigger", json!("startup")),
        ("hnsNetwork", "kind", json!("other")),
        ("powerPlan", "plan", json!("other")),
        ("pageFile", "maximumMegabytes", json!(1)),
        ("certificate", "content", json!("other")),
        ("script", "expected", json!("other")),
    ]
}

/// Types whose properties are all part of the name: another value is another thing.
const NAMED_WHOLLY: [&str; 4] = [
    "defenderExclusion",
    "pathEntry",
    "winrmListener",
    "windowsUpdate",
];

fn find<'a>(machine: &'a mut Value, kind: &str) -> &'a mut Value {
    let resources = machine["resources"].as_array_mut().expect("resources");
    resources
        .iter_mut()
        .find(|it| it["type"] == kind)
        .unwrap_or_else(|| panic!("no {kind}"))
}

fn read(json: Value) -> Machine {
    serde_json::from_value(json).expect("a machine")
}

#[test]
fn notices_a_mutation_of_every_resource_type() {
    let predicted = Plan::good().predict().machine;
    let json = serde_json::to_value(&predicted).expect("JSON");
    for (kind, property, value) in mutations() {
        let mut actual = json.clone();
        let properties = &mut find(&mut actual, kind)["properties"];
        assert_ne!(properties[property], value, "{kind}");
        properties[property] = value.clone();
        let found = compare_machines(&predicted, &read(actual));
        let [only] = found.as_slice() else {
            panic!("{kind}: {found:?}")
        };
        let expected = (kind, property, Some(&value));
        assert_eq!(
            (
                only.kind.as_str(),
                only.property.as_str(),
                only.actual.as_ref()
            ),
            expected,
            "{kind}"
        );
    }
    for kind in NAMED_WHOLLY {
        let mut actual = json.clone();
        let thing = find(&mut actual, kind).clone();
        actual["resources"]
            .as_array_mut()
            .expect("resources")
            .retain(|it| *it != thing);
        let found = compare_machines(&predicted, &read(actual));
        let [only] = found.as_slice() else {
            panic!("{kind}: {found:?}")
        };
        assert_eq!(
            (only.kind.as_str(), only.property.as_str(), &only.actual),
            (kind, "", &None)
        );
    }
}

#[test]
fn the_table_has_every_type() {
    let schema = serde_json::to_value(schemars::schema_for!(ResourceKind)).expect("a schema");
    let variants = schema["oneOf"].as_array().expect("variants");
    let types: BTreeSet<&str> = variants
        .iter()
        .map(|it| it["properties"]["type"]["const"].as_str().expect("a type"))
        .collect();
    let mutated: BTreeSet<&str> = mutations()
        .iter()
        .map(|(kind, ..)| *kind)
        .chain(NAMED_WHOLLY)
        .collect();
    assert_eq!(mutated, types);
    let plan = Plan::good();
    let planned: BTreeSet<&str> = plan
        .resources
        .iter()
        .filter_map(|it| it["type"].as_str())
        .collect();
    assert_eq!(planned, types, "the good plan has every type");
}

#[test]
fn a_machine_is_like_itself_and_survives_json() {
    let machine = Plan::good().predict().machine;
    let mut json = serde_json::to_value(&machine).expect("JSON");
    assert_eq!(read(json.clone()), machine);
    assert_eq!(compare_machines(&machine, &machine), []);
    json["resources"][0]["origin"]["resource"] = json!("other/resource");
    assert_eq!(
        compare_machines(&machine, &read(json)),
        [],
        "the resource that made it is no difference"
    );
}

#[test]
fn the_order_of_the_path_is_compared() {
    let mut first = Plan::good().predict().machine;
    first.path.push(r"C:\k".to_owned());
    let mut second = first.clone();
    second.path.reverse();
    let differences = compare_machines(&first, &second);
    assert_eq!(differences.len(), 1);
    assert_eq!(differences[0].property, "path");
}
