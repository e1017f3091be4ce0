//! Files: every error names its path, and nothing half-written stands under a final name.

#![expect(clippy::disallowed_methods, reason = "the one owner of file access")]

mod claim;
mod folder;
mod lock;
mod output;
mod place;
mod private;
mod scratch;
mod shelf;
mod space;
mod stream;
mod sums;
mod write;

use crate::base::code::Code;
use crate::base::interrupt::is_interrupt;
use crate::base::stream::copy_pieces;
use crate::diagnostic::{Classify, ErrorClass, Location};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use walkdir::WalkDir;

pub use claim::PlaceClaim;
pub(in crate::io) use lock::{lacks_locks, lock_file};
pub use output::{CheckedFile, OutputFile, OutputKind, OverwriteError};
pub use place::{
    BUILDS, PlaceError, check_directory, is_written, list_entries, place_digested_directory,
    place_directory,
};
pub use private::PrivateFolder;
pub use scratch::Scratch;
pub use shelf::{
    copy_if_exists, create_numbered_folder, find_files, is_folder, list_folders, move_folder,
    move_folder_into, remove_folder,
};
pub use space::{can_write, free, is_below_file};
pub use sums::{
    DigestSet, Digests, FileDigester, digest_file, digest_file_with, digest_stream, read_pieces,
};
pub use write::{Log, write_below, write_file, write_program_with, write_secret, write_with};
pub(in crate::io) use write::{create_private, create_temporary};

/// Characters of a path in a message.
const LONGEST_SHOWN: usize = 300;

/// An operation on a path that the system refused.
#[derive(Debug, thiserror::Error)]
#[error("{action} {}: {source}", shorten_path(.path))]
pub struct FileError {
    pub action: &'static str,
    pub path: PathBuf,
    pub source: io::Error,
}

impl Classify for FileError {
    /// A path that was named and cannot be a file is a wrong value; the rest is the system's refusal.
    fn class(&self) -> ErrorClass {
        match self.source.kind() {
            _ if is_interrupt(&self.source) => ErrorClass::Interrupted,
            io::ErrorKind::InvalidFilename | io::ErrorKind::NotADirectory => ErrorClass::Selection,
            _ if self.action == "reading" && is_link_loop(&self.source) => ErrorClass::Selection,
            io::ErrorKind::NotFound | io::ErrorKind::IsADirectory | io::ErrorKind::InvalidInput
                if self.action == "reading" =>
            {
                ErrorClass::Selection
            }
            _ => ErrorClass::Internal,
        }
    }

    fn code(&self) -> Code {
        if is_interrupt(&self.source) {
            Code::INTERRUPTED
        } else {
            Code::FILE
        }
    }

    fn location(&self) -> Option<Location> {
        Some(Location::from_file(self.path.display().to_string()))
    }
}

/// Whether a link leads to itself. The standard library has no name for it yet.
#[cfg(unix)]
fn is_link_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

#[cfg(not(unix))]
fn is_link_loop(_: &io::Error) -> bool {
    false
}

fn invalid_input(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

/// A path as messages show it: of a very long one, beginning and end.
fn shorten_path(path: &Path) -> String {
    let text = path.display().to_string();
    let length = text.chars().count();
    if length <= LONGEST_SHOWN {
        return text;
    }
    let start: String = text.chars().take(LONGEST_SHOWN / 2).collect();
    let end: String = text.chars().skip(length - LONGEST_SHOWN / 2).collect();
    format!("{start}…{end} ({length} characters)")
}

/// The error of an action on a file, by the system's own.
pub(crate) fn file_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileError {
    let path = path.to_owned();
    move |source| FileError {
        action,
        path,
        source: strip_temporary_path(source),
    }
}

/// The system's error alone: `tempfile` adds the path of its file, which says nothing to a reader, and hands out no other
/// form of what it wraps.
fn strip_temporary_path(error: io::Error) -> io::Error {
    let text = error.to_string();
    match text.split_once(" at path \"") {
        Some((own, _)) if error.get_ref().is_some() => io::Error::new(error.kind(), own),
        _ => error,
    }
}

/// A small file below a folder, which neither its name nor a link leaves; none where there is none.
///
/// # Errors
/// It lies elsewhere, is no regular file or too large, or cannot be read.
pub fn read_below(folder: &Path, name: &Path, limit: u64) -> Result<Option<Vec<u8>>, FileError> {
    let Some((folder, path)) = join_below(folder, name) else {
        let reason = "it must lie below the folder of the file that names it";
        return Err(file_error("reading", name)(invalid_input(reason)));
    };
    let real = match fs::canonicalize(&path) {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(file_error("reading", &path)(error)),
    };
    if !real.starts_with(fs::canonicalize(folder).map_err(file_error("reading", folder))?) {
        let reason = "a link leads out of the folder of the file that names it";
        return Err(file_error("reading", name)(invalid_input(reason)));
    }
    let found = fs::metadata(&real).map_err(file_error("reading", &real))?;
    if !found.is_file() || found.len() > limit {
        let reason = "it is too large, or no regular file";
        return Err(file_error("reading", name)(invalid_input(reason)));
    }
    read_if_exists(&real)
}

/// Whether a path, seen from a folder, stays below it: neither its name nor a link leaves. What is not there is below
/// by its name.
pub fn is_below(folder: &Path, name: &Path) -> bool {
    let Some((folder, path)) = join_below(folder, name) else {
        return false;
    };
    match (fs::canonicalize(folder), fs::canonicalize(path)) {
        (Ok(folder), Ok(path)) => path.starts_with(folder),
        _ => true,
    }
}

/// A folder, and a path in it by its name alone; none if the name leaves the folder.
fn join_below<'a>(folder: &'a Path, name: &Path) -> Option<(&'a Path, PathBuf)> {
    let stays = name
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    stays.then(|| (folder, folder.join(name)))
}

/// Largest file that is read whole: what people write, lists, manifests and signatures. Anything larger is read
/// in pieces.
pub const LARGEST_READ: u64 = 64 << 20;

/// Largest text that is parsed: definition, overrides, policy, lockfile, kubeconfig. Real ones have some kilobytes,
/// and parsed JSON takes up to eighty times the room of its text.
pub const LARGEST_TEXT: u64 = 1 << 20;

/// # Errors
/// The file cannot be read, or has more than [`LARGEST_READ`] bytes: a device such as /dev/zero has no end.
pub fn read_file(path: &Path) -> Result<Vec<u8>, FileError> {
    read_within(path, LARGEST_READ)
}

/// A file that is parsed.
///
/// # Errors
/// The file cannot be read, or has more than [`LARGEST_TEXT`] bytes.
pub fn read_text(path: &Path) -> Result<Vec<u8>, FileError> {
    read_within(path, LARGEST_TEXT)
}

fn read_within(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let bytes = read_head(path, limit + 1)?;
    if bytes.len() as u64 > limit {
        let reason = format!("it is larger than {} MiB", limit >> 20);
        return Err(file_error("reading", path)(invalid_input(&reason)));
    }
    Ok(bytes)
}

/// Whether the path is a regular file and no link.
pub fn is_file(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|metadata| metadata.is_file())
}

/// # Errors
/// The file cannot be opened.
pub fn open_file(path: &Path) -> Result<fs::File, FileError> {
    fs::File::open(path).map_err(file_error("reading", path))
}

/// A file, pipe or device that is read once. An interrupt ends the wait for a pipe.
///
/// # Errors
/// The file cannot be opened.
pub fn open_once(path: &Path) -> Result<Box<dyn io::Read>, FileError> {
    stream::open_once(path).map_err(file_error("reading", path))
}

/// The first bytes of a file, at most `length` of them.
///
/// # Errors
/// The file cannot be read.
pub fn read_head(path: &Path, length: u64) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(open_once(path)?, length), &mut bytes)
        .map_err(file_error("reading", path))?;
    Ok(bytes)
}

/// The content, or none where there is no such file.
///
/// # Errors
/// The file is there and cannot be read.
pub fn read_if_exists(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    read_existing(path, LARGEST_READ)
}

/// A file that is parsed, or none where there is no such file.
///
/// # Errors
/// As [`read_text`], if the file is there.
pub fn read_text_if_exists(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    read_existing(path, LARGEST_TEXT)
}

fn read_existing(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, FileError> {
    // A pipe that somebody planted would be waited for; those of a shell's `<(…)` lie in /dev.
    if is_pipe(path) && !path.starts_with("/dev") && !path.starts_with("/proc") {
        let reason = "it is a pipe, not a regular file";
        return Err(file_error("reading", path)(invalid_input(reason)));
    }
    match read_within(path, limit) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => {
            if path.is_symlink() {
                let reason = "it is a link that leads to no file";
                return Err(file_error("reading", path)(invalid_input(reason)));
            }
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    path.metadata()
        .is_ok_and(|metadata| metadata.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_pipe(_: &Path) -> bool {
    false
}

/// Names of the files directly in a directory, sorted.
///
/// # Errors
/// The directory cannot be read.
pub fn list_names(folder: &Path) -> Result<Vec<String>, FileError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(file_error("reading", folder))? {
        let path = entry.map_err(file_error("reading", folder))?.path();
        if path.is_file() {
            names.extend(
                path.file_name()
                    .map(|name| name.to_string_lossy().into_owned()),
            );
        }
    }
    names.sort();
    Ok(names)
}

/// Kind of an entry of a folder; a link has that of its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathKind {
    File,
    Folder,
    /// A device, pipe or socket.
    Device,
    /// A link that leads to nothing, or in a circle.
    BrokenLink,
}

/// Every entry of a directory with its kind, sorted by name.
///
/// # Errors
/// The directory cannot be read.
pub fn list_kinds(folder: &Path) -> Result<Vec<(String, PathKind)>, FileError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(file_error("reading", folder))? {
        let entry = entry.map_err(file_error("reading", folder))?;
        let kind = match entry.path().metadata() {
            Ok(metadata) if metadata.is_file() => PathKind::File,
            Ok(metadata) if metadata.is_dir() => PathKind::Folder,
            Ok(_) => PathKind::Device,
            Err(_) => PathKind::BrokenLink,
        };
        found.push((entry.file_name().to_string_lossy().into_owned(), kind));
    }
    found.sort();
    Ok(found)
}

/// Most files of a folder that is read whole: a catalog has some hundred.
const MOST_FILES: usize = 10_000;

/// All files below a directory by their path, with `/` between the parts. A link may lead to another file of the
/// directory, and to no other: whoever writes the directory must not choose what else of this machine is read.
///
/// # Errors
/// The directory cannot be walked, a file in it not read, or a link leads out of it.
pub fn read_tree(root: &Path) -> Result<BTreeMap<String, Vec<u8>>, FileError> {
    let mut files = BTreeMap::new();
    let mut total = 0;
    let real = fs::canonicalize(root).map_err(file_error("reading", root))?;
    for entry in WalkDir::new(root).follow_links(true).sort_by_file_name() {
        let entry = entry.map_err(|error| FileError {
            action: "reading",
            path: error.path().unwrap_or(root).to_owned(),
            source: error
                .into_io_error()
                .unwrap_or_else(|| io::Error::other("a loop of links")),
        })?;
        if entry.path_is_symlink() {
            let target =
                fs::canonicalize(entry.path()).map_err(file_error("reading", entry.path()))?;
            if !target.starts_with(&real) {
                let reason = "a link leads out of the folder";
                return Err(file_error("reading", entry.path())(invalid_input(reason)));
            }
        }
        if entry.file_type().is_dir() || entry.file_name() == place::WRITTEN {
            continue;
        }
        if !entry.file_type().is_file() {
            let reason = "it is a device, pipe or socket, not a regular file";
            return Err(file_error("reading", entry.path())(invalid_input(reason)));
        }
        let relative = entry.path().strip_prefix(root).unwrap_or(entry.path());
        let name = relative
            .iter()
            .map(|part| part.to_string_lossy())
            .collect::<Vec<_>>()
            .join("/");
        let content = read_file(entry.path())?;
        total += content.len() as u64;
        if total > LARGEST_READ || files.len() >= MOST_FILES {
            let reason = format!(
                "it holds more than {} MiB, or more than {MOST_FILES} files",
                LARGEST_READ >> 20
            );
            return Err(file_error("reading", root)(invalid_input(&reason)));
        }
        files.insert(name, content);
    }
    Ok(files)
}

/// Most of a stream that is kept in memory. While it grows it may be there twice, in its old and its new room.
const MOST_IN_MEMORY: usize = 8 << 20;

/// Contents of a stream, to read anywhere in: more than 8 MiB lies in a temporary file.
///
/// # Errors
/// The stream cannot be read, or its content not be kept.
pub fn spool_stream(stream: &mut dyn io::Read) -> io::Result<tempfile::SpooledTempFile> {
    let mut spooled = tempfile::SpooledTempFile::new(MOST_IN_MEMORY);
    copy_pieces(stream, &mut spooled)?;
    Ok(spooled)
}

/// A copy, named `file`, of what can be read only once: a pipe or a device. None for files and folders.
///
/// # Errors
/// It cannot be read, or has more than `limit` bytes.
pub fn copy_stream(path: &Path, limit: u64) -> Result<Option<Scratch>, FileError> {
    let metadata = path.metadata().map_err(file_error("reading", path))?;
    if metadata.is_file() || metadata.is_dir() {
        return Ok(None);
    }
    let scratch = Scratch::new("stream")?;
    let mut stream = io::Read::take(open_once(path)?, limit + 1);
    let mut copy =
        fs::File::create_new(scratch.path().join("file")).map_err(file_error("writing", path))?;
    if copy_pieces(&mut stream, &mut copy).map_err(file_error("reading", path))? > limit {
        return Err(file_error("reading", path)(io::Error::other(format!(
            "it has more than {limit} bytes"
        ))));
    }
    Ok(Some(scratch))
}

/// Contents of stdin, up to `limit` bytes.
///
/// # Errors
/// It cannot be read.
pub fn read_stdin(limit: u64) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    let mut input = io::Read::take(io::stdin().lock(), limit);
    io::Read::read_to_end(&mut input, &mut bytes)
        .map_err(file_error("reading", Path::new("stdin")))?;
    Ok(bytes)
}

/// # Errors
/// The file is there and cannot be removed.
pub fn remove_if_exists(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(file_error("removing", path)(error))
        }
        _ => Ok(()),
    }
}
