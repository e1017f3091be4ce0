//! Packer's environment variables: each must be of a variable that the lock does not record, and that applies.

use std::collections::BTreeMap;

use crate::base::code::Code;
use crate::diagnostic::Finding;
use crate::model::variable::{DefaultFrom, Variable};

use super::{VariableInputs, describe_unused};

/// Refuses an environment variable that would have no effect.
pub(super) fn check_environment(
    inputs: &VariableInputs<'_>,
    selectors: &BTreeMap<String, String>,
    refusals: &mut Vec<Finding>,
) {
    let set = &inputs.world.environment;
    let given = &inputs.selection.variables;
    for selector in &inputs.target.selectors {
        let name = selector.packer_name();
        if !selector.build_time && set.contains(&name) && !given.contains_key(&selector.name) {
            refusals.push(refuse_locked(&name, &selector.name).with_source(&selector.source));
        }
    }
    for variable in &inputs.target.variables {
        let name = variable.packer_name();
        if set.contains(&name) && !given.contains_key(&variable.name) {
            let finding = judge_variable(variable, &name, selectors);
            refusals.extend(finding.map(|finding| finding.with_source(&variable.source)));
        }
    }
}

fn judge_variable(
    variable: &Variable,
    name: &str,
    selectors: &BTreeMap<String, String>,
) -> Option<Finding> {
    if variable.default_from == Some(DefaultFrom::BootMedium) {
        let reason = format!(
            "imagegen sets `{}` to the path of the verified file",
            variable.name
        );
        return Some(
            Finding::new(Code::VARIABLE_COMPUTED, reason, format!("unset {name}"))
                .with_subject(name),
        );
    }
    if !variable.build_time {
        return Some(refuse_locked(name, &variable.name));
    }
    if variable.applies(selectors) {
        return None;
    }
    let reason = format!(
        "`{}` {}",
        variable.name,
        describe_unused(variable, selectors)
    );
    Some(
        Finding::new(
            Code::VARIABLE_UNUSED,
            reason,
            format!("unset {name}, or change the choice"),
        )
        .with_subject(name),
    )
}

fn refuse_locked(environment: &str, name: &str) -> Finding {
    Finding::new(
        Code::VARIABLE_ENVIRONMENT,
        format!("`{name}` decides what is in the image, so the environment cannot set it"),
        format!("unset {environment}, and use `--var {name}=…` or `\"variables\"` of the image definition"),
    )
    .with_subject(environment)
}
