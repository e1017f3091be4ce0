//! Image definitions as files: one image, several over shared values, or a folder of definitions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::digest::sha256_hex;
use crate::base::json;
use crate::base::names::format_suggestion;
use crate::base::text::format_path;
use crate::base::value::FileName;
use crate::diagnostic::{Error, InputError, Result};
use crate::io::fs;
use crate::model::definition::ImageDefinition;

use super::inputs::{load_files, read_input, read_input_names};

/// Definition in the working folder that is read without a flag.
const DEFAULT: &str = "imagegen.json";

/// An image as a definition has it, with the values that it shares with others.
#[derive(Debug, Clone)]
pub struct DefinedImage {
    pub name: String,
    pub definition: ImageDefinition,
    /// The file that defines it.
    pub path: PathBuf,
    /// Names of all images of the file, if it defines several.
    several: Option<Arc<BTreeSet<String>>>,
}

impl DefinedImage {
    /// No definition at all: the flags say everything.
    pub fn empty() -> Self {
        let definition = ImageDefinition::default();
        Self {
            name: "imagegen".to_owned(),
            definition,
            path: PathBuf::from(DEFAULT),
            several: None,
        }
    }

    /// Whether the file defines several images, so that a name tells them apart.
    pub fn is_one_of_several(&self) -> bool {
        self.several.is_some()
    }

    /// The other image of the same file whose lockfile this is, as a name for `--config`.
    pub(super) fn find_sibling(&self, lock: &Path) -> Option<String> {
        let names = self.several.as_ref()?;
        let stem = self.path.file_stem()?.to_str()?;
        let rest = lock.file_name()?.to_str()?.strip_prefix(stem)?;
        let name = rest.strip_prefix('.')?.strip_suffix(".lock.json")?;
        let is_other = name != self.name && names.contains(name);
        is_other.then(|| format!("{}#{name}", format_path(&self.path)))
    }

    /// The lockfile beside the definition: `imagegen.lock.json`, or `imagegen.NAME.lock.json` for one of several.
    pub fn lock_path(&self) -> PathBuf {
        if self.is_one_of_several() {
            return self.path.with_extension(format!("{}.lock.json", self.name));
        }
        self.path.with_extension("lock.json")
    }

    /// SHA-256 of that lockfile; none where there is none.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn digest_lock(&self) -> Result<Option<String>> {
        let bytes = fs::read_text_if_exists(&self.lock_path())?;
        Ok(bytes.map(|bytes| sha256_hex(&bytes)))
    }

    /// The lockfile for another target than the definition's: `imagegen.TARGET.lock.json`, `imagegen.NAME.TARGET.lock.json`.
    pub(super) fn lock_path_of(&self, target: &str) -> PathBuf {
        if self.is_one_of_several() {
            let name = &self.name;
            return self
                .path
                .with_extension(format!("{name}.{target}.lock.json"));
        }
        self.path.with_extension(format!("{target}.lock.json"))
    }

    /// The name for `--config`.
    pub fn config(&self) -> String {
        let path = format_path(&self.path);
        if self.is_one_of_several() {
            format!("{path}#{}", self.name)
        } else {
            path
        }
    }

    /// The folder to which paths in the definition are relative.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }
}

/// Way in which the user names one image of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamingForm {
    /// Names after the verb, `--all` or `--config`.
    Verb,
    /// `--config FILE#NAME` alone.
    Config,
    /// `FILE#NAME` in the place of a path.
    Path,
}

/// The images of a definition or of a folder of definitions, by name. Each file is read and parsed once.
#[derive(Debug, Clone)]
pub struct Definitions {
    file: String,
    images: Vec<DefinedImage>,
}

impl Definitions {
    /// Reads the definition, the folder of definitions or the one image of several (`FILE#NAME`) that is named;
    /// without a name, the definition of the working folder if there is one.
    ///
    /// # Errors
    /// A definition cannot be read, two images have one name, or there is no image `NAME`.
    pub fn load(config: Option<&Path>) -> Result<Self> {
        let (config, wanted) = split_config(config);
        let file = config.unwrap_or(Path::new(DEFAULT)).display().to_string();
        let mut images = Vec::new();
        for (path, bytes) in read_definitions(config)? {
            let definition: ImageDefinition =
                json::parse_json(&path.display().to_string(), &bytes)?;
            images.extend(split_images(definition, &path)?);
        }

        images.sort_by(|one, other| one.name.cmp(&other.name));
        refuse_doubles(&images)?;

        let definitions = Self { file, images };
        match wanted {
            None => Ok(definitions),
            Some(name) => definitions.keep_only(name),
        }
    }

    pub fn images(&self) -> &[DefinedImage] {
        &self.images
    }

    /// SHA-256 of the lockfile of each image that has one.
    ///
    /// # Errors
    /// Nothing is defined, or a lockfile cannot be read.
    pub fn list_lock_digests(&self) -> Result<BTreeSet<String>> {
        self.require_any()?;
        let mut digests = BTreeSet::new();
        for image in &self.images {
            digests.extend(image.digest_lock()?);
        }
        Ok(digests)
    }

    /// The only image; an empty definition where nothing is defined, because flags may say everything.
    ///
    /// # Errors
    /// There are several images.
    pub fn require_one(&self, naming: NamingForm) -> Result<DefinedImage> {
        match self.images.as_slice() {
            [] => Ok(DefinedImage::empty()),
            [image] => Ok(image.clone()),
            _ => Err(self.refuse_several(naming)),
        }
    }

    /// The images with these names, in their order, each once.
    ///
    /// # Errors
    /// Nothing is defined, or a name is unknown.
    pub fn choose_named(&self, names: &[String]) -> Result<Vec<&DefinedImage>> {
        self.require_any()?;
        let mut chosen = Vec::new();
        let mut seen = BTreeSet::new();
        for name in names {
            let Some(image) = self.find(name) else {
                return Err(self.refuse_name(name, format!("unknown image `{name}`")));
            };
            if seen.insert(name) {
                chosen.push(image);
            }
        }
        Ok(chosen)
    }

    /// # Errors
    /// Nothing is defined.
    pub fn require_any(&self) -> Result<()> {
        if !self.images.is_empty() {
            return Ok(());
        }
        let remedy = "write `\"images\": {…}` into imagegen.json, or add `--config FILE`";
        Err(InputError::new("no image is defined", remedy).into())
    }

    fn find(&self, name: &str) -> Option<&DefinedImage> {
        self.images.iter().find(|image| image.name == name)
    }

    fn keep_only(mut self, name: &str) -> Result<Self> {
        if self.find(name).is_none() {
            let message = format!("{}: unknown image `{name}`", self.file);
            return Err(self.refuse_name(name, message));
        }
        self.images.retain(|image| image.name == name);
        Ok(self)
    }

    fn refuse_name(&self, name: &str, message: String) -> Error {
        let names = self.images.iter().map(|image| image.name.as_str());
        InputError::new(message, format_suggestion(name, names)).into()
    }

    fn refuse_several(&self, naming: NamingForm) -> Error {
        let names: Vec<&str> = self
            .images
            .iter()
            .map(|image| image.name.as_str())
            .collect();
        let file = &self.file;
        let one = format!("{file}#{}", names[0]);
        let message = format!("{file} defines several images: {}", names.join(", "));
        let remedy = match naming {
            NamingForm::Verb => {
                format!("name images after the verb, add `--all`, or use `--config {one}`")
            }
            NamingForm::Config => format!("name one: `--config {one}`"),
            NamingForm::Path => format!("name one: `{one}`"),
        };
        InputError::new(message, remedy).into()
    }
}

/// Each image has a workspace and a lockfile of its own, on systems without case in file names too.
fn refuse_doubles(images: &[DefinedImage]) -> Result<()> {
    let (mut names, mut locks) = (BTreeMap::new(), BTreeMap::new());
    for image in images {
        let own = image.config();
        if let Some(other) = names.insert(image.name.to_lowercase(), image) {
            let message = if other.name == image.name {
                let (one, two) = (other.path.display(), image.path.display());
                format!("`{}` is in {one} and {two}", image.name)
            } else {
                let other = other.config();
                format!("{other} and {own} differ in case alone: Windows has one folder for both")
            };
            return Err(refuse_double(message));
        }

        let lock = image.lock_path();
        let key = lock.to_string_lossy().to_lowercase();
        if let Some(other) = locks.insert(key, image) {
            let (other, lock) = (other.config(), lock.display());
            let message = format!("{other} and {own} would have the same lockfile: {lock}");
            return Err(refuse_double(message));
        }
    }
    Ok(())
}

fn refuse_double(message: String) -> Error {
    InputError::new(message, "give each image a name of its own").into()
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

fn read_definitions(config: Option<&Path>) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut definitions = Vec::new();
    match config {
        None => {
            if let Some(bytes) = fs::read_text_if_exists(Path::new(DEFAULT))? {
                definitions.push((DEFAULT.into(), bytes));
            }
        }
        Some(folder) if folder.is_dir() => {
            for name in read_input_names("--config", folder)? {
                let stem = name.strip_suffix(".json");
                // macOS writes `._NAME` beside a file on volumes of others.
                let is_hidden = name.starts_with('.');
                if !is_hidden && stem.is_some_and(|stem| stem.strip_suffix(".lock").is_none()) {
                    let path = folder.join(&name);
                    let bytes = read_input("--config", &path)?;
                    definitions.push((path, bytes));
                }
            }
        }
        Some(file) => definitions.push((file.to_owned(), read_input("--config", file)?)),
    }
    Ok(definitions)
}

/// The images of one file, each with what all of them share.
fn split_images(mut definition: ImageDefinition, path: &Path) -> Result<Vec<DefinedImage>> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let containers = definition.images.named().is_none();
    let named = if containers {
        BTreeMap::new()
    } else {
        std::mem::take(&mut definition.images).into_named()
    };
    let Some(combined) = list_combined(&mut definition, path)? else {
        if !named.is_empty() {
            return define_images(&definition, named, path);
        }
        load_files(&mut definition, folder)?;
        let name = path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default();
        return Ok(vec![DefinedImage {
            name,
            definition,
            path: path.to_owned(),
            several: None,
        }]);
    };

    // What an image says is over its combination.
    let mut images = combined;
    for (name, own) in named {
        refuse_nested(&name, &own, path)?;
        let base = images.remove(&name).unwrap_or_default();
        images.insert(name, own.merge_over(base));
    }
    define_images(&definition, images, path)
}

/// The images of a definition's matrix, by name; none where it has no matrix.
fn list_combined(
    definition: &mut ImageDefinition,
    path: &Path,
) -> Result<Option<BTreeMap<FileName, ImageDefinition>>> {
    let Some(matrix) = definition.matrix.take() else {
        return Ok(None);
    };
    let refuse = |message: String| {
        let remedy =
            "give each field that differs a list, such as `\"windows\": [\"2022\", \"2025\"]`";
        InputError::new(format!("{}: {message}", path.display()), remedy)
    };
    let mut images = BTreeMap::new();
    for (name, image) in matrix
        .list_images()
        .map_err(|error| refuse(error.to_string()))?
    {
        let name = name
            .parse::<FileName>()
            .map_err(|error| refuse(format!("`matrix` gives the name `{name}`: {error}")))?;
        images.insert(name, image);
    }
    Ok(Some(images))
}

fn refuse_nested(name: &FileName, image: &ImageDefinition, path: &Path) -> Result<()> {
    let key = if image.images.named().is_some() {
        "images"
    } else if image.matrix.is_some() {
        "matrix"
    } else {
        return Ok(());
    };
    let message = format!(
        "{}: `images.{name}.{key}`: an image has no images",
        path.display()
    );
    Err(InputError::new(message, "write each image directly below `images`").into())
}

/// Each image with what all of them share.
fn define_images(
    shared: &ImageDefinition,
    images: BTreeMap<FileName, ImageDefinition>,
    path: &Path,
) -> Result<Vec<DefinedImage>> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let names: BTreeSet<String> = images.keys().map(ToString::to_string).collect();
    let names = Arc::new(names);
    let mut defined = Vec::new();
    for (name, own) in images {
        refuse_nested(&name, &own, path)?;
        let mut definition = own.merge_over(shared.clone());
        load_files(&mut definition, folder)?;
        defined.push(DefinedImage {
            name: name.to_string(),
            definition,
            path: path.to_owned(),
            several: Some(Arc::clone(&names)),
        });
    }
    Ok(defined)
}
