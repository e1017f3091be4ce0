//! The store: files by their content, safe for several processes at once.
//!
//! ```text
//! objects/sha256/ab/abcd…   whole files, never changed
//! sha512/ab/abcd…           their SHA-256
//! urls/<sha256 of the URL>  where a file came from, for looking up without network
//! partial/<sha256 of the URL>.part, .json   what is being downloaded
//! ```
//!
//! A file gets its name in `objects` by a rename, after it was written and synced. Who writes a
//! part holds its lock; who dies leaves a part that the next process goes on with.

#![expect(clippy::disallowed_methods, reason = "an owner of file access: objects appear whole")]

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::fs::{Digests, FileError, at, digests, write};
use crate::embedded::sha256;
use crate::model::resource::PinAlgorithm;

/// A store in a directory.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

/// A file of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    pub sha256: String,
    pub path: PathBuf,
}

/// Where a file came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Origin {
    url: String,
    sha256: String,
}

/// What is known of a part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartState {
    pub url: String,
    /// Strong entity tag of the file that the part is of.
    pub etag: Option<String>,
}

impl Store {
    /// # Errors
    /// The directory cannot be made.
    pub fn open(root: PathBuf) -> Result<Self, FileError> {
        for folder in ["objects/sha256", "sha512", "urls", "partial"] {
            let path = root.join(folder);
            fs::create_dir_all(&path).map_err(at("creating", &path))?;
        }
        Ok(Self { root })
    }

    /// The user's own, in the platform's cache directory.
    #[must_use]
    pub fn default_path() -> Option<PathBuf> {
        use etcetera::BaseStrategy as _;
        Some(etcetera::choose_base_strategy().ok()?.cache_dir().join("imagegen").join("store"))
    }

    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn object_path(&self, sha256: &str) -> PathBuf {
        self.root.join("objects/sha256").join(&sha256[..2]).join(sha256)
    }

    fn origin_path(&self, url: &str) -> PathBuf {
        self.root.join("urls").join(sha256(url.as_bytes()))
    }

    fn sha512_path(&self, digest: &str) -> PathBuf {
        self.root.join("sha512").join(&digest[..2]).join(digest)
    }

    /// The file with this digest, as it lies there: whoever uses it looks at its bytes.
    #[must_use]
    pub fn find(&self, algorithm: PinAlgorithm, digest: &str) -> Option<Object> {
        if digest.len() < 64 || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let sha256 = match algorithm {
            PinAlgorithm::Sha256 => digest.to_owned(),
            PinAlgorithm::Sha512 => fs::read_to_string(self.sha512_path(digest)).ok()?,
        };
        let path = (sha256.len() == 64).then(|| self.object_path(&sha256))?;
        path.is_file().then_some(Object { sha256, path })
    }

    /// The file that last came from this URL.
    #[must_use]
    pub fn find_url(&self, url: &str) -> Option<Object> {
        let origin: Origin = serde_json::from_slice(&fs::read(self.origin_path(url)).ok()?).ok()?;
        if origin.url != url {
            return None;
        }
        self.find(PinAlgorithm::Sha256, &origin.sha256)
    }

    /// Takes a file out that is not what its name says.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn discard(&self, object: &Object) -> Result<(), FileError> {
        super::fs::remove_if_there(&object.path)
    }

    /// Puts bytes into the store that came from `url`.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn insert(&self, url: &str, bytes: &[u8]) -> Result<Object, FileError> {
        let object = Object { sha256: sha256(bytes), path: self.object_path(&sha256(bytes)) };
        if !object.path.is_file() {
            write(&object.path, bytes)?;
        }
        self.remember(url, &object.sha256)?;
        Ok(object)
    }

    /// Puts a copy of a file into the store, and says what it is.
    ///
    /// # Errors
    /// The file cannot be read or the store not written.
    pub fn adopt(&self, file: &Path) -> Result<(Object, Digests), FileError> {
        let name = sha256(file.to_string_lossy().as_bytes());
        let copy = self.root.join("partial").join(format!("{name}.{}.copy", std::process::id()));
        fs::copy(file, &copy).map_err(at("copying", file))?;
        let outcome = digests(&copy).and_then(|found| Ok((self.place(&copy, &found)?, found)));
        if outcome.is_err() {
            let _ = fs::remove_file(&copy);
        }
        outcome
    }

    fn place(&self, file: &Path, found: &Digests) -> Result<Object, FileError> {
        let path = self.object_path(&found.sha256);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(at("creating", folder))?;
        }
        File::open(file).and_then(|file| file.sync_all()).map_err(at("writing", file))?;
        fs::rename(file, &path).map_err(at("writing", &path))?;
        write(&self.sha512_path(&found.sha512), found.sha256.as_bytes())?;
        Ok(Object { sha256: found.sha256.clone(), path })
    }

    /// Puts what a reader gives into the store, if its digest is the one that is expected.
    ///
    /// # Errors
    /// The store cannot be written, or the reader fails.
    pub fn absorb(&self, reader: &mut dyn io::Read, expected: &str) -> Result<Option<Object>, FileError> {
        if let Some(object) = self.find(PinAlgorithm::Sha256, expected) {
            if digests(&object.path)?.sha256 == expected {
                return Ok(Some(object));
            }
            self.discard(&object)?;
        }
        let copy = self.root.join("partial").join(format!("{expected}.{}.copy", std::process::id()));
        let outcome = self.absorb_by(reader, expected, &copy);
        if !matches!(outcome, Ok(Some(_))) {
            let _ = fs::remove_file(&copy);
        }
        outcome
    }

    fn absorb_by(
        &self,
        reader: &mut dyn io::Read,
        expected: &str,
        copy: &Path,
    ) -> Result<Option<Object>, FileError> {
        let mut file = File::create(copy).map_err(at("writing", copy))?;
        io::copy(reader, &mut file).map_err(at("writing", copy))?;
        let found = digests(copy)?;
        if found.sha256 != expected {
            return Ok(None);
        }
        self.place(copy, &found).map(Some)
    }

    /// Notes where a file came from.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn remember(&self, url: &str, sha256: &str) -> Result<(), FileError> {
        let origin = Origin { url: url.to_owned(), sha256: sha256.to_owned() };
        write(&self.origin_path(url), crate::model::json::pretty(&origin).as_bytes())
    }

    /// The part of what `url` publishes, for this process alone; none while another holds it.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn part(&self, url: &str) -> Result<Option<Part>, FileError> {
        let name = sha256(url.as_bytes());
        let path = self.root.join("partial").join(format!("{name}.part"));
        let state_path = path.with_extension("json");
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(at("writing", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(at("locking", &path)(error)),
        }
        // Whoever held it before may have renamed it: then the name stands for another file now.
        if !same_file(&file, &path) {
            return Ok(None);
        }
        let state = fs::read(&state_path)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<PartState>(&bytes).ok())
            .filter(|state| state.url == url);
        let mut part = Part { store: self.clone(), url: url.to_owned(), path, state_path, file };
        if state.is_none() {
            part.clear()?;
        }
        Ok(Some(part))
    }

    /// Notes that a file is in use, so that [`Store::collect`] leaves it.
    pub fn touch(&self, object: &Object) {
        // A store that cannot be written can be read from all the same.
        if let Ok(file) = File::open(&object.path) {
            let _ = file.set_modified(SystemTime::now());
        }
    }

    /// Every file whose bytes are not what its name says.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn damaged(&self) -> Result<(usize, Vec<Object>), FileError> {
        let mut damaged = Vec::new();
        let objects = self.objects()?;
        for object in &objects {
            if digests(&object.path)?.sha256 != object.sha256 {
                damaged.push(object.clone());
            }
        }
        Ok((objects.len(), damaged))
    }

    fn objects(&self) -> Result<Vec<Object>, FileError> {
        let root = self.root.join("objects/sha256");
        let mut objects = Vec::new();
        for path in files_below(&root)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            objects.push(Object { sha256: name, path });
        }
        Ok(objects)
    }

    /// Removes files that nothing named used for `age`, and what died processes left.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn collect(&self, keep: &dyn Fn(&str) -> bool, age: Duration) -> Result<Vec<PathBuf>, FileError> {
        let mut removed = Vec::new();
        for object in self.objects()? {
            if !keep(&object.sha256) && is_older(&object.path, age) {
                super::fs::remove_if_there(&object.path)?;
                removed.push(object.path);
            }
        }
        for path in files_below(&self.root.join("partial"))? {
            let unused = File::open(&path).is_ok_and(|file| file.try_lock().is_ok());
            if unused && is_older(&path, age) {
                super::fs::remove_if_there(&path)?;
                removed.push(path);
            }
        }
        for folder in ["urls", "sha512"] {
            for path in files_below(&self.root.join(folder))? {
                let text = fs::read_to_string(&path).unwrap_or_default();
                let digest = serde_json::from_str::<Origin>(&text).map_or(text, |origin| origin.sha256);
                if self.find(PinAlgorithm::Sha256, &digest).is_none() {
                    super::fs::remove_if_there(&path)?;
                }
            }
        }
        Ok(removed)
    }
}

fn is_older(path: &Path, age: Duration) -> bool {
    path.metadata()
        .and_then(|metadata| metadata.modified())
        .is_ok_and(|time| time.elapsed().unwrap_or_default() >= age)
}

fn files_below(root: &Path) -> Result<Vec<PathBuf>, FileError> {
    let mut files = Vec::new();
    for entry in walkdir::WalkDir::new(root).sort_by_file_name() {
        match entry {
            Ok(entry) if entry.file_type().is_file() => files.push(entry.into_path()),
            Ok(_) => {}
            // Another process may remove files while this one looks.
            Err(error) if error.io_error().is_some_and(|error| error.kind() == io::ErrorKind::NotFound) => {}
            Err(error) => {
                let path = error.path().unwrap_or(root).to_owned();
                let source = error.into_io_error().unwrap_or_else(|| io::Error::other("a loop of links"));
                return Err(FileError { action: "reading", path, source });
            }
        }
    }
    Ok(files)
}

#[cfg(unix)]
fn same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), path.metadata()) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn same_file(_: &File, path: &Path) -> bool {
    path.exists()
}

/// What is being downloaded. Its lock goes with it.
#[derive(Debug)]
pub struct Part {
    store: Store,
    url: String,
    path: PathBuf,
    state_path: PathBuf,
    file: File,
}

impl Part {
    /// Bytes that are there.
    ///
    /// # Errors
    /// The part cannot be read.
    pub fn len(&self) -> Result<u64, FileError> {
        Ok(self.file.metadata().map_err(at("reading", &self.path))?.len())
    }

    /// # Errors
    /// The part cannot be read.
    pub fn is_empty(&self) -> Result<bool, FileError> {
        Ok(self.len()? == 0)
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The entity tag of the file that the part is of.
    #[must_use]
    pub fn etag(&self) -> Option<String> {
        let state: PartState = serde_json::from_slice(&fs::read(&self.state_path).ok()?).ok()?;
        state.etag
    }

    /// Begins anew.
    ///
    /// # Errors
    /// The part cannot be written.
    pub fn clear(&mut self) -> Result<(), FileError> {
        self.file.set_len(0).map_err(at("writing", &self.path))?;
        self.file.seek(SeekFrom::Start(0)).map_err(at("writing", &self.path))?;
        self.note(None)
    }

    /// Remembers which file the part is of.
    ///
    /// # Errors
    /// The part cannot be written.
    pub fn note(&self, etag: Option<String>) -> Result<(), FileError> {
        let state = PartState { url: self.url.clone(), etag };
        write(&self.state_path, crate::model::json::pretty(&state).as_bytes())
    }

    /// A handle that writes at the end.
    ///
    /// # Errors
    /// The part cannot be written.
    pub fn writer(&self) -> Result<File, FileError> {
        let mut file = self.file.try_clone().map_err(at("writing", &self.path))?;
        file.seek(SeekFrom::End(0)).map_err(at("writing", &self.path))?;
        Ok(file)
    }

    /// # Errors
    /// As the system says, mostly that the disk is full.
    pub fn append(file: &mut File, piece: &[u8], path: &Path) -> Result<(), FileError> {
        file.write_all(piece).map_err(at("writing", path))
    }

    /// The part as a whole file of the store.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn commit(self, found: &Digests) -> Result<Object, FileError> {
        let object = self.store.place(&self.path, found)?;
        super::fs::remove_if_there(&self.state_path)?;
        self.store.remember(&self.url, &object.sha256)?;
        Ok(object)
    }

    /// Removes it.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(self) -> Result<(), FileError> {
        super::fs::remove_if_there(&self.state_path)?;
        super::fs::remove_if_there(&self.path)
    }
}
