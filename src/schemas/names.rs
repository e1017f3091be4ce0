//! Names of the catalog in the schema of an image definition, so that an editor completes and checks them.

use std::sync::Arc;

use schemars::Schema;
use serde_json::{Map, Value, json};

use crate::catalog::{Trees, load_targets};
use crate::diagnostic::Result;
use crate::model::target::Target;
use crate::model::variable::{Variable, VariableType};

/// Adds targets, releases, networks, features, components and variables wherever the schema describes an
/// image definition.
///
/// # Errors
/// The catalog cannot be read.
pub(super) fn add_names(schema: &mut Schema, trees: &Trees) -> Result<()> {
    let names = Names::read(trees)?;
    let mut root = schema.clone().to_value();
    names.constrain(&mut root);
    if let Some(definitions) = root.get_mut("$defs").and_then(Value::as_object_mut) {
        definitions
            .values_mut()
            .for_each(|definition| names.constrain(definition));
    }
    if let Ok(changed) = Schema::try_from(root) {
        *schema = changed;
    }
    Ok(())
}

struct Names {
    windows: Vec<String>,
    networks: Vec<String>,
    features: Vec<String>,
    components: Vec<String>,
    targets: Vec<Arc<Target>>,
}

impl Names {
    fn read(trees: &Trees) -> Result<Self> {
        let catalog = &trees.catalog;
        let table = catalog.load_features()?;
        let features = table.features.iter();
        Ok(Self {
            windows: catalog.windows_names(),
            networks: catalog.network_names(),
            features: features.map(|feature| feature.name.clone()).collect(),
            components: catalog.component_names(),
            targets: load_targets(&trees.packer)?,
        })
    }

    /// Changes an object that has the properties of an image definition.
    fn constrain(&self, object: &mut Value) {
        for name in ["target", "hostAccess", "variables"] {
            if object["properties"][name].is_null() {
                return;
            }
        }
        let targets: Vec<&str> = self
            .targets
            .iter()
            .map(|target| target.name.as_str())
            .collect();
        let properties = &mut object["properties"];
        properties["target"]["enum"] = nullable(&targets);
        properties["windows"]["enum"] = nullable(&self.windows);
        properties["cni"]["enum"] = nullable(&self.networks);
        properties["features"]["items"]["enum"] = json!(self.features);
        let mut versioned = self.components.clone();
        versioned.push("pause".to_owned());
        properties["components"]["propertyNames"] = json!({ "enum": versioned });
        properties["overrides"]["propertyNames"] = json!({ "anyOf": [{ "enum": self.components }, { "pattern": "^https?://" }, { "pattern": "^scripts/" }] });
        object["allOf"] = self
            .targets
            .iter()
            .map(|it| describe_variables(it))
            .collect();
    }
}

fn nullable<T: AsRef<str>>(names: &[T]) -> Value {
    names
        .iter()
        .map(|name| json!(name.as_ref()))
        .chain([Value::Null])
        .collect()
}

/// The variables of a target, where a definition names it.
fn describe_variables(target: &Target) -> Value {
    let mut properties = Map::new();
    for selector in &target.selectors {
        let values: Vec<&str> = selector
            .values
            .iter()
            .map(|value| value.value.as_str())
            .collect();
        let schema = json!({ "description": selector.description, "enum": values });
        properties.insert(selector.name.clone(), schema);
    }
    // Secrets come from the environment alone.
    for variable in target
        .variables
        .iter()
        .filter(|variable| !variable.sensitive)
    {
        properties.insert(variable.name.clone(), describe_variable(variable));
    }
    json!({
        "if": { "properties": { "target": { "const": target.name } }, "required": ["target"] },
        "then": { "properties": { "variables": { "properties": properties, "additionalProperties": false } } },
    })
}

fn describe_variable(variable: &Variable) -> Value {
    let mut item = Map::new();
    if let Some(pattern) = &variable.pattern {
        item.insert("pattern".to_owned(), json!(pattern));
    }
    if let Some(values) = &variable.one_of {
        item.insert("enum".to_owned(), json!(values));
    }
    let (kind, place) = match variable.kind {
        VariableType::String => ("string", None),
        VariableType::Bool => ("boolean", None),
        VariableType::Number => ("number", None),
        VariableType::StringList => ("array", Some("items")),
        VariableType::StringMap => ("object", Some("additionalProperties")),
    };
    let mut schema = match place {
        None => item,
        Some(place) => {
            item.insert("type".to_owned(), json!("string"));
            Map::from_iter([(place.to_owned(), Value::Object(item))])
        }
    };
    schema.insert("type".to_owned(), json!(kind));
    schema.insert("description".to_owned(), json!(variable.description));
    for (name, limit) in [("minimum", variable.min), ("maximum", variable.max)] {
        schema.extend(limit.map(|limit| (name.to_owned(), json!(limit))));
    }
    Value::Object(schema)
}
