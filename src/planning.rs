//! A definition, a policy, a lockfile and scripts become one plan that is complete, and the plan a predicted machine.
//!
//! Nobody changes a plan after it was made, except that digests are added to it ([`Plan::with_pins`]).

mod draft;
mod floor;
mod govern;
mod locked;
mod predict;
mod recompute;
mod warn;

use std::collections::BTreeMap;

use crate::base::version::Version;
use crate::catalog::{Trees, load_target};
use crate::diagnostic::{Error, Result};
use crate::model::definition::ImageDefinition;
use crate::model::plan::Plan;
use crate::model::policy::Policy;
use crate::render;
use crate::resolve::{World, resolve_selection};
use crate::selection::{
    DefinedImage, Flags, list_environment, read_definition, read_selectors, require_target,
};

pub use draft::draft_definition;
pub use floor::check_tool_floors;
pub use govern::{govern_plan, judge_plan, read_plan_policy};
pub use locked::{
    GuestScriptUse, LockUse, PlanRequest, PlannedImage, Stale, ToolUse, complete_for_lock,
    plan_image,
};
pub use predict::predict_machine;
pub use recompute::{
    BuildTime, PolicyOfLock, check_lock, replay_lock, replay_selection, resolve_lock,
    resolve_lock_of_build,
};
pub use warn::{list_preview_warnings, list_warnings};

/// # Errors
/// No target is named, the selection is refused, or the catalog is wrong.
pub fn resolve_plan(definition: &ImageDefinition, trees: &Trees) -> Result<Plan> {
    resolve_updated_plan(definition, trees, BTreeMap::new())
}

/// The same with newer releases than the catalog's.
///
/// # Errors
/// As [`resolve_plan`].
pub fn resolve_updated_plan(
    definition: &ImageDefinition,
    trees: &Trees,
    updated: BTreeMap<String, Version>,
) -> Result<Plan> {
    let Some(name) = definition.target.as_deref() else {
        return Err(Error::value(
            "the selection names no target",
            format!(
                "add `--target NAME` or `\"target\"` in imagegen.json, or run `imagegen init`; the targets are {}",
                trees.packer.list_folders("targets").join(", ")
            ),
        ));
    };
    let target = load_target(&trees.packer, name)?;
    let base = render::read_packer_base(&trees.packer)?;
    let world = World {
        environment: list_environment(&target),
        selectors: read_selectors(&target),
        updated,
        own_files: trees.own_files.clone(),
    };
    resolve_selection(&trees.catalog, target, &base.version, definition, &world)
}

/// A plan for what depends on the nodes and not on where their image is built.
///
/// # Errors
/// As [`resolve_plan`].
pub fn resolve_node_plan(
    flags: &Flags,
    image: &DefinedImage,
    trees: &Trees,
) -> Result<(Plan, Policy)> {
    let mut definition = read_definition(flags, image, trees)?;
    require_target(flags, &definition)?;
    let plan = if definition.target.is_some() {
        resolve_plan(&definition, trees)?
    } else {
        resolve_anywhere(&mut definition, trees)?
    };
    govern_plan(&flags.policy, plan, trees)
}

/// The plan of a node whose target nobody named: the first target that takes the rest of the selection. Where none
/// does, the error of the first.
fn resolve_anywhere(definition: &mut ImageDefinition, trees: &Trees) -> Result<Plan> {
    let mut refusal = None;
    for target in trees.packer.list_folders("targets") {
        definition.target = Some(target);
        match resolve_plan(definition, trees) {
            Ok(plan) => {
                return Ok(Plan {
                    packer: None,
                    ..plan
                });
            }
            Err(error) => refusal = refusal.or(Some(error)),
        }
    }
    definition.target = None;
    refusal.map_or_else(|| resolve_plan(definition, trees), Err)
}
