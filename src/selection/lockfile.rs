//! The lockfile beside an image definition, as a file.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::base::json::parse_foreign;
use crate::diagnostic::{Error, Result};
use crate::io::fs;
use crate::lock::{self, Lock};
use crate::model::definition::ImageDefinition;

use super::{DefinedImage, Definitions, read_input};

/// A lockfile that `--lock` names.
///
/// # Errors
/// The file cannot be read or is no lock.
pub fn read_lock(path: &Path) -> Result<Lock> {
    Ok(Lock::decode(
        &path.display().to_string(),
        &read_input("--lock", path)?,
    )?)
}

/// Writes a lockfile where there is none, or over one.
///
/// # Errors
/// Something else lies there, or the file cannot be written.
pub fn write_lockfile(path: &Path, lock: &Lock) -> Result<()> {
    check_lock_path(path)?;
    Ok(fs::write_file(path, lock.encode().as_bytes())?)
}

/// Before anything is downloaded for a lockfile.
///
/// # Errors
/// Something else than a lockfile lies there.
pub fn check_lock_path(path: &Path) -> Result<()> {
    let there = fs::read_text_if_exists(path)?.unwrap_or_default();
    if !there.is_empty() && !lock::is_lock(&there) {
        let message = format!(
            "{} is not a lockfile: it is not overwritten",
            path.display()
        );
        return Err(Error::value(
            message,
            "choose another path, or remove the file if it was one",
        ));
    }
    Ok(())
}

/// The lockfile that an image is read with: that of its target if it has one, or else that of its definition.
pub fn find_lock(image: &DefinedImage, selected: &ImageDefinition) -> PathBuf {
    let own = other_target(image, selected).map(|target| image.lock_path_of(target));
    own.filter(|path| path.exists() && find_owner(image, path).is_none())
        .unwrap_or_else(|| image.lock_path())
}

/// The lockfile that is written for an image: the one that it is read with, unless that is another target's.
///
/// # Errors
/// The lockfile cannot be read, or its name is that of another definition's lockfile.
pub fn choose_lock(image: &DefinedImage, selected: &ImageDefinition) -> Result<PathBuf> {
    let found = find_lock(image, selected);
    let chosen = match other_target(image, selected) {
        None => found,
        Some(target) => match read_target(&found)? {
            Some(known) if known != target => image.lock_path_of(target),
            _ => found,
        },
    };
    let Some(owner) = find_owner(image, &chosen) else {
        return Ok(chosen);
    };
    let (name, chosen) = (image.config(), chosen.display());
    let message = format!("{name} and {owner} would have the same lockfile: {chosen}");
    let remedy = format!("rename {owner}, or name another lockfile with `--lock FILE`");
    Err(Error::value(message, remedy))
}

/// The other image whose lockfile has this name: `a.b.c.lock.json` is that of `a.b.c.json`, of the image `c` in
/// `a.b.json`, and of the image `b.c` in `a.json`.
fn find_owner(image: &DefinedImage, lock: &Path) -> Option<String> {
    let name = lock.file_name()?.to_str()?.strip_suffix(".lock.json")?;
    let whole = lock.with_file_name(format!("{name}.json"));
    if whole != image.path && whole.exists() {
        return Some(whole.display().to_string());
    }

    if let Some(sibling) = image.find_sibling(lock) {
        return Some(sibling);
    }
    for (end, _) in name.match_indices('.') {
        let path = lock.with_file_name(format!("{}.json", &name[..end]));
        if !path.is_file() || path == image.path {
            continue;
        }
        // A file that is no definition has no images.
        let Ok(definitions) = Definitions::load(Some(&path)) else {
            continue;
        };
        let mut images = definitions.images().iter();
        let found = images.find(|other| {
            other.lock_path() == lock && (&other.path, &other.name) != (&image.path, &image.name)
        });
        if let Some(other) = found {
            return Some(other.config());
        }
    }
    None
}

/// The selected target, if the definition does not name it.
fn other_target<'a>(image: &DefinedImage, selected: &'a ImageDefinition) -> Option<&'a str> {
    let target = selected.target.as_deref()?;
    (image.definition.target.as_deref() != Some(target)).then_some(target)
}

/// The target of a lockfile, if there is one that says it.
fn read_target(path: &Path) -> Result<Option<String>> {
    let bytes = fs::read_text_if_exists(path)?.unwrap_or_default();
    let lock: Value = parse_foreign(&bytes).unwrap_or_default();
    Ok(lock["selection"]["target"].as_str().map(str::to_owned))
}

/// The lockfile's path: as named, or beside the image definition.
pub fn lock_path(named: Option<&PathBuf>, default: &Path) -> PathBuf {
    named.cloned().unwrap_or_else(|| default.to_owned())
}

/// The lock that is replaced; none where there is none, or one that cannot be read.
///
/// # Errors
/// The file cannot be read.
pub fn read_old_lock(path: &Path) -> Result<Option<Lock>> {
    let bytes = fs::read_text_if_exists(path)?;
    Ok(bytes.and_then(|bytes| Lock::decode(&path.display().to_string(), &bytes).ok()))
}
