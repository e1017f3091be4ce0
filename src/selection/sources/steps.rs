//! Steps of the user's own: step files, their templates, and the files that they name.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::base::json::parse_foreign;
use crate::base::text::is_digits;
use crate::diagnostic::{Error, Result};
use crate::embedded::Tree;
use crate::guest::OWN_FILE_FORMS;

use super::{UserFiles, UserFolder, read_own_files, refuse_file};

/// The steps of a folder over those of a tree. A step with the id of a built-in one takes its place.
///
/// # Errors
/// A file is neither a step, a template nor named by a step, or two folders bring the same.
pub(super) fn lay_steps(tree: Tree, folder: &UserFolder) -> Result<Tree> {
    let own = read_steps(folder)?;
    let ids = collect_ids(&own)?;
    if let Some((path, one)) = tree.own_files().iter().find(|(path, one)| {
        own.get(*path).is_some_and(|other| other.bytes != one.bytes)
            || step_id(path).is_some_and(|id| ids.contains_key(id))
    }) {
        let other = own.get(path).map(|file| file.label.clone());
        let other = other
            .or_else(|| ids.get(step_id(path)?).cloned())
            .unwrap_or_default();
        return Err(refuse_twice(&one.label, &other));
    }
    Ok(tree.lay_over(own.clone(), |path| {
        step_id(path).is_some_and(|id| ids.contains_key(id))
    }))
}

fn refuse_twice(one: &str, other: &str) -> Error {
    let message = format!("{one} and {other} are the same step or file");
    Error::value(
        message,
        "give one of them another name, and a step another id",
    )
}

/// Step id → path by which the user knows its file.
fn collect_ids(own: &UserFiles) -> Result<BTreeMap<String, String>> {
    let mut ids = BTreeMap::new();
    for (path, file) in own {
        let Some(id) = step_id(path) else { continue };
        if let Some(earlier) = ids.insert(id.to_owned(), file.label.clone()) {
            return Err(refuse_twice(&earlier, &file.label));
        }
    }
    Ok(ids)
}

/// `agent` of `steps/905-agent.json`.
fn step_id(path: &str) -> Option<&str> {
    Some(
        path.strip_prefix("steps/")?
            .strip_suffix(".json")?
            .split_once('-')?
            .1,
    )
}

fn read_steps(folder: &UserFolder) -> Result<UserFiles> {
    let files = read_own_files(folder)?;
    let mut named = BTreeSet::new();
    for (path, own) in &files {
        if place_step_file(path).is_some_and(|place| place.starts_with("steps/"))
            && let Ok(step) = parse_foreign::<Value>(&own.bytes)
        {
            named.extend(list_named_files(&step));
        }
    }

    let mut placed = UserFiles::new();
    for (path, own) in files {
        let place = if let Some(place) = place_step_file(&path) {
            place
        } else if named.contains(&path) {
            format!("files/{path}")
        } else {
            return Err(refuse_file(
                folder,
                &path,
                "name step files as in `905-example.json`, put templates into the folder `templates`, and name other \
                 files in a step: `{\"file\": \"PATH\"}`",
            ));
        };
        placed.insert(place, own);
    }
    Ok(placed)
}

/// Where a step or a template of the user stands among ours.
fn place_step_file(path: &str) -> Option<String> {
    if path.starts_with("templates/") {
        return Some(path.to_owned());
    }
    let (number, id) = path.strip_suffix(".json")?.split_once('-')?;
    let good = number.len() == 3 && is_digits(number) && !id.contains('/');
    good.then(|| format!("steps/{path}"))
}

/// Files that the values of a step name.
fn list_named_files(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(list_named_files).collect(),
        Value::Object(fields) => {
            let named = OWN_FILE_FORMS.iter().filter(|_| fields.len() == 1);
            let mut files: Vec<String> = named
                .filter_map(|form| Some(fields.get(*form)?.as_str()?.to_owned()))
                .collect();
            files.extend(fields.values().flat_map(list_named_files));
            files
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{list_named_files, place_step_file};

    #[test]
    fn step_files_have_a_number_and_templates_a_folder() {
        for (path, place) in [
            ("905-agent.json", Some("steps/905-agent.json")),
            ("templates/agent.conf", Some("templates/agent.conf")),
            ("agent.json", None),
            ("90-agent.json", None),
            ("sub/905-agent.json", None),
            ("engine/Engine.psm1", None),
            ("905-agent.txt", None),
        ] {
            assert_eq!(place_step_file(path).as_deref(), place, "{path}");
        }
    }

    #[test]
    fn files_are_named_by_values_alone() {
        let step = serde_json::json!({ "resources": [
            { "name": "a", "properties": { "content": { "file": "a.pem" }, "set": { "base64": "sub/b.bin" } } },
            { "name": "b", "properties": { "members": [{ "member": "x", "file": "c.exe" }], "file": "d.txt" } },
        ] });
        assert_eq!(list_named_files(&step), ["a.pem", "sub/b.bin"]);
    }
}
