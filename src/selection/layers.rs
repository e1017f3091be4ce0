//! Layers that give variables: flags and the environment are the operator's, definitions and lockfiles come with pull
//! requests. A variable that only the operator may give is refused elsewhere, whatever names the target.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{Flags, build_time, parse_variables};
use crate::catalog::{Trees, load_target, load_targets};
use crate::diagnostic::{Error, Result};
use crate::lock::Lock;
use crate::model::definition::ImageDefinition;
use crate::model::target::Target;

/// Refuses variables that the layer gives and only the operator may. Without a target, those of every target count.
///
/// # Errors
/// The first of them; or the target is unknown.
pub(super) fn check_variables(
    layer: &str,
    variables: &BTreeMap<String, Value>,
    target: Option<&str>,
    flags: &Flags,
    trees: &Trees,
) -> Result<()> {
    if variables.is_empty() {
        return Ok(());
    }
    let targets = match target {
        Some(name) => vec![load_target(&trees.packer, name)?],
        None => load_targets(&trees.packer)?,
    };
    for name in variables.keys() {
        // The operator's own value takes its place.
        if flags.variables.iter().any(|(given, _)| given == name) {
            continue;
        }
        if targets.iter().any(|target| is_operators(target, name)) {
            return Err(refuse_variable(layer, name, &targets));
        }
        // Neither may silently take the place of the other.
        let environment = format!("PKR_VAR_{name}");
        let mut targets = targets.iter();
        if targets.any(|target| build_time::list_environment(target).contains(&environment)) {
            let message = format!("`{name}` is given twice: by {environment} and by the {layer}");
            let remedy = format!("unset {environment}, or remove it from the {layer}");
            return Err(Error::value(message, remedy));
        }
    }
    Ok(())
}

/// Whether a target has a variable or a selector of that name, and only the operator gives it.
pub fn is_operators(target: &Target, name: &str) -> bool {
    let selector = target.selectors.iter().find(|it| it.name == name);
    let variable = target.find_variable(name);
    variable
        .map(|variable| !variable.sensitive && variable.set_by.is_operator())
        .or(selector.map(|selector| selector.set_by.is_operator()))
        .unwrap_or_default()
}

fn refuse_variable(layer: &str, name: &str, targets: &[Arc<Target>]) -> Error {
    let in_environment = targets.iter().any(|target| target.is_build_time(name));
    let environment = if in_environment {
        format!(", or set PKR_VAR_{name}")
    } else {
        String::new()
    };
    Error::value(
        format!("`variables.{name}` of the {layer}: only the operator gives it"),
        format!("add `--var {name}=…`{environment}"),
    )
}

/// The selection of the lockfile, where neither flags nor an image definition name a target; flags stand over it.
///
/// # Errors
/// A flag's value is not understood, or the lockfile gives a variable that is the operator's.
pub fn complete_from_lock(
    definition: ImageDefinition,
    locked: Option<&Lock>,
    flags: &Flags,
    trees: &Trees,
) -> Result<ImageDefinition> {
    let Some(locked) = locked.filter(|_| definition.target.is_none()) else {
        return Ok(definition);
    };
    let selection = locked.selection.clone();
    let target = selection.target.clone();
    check_variables(
        "lockfile",
        &selection.variables,
        target.as_deref(),
        flags,
        trees,
    )?;
    let mut completed = definition.merge_over(selection);
    let given = parse_variables(&flags.variables, target.as_deref(), trees)?;
    completed.variables.extend(given);
    Ok(completed)
}

/// Refuses `--var` where no target is known that could have the variable.
///
/// # Errors
/// There are variables and no target.
pub fn require_target(flags: &Flags, definition: &ImageDefinition) -> Result<()> {
    match flags.variables.first() {
        Some((name, _)) if definition.target.is_none() => Err(Error::value(
            format!("`--var {name}` has no effect: no target is named"),
            "add `--target NAME`",
        )),
        _ => Ok(()),
    }
}
