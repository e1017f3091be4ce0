//! Image definitions as files: one image, several over shared values, or a folder of definitions.

mod doubles;
mod files;
mod split;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::code::Code;
use crate::base::names::format_suggestion;
use crate::base::text::{format_path, parent_folder};
use crate::diagnostic::{Classify, Error, ErrorClass, Finding, Location, Result};
use crate::io::fs;
use crate::lock::digest_lockfile;
use crate::model::definition::ImageDefinition;
use crate::ui::Printer;

use doubles::find_doubles;
use files::{DEFAULT, read_definitions};
use split::parse_images;

/// Most names of images that an error lists.
const MOST_NAMES: usize = 10;

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

    /// The image of a lockfile.
    pub(super) fn of_lock(path: PathBuf, definition: ImageDefinition) -> Self {
        Self {
            definition,
            path,
            ..Self::empty()
        }
    }

    /// Whether the file defines several images, so that a name tells them apart.
    pub fn is_one_of_several(&self) -> bool {
        self.several.is_some()
    }

    /// The other image of the same file whose lockfile this is, as a name for `--config`.
    pub(super) fn find_sibling(&self, lock: &Path) -> Option<String> {
        let stem = self.path.file_stem()?.to_str()?;
        let rest = lock.file_name()?.to_str()?.strip_prefix(stem)?;
        let name = rest.strip_prefix('.')?.strip_suffix(".lock.json")?;
        self.find_sibling_named(name)
    }

    /// The other image of the same file with this name, as a name for `--config`.
    pub fn find_sibling_named(&self, name: &str) -> Option<String> {
        let names = self.several.as_ref()?;
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
        Ok(bytes.map(|bytes| digest_lockfile(&bytes)))
    }

    /// The lockfile for another target than the definition's: `imagegen.TARGET.lock.json`, `imagegen.NAME.TARGET.lock.json`.
    pub(super) fn lock_path_of(&self, target: &str) -> PathBuf {
        // Not every name is one of a target, and this comes first.
        let target = target.replace(std::path::is_separator, "");
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
        parent_folder(&self.path)
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

/// A file of a folder of definitions whose images are not known, or an image of it that shares files with another.
#[derive(Debug, Clone)]
pub struct UnreadableFile {
    /// The image that it defines if it defines one: the name of the file.
    pub name: String,
    error: DefinitionError,
}

/// Reason why a file of a folder of definitions cannot be used, for each verb or image that needs it.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct DefinitionError(Arc<Error>);

impl Classify for DefinitionError {
    fn code(&self) -> Code {
        self.0.code()
    }

    fn class(&self) -> ErrorClass {
        self.0.class()
    }

    fn remedies(&self) -> Vec<String> {
        self.0.remedies()
    }

    fn findings(&self) -> &[Finding] {
        self.0.findings()
    }

    fn location(&self) -> Option<Location> {
        self.0.location()
    }
}

impl UnreadableFile {
    fn new(path: &Path, error: Error) -> Self {
        let shown = path.display().to_string();
        let error = if error.to_string().contains(&shown) {
            error
        } else {
            error.with_context(shown)
        };
        let stem = path.file_stem().unwrap_or_default();
        Self {
            name: stem.to_string_lossy().into_owned(),
            error: DefinitionError(Arc::new(error)),
        }
    }

    pub fn to_error(&self) -> Error {
        self.error.clone().into()
    }
}

/// An image that the user names, by a name or by `--all`.
#[derive(Debug, Clone, Copy)]
pub enum ChosenImage<'a> {
    Defined(&'a DefinedImage),
    Unreadable(&'a UnreadableFile),
}

impl<'a> ChosenImage<'a> {
    pub fn name(self) -> &'a str {
        match self {
            Self::Defined(image) => &image.name,
            Self::Unreadable(file) => &file.name,
        }
    }

    /// # Errors
    /// Its file cannot be used.
    pub fn require(self) -> Result<&'a DefinedImage> {
        match self {
            Self::Defined(image) => Ok(image),
            Self::Unreadable(file) => Err(file.to_error()),
        }
    }
}

/// The images of a definition or of a folder of definitions, by name. Each file is read and parsed once.
#[derive(Debug, Clone)]
pub struct Definitions {
    file: String,
    images: Vec<DefinedImage>,
    unreadable: Vec<UnreadableFile>,
    warnings: Vec<String>,
    others: Vec<String>,
}

impl Definitions {
    /// Reads the definition, the folder of definitions or the one image of several (`FILE#NAME`) that is named;
    /// without a name, the definition of the working folder if there is one. A file of a folder that cannot be used
    /// fails where it is needed.
    ///
    /// # Errors
    /// The definition or the folder cannot be read, two images of one file share files, or there is no image `NAME`.
    pub fn load(config: Option<&Path>) -> Result<Self> {
        let (config, wanted) = split_config(config);
        let file = config.unwrap_or(Path::new(DEFAULT)).display().to_string();
        let is_folder = config.is_some_and(Path::is_dir);
        let found = read_definitions(config)?;
        let (mut images, mut unreadable) = (Vec::new(), Vec::new());
        for (path, bytes) in found.files {
            match bytes.and_then(|bytes| parse_images(&path, &bytes)) {
                Ok(defined) => images.extend(defined),
                Err(error) if is_folder => unreadable.push(UnreadableFile::new(&path, error)),
                Err(error) => return Err(error),
            }
        }

        images.sort_by(|one, other| one.name.cmp(&other.name));
        let mut doubles = BTreeMap::new();
        for double in find_doubles(&images) {
            if !is_folder {
                return Err(double.error);
            }
            let error = DefinitionError(Arc::new(double.error));
            for name in double.names {
                doubles.entry(name).or_insert_with(|| error.clone());
            }
        }
        images.retain(|image| !doubles.contains_key(&image.name));
        let doubles = doubles.into_iter();
        unreadable.extend(doubles.map(|(name, error)| UnreadableFile { name, error }));

        let definitions = Self {
            file,
            images,
            unreadable,
            warnings: found.warnings,
            others: found.others,
        };
        match wanted {
            None => Ok(definitions),
            Some(name) => definitions.keep_only(name),
        }
    }

    /// The images of all files that can be used.
    pub fn images(&self) -> &[DefinedImage] {
        &self.images
    }

    /// The files of a folder that cannot be used.
    pub fn unreadable(&self) -> &[UnreadableFile] {
        &self.unreadable
    }

    /// Says which entries of a folder look like definitions and are not read.
    pub fn print_warnings(&self, printer: &Printer) {
        for warning in &self.warnings {
            printer.print_warning(warning);
        }
        if !self.others.is_empty() {
            let others = self.others.join(", ");
            printer.print_detail(&format!("{}: not read: {others}", self.file));
        }
    }

    /// Every image by its name, and every file that should define one.
    ///
    /// # Errors
    /// Nothing is defined.
    pub fn choose_all(&self) -> Result<Vec<ChosenImage<'_>>> {
        self.require_any()?;
        let images = self.images.iter().map(ChosenImage::Defined);
        let mut chosen: Vec<ChosenImage<'_>> = images.collect();
        chosen.extend(self.unreadable.iter().map(ChosenImage::Unreadable));
        chosen.sort_by(|one, other| one.name().cmp(other.name()));
        Ok(chosen)
    }

    /// SHA-256 of the lockfile of each image that has one.
    ///
    /// # Errors
    /// Nothing is defined, or a definition or a lockfile cannot be read.
    pub fn list_lock_digests(&self) -> Result<BTreeSet<String>> {
        self.require_any()?;
        self.require_readable()?;
        let mut digests = BTreeSet::new();
        for image in &self.images {
            digests.extend(image.digest_lock()?);
        }
        Ok(digests)
    }

    /// The only image; an empty definition where nothing is defined, because flags may say everything.
    ///
    /// # Errors
    /// There are several images, a file of the folder cannot be used, or the folder that is named has none.
    pub fn require_one(&self, naming: NamingForm) -> Result<DefinedImage> {
        self.require_readable()?;
        if Path::new(&self.file).is_dir() {
            self.require_any()?;
        }
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
    pub fn choose_named(&self, names: &[String]) -> Result<Vec<ChosenImage<'_>>> {
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
    /// Nothing is defined: the definition is missing, or the folder is empty.
    pub fn require_any(&self) -> Result<()> {
        if !self.images.is_empty() || !self.unreadable.is_empty() {
            return Ok(());
        }
        let file = &self.file;
        let (reason, remedy) = if Path::new(file).is_dir() {
            let reason =
                format!("the folder {file} has no definition, which is a file `NAME.json`");
            (
                reason,
                "run `imagegen init --out FOLDER/NAME.json`, or name another folder",
            )
        } else {
            let reason = format!("there is no {file} in the working folder");
            (reason, "run `imagegen init`, or add `--config FILE`")
        };
        Err(Error::value(
            format!("no image is defined: {reason}"),
            remedy,
        ))
    }

    fn require_readable(&self) -> Result<()> {
        match self.unreadable.first() {
            Some(file) => Err(file.to_error()),
            None => Ok(()),
        }
    }

    fn find(&self, name: &str) -> Option<ChosenImage<'_>> {
        let image = self.images.iter().find(|image| image.name == name);
        let file = self.unreadable.iter().find(|file| file.name == name);
        let file = file.map(ChosenImage::Unreadable);
        image.map(ChosenImage::Defined).or(file)
    }

    fn keep_only(mut self, name: &str) -> Result<Self> {
        if self.find(name).is_none() {
            let message = format!("{}: unknown image `{name}`", self.file);
            return Err(self.refuse_name(name, message));
        }
        self.images.retain(|image| image.name == name);
        self.unreadable.retain(|file| file.name == name);
        Ok(self)
    }

    fn refuse_name(&self, name: &str, message: String) -> Error {
        // The image may be one of several of a file that cannot be used.
        if let Some(file) = self.unreadable.first() {
            let message = format!(
                "{message}, and a file that may define it cannot be used: {}",
                file.error
            );
            return Error::value(message, "mend that file first");
        }
        let names = self.images.iter().map(|image| image.name.as_str());
        Error::value(message, format_suggestion(name, names))
    }

    fn refuse_several(&self, naming: NamingForm) -> Error {
        let file = &self.file;
        let one = format!("{file}#{}", self.images[0].name);
        let mut names: Vec<String> = self.images.iter().map(|image| image.name.clone()).collect();
        let more = names.split_off(names.len().min(MOST_NAMES)).len();
        if more > 0 {
            names.push(format!("and {more} more"));
        }
        let message = format!("{file} defines several images: {}", names.join(", "));
        let remedy = match naming {
            NamingForm::Verb => {
                format!("name images after the verb, add `--all`, or use `--config {one}`")
            }
            NamingForm::Config => format!("name one: `--config {one}`"),
            NamingForm::Path => format!("name one: `{one}`"),
        };
        Error::value(message, remedy)
    }
}

/// `FILE#NAME` as file and name. A file whose name holds `#` is itself.
fn split_config(config: Option<&Path>) -> (Option<&Path>, Option<&str>) {
    let text = config.and_then(Path::to_str);
    match text.and_then(|text| text.rsplit_once('#')) {
        // A name has no folder: what has one is a path.
        Some((file, name)) if !name.contains(['/', '\\']) && !config.is_some_and(Path::exists) => {
            (Some(Path::new(file)), Some(name))
        }
        _ => (config, None),
    }
}
