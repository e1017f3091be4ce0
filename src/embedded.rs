//! The data trees: `manifests/`, `packer/` and `provisioners/`, carried inside the program, and the topics of
//! `imagegen help`.
//!
//! A tree may be replaced by files that were read from a directory; whoever uses a tree cannot
//! tell the difference.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::de::DeserializeOwned;

use crate::base::digest::{DigestedStart, sha256_hex};
use crate::base::json::{self, JsonError};

/// A file that the program carries.
#[derive(Debug)]
struct EmbeddedFile {
    path: &'static str,
    bytes: &'static [u8],
    /// By the build script; a test compares it with [`sha256_hex`].
    sha256: &'static str,
    /// The same without what is between its values, for a parser; empty for what is no JSON.
    json: &'static str,
}

// `HELP`, `MANIFESTS`, `PACKER` and `PROVISIONERS`: each file, sorted by path. `SCRIPTS_DIGEST`: of the files in
// `SCRIPTS_ZIP`, as far as they stand before its directory.
include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// A zip archive of the guest's scripts, as [`Tree::embedded_provisioners`] has them.
pub static SCRIPTS_ZIP: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/scripts.zip"));

/// Files by path, with `/` between the parts.
#[derive(Debug, Clone)]
pub struct Tree {
    /// Name in messages: `manifests`, or the directory it was read from.
    pub label: String,
    files: Files,
    over: Overlay,
    kept: Arc<KeptValues>,
}

/// Values that were made of a tree's files, by type and name.
#[derive(Debug, Default)]
struct KeptValues(Mutex<BTreeMap<ValueKey, Arc<dyn Any + Send + Sync>>>);

type ValueKey = (TypeId, String);

impl KeptValues {
    fn find<T: Any + Send + Sync>(&self, key: &ValueKey) -> Option<Arc<T>> {
        let value = self.lock().get(key).cloned()?;
        Some(value.downcast().expect("the key names the type"))
    }

    fn insert(&self, key: ValueKey, value: Arc<dyn Any + Send + Sync>) {
        self.lock().insert(key, value);
    }

    /// A thread that panicked meanwhile leaves a map that is whole.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<ValueKey, Arc<dyn Any + Send + Sync>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Files of the user in the place of others and beside them.
#[derive(Debug, Clone, Default)]
struct Overlay {
    files: BTreeMap<String, OverlayFile>,
    /// Files that are no longer there.
    hidden: BTreeSet<String>,
}

/// A file that the user brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlayFile {
    /// Path by which the user knows it.
    pub label: String,
    pub bytes: Vec<u8>,
}

#[derive(Debug, Clone)]
enum Files {
    Embedded(&'static [EmbeddedFile]),
    Loaded(Arc<BTreeMap<String, Vec<u8>>>),
}

impl Tree {
    pub fn embedded_help() -> Self {
        Self::new("help".to_owned(), Files::Embedded(HELP))
    }

    pub fn embedded_manifests() -> Self {
        Self::new("manifests".to_owned(), Files::Embedded(MANIFESTS))
    }

    pub fn embedded_packer() -> Self {
        Self::new("packer".to_owned(), Files::Embedded(PACKER))
    }

    pub fn embedded_provisioners() -> Self {
        Self::new("provisioners".to_owned(), Files::Embedded(PROVISIONERS))
    }

    pub fn from_files(label: String, files: BTreeMap<String, Vec<u8>>) -> Self {
        Self::new(label, Files::Loaded(Arc::new(files)))
    }

    fn new(label: String, files: Files) -> Self {
        Self {
            label,
            files,
            over: Overlay::default(),
            kept: Arc::default(),
        }
    }

    /// The tree with the user's files over it, and without the files of which `hides` holds.
    #[must_use]
    pub fn lay_over(
        mut self,
        own: BTreeMap<String, OverlayFile>,
        hides: impl Fn(&str) -> bool,
    ) -> Self {
        let hidden: Vec<String> = self
            .paths()
            .filter(|path| hides(path))
            .map(str::to_owned)
            .collect();
        self.over.files.retain(|path, _| !hidden.contains(path));
        self.over.hidden.extend(hidden);
        self.over.files.extend(own);
        self.kept = Arc::default();
        self
    }

    /// The user's files: path in the tree → file.
    pub fn own_files(&self) -> &BTreeMap<String, OverlayFile> {
        &self.over.files
    }

    /// Name of a file in messages.
    pub fn file_label(&self, path: &str) -> String {
        self.over
            .files
            .get(path)
            .map_or_else(|| format!("{}/{path}", self.label), |own| own.label.clone())
    }

    /// Whether these are the files that the program carries.
    pub fn is_embedded(&self) -> bool {
        matches!(self.files, Files::Embedded(_))
            && self.over.files.is_empty()
            && self.over.hidden.is_empty()
    }

    pub fn get(&self, path: &str) -> Option<&[u8]> {
        if let Some(own) = self.over.files.get(path) {
            return Some(&own.bytes);
        }
        match &self.files {
            Files::Embedded(_) => self.find_built_in(path).map(|file| file.bytes),
            Files::Loaded(_) if self.over.hidden.contains(path) => None,
            Files::Loaded(files) => files.get(path).map(Vec::as_slice),
        }
    }

    /// A file that the program carries and that no file of the user's replaces.
    fn find_built_in(&self, path: &str) -> Option<&'static EmbeddedFile> {
        let Files::Embedded(files) = self.files else {
            return None;
        };
        let is_replaced = self.over.files.contains_key(path) || self.over.hidden.contains(path);
        let place = files.binary_search_by_key(&path, |file| file.path).ok()?;
        (!is_replaced).then(|| &files[place])
    }

    /// The text of a file that the program carries and that no file of the user's replaces.
    pub fn built_in_text(&self, path: &str) -> Option<&'static str> {
        std::str::from_utf8(self.find_built_in(path)?.bytes).ok()
    }

    /// SHA-256 of a file in hexadecimal; for embedded files it was computed when the program was built.
    pub fn digest(&self, path: &str) -> Option<String> {
        match self.find_built_in(path) {
            Some(file) => Some(file.sha256.to_owned()),
            None => self.get(path).map(sha256_hex),
        }
    }

    /// A JSON file as a value; none where the tree has no such file.
    ///
    /// # Errors
    /// The file is not such a value. Files of a directory are people's, and parsed strictly.
    pub fn read_json<T: DeserializeOwned + schemars::JsonSchema>(
        &self,
        path: &str,
    ) -> Result<Option<T>, JsonError> {
        let bytes = self.get(path);
        bytes.map(|bytes| self.parse_file(path, bytes)).transpose()
    }

    fn parse_file<T: DeserializeOwned + schemars::JsonSchema>(
        &self,
        path: &str,
        bytes: &[u8],
    ) -> Result<T, JsonError> {
        let built_in = self.find_built_in(path);
        let parsed = built_in.and_then(|file| json::parse_embedded(file.json));
        parsed.map_or_else(|| json::parse_json(&self.file_label(path), bytes), Ok)
    }

    /// A JSON file as a value that all copies of the tree share, so that many plans parse it once.
    ///
    /// # Errors
    /// As [`Tree::read_json`].
    pub fn share_json<T: DeserializeOwned + schemars::JsonSchema + Any + Send + Sync>(
        &self,
        path: &str,
    ) -> Result<Option<Arc<T>>, JsonError> {
        let Some(bytes) = self.get(path) else {
            return Ok(None);
        };
        self.keep(path, || self.parse_file(path, bytes)).map(Some)
    }

    /// A value that was made of the tree's files before, or is made now. Copies of the tree share it. A name stands for
    /// one value of a type.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn keep<T: Any + Send + Sync, E>(
        &self,
        name: &str,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let key = (TypeId::of::<T>(), name.to_owned());
        if let Some(value) = self.kept.find(&key) {
            return Ok(value);
        }

        let value = Arc::new(make()?);
        self.kept.insert(key, value.clone());
        Ok(value)
    }

    /// Every file by its path.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        self.paths()
            .filter_map(|path| Some((path.to_owned(), self.get(path)?.to_vec())))
            .collect()
    }

    /// Every path, sorted.
    fn paths(&self) -> impl Iterator<Item = &str> {
        let paths: Box<dyn Iterator<Item = &str>> = match &self.files {
            Files::Embedded(files) => Box::new(files.iter().map(|file| file.path)),
            Files::Loaded(files) => Box::new(files.keys().map(String::as_str)),
        };
        let own = self.over.files.keys().map(String::as_str);
        let mut all: Vec<&str> = paths
            .filter(|path| !self.over.hidden.contains(*path))
            .chain(own)
            .collect();
        if !self.over.files.is_empty() {
            all.sort_unstable();
            all.dedup();
        }
        all.into_iter()
    }

    /// Paths below `folder`, sorted, without the folder's name.
    fn paths_below<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a str> {
        self.paths().filter_map(move |path| match folder {
            "" => Some(path),
            folder => path.strip_prefix(folder)?.strip_prefix('/'),
        })
    }

    /// Paths directly inside `folder`, sorted.
    pub fn list_files(&self, folder: &str) -> Vec<String> {
        let prefix = if folder.is_empty() {
            String::new()
        } else {
            format!("{folder}/")
        };
        self.paths_below(folder)
            .filter(|path| !path.contains('/'))
            .map(|path| format!("{prefix}{path}"))
            .collect()
    }

    /// Folders directly inside `folder`, sorted, by name.
    pub fn list_folders(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = self
            .paths_below(folder)
            .filter_map(|path| Some(path.split_once('/')?.0.to_owned()))
            .collect();
        names.sort();
        names.dedup();
        names
    }
}
