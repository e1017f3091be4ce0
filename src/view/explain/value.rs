//! A name with a value: `--flag=VALUE`, `variable=VALUE`, `resource=VALUE`.

use serde_json::Value;

use crate::base::json::format_plain;
use crate::catalog::{Trees, load_targets};
use crate::diagnostic::Result;
use crate::model::plan::Plan;
use crate::model::target::Target;
use crate::planning::predict_machine;

use super::options::{OPTION, explain_option_value, explain_version};
use super::{Explanation, NameIndex};

/// Kinds of names that have values.
const KINDS_WITH_VALUES: &[&str] = &[
    OPTION,
    "variable",
    "component",
    "flag",
    "gate",
    "resource",
    "windows setting",
];

/// The explanations of the name before `=` and of its value, each with its source; none if there is no such name.
pub(super) fn explain_value(
    text: &str,
    names: &NameIndex,
    plan: &Plan,
    trees: &Trees,
) -> Result<Option<Vec<Explanation>>> {
    let Some((name, value)) = split_value(text) else {
        return Ok(None);
    };
    let Some(mut found) = names.find_meanings(name, trees)? else {
        return Ok(None);
    };
    let mut facts = Vec::new();
    for explanation in &mut found {
        let line = match explanation.kind {
            OPTION => {
                facts.extend(explain_option_value(
                    explanation,
                    value,
                    names,
                    plan,
                    trees,
                )?);
                continue;
            }
            "component" => {
                facts.extend(explain_version(&explanation.name, value, plan, trees)?);
                continue;
            }
            "flag" | "gate" => describe_flag(explanation, value),
            "resource" => describe_property(explanation, value, plan, trees)?,
            "windows setting" => describe_setting(explanation, value, trees)?,
            _ => continue,
        };
        explanation.lines.push(line);
    }

    if found.iter().any(|it| it.kind == "variable") {
        facts.extend(explain_variable(name, value, plan, trees)?);
    }
    if found.iter().all(|it| !KINDS_WITH_VALUES.contains(&it.kind)) {
        for explanation in &mut found {
            let line = format!(
                "`{value}`: imagegen knows no values of a {}",
                explanation.kind
            );
            explanation.lines.push(line);
        }
    }
    for fact in facts {
        if !found.contains(&fact) {
            found.push(fact);
        }
    }
    Ok(Some(found))
}

/// `NAME=VALUE`, or a flag as people type it: `--NAME VALUE`.
fn split_value(text: &str) -> Option<(&str, &str)> {
    let typed = text.split_once(' ');
    let typed = typed.filter(|(name, _)| name.starts_with("--") && !name.contains('='));
    typed.or_else(|| text.split_once('='))
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

/// A value against the properties of a resource of the plan.
fn describe_property(
    explanation: &Explanation,
    value: &str,
    plan: &Plan,
    trees: &Trees,
) -> Result<String> {
    let (guest, _) = predict_machine(plan, trees)?;
    let resources = &guest.plan.resources;
    let resource = resources.iter().find(|it| it.name == explanation.name);
    let resource = serde_json::to_value(resource).unwrap_or_default();
    let properties = resource["properties"].as_object();
    for (name, own) in properties.into_iter().flatten() {
        if holds_text(own, value) {
            return Ok(format!("`{value}` is its {name} in this plan"));
        }
    }
    Ok(format!("no property of it is `{value}` in this plan"))
}

/// A value against the data of a setting on each Windows release.
fn describe_setting(explanation: &Explanation, value: &str, trees: &Trees) -> Result<String> {
    let mut releases = Vec::new();
    for release in trees.catalog.windows_names() {
        let windows = trees.catalog.load_windows_release(&release)?;
        let is_set = windows.registry.iter().any(|setting| {
            let data = serde_json::to_value(&setting.data).unwrap_or_default();
            setting.name == explanation.name && holds_text(&data, value)
        });
        if is_set {
            releases.push(release);
        }
    }
    if releases.is_empty() {
        return Ok(format!("`{value}` is not the data that images get"));
    }
    let releases = releases.join(", ");
    Ok(format!(
        "`{value}` is the data that images of Windows {releases} get"
    ))
}

/// Whether the value is this text, or has it at any depth.
fn holds_text(value: &Value, text: &str) -> bool {
    match value {
        Value::Object(entries) => entries.values().any(|inner| holds_text(inner, text)),
        Value::Array(items) => items.iter().any(|inner| holds_text(inner, text)),
        Value::String(own) => own == text,
        other => {
            let own = other.to_string();
            own == text
        }
    }
}

/// The facts about a value of a variable: its meaning for each target, and the Windows releases that have it.
fn explain_variable(
    name: &str,
    value: &str,
    plan: &Plan,
    trees: &Trees,
) -> Result<Vec<Explanation>> {
    let title = format!("{name}={value}");
    let mut facts = Vec::new();
    let mut add = |line, source: &str| facts.push(create_fact(&title, line, source));
    let mut refusals = Vec::new();
    for target in load_targets(&trees.packer)? {
        match describe_variable(name, value, &target, plan) {
            Some(fact) if fact.accepted => add(fact.line, &fact.source),
            Some(fact) => refusals.push(fact),
            None => {}
        }
        for (release, sources) in &target.releases {
            for known in sources {
                if known.variables.get(name).is_some_and(|own| own == value) {
                    let variant = known.variant.as_deref().unwrap_or("every image");
                    let line = format!("target {}: Windows {release}, {variant}", target.name);
                    add(line, &known.source);
                }
            }
        }
    }
    // Another target's variable of this name may take it.
    if facts.is_empty() {
        let refused = refusals.into_iter();
        facts.extend(refused.map(|fact| create_fact(&title, fact.line, &fact.source)));
    }
    Ok(facts)
}

fn create_fact(title: &str, line: String, source: &str) -> Explanation {
    Explanation {
        kind: "variable value",
        name: title.to_owned(),
        lines: vec![line],
        source: source.to_owned(),
    }
}

/// A value for one target.
#[derive(Debug)]
struct ValueFact {
    /// Whether the variable takes it.
    accepted: bool,
    line: String,
    source: String,
}

/// Meaning and source of a value for a target that has the variable.
fn describe_variable(name: &str, value: &str, target: &Target, plan: &Plan) -> Option<ValueFact> {
    let used = describe_use(name, value, target, plan);
    if let Some(selector) = target.selectors.iter().find(|it| it.name == name) {
        let values: Vec<&str> = selector.values.iter().map(|it| it.value.as_str()).collect();
        let known = selector.find_value(value);
        let meaning = known.map_or_else(
            || format!("is not a value of it: {}", values.join(", ")),
            |known| format!("is {}", known.description),
        );
        return Some(ValueFact {
            accepted: known.is_some(),
            line: format!("target {}: `{value}` {meaning}{used}", target.name),
            source: selector.source.clone(),
        });
    }

    let variable = target.variables.iter().find(|it| it.name == name)?;
    let refused = variable.one_of.as_ref();
    let refused = refused.filter(|values| !values.iter().any(|it| it == value));
    let meaning = refused.map_or_else(
        || format!("is a value of type {}", variable.kind.as_str()),
        |values| format!("is not a value of it: {}", values.join(", ")),
    );
    Some(ValueFact {
        accepted: refused.is_none(),
        line: format!("target {}: `{value}` {meaning}{used}", target.name),
        source: variable.source.clone(),
    })
}

/// The value that the plan has, if the plan is for this target.
fn describe_use(name: &str, value: &str, target: &Target, plan: &Plan) -> String {
    if plan.target.name != target.name {
        return String::new();
    }
    let planned = plan.variables.get(name).map(format_plain);
    match planned.or_else(|| plan.selectors.get(name).cloned()) {
        Some(own) if own == value => "; this plan has it".to_owned(),
        Some(own) => format!("; this plan has `{own}`"),
        None => String::new(),
    }
}
