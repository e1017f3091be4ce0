//! Programs of this machine that a bake starts, beside Packer.

use std::env;
use std::path::Path;

use serde_json::Value;

use super::find_given;
use crate::diagnostic::Result;
use crate::embedded::Tree;
use crate::io::exec;
use crate::model::needed_program::NeededProgram;
use crate::model::plan::Plan;
use crate::render::{list_declared_variables, read_packer_base};

/// A program that a bake needs, whether it is there or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramCheck {
    /// The name of the one that is there; otherwise all names, one of which is enough.
    pub name: String,
    pub found: bool,
    /// A machine runs already when it is started.
    pub late: bool,
    /// Goes on after "which".
    pub purpose: String,
}

/// # Errors
/// `packer.json` is missing or malformed.
pub fn check_programs(plan: &Plan, packer: &Tree) -> Result<Vec<ProgramCheck>> {
    let Some(image) = plan.target.image() else {
        return Ok(Vec::new());
    };
    let base = read_packer_base(packer)?;
    let declared = list_declared_variables(plan, &base);
    let mut checks = Vec::new();
    for program in base.programs.iter().chain(&image.programs) {
        if program.applies(&plan.selectors, &declared) {
            checks.push(check_program(program, plan));
        }
    }
    if let Some(conversion) = plan.target.conversion(&plan.selectors)
        && checks.iter().all(|check| check.name != conversion.program)
    {
        let names = std::slice::from_ref(&conversion.program);
        checks.push(look_up(
            names,
            "makes the further file of the image's disk",
            true,
        ));
    }
    Ok(checks)
}

/// Programs that are not there.
///
/// # Errors
/// `packer.json` is missing or malformed.
pub fn find_absent_programs(plan: &Plan, packer: &Tree) -> Result<Vec<ProgramCheck>> {
    let mut checks = check_programs(plan, packer)?;
    checks.retain(|check| !check.found);
    Ok(checks)
}

fn check_program(program: &NeededProgram, plan: &Plan) -> ProgramCheck {
    let given = program.variable.as_ref().and_then(|name| {
        let set = plan.variables.get(name).and_then(Value::as_str);
        set.map(str::to_owned).or_else(|| {
            let variable = plan.target.find_variable(name)?;
            env::var(find_given(plan, variable)?).ok()
        })
    });
    match given {
        Some(name) => look_up(&[name], &program.purpose, program.late),
        None => look_up(program.names.as_slice(), &program.purpose, program.late),
    }
}

fn look_up(names: &[String], purpose: &str, late: bool) -> ProgramCheck {
    let found = names.iter().find(|name| exec::can_find(Path::new(name)));
    ProgramCheck {
        name: found.cloned().unwrap_or_else(|| names.join(" or ")),
        found: found.is_some(),
        late,
        purpose: purpose.to_owned(),
    }
}
