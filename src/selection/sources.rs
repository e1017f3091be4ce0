//! The trees that a run works with: built-in files, and those of the user over them.

mod steps;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::slice;

use serde_json::Value;

use crate::base::digest::sha256_hex;
use crate::base::json::parse_foreign;
use crate::base::names::format_suggestion;
use crate::base::text::format_path;
use crate::catalog::{Catalog, Trees};
use crate::diagnostic::{Error, Result};
use crate::embedded::{OverlayFile, Tree};
use crate::io::fs;
use crate::lock::{LOCK_FILE, Lock, is_lock};
use crate::model::definition::ImageDefinition;

use super::{DefinedImage, Definitions, NamingForm, read_input_tree, read_trees};

/// Files in the place of built-in ones, and beside them.
#[derive(Debug, Clone, Default)]
pub struct SourceFolders {
    /// The catalog in the place of the built-in one.
    pub manifests: Option<PathBuf>,
    pub targets: Vec<PathBuf>,
    pub steps: Vec<PathBuf>,
    pub component_files: Vec<PathBuf>,
}

/// Files by their path in a tree.
type UserFiles = BTreeMap<String, OverlayFile>;

/// A folder that the user brings, and the flag or field that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct UserFolder {
    flag: &'static str,
    path: PathBuf,
}

/// The folders that lie over the built-in trees, each once, in the order in which they are laid.
#[derive(Debug, Clone, PartialEq, Eq)]
struct UserFolders {
    targets: Vec<UserFolder>,
    steps: Vec<UserFolder>,
    component_files: Vec<UserFolder>,
}

impl UserFolders {
    /// Those of the definitions, then those of the flags.
    ///
    /// # Errors
    /// A definition names a folder that is not below its own.
    fn list(sources: &SourceFolders, images: &[DefinedImage]) -> Result<Self> {
        Ok(Self {
            targets: list_folders("--targets", images, |it| &it.targets, &sources.targets)?,
            steps: list_folders("--steps", images, |it| &it.steps, &sources.steps)?,
            component_files: list_folders(
                "--component-files",
                images,
                |it| &it.component_files,
                &sources.component_files,
            )?,
        })
    }
}

/// Folders of one kind: those of the definitions, then those of the flags. Flags are the operator's and may name any
/// folder; a definition names those below its own.
fn list_folders(
    flag: &'static str,
    images: &[DefinedImage],
    field: impl Fn(&ImageDefinition) -> &Vec<String>,
    given: &[PathBuf],
) -> Result<Vec<UserFolder>> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for image in images {
        for name in field(&image.definition) {
            paths.push(find_own_folder(flag, image, name)?);
        }
    }
    paths.extend(given.iter().cloned());

    let mut seen = BTreeSet::new();
    paths.retain(|path| seen.insert(path.clone()));
    Ok(paths
        .into_iter()
        .map(|path| UserFolder { flag, path })
        .collect())
}

/// A folder that a definition names.
fn find_own_folder(flag: &str, image: &DefinedImage, name: &str) -> Result<PathBuf> {
    let path = image.folder().join(name);
    if fs::is_below(image.folder(), Path::new(name)) {
        return Ok(path);
    }
    let message = format!(
        "{}: the folder `{name}` does not lie below the folder of the definition",
        image.path.display()
    );
    let remedy = format!(
        "move it there, or name it on the command line: `{flag} {}`",
        path.display()
    );
    Err(Error::value(message, remedy))
}

/// The trees of several images. The catalog is read once, and images with the same folders share their trees.
#[derive(Debug)]
pub struct TreeSet<'a> {
    sources: &'a SourceFolders,
    base: Trees,
    laid: Vec<(UserFolders, Trees)>,
}

impl<'a> TreeSet<'a> {
    /// # Errors
    /// The directory of `--manifests` cannot be read.
    pub fn read(sources: &'a SourceFolders) -> Result<Self> {
        Ok(Self {
            sources,
            base: read_trees(sources.manifests.as_deref())?,
            laid: Vec::new(),
        })
    }

    /// The trees with the folders of the flags and of these definitions.
    ///
    /// # Errors
    /// A directory cannot be read, or holds a file that has no place there.
    pub fn lay_folders(&mut self, images: &[DefinedImage]) -> Result<Trees> {
        let folders = UserFolders::list(self.sources, images)?;
        let known = self.laid.iter().find(|(known, _)| *known == folders);
        if let Some((_, trees)) = known {
            return Ok(trees.clone());
        }

        let trees = lay_folders(self.base.clone(), &folders)?;
        self.laid.push((folders, trees.clone()));
        Ok(trees)
    }
}

/// The trees with the folders of the flags, and of the image definitions that the verb is about.
///
/// # Errors
/// A directory cannot be read, or holds a file that has no place there.
pub fn read_sources(sources: &SourceFolders, images: &[DefinedImage]) -> Result<Trees> {
    TreeSet::read(sources)?.lay_folders(images)
}

/// The image of a verb that is about one, which `--config` names, and its trees.
///
/// # Errors
/// The definition cannot be read or has several images, or a folder of it cannot be read.
pub fn read_one_image(
    config: Option<&Path>,
    sources: &SourceFolders,
) -> Result<(DefinedImage, Trees)> {
    let image = Definitions::load(config)?.require_one(NamingForm::Config)?;
    let trees = read_sources(sources, slice::from_ref(&image))?;
    Ok((image, trees))
}

/// The image that was made, where `--config` names its lockfile or workspace.
///
/// # Errors
/// The lockfile is none, or a file or folder that it names cannot be read.
pub fn read_locked_image(
    config: Option<&Path>,
    sources: &SourceFolders,
) -> Result<Option<(DefinedImage, Trees)>> {
    let Some((path, lock)) = find_lock_at(config)? else {
        return Ok(None);
    };
    let file = path.display().to_string();
    let image = DefinedImage::of_lock(path, lock.selection.clone());
    let trees = read_sources(sources, slice::from_ref(&image))?;
    lock.require_own_files(&file, &trees.own_files)?;
    Ok(Some((image, trees)))
}

fn find_lock_at(config: Option<&Path>) -> Result<Option<(PathBuf, Lock)>> {
    let Some(config) = config else {
        return Ok(None);
    };
    let is_folder = config.is_dir();
    let path = if is_folder {
        config.join(LOCK_FILE)
    } else {
        config.to_owned()
    };
    let bytes = fs::read_text_if_exists(&path)?;
    let Some(bytes) = bytes.filter(|bytes| is_folder || is_lock(bytes)) else {
        return Ok(None);
    };
    let lock = Lock::decode(&path.display().to_string(), &bytes)?;
    Ok(Some((path, lock)))
}

/// The built-in trees with the targets of the flags and of these definitions alone: their steps and component files may
/// exclude each other.
///
/// # Errors
/// A directory cannot be read, or holds a file that has no place there.
pub fn read_target_sources(sources: &SourceFolders, images: &[DefinedImage]) -> Result<Trees> {
    let mut folders = UserFolders::list(sources, &[])?;
    folders.targets = list_folders("--targets", images, |it| &it.targets, &sources.targets)?;
    lay_folders(read_trees(sources.manifests.as_deref())?, &folders)
}

fn lay_folders(mut trees: Trees, folders: &UserFolders) -> Result<Trees> {
    for folder in &folders.targets {
        let files = read_targets(folder)?;
        // A target is its whole folder: no file of a built-in one remains.
        trees.packer = trees.packer.lay_over(files.clone(), |path| {
            folder_of(path).is_some_and(|name| has_folder(&files, name))
        });
    }
    for folder in &folders.steps {
        trees.provisioners = steps::lay_steps(trees.provisioners, folder)?;
    }
    for folder in &folders.component_files {
        trees.catalog = trees.catalog.with_components(&read_components(folder)?);
    }
    if !folders.component_files.is_empty() {
        check_pinned_names(&trees.catalog)?;
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
fn read_own_files(folder: &UserFolder) -> Result<UserFiles> {
    let mut own = UserFiles::new();
    for (path, bytes) in read_input_tree(folder.flag, &folder.path)? {
        let is_hidden = path.split('/').any(|part| part.starts_with('.'));
        if !is_hidden && path != "README.md" {
            let label = format_path(&folder.path.join(&path));
            own.insert(path, OverlayFile { label, bytes });
        }
    }
    Ok(own)
}

/// `targets/<name>` of a path below it.
fn folder_of(path: &str) -> Option<&str> {
    path.strip_prefix("targets/")?
        .split_once('/')
        .map(|(name, _)| name)
}

fn has_folder(files: &UserFiles, name: &str) -> bool {
    files.contains_key(&format!("targets/{name}/target.json"))
}

fn read_targets(folder: &UserFolder) -> Result<UserFiles> {
    let mut files = UserFiles::new();
    for (path, own) in read_own_files(folder)? {
        files.insert(format!("targets/{path}"), own);
    }
    for path in files.keys() {
        if !folder_of(path).is_some_and(|name| has_folder(&files, name)) {
            return Err(refuse_file(
                folder,
                path.trim_start_matches("targets/"),
                "give a folder with a folder for each target, which contains its `target.json`",
            ));
        }
    }
    Ok(files)
}

fn read_components(folder: &UserFolder) -> Result<UserFiles> {
    let mut components = UserFiles::new();
    for (path, own) in read_own_files(folder)? {
        let (place, file, field) = match path.strip_prefix("pins/") {
            Some(file) => ("pins", file, "component"),
            None => ("components", path.as_str(), "name"),
        };
        if file.contains('/') || file.strip_suffix(".json").is_none() {
            return Err(refuse_file(
                folder,
                &path,
                "name component files as in `monitoring-agent.json`, and their pins as in `pins/monitoring-agent.json`",
            ));
        }
        check_component_name(file, field, &own)?;
        components.insert(format!("{place}/{file}"), own);
    }
    Ok(components)
}

/// Pins of a component that there is not would pin nothing.
fn check_pinned_names(catalog: &Catalog) -> Result<()> {
    let known = catalog.component_names();
    for name in catalog.pinned_names() {
        if !known.contains(&name) {
            let file = catalog.file_label(&format!("pins/{name}.json"));
            return Err(Error::value(
                format!("{file}: no component `{name}` has these pins"),
                format_suggestion(&name, known.iter().map(String::as_str)),
            ));
        }
    }
    Ok(())
}

/// A component and its pins are found by the names of their files: one that calls itself otherwise would be judged by
/// another name.
fn check_component_name(path: &str, field: &str, own: &OverlayFile) -> Result<()> {
    let content: Value = parse_foreign(&own.bytes).unwrap_or_default();
    let stem = path.trim_end_matches(".json");
    match content[field].as_str() {
        Some(name) if name != stem => {
            let message = format!(
                "{}: `{field}` is `{name}`, and must be that of the file, `{stem}`",
                own.label
            );
            Err(Error::value(message, "rename the file, or the component"))
        }
        // Reading the component says what else is wrong.
        _ => Ok(()),
    }
}

fn refuse_file(folder: &UserFolder, path: &str, remedy: &str) -> Error {
    let message = format!(
        "{} {}: `{path}` does not belong there",
        folder.flag,
        folder.path.display()
    );
    Error::value(message, remedy)
}
