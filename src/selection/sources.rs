//! The trees that a run works with: built-in files, and those of the user over them.

use std::collections::BTreeMap;
use std::path::Path;

use crate::catalog::Trees;
use crate::cli::SourceArgs;
use crate::diagnostic::{InputError, Result};
use crate::embedded::{Tree, sha256_hex};

use super::{read_input_tree, read_trees};

type Files = BTreeMap<String, Vec<u8>>;

/// # Errors
/// A directory cannot be read, or holds what is neither a target nor a step.
pub fn read_sources(sources: &SourceArgs) -> Result<Trees> {
    let mut trees = read_trees(sources.manifests.as_deref())?;
    let mut own = String::new();
    if let Some(folder) = &sources.targets {
        let files = read_targets(folder)?;
        own += &digest_files(&files);
        // A target is its whole folder: no file of a built-in one remains.
        let is_replaced = |path: &str| folder_of(path).is_some_and(|name| has_folder(&files, name));
        trees.packer = lay_over(&trees.packer, &files, is_replaced);
    }
    if let Some(folder) = &sources.steps {
        let files = read_steps(folder)?;
        own += &digest_files(&files);
        trees.provisioners = lay_over(&trees.provisioners, &files, |_| false);
    }
    trees.own_files = (!own.is_empty()).then(|| sha256_hex(own.as_bytes()));
    Ok(trees)
}

fn lay_over(tree: &Tree, own: &Files, is_replaced: impl Fn(&str) -> bool) -> Tree {
    let mut files = tree.files();
    files.retain(|path, _| !is_replaced(path));
    files.extend(own.clone());
    Tree::from_files(tree.label.clone(), files)
}

/// `targets/<name>` of a path below it.
fn folder_of(path: &str) -> Option<&str> {
    path.strip_prefix("targets/")?.split_once('/').map(|(name, _)| name)
}

fn has_folder(files: &Files, name: &str) -> bool {
    files.contains_key(&format!("targets/{name}/target.json"))
}

fn read_targets(folder: &Path) -> Result<Files> {
    let files = read_input_tree("--targets", folder)?;
    let files: Files = files.into_iter().map(|(path, bytes)| (format!("targets/{path}"), bytes)).collect();
    let is_target = |path: &str| folder_of(path).is_some_and(|name| has_folder(&files, name));
    match files.keys().find(|path| !is_target(path)) {
        None => Ok(files),
        Some(path) => Err(misplaced_file(
            "--targets",
            folder,
            path.trim_start_matches("targets/"),
            "name the folder of folders that each hold a `target.json`",
        )),
    }
}

fn read_steps(folder: &Path) -> Result<Files> {
    let files = read_input_tree("--steps", folder)?;
    let placed = files.into_iter().map(|(path, bytes)| match place_step_file(&path) {
        Some(place) => Ok((place, bytes)),
        None => Err(misplaced_file(
            "--steps",
            folder,
            &path,
            "name step files as in `900-example.json`, and put templates into the folder `templates`",
        )),
    });
    placed.collect()
}

/// Where a file of the user's steps stands among ours.
fn place_step_file(path: &str) -> Option<String> {
    if path.starts_with("templates/") {
        return Some(path.to_owned());
    }
    let (number, id) = path.strip_suffix(".json")?.split_once('-')?;
    let good = number.len() == 3 && number.bytes().all(|b| b.is_ascii_digit()) && !id.contains('/');
    good.then(|| format!("steps/{path}"))
}

fn misplaced_file(flag: &str, folder: &Path, path: &str, remedy: &str) -> crate::diagnostic::Error {
    let message = format!("{flag} {}: `{path}` has no place there", folder.display());
    InputError::new(message, remedy).into()
}

fn digest_files(files: &Files) -> String {
    files.iter().map(|(path, bytes)| format!("{path} {}\n", sha256_hex(bytes))).collect()
}

#[cfg(test)]
mod tests {
    use super::place_step_file;

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
}
