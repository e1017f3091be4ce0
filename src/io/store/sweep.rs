//! Damaged files, unused ones, and leftovers of dead processes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Object, Store, UrlRecord, ignore_missing, path_name};
use crate::base::json::parse_foreign;
use crate::base::value::is_digest;
use crate::io::fs::{FileError, digest_file, remove_if_exists};

impl Store {
    /// Every file whose bytes are not what its name says.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn find_damaged(&self) -> Result<(usize, Vec<Object>), FileError> {
        let mut damaged = Vec::new();
        let objects = self.list_objects()?;
        for object in &objects {
            if ignore_missing(digest_file(&object.path))?
                .is_some_and(|found| found.sha256 != object.sha256)
            {
                damaged.push(object.clone());
            }
        }
        Ok((objects.len(), damaged))
    }

    /// Address without its query, and SHA-256, of every file that was downloaded.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn list_origins(&self) -> Result<Vec<(String, String)>, FileError> {
        let mut origins = Vec::new();
        for path in files_below(&self.root.join("urls"))? {
            // A record that cannot be parsed is no record: it can be had again.
            let bytes = fs::read(&path).unwrap_or_default();
            if let Ok(origin) = parse_foreign::<UrlRecord>(&bytes) {
                origins.push((origin.url, origin.sha256));
            }
        }
        Ok(origins)
    }

    fn list_objects(&self) -> Result<Vec<Object>, FileError> {
        let files = files_below(&self.root.join("objects/sha256"))?.into_iter();
        let objects = files.map(|path| Object {
            sha256: path_name(&path),
            path,
        });
        Ok(objects
            .filter(|object| {
                is_digest(&object.sha256, 64) && self.object_path(&object.sha256) == object.path
            })
            .collect())
    }

    /// Removes files that nothing named used for `age`, and what died processes left. Files that do not have the names
    /// of a store's are not the store's: somebody named a folder of another kind.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn collect_garbage(
        &self,
        keep: &dyn Fn(&str) -> bool,
        age: Duration,
    ) -> Result<Vec<PathBuf>, FileError> {
        let mut removed = Vec::new();
        for object in self.list_objects()? {
            if !keep(&object.sha256) && is_older(&object.path, age) {
                remove_if_exists(&object.path)?;
                removed.push(object.path);
            }
        }
        // Nothing is half-written for longer than this.
        let hour = Duration::from_secs(60 * 60).min(age);
        for folder in ["objects", "sha512", "urls", "partial", "tools", "plugins"]
            .map(|name| self.root.join(name))
        {
            let files = if folder.is_dir() {
                files_below(&folder)?
            } else {
                Vec::new()
            };
            for path in files
                .into_iter()
                .filter(|path| is_temporary(&path_name(path)) && is_older(path, hour))
            {
                remove_if_exists(&path)?;
                removed.push(path);
            }
        }
        removed.extend(self.collect_parts(age)?);
        for (folder, length) in [("urls", 64), ("sha512", 128)] {
            let files = files_below(&self.root.join(folder))?.into_iter();
            for path in files.filter(|path| is_digest(&path_name(path), length)) {
                let text = fs::read_to_string(&path).unwrap_or_default();
                let digest = parse_foreign::<UrlRecord>(text.as_bytes())
                    .map_or(text, |origin| origin.sha256);
                if self.find_sha256(&digest).is_none() {
                    remove_if_exists(&path)?;
                }
            }
        }
        Ok(removed)
    }
}

/// `.copy.4711-aB3dE5gH7jK9.partial`: what one of our processes writes.
fn is_temporary(name: &str) -> bool {
    let process = name
        .strip_prefix('.')
        .and_then(|name| name.strip_suffix(".partial"));
    let process = process.and_then(|name| name.rsplit_once('.')?.1.split_once('-'));
    process.is_some_and(|(id, random)| {
        id.parse::<u32>().is_ok() && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

pub(super) fn is_older(path: &Path, age: Duration) -> bool {
    path.metadata()
        .and_then(|metadata| metadata.modified())
        .is_ok_and(|time| time.elapsed().unwrap_or_default() >= age)
}

pub(super) fn files_below(root: &Path) -> Result<Vec<PathBuf>, FileError> {
    let mut files = Vec::new();
    for entry in walkdir::WalkDir::new(root).sort_by_file_name() {
        match entry {
            Ok(entry) if entry.file_type().is_file() => files.push(entry.into_path()),
            Ok(_) => {}
            // Another process may remove files while this one looks.
            Err(error)
                if error
                    .io_error()
                    .is_some_and(|error| error.kind() == io::ErrorKind::NotFound) => {}
            Err(error) => {
                let path = error.path().unwrap_or(root).to_owned();
                let source = error
                    .into_io_error()
                    .unwrap_or_else(|| io::Error::other("a loop of links"));
                return Err(FileError {
                    action: "reading",
                    path,
                    source,
                });
            }
        }
    }
    Ok(files)
}
