//! The trees that a run works with: built-in files, and those of the user over them.

mod steps;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::catalog::Trees;
use crate::cli::SourceArgs;
use crate::diagnostic::{Error, InputError, Result};
use crate::embedded::{OwnFile, Tree, sha256_hex};
use crate::io::fs;
use crate::model::selection::ImageDefinition;

use super::{DefinedImage, DefinitionName, list_images, load_image, read_input_tree, read_trees};

/// Files by their path in a tree.
type OwnFiles = BTreeMap<String, OwnFile>;

/// A folder that the user brings, and the flag or field that names it.
#[derive(Debug)]
struct Folder {
    flag: &'static str,
    path: PathBuf,
}

/// Folders of one kind: those of the definitions, then those of the flags. Flags are the operator's and may name any
/// folder; a definition names those below its own.
fn list_folders(
    flag: &'static str,
    images: &[DefinedImage],
    field: impl Fn(&ImageDefinition) -> &Vec<String>,
    given: &[PathBuf],
) -> Result<Vec<Folder>> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for image in images {
        for name in field(&image.definition) {
            let path = image.folder().join(name);
            if !fs::is_below(image.folder(), Path::new(name)) {
                let message = format!(
                    "{}: the folder `{name}` does not lie below the folder of the definition",
                    image.path.display()
                );
                let remedy = format!(
                    "move it there, or name it on the command line: `{flag} {}`",
                    path.display()
                );
                return Err(InputError::new(message, remedy).into());
            }
            paths.push(path);
        }
    }
    paths.extend(given.iter().cloned());
    let mut seen = BTreeSet::new();
    paths.retain(|path| seen.insert(path.clone()));
    Ok(paths
        .into_iter()
        .map(|path| Folder { flag, path })
        .collect())
}

/// The named image. A verb that is about no image in particular gets what all of them bring.
fn find_images(name: DefinitionName<'_>) -> Result<Vec<DefinedImage>> {
    if name.image.is_some() || name.config.is_some() {
        return Ok(vec![load_image(name)?]);
    }
    list_images(None)
}

/// The trees with the folders of the flags, and of an image definition if the verb has one.
///
/// # Errors
/// A directory cannot be read, or holds a file that has no place there.
pub fn read_sources(sources: &SourceArgs, image: Option<DefinitionName<'_>>) -> Result<Trees> {
    let mut trees = read_trees(sources.manifests.as_deref())?;
    let images = image.map(find_images).transpose()?.unwrap_or_default();
    for folder in list_folders("--targets", &images, |it| &it.targets, &sources.targets)? {
        let files = read_targets(&folder)?;
        // A target is its whole folder: no file of a built-in one remains.
        let is_replaced = |path: &str| folder_of(path).is_some_and(|name| has_folder(&files, name));
        trees.packer = trees.packer.lay_over(files.clone(), is_replaced);
    }
    for folder in list_folders("--steps", &images, |it| &it.steps, &sources.steps)? {
        trees.provisioners = steps::lay_steps(trees.provisioners, &folder)?;
    }
    for folder in list_folders(
        "--component-files",
        &images,
        |it| &it.component_files,
        &sources.component_files,
    )? {
        trees.catalog = trees.catalog.with_components(read_components(&folder)?);
    }
    let own = [&trees.packer, &trees.provisioners, trees.catalog.tree()].map(list_digests);
    trees.own_files = own.into_iter().flatten().collect();
    Ok(trees)
}

fn list_digests(tree: &Tree) -> BTreeMap<String, String> {
    tree.own_files()
        .iter()
        .map(|(path, own)| (path.clone(), sha256_hex(&own.bytes)))
        .collect()
}

/// Files of a folder by their path in it. Hidden files and a README are nobody's business.
fn read_own_files(folder: &Folder) -> Result<OwnFiles> {
    let files = read_input_tree(folder.flag, &folder.path)?.into_iter();
    let own = files.filter(|(path, _)| {
        !path.split('/').any(|part| part.starts_with('.')) && path != "README.md"
    });
    let label = |path: &str| folder.path.join(path).display().to_string();
    Ok(own
        .map(|(path, bytes)| {
            (
                path.clone(),
                OwnFile {
                    label: label(&path),
                    bytes,
                },
            )
        })
        .collect())
}

/// `targets/<name>` of a path below it.
fn folder_of(path: &str) -> Option<&str> {
    path.strip_prefix("targets/")?
        .split_once('/')
        .map(|(name, _)| name)
}

fn has_folder(files: &OwnFiles, name: &str) -> bool {
    files.contains_key(&format!("targets/{name}/target.json"))
}

fn read_targets(folder: &Folder) -> Result<OwnFiles> {
    let files = read_own_files(folder)?;
    let files: OwnFiles = files
        .into_iter()
        .map(|(path, own)| (format!("targets/{path}"), own))
        .collect();
    let is_target = |path: &str| folder_of(path).is_some_and(|name| has_folder(&files, name));
    match files.keys().find(|path| !is_target(path)) {
        None => Ok(files),
        Some(path) => Err(refuse_file(
            folder,
            path.trim_start_matches("targets/"),
            "give a folder with a folder for each target, which contains its `target.json`",
        )),
    }
}

fn read_components(folder: &Folder) -> Result<OwnFiles> {
    let files = read_own_files(folder)?;
    let place = |(path, own): (String, OwnFile)| {
        if path.contains('/') || path.strip_suffix(".json").is_none() {
            return Err(refuse_file(
                folder,
                &path,
                "name component files as in `monitoring-agent.json`",
            ));
        }
        check_component_name(&path, &own)?;
        Ok((format!("components/{path}"), own))
    };
    files.into_iter().map(place).collect()
}

/// A component is found by the name of its file: one that calls itself otherwise would be judged by another name.
fn check_component_name(path: &str, own: &OwnFile) -> Result<()> {
    let content: Value = serde_json::from_slice(&own.bytes).unwrap_or_default();
    let stem = path.trim_end_matches(".json");
    match content["name"].as_str() {
        Some(name) if name != stem => {
            let message = format!(
                "{}: `name` is `{name}`, and must be that of the file, `{stem}`",
                own.label
            );
            Err(InputError::new(message, "rename the file, or the component").into())
        }
        // Reading the component says what else is wrong.
        _ => Ok(()),
    }
}

fn refuse_file(folder: &Folder, path: &str, remedy: &str) -> Error {
    let message = format!(
        "{} {}: `{path}` does not belong there",
        folder.flag,
        folder.path.display()
    );
    InputError::new(message, remedy).into()
}
