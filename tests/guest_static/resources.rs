//! Functions of resources, held against the types that the plan has.

use std::collections::{BTreeMap, BTreeSet};

use imagegen::windows::resource::ResourceKind;
use regex_lite::Regex;
use serde_json::{Value, json};
use walkdir::WalkDir;

use super::assert_none;
use crate::support::root;

/// A function of a script, as its file is laid out: from `function NAME {` to the next `}` that begins a line.
pub(super) struct Function {
    pub(super) file: String,
    pub(super) name: String,
    pub(super) text: String,
}

/// Functions of all scripts below a folder, but those without functions.
pub(super) fn list_functions(folder: &str) -> Vec<Function> {
    let form = Regex::new(r"(?ms)^function ([\w-]+) \{\n(.*?)^\}$").unwrap();
    let mut found = Vec::new();
    for entry in WalkDir::new(root().join(folder)).sort_by_file_name() {
        let path = entry.unwrap().into_path();
        if path.extension().is_none_or(|suffix| suffix != "ps1") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        found.extend(form.captures_iter(&text).map(|it| Function {
            file: path.file_stem().unwrap().to_string_lossy().into_owned(),
            name: it[1].to_owned(),
            text: it[2].to_owned(),
        }));
    }
    assert!(!found.is_empty(), "no functions in {folder}");
    found
}

/// Name of each parameter, and whether it is mandatory and refuses an empty text.
fn parse_parameters(function: &str) -> BTreeMap<String, bool> {
    let Some((_, rest)) = function.split_once("    param(") else {
        return BTreeMap::new();
    };
    let form = Regex::new(r"((?:\[[^$]*?\] )*)\$(\w+)(?: = [^,)]+)?[,)]").unwrap();
    let end = rest.find(")\n").map_or(rest.len(), |end| end + 1);
    let found = form.captures_iter(&rest[..end]).map(|it| {
        let refuses =
            it[1].contains("[Parameter(Mandatory)]") && !it[1].contains("[AllowEmptyString()]");
        (it[2].to_owned(), refuses)
    });
    found.collect()
}

/// The fields of each resource type as the guest plan has them.
pub(super) fn list_types() -> BTreeMap<String, BTreeSet<String>> {
    let schema = schemars::schema_for!(ResourceKind).to_value();
    let mut types = BTreeMap::new();
    for variant in schema["oneOf"].as_array().unwrap() {
        let name = variant["properties"]["type"]["const"].as_str().unwrap();
        let mut fields = BTreeSet::new();
        collect_fields(&schema, &variant["properties"]["properties"], &mut fields);
        // Rust joins the two to what Windows stores.
        if name == "service" {
            assert!(fields.remove("program") && fields.remove("arguments"));
            fields.insert("commandLine".to_owned());
        }
        types.insert(name.to_owned(), fields);
    }
    types
}

/// The fields of an object in all its forms: those of an absent thing, and those that its kind decides.
fn collect_fields(schema: &Value, object: &Value, fields: &mut BTreeSet<String>) {
    let own = object["properties"].as_object();
    fields.extend(own.into_iter().flat_map(|own| own.keys().cloned()));
    for form in ["oneOf", "anyOf", "allOf"] {
        for form in object[form].as_array().into_iter().flatten() {
            collect_fields(schema, form, fields);
        }
    }
    if let Some(target) = object["$ref"].as_str() {
        let target = schema.pointer(target.trim_start_matches('#')).unwrap();
        collect_fields(schema, target, fields);
    }
}

/// One file per type, with its Get and Set; Set takes the type's fields, Get some of them.
fn check_resources(
    functions: &[Function],
    types: &BTreeMap<String, BTreeSet<String>>,
) -> Vec<String> {
    let mut findings = Vec::new();
    let files: BTreeSet<&str> = functions.iter().map(|it| it.file.as_str()).collect();
    let names: BTreeSet<&str> = types.keys().map(String::as_str).collect();
    for name in files.symmetric_difference(&names) {
        findings.push(format!(
            "{name}: a file without a type, or a type without a file"
        ));
    }
    for (name, fields) in types {
        let parameters = |verb: &str| {
            let wanted = format!("{verb}-{name}Resource");
            let function = functions
                .iter()
                .find(|it| it.name == wanted && it.file == *name)?;
            Some(
                parse_parameters(&function.text)
                    .into_keys()
                    .collect::<BTreeSet<_>>(),
            )
        };
        let (get, set) = (parameters("Get"), parameters("Set"));
        if !get.as_ref().is_some_and(|get| get.is_subset(fields)) {
            findings.push(format!("{name}: Get takes {get:?} of {fields:?}"));
        }
        if set.as_ref() != Some(fields) {
            findings.push(format!(
                "{name}: Set takes {set:?}, the type has {fields:?}"
            ));
        }
    }
    findings
}

#[test]
fn resource_scripts_take_the_fields_of_the_model() {
    let functions = list_functions("provisioners/resources");
    assert_none(&check_resources(&functions, &list_types()));
    for name in list_types().keys() {
        let path = root().join(format!("provisioners/resources/{name}.ps1"));
        let lines = std::fs::read_to_string(path).unwrap().lines().count();
        assert!(lines <= 60, "{name}: {lines} lines");
    }
}

#[test]
fn resource_rules_find_their_defects() {
    let fields = ["path", "value"].map(str::to_owned);
    let types = BTreeMap::from([("thing".to_owned(), BTreeSet::from(fields))]);
    let head = "    [CmdletBinding()]\n    param";
    let (get, set) = (
        "[string] $path",
        "[Parameter(Mandatory)] [string] $path,\n        [string] $value = 'x'",
    );
    let check = |file: &str, setter: &str, get: &str, set: &str| {
        let pairs = [("Get-thingResource", get), (setter, set)];
        let functions = pairs.map(|(name, parameters)| Function {
            file: file.to_owned(),
            name: name.to_owned(),
            text: format!("{head}({parameters})\n"),
        });
        check_resources(&functions, &types).join("\n")
    };
    let name = "Set-thingResource";
    assert_eq!(check("thing", name, get, set), "");
    for (found, expected) in [
        (check("thing", name, "[string] $pth", set), "Get takes"),
        (check("thing", name, get, get), "Set takes"),
        (
            check("thing", name, get, &format!("{set}, [string] $more")),
            "Set takes",
        ),
        (
            check("thing", "Set-otherResource", get, set),
            "Set takes None",
        ),
        (
            check("other", name, get, set),
            "other: a file without a type",
        ),
        (
            check("other", name, get, set),
            "thing: a file without a type",
        ),
    ] {
        assert!(found.contains(expected), "{expected}: {found}");
    }
}

fn read_plan() -> Vec<Value> {
    let text = std::fs::read_to_string(root().join("tests/guest/plan.json")).unwrap();
    let plan: Value = serde_json::from_str(&text).unwrap();
    plan["resources"].as_array().unwrap().clone()
}

/// The plan of the cases is one that Rust could have written, and leaves no type out.
#[test]
fn the_simulated_plan_has_every_type() {
    let mut seen = BTreeSet::new();
    for resource in read_plan() {
        let mut properties = resource["properties"].clone();
        if let Some(line) = properties.as_object_mut().unwrap().remove("commandLine") {
            // `"C:\a b\c.exe" --d`: Rust has the program by itself.
            let line = line.as_str().unwrap();
            let program = match line.strip_prefix('"') {
                Some(quoted) => quoted.split('"').next().unwrap(),
                None => line.split(' ').next().unwrap(),
            };
            properties["program"] = program.into();
        }
        let kind = json!({ "type": resource["type"], "properties": properties });
        serde_json::from_value::<ResourceKind>(kind)
            .unwrap_or_else(|error| panic!("{}: {error}", resource["name"]));
        seen.insert(resource["type"].as_str().unwrap().to_owned());
    }
    assert_eq!(seen, list_types().into_keys().collect());
}

/// PowerShell refuses an empty text for a mandatory parameter that does not allow it.
#[test]
fn texts_that_the_guest_refuses_are_refused_before() {
    let mut refused = BTreeSet::new();
    for function in list_functions("provisioners/resources") {
        let names = parse_parameters(&function.text).into_iter();
        let names = names.filter(|(_, refuses)| *refuses);
        refused.extend(names.map(|(name, _)| (function.file.clone(), name)));
    }
    let (mut seen, mut findings) = (0, Vec::new());
    for resource in read_plan() {
        let kind = resource["type"].as_str().unwrap();
        let mut properties = resource["properties"].as_object().unwrap().clone();
        // Rust has program and arguments in its place.
        properties.remove("commandLine");
        for (property, value) in &properties {
            if !value.is_string() || !refused.contains(&(kind.to_owned(), property.clone())) {
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

/// The matrix breaks a resource of every type in each of four ways, or says why it does not.
#[test]
fn every_type_of_resource_is_broken() {
    let matrix = ["file-breaks", "system-breaks"].map(|name| {
        let path = root().join(format!("tests/guest/matrix/{name}.ps1"));
        std::fs::read_to_string(path).unwrap()
    });
    let matrix = matrix.concat();
    let cases: Vec<(&str, &str)> = matrix
        .split("    @{ name = '")
        .skip(1)
        .map(|case| (case.split('\'').next().unwrap(), case))
        .collect();
    let resources = read_plan();
    let find_kind = |name: &str| {
        let resource = resources.iter().find(|it| it["name"] == name);
        resource.unwrap_or_else(|| panic!("no resource {name}"))["type"].clone()
    };
    for kind in list_types().into_keys() {
        // An assertion is never set, and Sysprep runs once: `Check` and `SealLaw` have them.
        if ["assertion", "sysprep"].contains(&kind.as_str()) {
            continue;
        }
        for way in ["ability = '", "absent = ", "drift = ", "kind = "] {
            let mut own = cases
                .iter()
                .filter(|(name, _)| find_kind(name) == kind.as_str());
            let is_broken = own.any(|(_, case)| case.contains(way));
            assert!(
                is_broken,
                "{kind}: neither broken by `{way}` nor told why not"
            );
        }
    }
}
