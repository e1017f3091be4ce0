//! Folders that are kept beside each other: made once, moved, copied into, listed and removed.

#![expect(clippy::disallowed_methods, reason = "the one owner of file access")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::{FileError, file_error};

/// Most folders of one name.
const MOST_NUMBERS: u32 = 10_000;

/// Makes a folder that was not there before: `NAME`, else `NAME-2`, `NAME-3`, … Returns its name.
///
/// # Errors
/// It cannot be made.
pub fn create_numbered_folder(parent: &Path, name: &str) -> Result<String, FileError> {
    fs::create_dir_all(parent).map_err(file_error("creating", parent))?;
    for number in 1..MOST_NUMBERS {
        let name = match number {
            1 => name.to_owned(),
            number => format!("{name}-{number}"),
        };
        let path = parent.join(&name);
        match fs::create_dir(&path) {
            Ok(()) => return Ok(name),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(file_error("creating", &path)(error)),
        }
    }
    let full = io::Error::from(io::ErrorKind::AlreadyExists);
    Err(file_error("creating", &parent.join(name))(full))
}

/// Copies a regular file with its rights, if it is there.
///
/// # Errors
/// It cannot be read or written.
pub fn copy_if_exists(from: &Path, to: &Path) -> Result<(), FileError> {
    if !super::is_file(from) {
        return Ok(());
    }
    fs::copy(from, to).map_err(file_error("copying", from))?;
    Ok(())
}

/// Moves a folder to a place that nothing has.
///
/// # Errors
/// Something lies there, or the system refuses it.
pub fn move_folder(from: &Path, to: &Path) -> Result<(), FileError> {
    if to.symlink_metadata().is_ok() {
        let taken = io::Error::from(io::ErrorKind::AlreadyExists);
        return Err(file_error("moving", to)(taken));
    }
    fs::rename(from, to).map_err(file_error("moving", from))
}

/// Moves a folder into another one: as `name`, or as `name-2`, `name-3` and so on if that is taken. Returns where it is.
///
/// # Errors
/// It cannot be moved.
pub fn move_folder_into(from: &Path, parent: &Path, name: &str) -> Result<PathBuf, FileError> {
    let number = (2..MOST_NUMBERS).find(|number| is_free(parent, &format!("{name}-{number}")));
    let to = match number {
        Some(number) if !is_free(parent, name) => parent.join(format!("{name}-{number}")),
        _ => parent.join(name),
    };
    move_folder(from, &to)?;
    Ok(to)
}

fn is_free(parent: &Path, name: &str) -> bool {
    parent.join(name).symlink_metadata().is_err()
}

/// Removes a folder with all that is in it; links in it are not followed.
///
/// # Errors
/// It is no folder, or cannot be removed.
pub fn remove_folder(path: &Path) -> Result<(), FileError> {
    fs::remove_dir_all(path).map_err(file_error("removing", path))
}

/// Whether the path is a folder and no link.
pub fn is_folder(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|metadata| metadata.is_dir())
}

/// Names of the folders directly in a folder, sorted; links are none. Empty where there is no such folder.
///
/// # Errors
/// The folder cannot be read.
pub fn list_folders(folder: &Path) -> Result<Vec<String>, FileError> {
    if !is_folder(folder) {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(file_error("reading", folder))? {
        let entry = entry.map_err(file_error("reading", folder))?;
        if is_folder(&entry.path()) {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Paths of files with this name at most `depth` folders below, sorted; links are not followed.
///
/// # Errors
/// A folder cannot be read.
pub fn find_files(
    root: &Path,
    name: &str,
    depth: usize,
) -> Result<Vec<std::path::PathBuf>, FileError> {
    let mut found = Vec::new();
    for entry in WalkDir::new(root).max_depth(depth).sort_by_file_name() {
        let entry = entry.map_err(|error| {
            let path = error.path().unwrap_or(root).to_owned();
            file_error("reading", &path)(error.into())
        })?;
        if entry.file_type().is_file() && entry.file_name() == name {
            found.push(entry.into_path());
        }
    }
    Ok(found)
}
