//! A plan with the lockfile beside its definition, its policy and its scripts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::base::version::Version;
use crate::catalog::Trees;
use crate::diagnostic::{Error, Result};
use crate::io::fs;
use crate::lock::{Lock, LockError, digest_lockfile};
use crate::model::definition::ImageDefinition;
use crate::model::plan::Plan;
use crate::model::policy::Policy;
use crate::resolve::check_mirrored;
use crate::scripts::read_guest_scripts;
use crate::selection::{Flags, complete_from_lock, lock_path};
use crate::ui::Printer;

use super::recompute::check_lock;
use super::{check_tool_floors, govern_plan, resolve_updated_plan};

/// Fate of a lockfile that was made from something else.
#[derive(Debug, Clone, Copy)]
pub enum Stale<'a> {
    /// An error: the verb writes something that is installed.
    Refuse,
    /// A warning: the verb only shows or downloads something. `--locked` and `--lock` refuse nevertheless.
    Warn(&'a Printer),
}

/// Use that a verb makes of Packer and its plugins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolUse {
    /// The verb runs them, or prepares that: releases below the catalog's floor are refused.
    Run,
    /// The verb describes an image.
    Describe,
}

/// The lockfile that the user asks for.
#[derive(Debug, Clone, Default)]
pub struct LockUse {
    /// A lockfile that is missing or stale is an error.
    pub required: bool,
    /// The lockfile in the place of the one beside the definition.
    pub file: Option<PathBuf>,
    pub ignored: bool,
}

/// The guest's scripts in a plan.
#[derive(Debug, Clone, Copy)]
pub enum GuestScriptUse<'a> {
    /// They do not matter, because nothing is rendered.
    Unused,
    /// The program's own.
    Own,
    /// Those of a folder of the user's.
    Folder(&'a Path),
}

impl<'a> GuestScriptUse<'a> {
    /// The scripts of a folder, if there is one, or the program's own.
    pub fn of_folder(folder: Option<&'a PathBuf>) -> Self {
        folder.map_or(Self::Own, |folder| Self::Folder(folder))
    }
}

/// Everything that decides about one plan.
#[derive(Debug, Clone, Copy)]
pub struct PlanRequest<'a> {
    /// Flags over the image definition.
    pub definition: &'a ImageDefinition,
    pub flags: &'a Flags,
    pub lock: &'a LockUse,
    /// The lockfile beside the definition.
    pub beside: &'a Path,
    pub stale: Stale<'a>,
    pub tools: ToolUse,
    pub scripts: GuestScriptUse<'a>,
    pub trees: &'a Trees,
}

/// A plan that is complete, with the policy that admitted it and the trees that it is rendered from.
#[derive(Debug)]
pub struct PlannedImage {
    pub plan: Plan,
    pub policy: Policy,
    /// SHA-256 of the lockfile that the plan has its pins from; none where no lockfile was used.
    pub lockfile: Option<String>,
    /// With the guest's scripts that were asked for.
    pub trees: Trees,
}

/// A plan with the pins of a lockfile that fits.
///
/// # Errors
/// As [`super::resolve_plan`]; a lockfile that is stale, or missing although required; the policy or the scripts
/// refuse it.
pub fn plan_image(request: &PlanRequest<'_>) -> Result<PlannedImage> {
    let LockedPlan {
        plan,
        policy,
        lockfile,
    } = plan_locked(request)?;
    let trees = request.trees;
    if request.tools == ToolUse::Run {
        check_tool_floors(&plan, &policy, &request.flags.allow_old, trees)?;
    }
    let folder = match request.scripts {
        GuestScriptUse::Unused => {
            // Nothing is rendered that a guest downloads by.
            let trees = trees.clone();
            return Ok(PlannedImage {
                plan,
                policy,
                lockfile,
                trees,
            });
        }
        GuestScriptUse::Own => None,
        GuestScriptUse::Folder(folder) => Some(folder),
    };
    check_mirrored(&plan)?;
    let scripts = read_guest_scripts(folder, &plan.selection.overrides, &policy, trees)?;
    Ok(PlannedImage {
        plan: scripts.sign_plan(plan),
        policy,
        lockfile,
        trees: Trees {
            provisioners: scripts.provisioners,
            ..trees.clone()
        },
    })
}

/// A plan, and the lockfile that it was made with.
struct LockedPlan {
    plan: Plan,
    policy: Policy,
    lockfile: Option<String>,
}

impl LockedPlan {
    fn without_lockfile((plan, policy): (Plan, Policy)) -> Self {
        Self {
            plan,
            policy,
            lockfile: None,
        }
    }
}

/// A lockfile, and the SHA-256 by which a record names it.
struct UsedLock {
    lock: Lock,
    digest: String,
}

fn plan_locked(request: &PlanRequest<'_>) -> Result<LockedPlan> {
    let PlanRequest { lock, trees, .. } = *request;
    let path = lock_path(lock.file.as_ref(), request.beside);
    let file = path.display().to_string();
    let flag = if lock.required {
        Some("--locked")
    } else {
        lock.file.as_ref().map(|_| "--lock")
    };
    let used = read_used_lock(lock, &path, flag)?;
    if let (Some(used), Some(_)) = (&used, flag) {
        used.lock.require_own_files(&file, &trees.own_files)?;
    }

    let definition = request.definition.clone();
    let old = used.as_ref().map(|used| &used.lock);
    let definition = complete_from_lock(definition, old, request.flags, trees)?;
    let Some(used) = used else {
        let planned = plan_unlocked(request, &definition, BTreeMap::new())?;
        return Ok(LockedPlan::without_lockfile(planned));
    };
    let locked = used.lock;
    let (plan, policy) = plan_unlocked(request, &definition, locked.updated.clone())?;
    match (check_lock(&file, &locked, &plan), request.stale) {
        (Ok(()), _) => Ok(LockedPlan {
            plan: plan.with_pins(locked.pins()),
            policy,
            lockfile: Some(used.digest),
        }),
        (Err(error), Stale::Warn(printer)) if flag.is_none() => {
            printer.warn_of_error("the lockfile is not used", &error.into());
            let planned = plan_unlocked(request, &definition, BTreeMap::new())?;
            Ok(LockedPlan::without_lockfile(planned))
        }
        (Err(error), _) => Err(error.into()),
    }
}

/// The lockfile, where there is one and it is not to be ignored.
fn read_used_lock(
    lock: &LockUse,
    path: &Path,
    flag: Option<&'static str>,
) -> Result<Option<UsedLock>> {
    if lock.ignored {
        return Ok(None);
    }
    let file = path.display().to_string();
    match (fs::read_text_if_exists(path)?, flag) {
        (Some(bytes), _) => Ok(Some(UsedLock {
            lock: Lock::decode(&file, &bytes)?,
            digest: digest_lockfile(&bytes),
        })),
        (None, Some(flag)) => Err(LockError::Absent { file, flag }.into()),
        (None, None) => Ok(None),
    }
}

fn plan_unlocked(
    request: &PlanRequest<'_>,
    definition: &ImageDefinition,
    updated: BTreeMap<String, Version>,
) -> Result<(Plan, Policy)> {
    let plan = resolve_updated_plan(definition, request.trees, updated)?;
    govern_plan(&request.flags.policy, plan, request.trees)
}

/// The same for a lockfile that is written anew: it keeps its policy.
///
/// # Errors
/// The lockfile names a policy, and the user does not.
pub fn complete_for_lock(
    definition: ImageDefinition,
    old: Option<&Lock>,
    flags: &Flags,
    path: &Path,
    trees: &Trees,
) -> Result<ImageDefinition> {
    let used = old.and_then(|lock| lock.policy.as_ref());
    if let Some(used) = used.filter(|_| definition.target.is_none() && flags.policy.file.is_none())
    {
        let message = format!(
            "{} was written under the policy `{}`",
            path.display(),
            used.name
        );
        return Err(Error::value(
            message,
            "add `--policy FILE`, or select the image by flags",
        ));
    }
    complete_from_lock(definition, old, flags, trees)
}
