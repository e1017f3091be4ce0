//! Free space and access of a place, asked without writing.

use std::path::Path;

/// The path itself, or the nearest folder above it that is there.
fn find_nearest_existing(path: &Path) -> Option<&Path> {
    let mut parts = path.ancestors();
    let there = parts.find(|part| part.symlink_metadata().is_ok());
    if there.is_none() && path.is_relative() {
        return Some(Path::new("."));
    }
    there
}

/// Whether files can be made at a path that may not be there yet.
pub fn can_write(path: &Path) -> bool {
    find_nearest_existing(path).is_some_and(|folder| folder.is_dir() && allowed(folder))
}

/// Whether the path, or the nearest one above it that exists, is no directory.
pub fn is_below_file(path: &Path) -> bool {
    find_nearest_existing(path).is_some_and(|found| !found.is_dir())
}

#[cfg(unix)]
fn allowed(folder: &Path) -> bool {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(not(unix))]
fn allowed(folder: &Path) -> bool {
    folder
        .metadata()
        .is_ok_and(|metadata| !metadata.permissions().readonly())
}

/// Bytes that this user may still write there; none where the system does not say.
#[cfg(unix)]
pub fn free(path: &Path) -> Option<u64> {
    let figures = rustix::fs::statvfs(find_nearest_existing(path)?).ok()?;
    figures.f_bavail.checked_mul(figures.f_frsize)
}

#[cfg(not(unix))]
pub fn free(_: &Path) -> Option<u64> {
    None
}
