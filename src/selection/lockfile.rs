//! The lockfile beside an image definition: where it lies, and what a plan takes from it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::catalog::Trees;
use crate::cli::{LockArgs, LockUseArgs, SelectionArgs};
use crate::diagnostic::{Classify as _, InputError, Result};
use crate::io::{clock, fs};
use crate::lock::{self, Lock, LockError};
use crate::model::definition::ImageDefinition;
use crate::model::image_version::ImageVersion;
use crate::model::plan::Plan;
use crate::model::policy::Policy;
use crate::ui::Printer;

use super::layers::complete_from_lock;
use super::recompute::check_lock;
use super::{DefinedImage, apply_policy, read_definition, read_input, resolve_updated_plan};

/// What becomes of a lockfile that was made from something else.
#[derive(Debug, Clone, Copy)]
pub enum Stale<'a> {
    /// An error: the verb writes something that is installed.
    Refuse,
    /// A warning: the verb only shows or downloads something. `--locked` and `--lock` refuse nevertheless.
    Warn(&'a Printer),
}

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
        return Err(InputError::new(message, "choose another path for the lockfile").into());
    }
    Ok(())
}

/// The lockfile's path: as named, or beside the image definition.
pub fn lock_path(named: Option<&PathBuf>, default: &Path) -> PathBuf {
    named.cloned().unwrap_or_else(|| default.to_owned())
}

/// A plan with the pins of a lockfile that fits, and the policy that admitted it.
///
/// # Errors
/// As [`super::resolve_plan`]; a lockfile that is stale, or missing although required.
pub fn resolve_locked_plan(
    selection: &SelectionArgs,
    lock: &LockUseArgs,
    image: &DefinedImage,
    trees: &Trees,
) -> Result<(Plan, Policy)> {
    let definition = read_definition(selection, image, trees)?;
    let default = image.lock_path();
    resolve_locked_definition(&definition, &default, selection, lock, trees, Stale::Refuse)
}

/// The same for a verb that writes nothing: a lockfile of another selection is no error.
///
/// # Errors
/// As [`resolve_locked_plan`].
pub fn resolve_viewed_plan(
    selection: &SelectionArgs,
    lock: &LockUseArgs,
    image: &DefinedImage,
    trees: &Trees,
    printer: &Printer,
) -> Result<(Plan, Policy)> {
    let definition = read_definition(selection, image, trees)?;
    let default = image.lock_path();
    resolve_locked_definition(
        &definition,
        &default,
        selection,
        lock,
        trees,
        Stale::Warn(printer),
    )
}

/// The same for a bake: the image has the time of the build as its version, unless the user names another.
///
/// # Errors
/// As [`resolve_locked_plan`].
pub fn resolve_bake_plan(
    selection: &SelectionArgs,
    lock: &LockUseArgs,
    image: &DefinedImage,
    trees: &Trees,
) -> Result<(Plan, Policy)> {
    let mut definition = read_definition(selection, image, trees)?;
    let default = image.lock_path();
    if definition.image_version.is_none() {
        definition.image_version = Some(ImageVersion::from_time(clock::current_time())?);
    }
    resolve_locked_definition(&definition, &default, selection, lock, trees, Stale::Refuse)
}

/// The same where the image definition was read already.
///
/// # Errors
/// As [`resolve_locked_plan`].
pub fn resolve_locked_definition(
    definition: &ImageDefinition,
    default: &Path,
    selection: &SelectionArgs,
    lock: &LockUseArgs,
    trees: &Trees,
    stale: Stale<'_>,
) -> Result<(Plan, Policy)> {
    let path = lock_path(lock.lock.as_ref(), default);
    let file = path.display().to_string();
    let bytes = if lock.ignore_lock {
        None
    } else {
        fs::read_text_if_exists(&path)?
    };
    let locked = bytes.map(|bytes| Lock::decode(&file, &bytes)).transpose()?;
    let flag = if lock.locked {
        Some("--locked")
    } else {
        lock.lock.as_ref().map(|_| "--lock")
    };
    if let (None, Some(flag), false) = (&locked, flag, lock.ignore_lock) {
        return Err(LockError::Absent { file, flag }.into());
    }
    if let (Some(locked), Some(_)) = (&locked, flag) {
        locked.require_own_files(&file, &trees.own_files)?;
    }
    let definition = complete_from_lock(definition.clone(), locked.as_ref(), selection, trees)?;
    let resolve = |updated| -> Result<(Plan, Policy)> {
        let mut plan = resolve_updated_plan(&definition, trees, updated)?;
        let policy = apply_policy(selection.into(), &mut plan, trees)?;
        Ok((plan, policy))
    };
    let Some(locked) = locked else {
        return resolve(BTreeMap::new());
    };
    let (mut plan, policy) = resolve(locked.updated.clone())?;
    match (check_lock(&file, &locked, &plan), stale) {
        (Ok(()), _) => locked.apply_pins(&mut plan),
        (Err(error), Stale::Warn(printer)) if flag.is_none() => {
            printer.print_warning(&format!("the lockfile is not used: {error}"));
            error
                .remedies()
                .iter()
                .for_each(|remedy| printer.print_hint(remedy));
            return resolve(BTreeMap::new());
        }
        (Err(error), _) => return Err(error.into()),
    }
    Ok((plan, policy))
}

/// The same for a lockfile that is written anew: it keeps its policy.
///
/// # Errors
/// The lockfile names a policy, and the user does not.
pub fn complete_for_lock(
    definition: ImageDefinition,
    old: Option<&Lock>,
    args: &LockArgs,
    path: &Path,
    trees: &Trees,
) -> Result<ImageDefinition> {
    let used = old.and_then(|lock| lock.policy.as_ref());
    if let Some(used) =
        used.filter(|_| definition.target.is_none() && args.selection.policy.is_none())
    {
        let message = format!(
            "{} was written under the policy `{}`",
            path.display(),
            used.name
        );
        return Err(
            InputError::new(message, "add `--policy FILE`, or select the image by flags").into(),
        );
    }
    complete_from_lock(definition, old, &args.selection, trees)
}

/// The lock that is replaced; none where there is none, or one that cannot be read.
///
/// # Errors
/// The file cannot be read.
pub fn read_old_lock(path: &Path) -> Result<Option<Lock>> {
    let bytes = fs::read_text_if_exists(path)?;
    Ok(bytes.and_then(|bytes| Lock::decode(&path.display().to_string(), &bytes).ok()))
}
