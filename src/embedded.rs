//! The data trees: `manifests/`, `packer/` and `provisioners/`, carried inside the program.
//!
//! A tree may be replaced by files that were read from a directory; whoever uses a tree cannot
//! tell the difference.

use std::collections::BTreeMap;

use include_dir::{Dir, include_dir};
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::model::json::{self, JsonError};

static MANIFESTS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/manifests");
static PACKER: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/packer");
static PROVISIONERS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/provisioners");

/// Files by path, with `/` between the parts.
#[derive(Debug, Clone)]
pub struct Tree {
    /// What messages call it: `manifests`, or the directory it was read from.
    pub label: String,
    files: Files,
}

#[derive(Debug, Clone)]
enum Files {
    Embedded(&'static Dir<'static>),
    Loaded(BTreeMap<String, Vec<u8>>),
}

impl Tree {
    #[must_use]
    pub fn manifests() -> Self {
        Self { label: "manifests".to_owned(), files: Files::Embedded(&MANIFESTS) }
    }

    #[must_use]
    pub fn packer() -> Self {
        Self { label: "packer".to_owned(), files: Files::Embedded(&PACKER) }
    }

    #[must_use]
    pub fn provisioners() -> Self {
        Self { label: "provisioners".to_owned(), files: Files::Embedded(&PROVISIONERS) }
    }

    #[must_use]
    pub fn loaded(label: String, files: BTreeMap<String, Vec<u8>>) -> Self {
        Self { label, files: Files::Loaded(files) }
    }

    #[must_use]
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        match &self.files {
            Files::Embedded(dir) => dir.get_file(path).map(include_dir::File::contents),
            Files::Loaded(files) => files.get(path).map(Vec::as_slice),
        }
    }

    /// A JSON file as a value; none where the tree has no such file.
    ///
    /// # Errors
    /// The file is not such a value. Files of a directory are people's, and parsed strictly.
    pub fn json<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, JsonError> {
        let file = format!("{}/{path}", self.label);
        let parse = match self.files {
            Files::Embedded(_) => json::parse_embedded,
            Files::Loaded(_) => json::parse,
        };
        self.get(path).map(|bytes| parse(&file, bytes)).transpose()
    }

    /// Every file by its path.
    #[must_use]
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        fn collect(dir: &Dir<'_>, files: &mut BTreeMap<String, Vec<u8>>) {
            for file in dir.files() {
                if let Some(path) = file.path().to_str() {
                    files.insert(unix(path), file.contents().to_vec());
                }
            }
            for inner in dir.dirs() {
                collect(inner, files);
            }
        }
        match &self.files {
            Files::Embedded(dir) => {
                let mut files = BTreeMap::new();
                collect(dir, &mut files);
                files
            }
            Files::Loaded(files) => files.clone(),
        }
    }

    /// Paths directly inside `folder`, sorted.
    #[must_use]
    pub fn list(&self, folder: &str) -> Vec<String> {
        let mut paths: Vec<String> = match &self.files {
            Files::Embedded(dir) => match if folder.is_empty() { Some(*dir) } else { dir.get_dir(folder) } {
                Some(dir) => dir.files().filter_map(|file| file.path().to_str()).map(unix).collect(),
                None => Vec::new(),
            },
            Files::Loaded(files) => {
                let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
                files
                    .keys()
                    .filter(|path| path.strip_prefix(&prefix).is_some_and(|rest| !rest.contains('/')))
                    .cloned()
                    .collect()
            }
        };
        paths.sort();
        paths
    }

    /// Folders directly inside `folder`, sorted, by name.
    #[must_use]
    pub fn folders(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = match &self.files {
            Files::Embedded(dir) => match dir.get_dir(folder) {
                Some(dir) => {
                    dir.dirs().filter_map(|dir| dir.path().file_name()?.to_str().map(str::to_owned)).collect()
                }
                None => Vec::new(),
            },
            Files::Loaded(files) => files
                .keys()
                .filter_map(|path| path.strip_prefix(folder)?.strip_prefix('/')?.split_once('/'))
                .map(|(name, _)| name.to_owned())
                .collect(),
        };
        names.sort();
        names.dedup();
        names
    }
}

fn unix(path: &str) -> String {
    path.replace('\\', "/")
}

/// SHA-256 in lower-case hexadecimal.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The bytes of a SHA-256 that is written in hexadecimal digits.
#[must_use]
pub fn sha256_bytes(hex: &str) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    if hex.len() != 64 {
        return None;
    }
    for (byte, pair) in digest.iter_mut().zip(hex.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(digest)
}

/// Lower-case hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
