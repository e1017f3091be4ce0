//! Image definitions as files: one image, several over shared values, or a folder of definitions.

use std::path::{Path, PathBuf};

use crate::cli::{ClusterArgs, JoinDataArgs, SelectionArgs};
use crate::diagnostic::{InputError, Result};
use crate::io::fs;
use crate::model::json;
use crate::model::names::format_suggestion;
use crate::model::selection::ImageDefinition;

use super::inputs::{load_keys, read_input, read_input_names};

/// Definition in the working folder that is read without a flag.
const DEFAULT: &str = "imagegen.json";

/// Which image of which definition.
#[derive(Debug, Clone, Copy, Default)]
pub struct DefinitionName<'a> {
    /// `--config`
    pub config: Option<&'a Path>,
    /// One of several images.
    pub image: Option<&'a str>,
}

impl<'a> From<&'a SelectionArgs> for DefinitionName<'a> {
    fn from(args: &'a SelectionArgs) -> Self {
        Self {
            config: args.config.as_deref(),
            image: args.name.as_deref(),
        }
    }
}

impl<'a> From<&'a ClusterArgs> for DefinitionName<'a> {
    fn from(args: &'a ClusterArgs) -> Self {
        Self {
            config: args.config.as_deref(),
            image: None,
        }
    }
}

impl<'a> From<&'a JoinDataArgs> for DefinitionName<'a> {
    fn from(args: &'a JoinDataArgs) -> Self {
        Self {
            config: args.config.as_deref(),
            image: None,
        }
    }
}

/// An image as a definition has it, with the values that it shares with others.
#[derive(Debug, Clone)]
pub struct DefinedImage {
    pub name: String,
    pub definition: ImageDefinition,
    /// The file that defines it.
    pub path: PathBuf,
    /// Whether the file defines several images.
    several: bool,
}

impl DefinedImage {
    fn empty() -> Self {
        let definition = ImageDefinition::default();
        Self {
            name: "imagegen".to_owned(),
            definition,
            path: PathBuf::from(DEFAULT),
            several: false,
        }
    }

    /// The lockfile beside the definition: `imagegen.lock.json`, or `imagegen.NAME.lock.json` for one of several.
    pub fn lock_path(&self) -> PathBuf {
        if self.several {
            return self.path.with_extension(format!("{}.lock.json", self.name));
        }
        self.path.with_extension("lock.json")
    }

    /// What `--config` names it by.
    pub fn config(&self) -> String {
        let path = self.path.display();
        if self.several {
            format!("{path}#{}", self.name)
        } else {
            path.to_string()
        }
    }

    /// The folder to which paths in the definition are relative.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }
}

/// The named image; without a name, the only one.
///
/// # Errors
/// A definition cannot be read, there is no such image, or there are several.
pub fn load_image(name: DefinitionName<'_>) -> Result<DefinedImage> {
    let (config, image) = split_config(name.config);
    let mut images = list_images(config)?;
    let Some(wanted) = name.image.or(image) else {
        return match images.len() {
            0 => Ok(DefinedImage::empty()),
            1 => Ok(images.remove(0)),
            _ => Err(refuse_several(config, &images)),
        };
    };
    if let Some(at) = images.iter().position(|image| image.name == wanted) {
        return Ok(images.remove(at));
    }
    let names = images.iter().map(|image| image.name.as_str());
    let message = format!("{}: unknown image `{wanted}`", show_config(config));
    Err(InputError::new(message, format_suggestion(wanted, names)).into())
}

/// Every image of a definition or of a folder of definitions, by name.
///
/// # Errors
/// A definition cannot be read, or two images have one name.
pub fn list_images(config: Option<&Path>) -> Result<Vec<DefinedImage>> {
    let mut images = Vec::new();
    for (path, bytes) in read_definitions(config)? {
        let definition: ImageDefinition = json::parse_json(&path.display().to_string(), &bytes)?;
        images.extend(split_images(definition, &path)?);
    }
    images.sort_by(|one, other| one.name.cmp(&other.name));
    if let Some(twice) = images.windows(2).find(|pair| pair[0].name == pair[1].name) {
        let message = format!(
            "`{}` is in {} and {}",
            twice[0].name,
            twice[0].path.display(),
            twice[1].path.display()
        );
        return Err(InputError::new(message, "give each image a name of its own").into());
    }
    Ok(images)
}

/// `FILE#NAME` as file and name. A file whose name holds `#` is itself.
fn split_config(config: Option<&Path>) -> (Option<&Path>, Option<&str>) {
    let text = config.and_then(Path::to_str);
    match text.and_then(|text| text.rsplit_once('#')) {
        Some((file, name)) if !config.is_some_and(Path::exists) => {
            (Some(Path::new(file)), Some(name))
        }
        _ => (config, None),
    }
}

fn show_config(config: Option<&Path>) -> String {
    config.unwrap_or(Path::new(DEFAULT)).display().to_string()
}

fn refuse_several(config: Option<&Path>, images: &[DefinedImage]) -> crate::diagnostic::Error {
    let names: Vec<&str> = images.iter().map(|image| image.name.as_str()).collect();
    let file = show_config(config);
    InputError::new(
        format!("{file} defines several images: {}", names.join(", ")),
        format!(
            "name images after the verb, add `--all`, or use `--config {file}#{}`",
            names[0]
        ),
    )
    .into()
}

fn read_definitions(config: Option<&Path>) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    match config {
        None => Ok(fs::read_text_if_exists(Path::new(DEFAULT))?
            .into_iter()
            .map(|it| (DEFAULT.into(), it))
            .collect()),
        Some(folder) if folder.is_dir() => {
            let names = read_input_names("--config", folder)?;
            let stem = |name: &String| name.strip_suffix(".json").map(str::to_owned);
            let is_definition =
                |name: &String| stem(name).is_some_and(|stem| stem.strip_suffix(".lock").is_none());
            let paths = names
                .into_iter()
                .filter(is_definition)
                .map(|name| folder.join(name));
            paths
                .map(|path| Ok((path.clone(), read_input("--config", &path)?)))
                .collect()
        }
        Some(file) => Ok(vec![(file.to_owned(), read_input("--config", file)?)]),
    }
}

/// The images of one file, each with what all of them share.
fn split_images(mut definition: ImageDefinition, path: &Path) -> Result<Vec<DefinedImage>> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let named = std::mem::take(&mut definition.images);
    let Some(named) = named.named() else {
        definition.images = named;
        load_keys(&mut definition.overrides, folder)?;
        let name = path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default();
        return Ok(vec![DefinedImage {
            name,
            definition,
            path: path.to_owned(),
            several: false,
        }]);
    };
    let defined = named.iter().map(|(name, own)| {
        if own.images.named().is_some() {
            let message = format!(
                "{}: `images.{name}.images`: an image has no images",
                path.display()
            );
            return Err(
                InputError::new(message, "write each image directly below `images`").into(),
            );
        }
        let mut merged = own.clone().merge_over(definition.clone());
        load_keys(&mut merged.overrides, folder)?;
        Ok(DefinedImage {
            name: name.to_string(),
            definition: merged,
            path: path.to_owned(),
            several: true,
        })
    });
    defined.collect()
}
