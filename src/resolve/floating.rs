//! Base images that the platform chooses anew in each build.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::base::code::Code;
use crate::base::pattern::matches_regex;
use crate::model::plan::Warning;
use crate::model::target::Target;
use crate::model::variable::{Floating, Variable};

/// One warning for each variable of the base image that names no fixed image.
pub(super) fn warn_floating(
    target: &Target,
    selectors: &BTreeMap<String, String>,
    values: &BTreeMap<String, Value>,
) -> Vec<Warning> {
    let applying = target
        .variables
        .iter()
        .filter(|variable| variable.applies(selectors));
    applying
        .filter_map(|variable| {
            let floating = variable.floating.as_ref()?;
            let value = values
                .get(&variable.name)
                .and_then(Value::as_str)
                .unwrap_or_default();
            let floats = matches_regex(&floating.pattern, value);
            floats.then(|| describe(variable, floating, value, values))
        })
        .collect()
}

fn describe(
    variable: &Variable,
    floating: &Floating,
    value: &str,
    values: &BTreeMap<String, Value>,
) -> Warning {
    let name = &variable.name;
    let fixing = floating.variable.as_ref().unwrap_or(name);
    let state = if value.is_empty() {
        "has no value".to_owned()
    } else {
        format!("is `{value}`")
    };
    let list = fill_values(&floating.list, values);
    let message = format!(
        "base image: `{name}` {state}: each build starts from the newest image, and the lockfile does not fix it; \
             list images with `{list}`, and pin one with `--var {fixing}=…`"
    );
    Warning::new(Code::FLOATING_BASE_IMAGE, name.clone(), message)
}

/// `{NAME}` is the value of a variable, or `…`.
fn fill_values(command: &str, values: &BTreeMap<String, Value>) -> String {
    let mut text = String::new();
    let mut rest = command;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, later) = after.split_once('}').unwrap_or((after, ""));
        text += before;
        text += values.get(name).and_then(Value::as_str).unwrap_or("…");
        rest = later;
    }
    text + rest
}
