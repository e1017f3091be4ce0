//! A name with a value: `--flag=VALUE`, `variable=VALUE`.

use crate::catalog::{Trees, load_target};
use crate::diagnostic::Result;
use crate::model::plan::Plan;

use super::{Explanation, NameIndex, find_program_name};

/// The explanations of the name before `=`, with a line about the value; none if there is no such name.
pub(super) fn explain_value(
    text: &str,
    names: &NameIndex,
    plan: &Plan,
    trees: &Trees,
) -> Result<Option<Vec<Explanation>>> {
    let Some((name, value)) = text.split_once('=') else {
        return Ok(None);
    };
    let known = names.find(name).map(<[Explanation]>::to_vec);
    let found = match known {
        Some(found) => Some(found),
        None => find_program_name(trees, name)?,
    };
    let Some(mut found) = found else {
        return Ok(None);
    };
    for explanation in &mut found {
        let line = match explanation.kind {
            "variable" => describe_variable(name, value, plan, trees)?,
            "flag" | "gate" => describe_flag(explanation, value),
            _ => format!(
                "`{value}`: imagegen knows no values of a {}",
                explanation.kind
            ),
        };
        explanation.lines.push(line);
    }
    Ok(Some(found))
}

/// A value of a flag or gate against the one that images get.
fn describe_flag(explanation: &Explanation, value: &str) -> String {
    let first = explanation.lines.first().map_or("", String::as_str);
    let own = [", value ", ", set to "]
        .iter()
        .find_map(|mark| first.split_once(mark))
        .map(|(_, own)| own);
    match own {
        Some(own) if own == value => format!("`{value}` is the value that images get"),
        Some("none") => format!("`{value}`: images give the flag without a value"),
        Some(own) => format!("`{value}` is not the value that images get, `{own}`"),
        None => format!("`{value}`: the value is the user's; images do not set it"),
    }
}

/// A value of a target's variable: its meaning, or why the variable does not take it.
fn describe_variable(name: &str, value: &str, plan: &Plan, trees: &Trees) -> Result<String> {
    let planned = plan.variables.get(name);
    let planned = planned.map(|value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    });
    let chosen = plan.selectors.get(name).cloned();
    let used = match planned.or(chosen) {
        Some(own) if own == value => "; this plan has it".to_owned(),
        Some(own) => format!("; this plan has `{own}`"),
        None => String::new(),
    };
    for target in trees.packer.list_folders("targets") {
        let target = load_target(&trees.packer, &target)?;
        if let Some(selector) = target.selectors.iter().find(|it| it.name == name) {
            let meaning = selector.find_value(value).map(|it| it.description.clone());
            let values: Vec<&str> = selector.values.iter().map(|it| it.value.as_str()).collect();
            return Ok(match meaning {
                Some(meaning) => format!("`{value}`: {meaning}{used}"),
                None => format!(
                    "`{value}` is not a value of it: {}{used}",
                    values.join(", ")
                ),
            });
        }
        if let Some(variable) = target.variables.iter().find(|it| it.name == name) {
            let allowed = variable.one_of.as_ref();
            return Ok(match allowed {
                Some(values) if !values.iter().any(|it| it == value) => {
                    format!(
                        "`{value}` is not a value of it: {}{used}",
                        values.join(", ")
                    )
                }
                _ => format!(
                    "`{value}` is a value of type {}{used}",
                    variable.kind.as_str()
                ),
            });
        }
    }
    Ok(format!("`{value}`{used}"))
}
