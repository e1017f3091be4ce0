//! Empty texts: PowerShell refuses one for a mandatory parameter that does not allow it.

use imagegen::windows::resource::ResourceKind;
use serde_json::{Value, json};

use super::assert_none;
use super::script::{Signatures, root, scripts_below, signatures};

/// Whether a function of the type refuses an empty text for the property.
fn is_refused(signatures: &Signatures, kind: &str, property: &str) -> bool {
    let functions = ["get", "set"].map(|verb| format!("{verb}-{kind}Resource").to_lowercase());
    let mut parameters = functions
        .iter()
        .flat_map(|function| &signatures[function])
        .filter(|it| it.name == property);
    parameters.any(|it| it.mandatory && !it.text.contains("[AllowEmptyString()]"))
}

#[test]
fn texts_that_the_guest_refuses_are_refused_before() {
    let signatures = signatures(&scripts_below("provisioners"));
    let text = std::fs::read_to_string(root().join("tests/guest/plan.json")).unwrap();
    let plan: Value = serde_json::from_str(&text).unwrap();
    let (mut seen, mut findings) = (0, Vec::new());
    for resource in plan["resources"].as_array().unwrap() {
        let kind = resource["type"].as_str().unwrap();
        let mut properties = resource["properties"].as_object().unwrap().clone();
        // Rust has program and arguments in its place.
        properties.remove("commandLine");
        for (property, value) in &properties {
            if !value.is_string() || !is_refused(&signatures, kind, property) {
                continue;
            }
            let mut emptied = properties.clone();
            emptied.insert(property.clone(), "".into());
            let emptied = json!({ "type": kind, "properties": emptied });
            if serde_json::from_value::<ResourceKind>(emptied).is_ok() {
                findings.push(format!("{kind}: an empty `{property}` reaches the guest"));
            }
            seen += 1;
        }
    }
    assert_none(&findings);
    assert!(seen > 40, "{seen}");
}
