//! Files of image definitions: the one that is named, or those of a folder. No entry of a folder is left out silently.

use std::path::{Path, PathBuf};

use crate::base::json;
use crate::diagnostic::{Error, Result};
use crate::io::fs::{self, PathKind};
use crate::model::definition::ImageDefinition;

use super::super::inputs::{read_input, read_input_names};

/// Definition in the working folder that is read without a flag.
pub(super) const DEFAULT: &str = "imagegen.json";

/// Forms in which other programs take what a definition is here.
const OTHER_FORMS: [&str; 4] = [".yaml", ".yml", ".jsonc", ".json5"];

/// The files of a definition or of a folder of definitions.
#[derive(Debug, Default)]
pub(super) struct DefinitionFiles {
    /// Each file with its content.
    pub files: Vec<(PathBuf, Result<Vec<u8>>)>,
    /// Entries of the folder that look like definitions and are none.
    pub warnings: Vec<String>,
    /// Other entries, which are not read.
    pub others: Vec<String>,
}

/// Meaning of the name of an entry.
enum EntryName {
    Definition,
    /// Lockfiles, and hidden files: macOS writes `._NAME` beside a file on volumes of others.
    NotRead,
    /// `NAME.JSON`: a program that tells case apart would take it for another file.
    UpperCase,
    OtherForm,
    Other,
}

impl EntryName {
    fn new(name: &str) -> Self {
        let lower = name.to_lowercase();
        if name.starts_with('.') || name.ends_with(".lock.json") {
            Self::NotRead
        } else if name.strip_suffix(".json").is_some() {
            Self::Definition
        } else if lower.strip_suffix(".json").is_some() {
            Self::UpperCase
        } else if OTHER_FORMS.iter().any(|end| lower.ends_with(end)) {
            Self::OtherForm
        } else {
            Self::Other
        }
    }
}

/// # Errors
/// The file that is named, or the folder, cannot be read.
pub(super) fn read_definitions(config: Option<&Path>) -> Result<DefinitionFiles> {
    let mut found = DefinitionFiles::default();
    match config {
        None => {
            if let Some(bytes) = fs::read_text_if_exists(Path::new(DEFAULT))? {
                found.files.push((DEFAULT.into(), Ok(bytes)));
            }
        }
        Some(folder) if folder.is_dir() => {
            for (name, kind) in read_input_names("--config", folder)? {
                found.add_entry(&folder.join(&name), &name, kind);
            }
        }
        Some(file) => {
            let bytes = read_input("--config", file)?;
            found.files.push((file.to_owned(), Ok(bytes)));
        }
    }
    Ok(found)
}

impl DefinitionFiles {
    fn add_entry(&mut self, path: &Path, name: &str, kind: PathKind) {
        let shown = path.display();
        match (EntryName::new(name), kind) {
            (EntryName::NotRead, _) => {}
            (_, PathKind::Folder) if has_definitions(path) => self.warnings.push(format!(
                "the definitions in {shown} are not read: name that folder by `--config {shown}`"
            )),
            (EntryName::Definition, PathKind::File) => {
                let bytes = read_input("--config", path);
                self.files.push((path.to_owned(), bytes));
            }
            (EntryName::Definition, PathKind::BrokenLink) => {
                self.refuse(
                    path,
                    "it is a link that leads to no file",
                    "repair or remove the link",
                );
            }
            (EntryName::Definition, PathKind::Device) => {
                let reason = "it is a device, pipe or socket, not a regular file";
                self.refuse(path, reason, "move it out of the folder");
            }
            (EntryName::UpperCase, PathKind::File | PathKind::BrokenLink | PathKind::Device) => {
                let reason = "the name of a definition ends in `.json`, in small letters";
                self.refuse(path, reason, "rename it, or move it out of the folder");
            }
            (EntryName::OtherForm, PathKind::File | PathKind::BrokenLink | PathKind::Device) => {
                self.warnings.push(format!(
                    "{shown} is not read: a definition is a file in JSON whose name ends in `.json`"
                ));
            }
            (_, PathKind::Folder) | (EntryName::Other, _) => self.others.push(name.to_owned()),
        }
    }

    fn refuse(&mut self, path: &Path, reason: &str, remedy: &str) {
        let error = Error::value(format!("{}: {reason}", path.display()), remedy);
        self.files.push((path.to_owned(), Err(error)));
    }
}

/// Whether a file directly in the folder is a definition: the steps and components of an image are JSON, too.
fn has_definitions(folder: &Path) -> bool {
    // What cannot be looked into is for its owner to name.
    let entries = fs::list_kinds(folder).unwrap_or_default();
    let mut names = entries.iter().filter(|(name, kind)| {
        matches!(EntryName::new(name), EntryName::Definition) && *kind == PathKind::File
    });
    names.any(|(name, _)| {
        let bytes = fs::read_text(&folder.join(name)).unwrap_or_default();
        json::parse_json::<ImageDefinition>(name, &bytes).is_ok()
    })
}
