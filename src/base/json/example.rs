//! Examples of what a file expects at a path, from the schema of its type.

use schemars::{JsonSchema, schema_for};
use serde_json::{Map, Value, json};
use serde_path_to_error::{Path, Segment};

/// Levels of objects and arrays that an example shows.
const DEPTH: usize = 4;

/// Example of a `T` at this path, as JSON; none where the schema says nothing of use.
pub(super) fn find_example<T: JsonSchema>(path: &Path) -> Option<String> {
    let root = schema_for!(T).to_value();
    let mut place = &root;
    let mut outer: Option<Value> = None;
    for segment in path {
        let whole = place.pointer("/examples/0").cloned().or(outer);
        let is_map = resolve_reference(&root, place).get("properties").is_none();
        outer = whole.and_then(|whole| enter_example(&whole, segment, is_map));
        place = enter_segment(&root, resolve_reference(&root, place), segment)?;
    }
    let own = place.pointer("/examples/0").cloned();
    let example = own
        .or(outer)
        .or_else(|| create_example(&root, place, DEPTH))?;
    Some(
        example
            .to_string()
            .replace("\":", "\": ")
            .replace(",\"", ", \""),
    )
}

/// The part of an example of the whole that stands at a place like this one.
fn enter_example(whole: &Value, segment: &Segment, is_map: bool) -> Option<Value> {
    match segment {
        Segment::Seq { .. } => whole.get(0).cloned(),
        Segment::Map { key } => {
            let own = whole.get(key);
            let entries = whole.as_object().filter(|_| is_map);
            let entry = own.or_else(|| entries?.values().next());
            entry.cloned()
        }
        Segment::Enum { .. } => Some(whole.clone()),
        Segment::Unknown => None,
    }
}

fn enter_segment<'a>(root: &'a Value, place: &'a Value, segment: &Segment) -> Option<&'a Value> {
    match segment {
        Segment::Seq { .. } => place.get("items"),
        Segment::Map { key } => {
            if let Some(property) = place.get("properties").and_then(|them| them.get(key)) {
                return Some(property);
            }
            find_in_alternatives(root, place, key).or_else(|| place.get("additionalProperties"))
        }
        Segment::Enum { .. } => Some(place),
        Segment::Unknown => None,
    }
}

fn find_in_alternatives<'a>(root: &'a Value, place: &'a Value, key: &str) -> Option<&'a Value> {
    for alternative in list_alternatives(place)?.as_array()? {
        let properties = resolve_reference(root, alternative).get("properties");
        if let Some(property) = properties.and_then(|them| them.get(key)) {
            return Some(property);
        }
    }
    None
}

fn list_alternatives(place: &Value) -> Option<&Value> {
    place.get("oneOf").or_else(|| place.get("anyOf"))
}

/// The schema that a reference names, and of an optional value the one that is not null.
fn resolve_reference<'a>(root: &'a Value, place: &'a Value) -> &'a Value {
    if let Some(name) = place.get("$ref").and_then(Value::as_str) {
        let pointer = name.strip_prefix('#');
        return match pointer.and_then(|pointer| root.pointer(pointer)) {
            Some(target) => resolve_reference(root, target),
            None => place,
        };
    }

    let alternatives = place.get("anyOf").and_then(Value::as_array);
    for alternative in alternatives.into_iter().flatten() {
        if alternative["type"] != "null" {
            return resolve_reference(root, alternative);
        }
    }
    place
}

fn create_example(root: &Value, place: &Value, depth: usize) -> Option<Value> {
    if let Some(example) = place.pointer("/examples/0") {
        return Some(example.clone());
    }
    let place = resolve_reference(root, place);
    let depth = depth.checked_sub(1)?;

    let fixed = ["/examples/0", "/const", "/enum/0"]
        .iter()
        .find_map(|pointer| place.pointer(pointer));
    if let Some(value) = fixed {
        return Some(value.clone());
    }
    if let Some(alternatives) = list_alternatives(place) {
        return create_example(root, alternatives.get(0)?, depth);
    }

    let types = &place["type"];
    match types.as_str().or(types[0].as_str())? {
        "object" => create_object(root, place, depth),
        "array" => Some(json!([create_example(root, &place["items"], depth)?])),
        "boolean" => Some(json!(true)),
        "integer" | "number" => Some(json!(1)),
        _ => None,
    }
}

/// The required properties, or one entry of a map.
fn create_object(root: &Value, place: &Value, depth: usize) -> Option<Value> {
    let mut object = Map::new();
    for name in place["required"].as_array().into_iter().flatten() {
        if let Some(name) = name.as_str() {
            let schema = &place["properties"][name];
            object.insert(name.to_owned(), create_example_or_dots(root, schema, depth));
        }
    }
    match place.get("additionalProperties") {
        Some(entries @ Value::Object(_)) if object.is_empty() => {
            let example = create_example_or_dots(root, entries, depth);
            object.insert("NAME".to_owned(), example);
        }
        _ => {}
    }
    (!object.is_empty()).then_some(Value::Object(object))
}

fn create_example_or_dots(root: &Value, schema: &Value, depth: usize) -> Value {
    create_example(root, schema, depth).unwrap_or_else(|| json!("…"))
}
