//! The schemas beside the data: each `$schema` leads to one, and each is what the program prints.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use imagegen::base::json::format_json;
use imagegen::embedded::Tree;
use imagegen::schemas::list_schemas;
use imagegen::selection::read_trees;
use serde_json::Value;

use crate::support::{files, root};

const TREES: [&str; 3] = ["manifests", "packer", "provisioners"];

/// The JSON files of a tree that are no schema, with the schema that each names. Templates are no JSON.
fn list_data(tree: &str) -> Vec<(String, Option<String>)> {
    let mut data = Vec::new();
    for (path, bytes) in files(&root().join(tree)) {
        if path.starts_with("schema/") || path.strip_suffix(".json").is_none() {
            continue;
        }
        if let Ok(value) = serde_json::from_slice::<Value>(&bytes) {
            let schema = value.get("$schema").and_then(Value::as_str);
            data.push((path, schema.map(str::to_owned)));
        }
    }
    data
}

/// The schemas that the files of a tree name, by their paths in the tree.
fn list_named(tree: &str) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for (path, schema) in list_data(tree) {
        let Some(schema) = schema else { continue };
        let up = "../".repeat(path.matches('/').count());
        let name = schema.strip_prefix(&up);
        let name = name.filter(|name| name.starts_with("schema/"));
        let name = name.unwrap_or_else(|| panic!("{tree}/{path}: `{schema}` leads elsewhere"));
        named.insert(name.to_owned());
    }
    named
}

#[test]
fn the_schemas_beside_the_data_are_those_of_the_program() {
    let trees = read_trees(None).expect("the trees");
    let mut printed = BTreeMap::new();
    for (name, schema) in list_schemas(&trees).expect("schemas") {
        printed.insert(format!("schema/{name}.json"), format_json(&schema));
    }

    for tree in TREES {
        let named = list_named(tree);
        let folder = root().join(tree);
        for name in &named {
            let printed = printed.get(name);
            let printed = printed.unwrap_or_else(|| panic!("{tree}: no type has {name}"));
            if std::env::var_os("UPDATE_GOLDEN").is_some() {
                fs::create_dir_all(folder.join("schema")).expect("folder");
                fs::write(folder.join(name), printed).expect("schema");
            }
            let found = fs::read_to_string(folder.join(name)).unwrap_or_default();
            assert!(
                found == *printed,
                "{tree}/{name} is not what `imagegen schema` prints (UPDATE_GOLDEN=1 writes it anew)"
            );
        }

        let there = files(&folder.join("schema"));
        let there: BTreeSet<String> = there.keys().map(|name| format!("schema/{name}")).collect();
        assert_eq!(there, named, "{tree}: a schema that no file names");
    }
}

#[test]
fn each_file_of_packer_names_its_schema() {
    let data = list_data("packer");
    assert!(data.len() > 40, "{data:?}");
    for (path, schema) in data {
        assert!(schema.is_some(), "packer/{path} has no `$schema`");
    }
}

/// The program makes its schemas from its types: as files they would change the digest of a catalog.
#[test]
fn the_program_carries_no_schema() {
    for tree in [
        Tree::embedded_manifests(),
        Tree::embedded_packer(),
        Tree::embedded_provisioners(),
    ] {
        assert_eq!(
            tree.list_files("schema"),
            Vec::<String>::new(),
            "{}",
            tree.label
        );
    }
}
