//! Files: every error names its path, and nothing half-written stands under a final name.

#![expect(clippy::disallowed_methods, reason = "the one owner of file access")]

mod scratch;
mod space;
mod sums;

use crate::diagnostic::{Classify, ErrorClass};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

pub use scratch::Scratch;
pub use space::{can_write, free};
pub use sums::{Digests, Sums, digests, pieces};

/// An operation on a path that the system refused.
#[derive(Debug, thiserror::Error)]
#[error("{action} {}: {source}", .path.display())]
pub struct FileError {
    pub action: &'static str,
    pub path: PathBuf,
    pub source: io::Error,
}

impl Classify for FileError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Internal
    }
}

pub(super) fn at(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileError {
    let path = path.to_owned();
    move |source| FileError { action, path, source }
}

/// A directory that is not empty and may not be replaced.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{} is not empty: it holds `{found}`, which imagegen did not write", .path.display())]
    Foreign { path: PathBuf, found: String },
    #[error("{} holds the result of a bake (`{found}`)", .path.display())]
    Result { path: PathBuf, found: String },
    #[error("{} is a file, not a directory", .path.display())]
    NotADirectory { path: PathBuf },
}

impl Classify for PlaceError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Render
    }

    fn remedies(&self) -> Vec<String> {
        match self {
            Self::Foreign { .. } | Self::Result { .. } => {
                vec!["choose another `--out`, or replace it with `--force`".to_owned()]
            }
            Self::NotADirectory { .. } => vec!["choose another `--out`".to_owned()],
            Self::File(_) => Vec::new(),
        }
    }
}

/// # Errors
/// The file cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    fs::read(path).map_err(at("reading", path))
}

/// # Errors
/// The file cannot be opened.
pub fn open(path: &Path) -> Result<fs::File, FileError> {
    fs::File::open(path).map_err(at("reading", path))
}

/// The first bytes of a file, at most `length` of them.
///
/// # Errors
/// The file cannot be read.
pub fn head(path: &Path, length: u64) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(open(path)?, length), &mut bytes)
        .map_err(at("reading", path))?;
    Ok(bytes)
}

/// The content, or none where there is no such file.
///
/// # Errors
/// The file is there and cannot be read.
pub fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(at("reading", path)(error)),
    }
}

/// All files below a directory by their path, with `/` between the parts.
///
/// # Errors
/// The directory cannot be walked, or a file in it not read.
pub fn read_tree(root: &Path) -> Result<BTreeMap<String, Vec<u8>>, FileError> {
    let mut files = BTreeMap::new();
    for entry in WalkDir::new(root).follow_links(true).sort_by_file_name() {
        let entry = entry.map_err(|error| FileError {
            action: "reading",
            path: error.path().unwrap_or(root).to_owned(),
            source: error.into_io_error().unwrap_or_else(|| io::Error::other("a loop of links")),
        })?;
        if !entry.file_type().is_file() {
            continue;
        }
        let relative = entry.path().strip_prefix(root).unwrap_or(entry.path());
        let name = relative.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/");
        files.insert(name, read(entry.path())?);
    }
    Ok(files)
}

/// Writes a file whole or not at all.
///
/// # Errors
/// The folder cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    write_with(path, |file| file.write_all(bytes).map_err(at("writing", path)))
}

/// The same for what is too large to be held: `fill` writes it.
///
/// # Errors
/// The folder cannot be written, or whatever `fill` says.
pub fn write_with<E: From<FileError>>(
    path: &Path,
    fill: impl FnOnce(&mut fs::File) -> Result<(), E>,
) -> Result<(), E> {
    write_new(path, fs::OpenOptions::new().write(true).create(true).truncate(true), fill)
}

/// The folder of a path, made where it is not there, and the path's name.
fn place_of(path: &Path) -> Result<(&Path, String), FileError> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(folder).map_err(at("creating", folder))?;
    Ok((folder, path.file_name().unwrap_or_default().to_string_lossy().into_owned()))
}

/// What is not whole yet, beside its final place.
fn partial_of(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!(".{name}.{}.partial", std::process::id()))
}

fn write_new<E: From<FileError>>(
    path: &Path,
    options: &fs::OpenOptions,
    fill: impl FnOnce(&mut fs::File) -> Result<(), E>,
) -> Result<(), E> {
    let (folder, name) = place_of(path)?;
    // What stays of others is no reason not to write.
    let _ = sweep(folder, &name);
    let partial = partial_of(folder, &name);
    let written = filled(&partial, options, fill)
        .and_then(|()| fs::rename(&partial, path).map_err(at("writing", path)).map_err(E::from));
    if written.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&partial);
    }
    written
}

/// As [`write()`], and readable by the owner alone from the first byte on.
///
/// # Errors
/// The folder cannot be written.
pub fn write_secret(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    write_new(path, &options, |file| file.write_all(bytes).map_err(at("writing", path)))
}

/// What stdin holds, up to `limit` bytes.
///
/// # Errors
/// It cannot be read.
pub fn read_stdin(limit: u64) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    let mut input = io::Read::take(io::stdin().lock(), limit);
    io::Read::read_to_end(&mut input, &mut bytes).map_err(at("reading", Path::new("stdin")))?;
    Ok(bytes)
}

/// As [`write()`], for a program.
///
/// # Errors
/// The folder cannot be written.
pub fn write_program(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!("{name}.new"));
    write(&new, bytes)?;
    make_executable(&new)?;
    fs::rename(&new, path).map_err(at("writing", path))
}

#[cfg(unix)]
fn make_executable(path: &Path) -> Result<(), FileError> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).map_err(at("writing", path))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> Result<(), FileError> {
    Ok(())
}

fn filled<E: From<FileError>>(
    path: &Path,
    options: &fs::OpenOptions,
    fill: impl FnOnce(&mut fs::File) -> Result<(), E>,
) -> Result<(), E> {
    let mut output = options.open(path).map_err(at("writing", path))?;
    fill(&mut output)?;
    Ok(output.sync_all().map_err(at("writing", path))?)
}

/// Puts a directory of files in its place, whole or not at all.
///
/// An empty directory is filled. One that holds only `replaceable` names is replaced; one with a
/// result in it, or with anything else, is refused unless `force` is given.
///
/// # Errors
/// The place is taken, or cannot be written.
pub fn place(
    path: &Path,
    files: &BTreeMap<String, Vec<u8>>,
    replaceable: &[&str],
    results: &[&str],
    force: bool,
) -> Result<(), PlaceError> {
    if path.is_file() {
        return Err(PlaceError::NotADirectory { path: path.to_owned() });
    }
    let existing = names_in(path)?;
    if !force {
        check_place(path, &existing, files, replaceable, results)?;
    }
    let (parent, name) = place_of(path)?;
    let partial = partial_of(parent, &name);
    let old = parent.join(format!(".{name}.{}.old", std::process::id()));
    sweep(parent, &name)?;
    let result = fill(&partial, files).and_then(|()| swap(&partial, path, &old));
    if result.is_err() {
        let _ = fs::remove_dir_all(&partial);
    }
    Ok(result?)
}

fn check_place(
    path: &Path,
    existing: &[String],
    files: &BTreeMap<String, Vec<u8>>,
    replaceable: &[&str],
    results: &[&str],
) -> Result<(), PlaceError> {
    if let Some(found) = existing.iter().find(|name| results.contains(&name.as_str())) {
        return Err(PlaceError::Result { path: path.to_owned(), found: found.clone() });
    }
    // Of a file in a folder, the folder.
    let ours = |name: &String| {
        files.keys().any(|file| file.split('/').next() == Some(name)) || replaceable.contains(&name.as_str())
    };
    match existing.iter().find(|name| !ours(name)) {
        Some(found) => Err(PlaceError::Foreign { path: path.to_owned(), found: found.clone() }),
        None => Ok(()),
    }
}

fn names_in(path: &Path) -> Result<Vec<String>, FileError> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(at("reading", path)(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(at("reading", path))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

fn fill(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<(), FileError> {
    fs::create_dir_all(folder).map_err(at("creating", folder))?;
    for (name, bytes) in files {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(at("creating", parent))?;
        }
        fs::write(&path, bytes).map_err(at("writing", &path))?;
    }
    // All at the end: the first one makes the file system write what the others need too.
    for name in files.keys() {
        let path = folder.join(name);
        fs::File::open(&path).and_then(|file| file.sync_all()).map_err(at("writing", &path))?;
    }
    Ok(())
}

/// The new directory under the final name; what stood there is removed. At no moment is there
/// neither, where the system can exchange two names.
fn swap(partial: &Path, path: &Path, old: &Path) -> Result<(), FileError> {
    if !path.exists() {
        return fs::rename(partial, path).map_err(at("writing", path));
    }
    if exchange(partial, path) {
        return fs::remove_dir_all(partial).map_err(at("removing", partial));
    }
    fs::rename(path, old).map_err(at("replacing", path))?;
    if let Err(error) = fs::rename(partial, path) {
        let _ = fs::rename(old, path);
        return Err(at("writing", path)(error));
    }
    fs::remove_dir_all(old).map_err(at("removing", old))
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

/// Removes what processes that were killed left of writing `name`.
fn sweep(parent: &Path, name: &str) -> Result<(), FileError> {
    for left in names_in(parent)? {
        let Some(rest) = left.strip_prefix(&format!(".{name}.")) else { continue };
        let Some(process) = rest.strip_suffix(".partial").and_then(|process| process.parse().ok()) else {
            continue;
        };
        if !is_running(process) {
            let left = parent.join(left);
            if left.is_dir() { fs::remove_dir_all(&left) } else { fs::remove_file(&left) }
                .map_err(at("removing", &left))?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn is_running(process: i32) -> bool {
    use rustix::process::{Pid, test_kill_process};
    // A process of another user's is running too.
    Pid::from_raw(process).is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
fn is_running(_: i32) -> bool {
    true
}

/// # Errors
/// The file is there and cannot be removed.
pub fn remove_if_there(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at("removing", path)(error)),
        _ => Ok(()),
    }
}

/// A log that is written line by line.
#[derive(Debug)]
pub struct Log(fs::File);

impl Log {
    /// # Errors
    /// The file cannot be made.
    pub fn create(path: &Path) -> Result<Self, FileError> {
        fs::File::create(path).map(Self).map_err(at("writing", path))
    }

    /// A log that cannot be written must not end the build that it tells of.
    pub fn line(&mut self, text: &str) {
        let _ = writeln!(self.0, "{text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("imagegen-fs-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn files(content: &str) -> BTreeMap<String, Vec<u8>> {
        [("a/b".to_owned(), content.as_bytes().to_vec())].into()
    }

    #[test]
    fn a_place_is_filled_replaced_and_swept() {
        let parent = folder("place");
        let path = parent.join("out");
        // No process has this number: it is above the kernel's limit.
        let left = parent.join(".out.2147483600.partial");
        fs::create_dir(&left).unwrap();
        let own = parent.join(format!(".other.{}.partial", std::process::id()));
        fs::write(&own, "").unwrap();
        place(&path, &files("1"), &["a"], &[], false).unwrap();
        place(&path, &files("2"), &["a"], &[], false).unwrap();
        assert_eq!(fs::read(path.join("a/b")).unwrap(), b"2");
        assert_eq!(names_in(&parent).unwrap(), [own.file_name().unwrap().to_str().unwrap(), "out"]);
        fs::remove_dir_all(parent).unwrap();
    }

    #[test]
    fn a_write_that_fails_leaves_the_old_file() {
        let parent = folder("write");
        let path = parent.join("file");
        write(&path, b"old").unwrap();
        assert!(write(&path.join("below"), b"new").is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names_in(&parent).unwrap(), ["file"]);
        fs::remove_dir_all(parent).unwrap();
    }
}
