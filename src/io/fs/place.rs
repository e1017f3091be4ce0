//! Directories that imagegen writes as a whole. It replaces and removes what it wrote and nobody changed
//! since, which a list of digests in the directory tells, and leaves the user's values for Packer alone.

#![expect(clippy::disallowed_methods, reason = "the one owner of file access")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::{Builder, TempDir};
use walkdir::WalkDir;

use super::write::{remove_leftovers, split_path, temporary_prefix};
use super::{FileError, digest_file, file_error, read_if_exists};
use crate::diagnostic::{Classify, ErrorClass};
use crate::embedded::sha256_hex;

/// Lists the files that imagegen wrote, in the form that `sha256sum -c` reads.
pub(super) const WRITTEN: &str = ".imagegen.sha256";

/// A directory that may not be replaced.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{} is not empty: it contains `{found}`, which imagegen did not write", .path.display())]
    Foreign { path: PathBuf, found: String },
    #[error("{}: `{found}` has changed since imagegen wrote it", .path.display())]
    Changed { path: PathBuf, found: String },
    #[error("{} contains the result of a bake (`{found}`)", .path.display())]
    Result { path: PathBuf, found: String },
    #[error("{} is not a directory", .path.display())]
    NotADirectory { path: PathBuf },
}

impl Classify for PlaceError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Render
    }

    fn remedies(&self) -> Vec<String> {
        vec![match self {
            Self::Foreign { found, .. } | Self::Changed { found, .. } => {
                format!("choose another `--out`, or move `{found}` away: imagegen never removes it")
            }
            Self::Result { .. } => "choose another `--out`, or replace it with `--force`".to_owned(),
            Self::NotADirectory { .. } => "choose another `--out`".to_owned(),
            Self::File(_) => return Vec::new(),
        }]
    }
}

/// As [`place_digested_directory`]. Returns the digest of each file.
///
/// # Errors
/// The directory contains other files, or cannot be written.
pub fn place_directory(
    path: &Path,
    files: &BTreeMap<String, Vec<u8>>,
    traces: &[&str],
    results: &[&str],
    force: bool,
) -> Result<BTreeMap<String, String>, PlaceError> {
    let digests = files.iter().map(|(name, bytes)| (name.clone(), sha256_hex(bytes))).collect();
    place_digested_directory(path, files, &digests, traces, results, force)?;
    Ok(digests)
}

/// Puts a directory of files with their digests in its place, whole or not at all.
///
/// The directory may contain unchanged files of the last call, files with a name of `traces`, with `force` files
/// with a name of `results`, and the user's own values for Packer, which are kept. Other files are refused.
///
/// # Errors
/// The place is taken, or cannot be written.
pub fn place_digested_directory(
    path: &Path,
    files: &BTreeMap<String, Vec<u8>>,
    digests: &BTreeMap<String, String>,
    traces: &[&str],
    results: &[&str],
    force: bool,
) -> Result<(), PlaceError> {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Err(PlaceError::NotADirectory { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(file_error("reading", path)(error).into()),
    }
    let replaceable = if force { [traces, results].concat() } else { traces.to_vec() };
    let kept = find_kept_files(path, files, &replaceable, results)?;
    let (parent, name) = split_path(path)?;
    remove_leftovers(parent, &name)?;
    let prefix = temporary_prefix(&name);
    let partial = Builder::new().prefix(&prefix).suffix(".partial").rand_bytes(12).tempdir_in(parent);
    let partial = partial.map_err(file_error("creating", path))?;
    write_files(partial.path(), files, digests)?;
    for name in kept {
        let (from, to) = (path.join(&name), partial.path().join(&name));
        fs::copy(&from, &to).map_err(file_error("copying", &from))?;
    }
    Ok(swap_directory(partial, path)?)
}

/// Writes files over those of a directory that [`place_directory`] made, so that they count as written by imagegen.
///
/// # Errors
/// A file cannot be written.
pub fn replace_files(path: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<(), FileError> {
    let mut written = read_written(path)?;
    for (name, bytes) in files {
        super::write_file(&path.join(name), bytes)?;
        if let Some(digest) = written.get_mut(name) {
            *digest = sha256_hex(bytes);
        }
    }
    if written.is_empty() {
        return Ok(());
    }
    let list: String = written.iter().map(|(name, digest)| format!("{digest}  {name}\n")).collect();
    super::write_file(&path.join(WRITTEN), list.as_bytes())
}

/// Files that are kept; an error where one may be neither kept nor removed.
fn find_kept_files(
    path: &Path,
    files: &BTreeMap<String, Vec<u8>>,
    replaceable: &[&str],
    results: &[&str],
) -> Result<Vec<String>, PlaceError> {
    let written = read_written(path)?;
    let folders = collect_parent_folders(written.keys().chain(files.keys()));
    let mut kept = Vec::new();
    for (name, kind) in entries_below(path)? {
        let error = |kind: fn(PathBuf, String) -> PlaceError| Err(kind(path.to_owned(), name.clone()));
        if kind.is_dir() {
            if !folders.contains(&name) {
                return error(|path, found| PlaceError::Foreign { path, found });
            }
        } else if replaceable.contains(&name.as_str()) || name == WRITTEN {
        } else if results.contains(&name.as_str()) {
            return error(|path, found| PlaceError::Result { path, found });
        } else if let Some(digest) = written.get(&name) {
            if !kind.is_file() || digest_file(&path.join(&name))?.sha256 != *digest {
                return error(|path, found| PlaceError::Changed { path, found });
            }
        } else if kind.is_file() && is_user_values(&name) && !files.contains_key(&name) {
            kept.push(name);
        } else {
            return error(|path, found| PlaceError::Foreign { path, found });
        }
    }
    Ok(kept)
}

/// Packer reads these by itself, and imagegen tells the user to write them.
fn is_user_values(name: &str) -> bool {
    !name.contains('/') && (name.ends_with(".auto.pkrvars.json") || name.ends_with(".auto.pkrvars.hcl"))
}

/// Every folder that one of these paths lies in.
fn collect_parent_folders<'a>(paths: impl Iterator<Item = &'a String>) -> BTreeSet<String> {
    let mut folders = BTreeSet::new();
    for path in paths {
        folders.extend(path.match_indices('/').map(|(at, _)| path[..at].to_owned()));
    }
    folders
}

/// Path → SHA-256 of what the last call wrote.
fn read_written(path: &Path) -> Result<BTreeMap<String, String>, FileError> {
    let list = if path.is_dir() { read_if_exists(&path.join(WRITTEN))? } else { None };
    let list = String::from_utf8_lossy(&list.unwrap_or_default()).into_owned();
    let lines = list.lines().filter_map(|line| line.split_once("  "));
    Ok(lines.map(|(digest, name)| (name.to_owned(), digest.to_owned())).collect())
}

/// Everything below a directory that is no directory, links too, without the list of what imagegen wrote.
///
/// # Errors
/// The directory cannot be read.
pub fn list_entries(root: &Path) -> Result<Vec<String>, FileError> {
    let entries = entries_below(root)?.into_iter();
    Ok(entries.filter(|(name, kind)| !kind.is_dir() && name != WRITTEN).map(|(name, _)| name).collect())
}

/// Everything below a directory by its path, links as links.
fn entries_below(root: &Path) -> Result<Vec<(String, fs::FileType)>, FileError> {
    if !root.is_dir() {
        return Ok(Vec::new());
    }
    let mut entries = Vec::new();
    for entry in WalkDir::new(root).min_depth(1).sort_by_file_name() {
        let entry = entry.map_err(|error| {
            file_error("reading", root)(
                error.into_io_error().unwrap_or_else(|| io::Error::other("a loop of links")),
            )
        })?;
        let relative = entry.path().strip_prefix(root).unwrap_or(entry.path());
        let name = relative.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/");
        entries.push((name, entry.file_type()));
    }
    Ok(entries)
}

fn write_files(
    folder: &Path,
    files: &BTreeMap<String, Vec<u8>>,
    digests: &BTreeMap<String, String>,
) -> Result<(), FileError> {
    let list = digests.iter().map(|(name, digest)| format!("{digest}  {name}\n")).collect::<String>();
    let written = (WRITTEN.to_owned(), list.into_bytes());
    let all = || files.iter().chain([(&written.0, &written.1)]);
    for (name, bytes) in all() {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(file_error("creating", parent))?;
        }
        fs::write(&path, bytes).map_err(file_error("writing", &path))?;
    }
    // All at the end: the first one makes the file system write what the others need too.
    for (name, _) in all() {
        let path = folder.join(name);
        // Windows flushes only what is open for writing.
        let file = fs::OpenOptions::new().write(true).open(&path);
        file.and_then(|file| file.sync_all()).map_err(file_error("writing", &path))?;
    }
    Ok(())
}

/// The new directory under the final name; what stood there is removed. At no moment is there
/// neither, where the system can exchange two names.
fn swap_directory(partial: TempDir, path: &Path) -> Result<(), FileError> {
    if !path.exists() {
        let partial = partial.keep();
        return fs::rename(&partial, path).map_err(|error| {
            // The first error is the one to tell.
            let _ = fs::remove_dir_all(&partial);
            file_error("writing", path)(error)
        });
    }
    if exchange(partial.path(), path) {
        return partial.close().map_err(file_error("removing", path));
    }
    let old = partial.path().with_extension("old");
    fs::rename(path, &old).map_err(file_error("replacing", path))?;
    if let Err(error) = fs::rename(partial.path(), path) {
        let _ = fs::rename(&old, path);
        return Err(file_error("writing", path)(error));
    }
    fs::remove_dir_all(&old).map_err(file_error("removing", &old))
}

#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) -> bool {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn exchange(_: &Path, _: &Path) -> bool {
    false
}
