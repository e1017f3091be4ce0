//! A lockfile by itself, as a bundle, a workspace or `verify` brings it: it is compared, never believed.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::catalog::{Trees, load_target};
use crate::diagnostic::Result;
use crate::lock::{Lock, LockError};
use crate::model::definition::ImageDefinition;
use crate::model::mirrors::Mirrors;
use crate::model::plan::{Governance, Plan};
use crate::model::policy::Policy;
use crate::trust::{find_unfounded_confidence, find_unfounded_pins};

use crate::selection::{NamedPolicy, read_mirrors};

use super::{govern_plan, resolve_updated_plan};

/// Fate of the policy that a lockfile names, if the user names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyOfLock {
    /// The lock is stale: its policy must be enforced.
    Required,
    /// The rest of the lock is compared.
    Ignored,
}

/// Computes the plan of a lockfile again from the catalog, with the lockfile's pins, and checks the policy.
///
/// # Errors
/// The selection or the policy refuses it, or the lockfile differs.
pub fn resolve_lock(
    file: &str,
    locked: &Lock,
    named: &NamedPolicy,
    absent: PolicyOfLock,
    trees: &Trees,
) -> Result<(Plan, Policy)> {
    let given = BuildTime {
        values: BTreeMap::new(),
        mirrors: read_mirrors(&named.mirrors)?,
    };
    resolve_lock_of_build(file, locked, &given, named, absent, trees)
}

/// Settings of a build beside its lockfile.
#[derive(Debug, Default)]
pub struct BuildTime {
    /// Values of build-time variables.
    pub values: BTreeMap<String, Value>,
    /// Where the publishers' bytes came from.
    pub mirrors: Mirrors,
}

/// The same for a build whose values of build-time variables and mirrors are known. They are no part of the lockfile.
///
/// # Errors
/// As [`resolve_lock`].
pub fn resolve_lock_of_build(
    file: &str,
    locked: &Lock,
    given: &BuildTime,
    named: &NamedPolicy,
    absent: PolicyOfLock,
    trees: &Trees,
) -> Result<(Plan, Policy)> {
    locked.require_own_files(file, &trees.own_files)?;
    let BuildTime { values, mirrors } = given;
    let mut definition = ImageDefinition {
        download_mirrors: mirrors.clone(),
        ..locked.selection.clone()
    };
    if let Some(name) = definition.target.as_deref().filter(|_| !values.is_empty()) {
        let target = load_target(&trees.packer, name)?;
        let values = values.iter().filter(|(name, _)| target.is_build_time(name));
        definition
            .variables
            .extend(values.map(|(name, value)| (name.clone(), value.clone())));
    }
    let plan = resolve_updated_plan(&definition, trees, locked.updated.clone())?;
    let (plan, policy) = govern_plan(named, plan, trees)?;
    let ignored = named.file.is_none() && absent == PolicyOfLock::Ignored;
    let plan = match &locked.policy {
        // What a policy has named is no warning of its lock.
        Some(used) if ignored => Plan {
            governance: Governance {
                policy: Some(used.clone()),
                ..Governance::default()
            },
            ..plan
        },
        _ => plan,
    };
    check_lock(file, locked, &plan).map_err(LockError::without_flag)?;
    Ok((plan.with_pins(locked.pins()), policy))
}

/// The plan that a lockfile says to be of: neither policy nor lockfile are checked, so it serves for reading alone.
///
/// # Errors
/// The selection is refused.
pub fn replay_lock(lock: &Lock, trees: &Trees) -> Result<Plan> {
    Ok(replay_selection(lock, trees)?.with_pins(lock.pins()))
}

/// The plan of a lockfile's selection without the lockfile's pins, as [`check_lock`] takes it.
///
/// # Errors
/// The selection is refused.
pub fn replay_selection(lock: &Lock, trees: &Trees) -> Result<Plan> {
    let plan = resolve_updated_plan(&lock.selection, trees, lock.updated.clone())?;
    let governance = Governance {
        policy: lock.policy.clone(),
        ..Governance::default()
    };
    Ok(Plan { governance, ..plan })
}

/// Compares a lockfile with the plan that was computed again. What the catalog does not pin, the lockfile's own evidence
/// must, and it must attest a digest as well as the lockfile says.
///
/// # Errors
/// Every difference.
pub fn check_lock(file: &str, locked: &Lock, plan: &Plan) -> Result<(), LockError> {
    locked.check_fresh(file, plan)?;
    let mut moved = Vec::new();
    for planned in plan.artifacts() {
        let mut records = locked.artifacts.iter();
        let record = records.find(|it| it.component == planned.component && it.is_pinned());
        moved.extend(record.and_then(|record| {
            if planned.is_pinned() {
                find_unfounded_confidence(planned, record)
            } else {
                find_unfounded_pins(planned, record)
            }
        }));
    }
    if moved.is_empty() {
        Ok(())
    } else {
        Err(LockError::Stale {
            file: file.to_owned(),
            moved,
            can_ignore: true,
        })
    }
}
