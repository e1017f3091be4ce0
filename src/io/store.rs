//! The store: files by their content, safe for several processes at once.
//!
//! ```text
//! objects/sha256/ab/abcd…   whole files, never changed
//! sha512/ab/abcd…           their SHA-256
//! urls/<sha256 of the URL>  where a file came from, for looking up without network
//! partial/<sha256 of the URL>.part, .json   what is being downloaded
//! ```
//!
//! A file is renamed into `objects` after it was written and synced. The other folders are indexes that can be
//! rebuilt. A process holds the lock of the part that it writes; if it is killed, the next process resumes the part.
//! URLs are stored without their query, which may be a signature.

#![expect(
    clippy::disallowed_methods,
    reason = "an owner of file access: objects appear whole"
)]

mod absorb;
mod part;
mod sweep;

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::fs::{
    DigestSet, Digests, FileDigester, FileError, create_temporary, digest_file_with, digest_stream,
    file_error, remove_if_exists,
};
use super::interrupt::Cleanup;
use crate::base::code::Code;
use crate::base::digest::sha256_hex;
use crate::base::json;
use crate::base::json::parse_foreign;
use crate::base::url::strip_secrets;
use crate::base::value::{FileDigest, is_digest};
use crate::diagnostic::Classify;

pub use part::{PartWriter, PartialFile};

/// Folders that every store has.
const FOLDERS: &[&str] = &["objects/sha256", "sha512", "urls", "partial"];

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

/// Files of the store were not what their names say.
#[derive(Debug, thiserror::Error)]
#[error("{} damaged files were taken out of the store: {}", .0.len(), .0.join(", "))]
pub struct DamagedStore(pub Vec<String>);

impl Classify for DamagedStore {
    fn code(&self) -> Code {
        Code::STORE_DAMAGED
    }
}

/// Where a file came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlRecord {
    url: String,
    sha256: String,
}

impl Store {
    /// # Errors
    /// The directory cannot be made, or others can write to it.
    pub fn open(root: PathBuf) -> Result<Self, FileError> {
        for folder in FOLDERS {
            create_folder(&root.join(folder))?;
        }
        let store = Self { root };
        store.check_owners()?;
        Ok(store)
    }

    /// Checks that no other user can write to what is there of the store, as [`Store::open`] does.
    ///
    /// # Errors
    /// Another user can write to a folder, or a folder is a link.
    pub fn check_owners(&self) -> Result<(), FileError> {
        if self.root.symlink_metadata().is_err() {
            return Ok(());
        }
        // The user may name a link to the store; what lies in it is the store's own.
        let root = fs::canonicalize(&self.root).map_err(file_error("reading", &self.root))?;
        check_owner(&root)?;
        // Programs run from `work`.
        for folder in FOLDERS.iter().chain(&["objects", "work"]) {
            let path = root.join(folder);
            if path.symlink_metadata().is_ok() {
                check_owner(&path)?;
            }
        }
        Ok(())
    }

    /// Whether every folder is there: then the store can be read without being written.
    pub fn is_laid_out(&self) -> bool {
        FOLDERS.iter().all(|name| self.root.join(name).is_dir())
    }

    /// A store to look into: nothing is made.
    pub fn open_read_only(root: PathBuf) -> Self {
        Self { root }
    }

    /// The user's own, in the platform's cache directory; none if the environment names no absolute one.
    pub fn default_path() -> Option<PathBuf> {
        use etcetera::BaseStrategy as _;
        let strategy = etcetera::choose_base_strategy().ok()?;
        let path = strategy.cache_dir().join("imagegen").join("store");
        // A relative HOME would make a store of each working folder.
        path.is_absolute().then_some(path)
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    fn object_path(&self, sha256: &str) -> PathBuf {
        self.root
            .join("objects/sha256")
            .join(&sha256[..2])
            .join(sha256)
    }

    fn origin_path(&self, url: &str) -> PathBuf {
        self.root.join("urls").join(sha256_hex(url.as_bytes()))
    }

    fn sha512_path(&self, digest: &str) -> PathBuf {
        self.root.join("sha512").join(&digest[..2]).join(digest)
    }

    /// The file with this digest, as it lies there: whoever uses it looks at its bytes.
    pub fn find_object(&self, digest: &FileDigest) -> Option<Object> {
        match digest {
            FileDigest::Sha256(digest) => self.find_sha256(digest),
            FileDigest::Sha512(digest) => {
                self.find_sha256(&fs::read_to_string(self.sha512_path(digest)).ok()?)
            }
        }
    }

    fn find_sha256(&self, sha256: &str) -> Option<Object> {
        let path = is_digest(sha256, 64).then(|| self.object_path(sha256))?;
        path.is_file().then_some(Object {
            sha256: sha256.to_owned(),
            path,
        })
    }

    /// The file that last came from this URL.
    pub fn find_url(&self, url: &str) -> Option<Object> {
        let origin: UrlRecord = parse_foreign(&fs::read(self.origin_path(url)).ok()?).ok()?;
        self.find_sha256(&origin.sha256)
    }

    /// The content of a file, which is in use from now on; none, and the file gone, where it is not what its name says.
    ///
    /// # Errors
    /// It cannot be read or removed.
    pub fn read_object(&self, object: &Object) -> Result<Option<Vec<u8>>, FileError> {
        let Some(bytes) = ignore_missing(super::fs::read_file(&object.path))? else {
            return Ok(None);
        };
        if sha256_hex(&bytes) == object.sha256 {
            self.touch(object);
            return Ok(Some(bytes));
        }
        self.discard(object)?;
        Ok(None)
    }

    /// The digests of a file; none, and the file gone, where it is not what its name says.
    ///
    /// # Errors
    /// It cannot be read or removed.
    pub fn digest_object(
        &self,
        object: &Object,
        set: DigestSet,
    ) -> Result<Option<Digests>, FileError> {
        let Some(found) = ignore_missing(digest_file_with(&object.path, set))? else {
            return Ok(None);
        };
        if found.sha256 == object.sha256 {
            return Ok(Some(found));
        }
        self.discard(object)?;
        Ok(None)
    }

    /// Takes a file out that is not what its name says.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn discard(&self, object: &Object) -> Result<(), FileError> {
        remove_if_exists(&object.path)
    }

    /// Puts bytes into the store that came from `url`.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn insert(&self, url: &str, bytes: &[u8]) -> Result<Object, FileError> {
        let mut sums = FileDigester::new(DigestSet::Both);
        sums.add(bytes);
        let mut copy = self.create_copy()?;
        copy.write_all(bytes)
            .map_err(file_error("writing", copy.path()))?;
        let object = self.place_object(&copy.into_temp_path(), &sums.finish())?;
        self.record_origin(url, &object.sha256)?;
        Ok(object)
    }

    /// Puts a copy of a file into the store, and says what it is.
    ///
    /// # Errors
    /// The file cannot be read or the store not written.
    pub fn insert_file(&self, file: &Path) -> Result<(Object, Digests), FileError> {
        let _cleanup = Cleanup::start().map_err(file_error("copying", file))?;
        let mut source = super::fs::open_once(file)?;
        let (copy, found) = self.copy_stream(&mut source, file_error("copying", file))?;
        Ok((self.place_object(&copy.into_temp_path(), &found)?, found))
    }

    fn create_copy(&self) -> Result<NamedTempFile, FileError> {
        create_temporary(&self.root.join("partial"), "copy", 0o600)
    }

    /// A copy of what a reader gives, with both digests: it is read once.
    fn copy_stream(
        &self,
        reader: &mut dyn io::Read,
        failed: impl FnOnce(io::Error) -> FileError,
    ) -> Result<(NamedTempFile, Digests), FileError> {
        let mut copy = self.create_copy()?;
        let found = digest_stream(reader, DigestSet::Both, copy.as_file_mut());
        Ok((copy, found.map_err(failed)?))
    }

    fn place_object(&self, file: &Path, found: &Digests) -> Result<Object, FileError> {
        let path = self.object_path(&found.sha256);
        create_folder(path.parent().unwrap_or(&path))?;
        let opened = OpenOptions::new()
            .write(true)
            .open(file)
            .map_err(file_error("writing", file))?;
        opened.sync_all().map_err(file_error("writing", file))?;
        fs::rename(file, &path).map_err(file_error("writing", &path))?;
        self.record_sha512(found)?;
        Ok(Object {
            sha256: found.sha256.clone(),
            path,
        })
    }

    /// Notes the SHA-512 of a file, if it was computed: the file can then be found by it.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn record_sha512(&self, found: &Digests) -> Result<(), FileError> {
        let Some(sha512) = &found.sha512 else {
            return Ok(());
        };
        replace_file(&self.sha512_path(sha512), found.sha256.as_bytes())
    }

    /// Notes where a file came from.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn record_origin(&self, url: &str, sha256: &str) -> Result<(), FileError> {
        let origin = UrlRecord {
            url: strip_secrets(url),
            sha256: sha256.to_owned(),
        };
        replace_file(
            &self.origin_path(url),
            json::format_json(&origin).as_bytes(),
        )
    }

    /// Notes that a file is in use, so that [`Store::collect_garbage`] leaves it.
    pub fn touch(&self, object: &Object) {
        // A store that cannot be written can be read from all the same.
        if let Ok(file) = OpenOptions::new().write(true).open(&object.path) {
            let _ = file.set_modified(SystemTime::now());
        }
    }
}

fn path_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Result of reading a file that another reader may take out of the store, after it was found and before it is read.
fn ignore_missing<T>(read: Result<T, FileError>) -> Result<Option<T>, FileError> {
    match read {
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// Writes a small file whole. It is not synced: what is lost can be had again.
fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let folder = path.parent().unwrap_or(path);
    create_folder(folder)?;
    let mut partial = create_temporary(folder, &path_name(path), 0o600)?;
    partial
        .write_all(bytes)
        .map_err(file_error("writing", path))?;
    partial
        .persist(path)
        .map_err(|error| file_error("writing", path)(error.error))?;
    Ok(())
}

/// Folders of the store are for this user alone.
fn create_folder(path: &Path) -> Result<(), FileError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(file_error("creating", path))
}

/// Another user who can write to the store could speak for every publisher.
#[cfg(unix)]
fn check_owner(root: &Path) -> Result<(), FileError> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = root
        .symlink_metadata()
        .map_err(file_error("reading", root))?;
    if metadata.is_file() {
        return Err(file_error("using", root)(io::Error::new(
            io::ErrorKind::NotADirectory,
            "it is a file: choose a directory for the store with `--store DIR`",
        )));
    }
    let reason = if !metadata.is_dir() {
        "a folder of the store is a link or not a folder: choose another store with `--store DIR`"
    } else if metadata.uid() != rustix::process::geteuid().as_raw() {
        "the store belongs to another user: choose your own store with `--store DIR`"
    } else if metadata.mode() & 0o022 != 0 {
        "other users can write to the store: run `chmod go-w` on it, or choose another store with `--store DIR`"
    } else {
        return Ok(());
    };
    Err(file_error("using", root)(io::Error::new(
        io::ErrorKind::PermissionDenied,
        reason,
    )))
}

#[cfg(not(unix))]
fn check_owner(_: &Path) -> Result<(), FileError> {
    Ok(())
}
