//! The target's variables: which apply, what they are, which are missing.
//!
//! The value of an unset selector follows from the variables that are set: a gallery name selects the output
//! `gallery`.

use std::collections::{BTreeMap, BTreeSet};

use regex_lite::Regex;
use serde_json::Value;

use crate::diagnostic::Finding;
use crate::model::names::format_suggestion;
use crate::model::plan::{MissingVariable, PlannedPacker};
use crate::model::selection::ImageDefinition;
use crate::model::target::Target;
use crate::model::variable::{DefaultFrom, PluginSupport, Selector, Variable, VariableType};
use crate::model::windows::WindowsRelease;

use super::Surroundings;

/// What came of the variables.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    pub(super) values: BTreeMap<String, Value>,
    pub(super) selectors: BTreeMap<String, String>,
    pub(super) declared: Vec<String>,
    pub(super) missing: Vec<MissingVariable>,
}

pub(super) struct Inputs<'a> {
    pub(super) target: &'a Target,
    pub(super) windows: &'a WindowsRelease,
    pub(super) selection: &'a ImageDefinition,
    pub(super) packer: Option<&'a PlannedPacker>,
    pub(super) surroundings: &'a Surroundings,
    /// Default name of an image.
    pub(super) image_name: String,
}

pub(super) fn choose_variables(inputs: &Inputs<'_>, refusals: &mut Vec<Finding>) -> Chosen {
    let mut given = inputs.selection.variables.clone();
    let selectors = choose_selectors(inputs, &mut given, refusals);
    let mut chosen = Chosen { selectors, ..Chosen::default() };
    for (name, value) in &given {
        check_given(inputs, &chosen.selectors, name, value, refusals);
    }
    let images = release_values(inputs, &chosen.selectors);
    for variable in inputs.target.variables.iter().filter(|variable| variable.applies(&chosen.selectors)) {
        let default = default_value(inputs, variable, &chosen.selectors, images);
        let value = if variable.sensitive { None } else { given.get(&variable.name).cloned().or(default) };
        let from_environment =
            variable.environment_names().any(|name| inputs.surroundings.environment.contains(&name));
        if !variable.lock_only && (value.is_some() || variable.required || from_environment) {
            chosen.declared.push(variable.name.clone());
        }
        match value {
            Some(value) => {
                chosen.values.insert(variable.name.clone(), value);
            }
            None if variable.default_from == Some(DefaultFrom::BootMedium) => {}
            None if variable.required && !from_environment => chosen.missing.push(describe_missing(variable)),
            None => {}
        }
    }
    check_relations(inputs.target, &chosen, refusals);
    chosen
}

fn choose_selectors(
    inputs: &Inputs<'_>,
    given: &mut BTreeMap<String, Value>,
    refusals: &mut Vec<Finding>,
) -> BTreeMap<String, String> {
    let mut chosen = BTreeMap::new();
    for selector in &inputs.target.selectors {
        let value = match given.remove(&selector.name) {
            Some(value) => named_value(selector, &value, refusals),
            None => implied_value(inputs, selector, given),
        };
        chosen.insert(selector.name.clone(), value);
    }
    for selector in &inputs.target.selectors {
        let value = &chosen[&selector.name];
        let Some(described) = selector.values.iter().find(|known| known.value == *value) else { continue };
        for (other, allowed) in &described.requires {
            if chosen.get(other).is_some_and(|other| !allowed.contains(other)) {
                refusals.push(
                    Finding::new(
                        "variable-combination",
                        format!("{} `{value}` needs {other} `{}`", selector.name, allowed.join("` or `")),
                        format!("add `--var {other}={}`", allowed.first().map_or("", String::as_str)),
                    )
                    .with_source(&selector.source),
                );
            }
        }
        check_plugin_support(
            inputs,
            &format!("{} `{value}`", selector.name),
            described.plugin.as_ref(),
            refusals,
        );
    }
    chosen
}

fn named_value(selector: &Selector, value: &Value, refusals: &mut Vec<Finding>) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if !selector.values.iter().any(|known| known.value == text) {
        refusals.push(
            Finding::new(
                "variable-value",
                format!("`{}` is not `{text}`", selector.name),
                format_suggestion(&text, selector.values.iter().map(|known| known.value.as_str())),
            )
            .with_subject(&selector.name)
            .with_source(&selector.source),
        );
    }
    text
}

fn implied_value(inputs: &Inputs<'_>, selector: &Selector, given: &BTreeMap<String, Value>) -> String {
    let named = |variable: &&Variable| {
        given.contains_key(&variable.name)
            || (variable.sensitive
                && variable.environment_names().any(|name| inputs.surroundings.environment.contains(&name)))
    };
    let demands: Vec<&Vec<String>> = inputs
        .target
        .variables
        .iter()
        .filter(named)
        .filter_map(|variable| variable.when.get(&selector.name))
        .collect();
    let fits = |value: &String| demands.iter().all(|demand| demand.contains(value));
    if fits(&selector.default) {
        return selector.default.clone();
    }
    selector
        .values
        .iter()
        .map(|known| &known.value)
        .find(|value| fits(value))
        .unwrap_or(&selector.default)
        .clone()
}

fn check_given(
    inputs: &Inputs<'_>,
    selectors: &BTreeMap<String, String>,
    name: &str,
    value: &Value,
    refusals: &mut Vec<Finding>,
) {
    let Some(variable) = inputs.target.find_variable(name) else {
        let selectors = inputs.target.selectors.iter().map(|selector| selector.name.as_str());
        let names = inputs.target.variables.iter().map(|variable| variable.name.as_str()).chain(selectors);
        refusals.push(
            Finding::new(
                "variable-unknown",
                format!("target {} has no variable `{name}`", inputs.target.name),
                format_suggestion(name, names),
            )
            .with_subject(name)
            .with_source(format!("packer/targets/{}/target.json", inputs.target.name)),
        );
        return;
    };
    let mut refuse = |rule: &str, reason: String, instead: String| {
        refusals.push(Finding::new(rule, reason, instead).with_subject(name).with_source(&variable.source));
    };
    if variable.sensitive {
        refuse(
            "secret-in-selection",
            format!("`{name}` is a secret: flags and files are read by others"),
            format!("set it in the environment as {}", list_environment(variable)),
        );
        return;
    }
    if !variable.applies(selectors) {
        let needs: Vec<String> = variable
            .when
            .iter()
            .map(|(selector, values)| format!("{selector} `{}`", values.join("` or `")))
            .collect();
        let is: Vec<String> = variable
            .when
            .keys()
            .filter_map(|selector| Some(format!("{selector} is `{}`", selectors.get(selector)?)))
            .collect();
        refuse(
            "variable-unused",
            format!("`{name}` counts only with {}, and {}", needs.join(" and "), is.join(" and ")),
            "leave it out, or change the choice".to_owned(),
        );
    }
    if let Err(reason) = check_value(variable, value) {
        let example = variable.example.as_ref().map(|example| format!(", such as `{example}`"));
        refuse(
            "variable-value",
            format!("`{name}` {reason}"),
            format!("{}{}", variable.description.trim_end_matches('.'), example.unwrap_or_default()),
        );
    }
    check_plugin_support(inputs, &format!("`{name}`"), variable.plugin.as_ref(), refusals);
}

fn check_plugin_support(
    inputs: &Inputs<'_>,
    what: &str,
    support: Option<&PluginSupport>,
    refusals: &mut Vec<Finding>,
) {
    let plugin = inputs.packer.and_then(|packer| packer.plugins.first());
    if let (Some(support), Some(plugin)) = (support, plugin)
        && plugin.version <= support.absent_in
    {
        refusals.push(
            Finding::new(
                "plugin-version",
                format!("{what} is not known to the Packer plugin {} {}", plugin.name, plugin.version),
                format!("choose plugin {} or newer, or leave it out", support.present_in),
            )
            .with_subject("packer")
            .with_source(format!("packer/targets/{}/target.json", inputs.target.name)),
        );
    }
}

/// The value's type, and every limit that the descriptor gives.
fn check_value(variable: &Variable, value: &Value) -> Result<(), String> {
    let kind = variable.kind.as_str();
    match (variable.kind, value) {
        (VariableType::String, Value::String(text)) => check_text(variable, text),
        (VariableType::Number, Value::Number(number)) => {
            check_number(variable, number.as_f64().unwrap_or(f64::NAN))
        }
        (VariableType::Bool, Value::Bool(_)) => Ok(()),
        (VariableType::StringList, Value::Array(items)) => {
            check_count(variable, items.len())?;
            items.iter().try_for_each(|item| match item {
                Value::String(text) => check_text(variable, text),
                other => Err(format!("is a {kind}, and {other} is no text")),
            })
        }
        (VariableType::StringMap, Value::Object(entries)) => {
            check_count(variable, entries.len())?;
            match entries.values().find(|value| !value.is_string()) {
                Some(other) => Err(format!("is a {kind}, and {other} is no text")),
                None => Ok(()),
            }
        }
        _ => Err(format!("is a {kind}, and {value} is none")),
    }
}

fn check_text(variable: &Variable, text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err("is empty".to_owned());
    }
    if text.chars().any(char::is_control) {
        return Err("holds a control character".to_owned());
    }
    if let Some(allowed) = &variable.one_of
        && !allowed.iter().any(|value| value == text)
    {
        return Err(format!("is `{text}`: {}", format_suggestion(text, allowed.iter().map(String::as_str))));
    }
    if let Some(pattern) = &variable.pattern
        && !Regex::new(pattern).is_ok_and(|regex| regex.is_match(text))
    {
        return Err(format!("is `{text}`, which does not match {pattern}"));
    }
    Ok(())
}

fn check_number(variable: &Variable, number: f64) -> Result<(), String> {
    if variable.integer && number.fract() != 0.0 {
        return Err(format!("is {number}, and must be a whole number"));
    }
    if variable.min.is_some_and(|min| number < min) || variable.max.is_some_and(|max| number > max) {
        let bound = |bound: Option<f64>| bound.map_or_else(|| "…".to_owned(), |bound| bound.to_string());
        return Err(format!(
            "is {number}, and must lie in {} to {}",
            bound(variable.min),
            bound(variable.max)
        ));
    }
    Ok(())
}

fn check_count(variable: &Variable, count: usize) -> Result<(), String> {
    if variable.min_items.is_some_and(|min| count < min) || variable.max_items.is_some_and(|max| count > max)
    {
        return Err(format!("has {count} items"));
    }
    Ok(())
}

fn release_values<'a>(
    inputs: &Inputs<'a>,
    selectors: &BTreeMap<String, String>,
) -> Option<&'a BTreeMap<String, String>> {
    let variant = inputs.target.selectors.iter().find_map(|selector| {
        let value = selectors.get(&selector.name)?;
        selector.values.iter().find(|known| known.value == *value)?.source_image.as_ref()
    });
    let sources = inputs.target.releases.get(&inputs.windows.release)?;
    sources.iter().find(|source| source.variant.as_ref() == variant).map(|source| &source.variables)
}

fn default_value(
    inputs: &Inputs<'_>,
    variable: &Variable,
    selectors: &BTreeMap<String, String>,
    image: Option<&BTreeMap<String, String>>,
) -> Option<Value> {
    if !variable.has_default(selectors) {
        return None;
    }
    match variable.default_from {
        Some(DefaultFrom::WindowsRelease) => image?.get(&variable.name).cloned().map(Value::String),
        Some(DefaultFrom::ImageName) => Some(Value::String(inputs.image_name.clone())),
        Some(DefaultFrom::BootMedium) => None,
        None => variable.default.clone(),
    }
}

fn describe_missing(variable: &Variable) -> MissingVariable {
    let mut from = Vec::new();
    if !variable.sensitive {
        let example = variable.example.as_deref().unwrap_or("…");
        from.push(format!("--var {}={example}", variable.name));
        from.push(format!("\"variables\": {{\"{}\": …}} in the image definition", variable.name));
    }
    from.push(format!("environment: {}", list_environment(variable)));
    MissingVariable {
        names: vec![variable.name.clone()],
        description: variable.description.clone(),
        sensitive: variable.sensitive,
        from,
    }
}

fn list_environment(variable: &Variable) -> String {
    variable.environment_names().collect::<Vec<_>>().join(" or ")
}

fn check_relations(target: &Target, chosen: &Chosen, refusals: &mut Vec<Finding>) {
    let given: BTreeSet<&str> = chosen.declared.iter().map(String::as_str).collect();
    for variable in target.variables.iter().filter(|variable| given.contains(variable.name.as_str())) {
        for needed in variable.requires.iter().filter(|needed| !given.contains(needed.as_str())) {
            refusals.push(
                Finding::new(
                    "variable-combination",
                    format!("`{}` needs `{needed}`", variable.name),
                    format!("add `--var {needed}=…`"),
                )
                .with_source(&variable.source),
            );
        }
        for other in variable.conflicts.iter().filter(|other| given.contains(other.as_str())) {
            refusals.push(
                Finding::new(
                    "variable-combination",
                    format!("`{}` and `{other}` exclude each other", variable.name),
                    "leave one of them out".to_owned(),
                )
                .with_source(&variable.source),
            );
        }
    }
}
