//! The target's variables: which apply, what they are, which are missing.
//!
//! The value of an unset selector follows from the variables that are set: a gallery name selects the output
//! `gallery`.

mod environment;
mod value;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::base::code::Code;
use crate::base::json::format_plain;
use crate::base::names::format_suggestion;
use crate::base::shell::quote_argument;
use crate::diagnostic::Finding;
use crate::model::definition::ImageDefinition;
use crate::model::plan::{MissingVariable, PlannedPacker};
use crate::model::target::Target;
use crate::model::variable::{DefaultFrom, ExcludedService, PluginSupport, Selector, Variable};
use crate::model::windows::WindowsRelease;

use super::World;
use super::image::ImageNames;
use value::check_value;

/// Outcome of choosing the variables.
#[derive(Debug, Default)]
pub(super) struct VariableChoices {
    pub(super) values: BTreeMap<String, Value>,
    pub(super) selectors: BTreeMap<String, String>,
    pub(super) declared: Vec<String>,
    pub(super) missing: Vec<MissingVariable>,
}

pub(super) struct VariableInputs<'a> {
    pub(super) target: &'a Target,
    pub(super) windows: &'a WindowsRelease,
    pub(super) selection: &'a ImageDefinition,
    pub(super) packer: Option<&'a PlannedPacker>,
    pub(super) world: &'a World,
    pub(super) image: ImageNames,
}

impl VariableInputs<'_> {
    /// Whether the environment gives a build-time variable.
    fn is_in_environment(&self, variable: &Variable) -> bool {
        let given = &self.world.environment;
        !given.is_empty()
            && variable
                .environment_names()
                .any(|name| given.contains(&name))
    }
}

pub(super) fn choose_variables(
    inputs: &VariableInputs<'_>,
    refusals: &mut Vec<Finding>,
) -> VariableChoices {
    let mut given = inputs.selection.variables.clone();
    let selectors = choose_selectors(inputs, &mut given, refusals);
    let mut chosen = VariableChoices {
        selectors,
        ..VariableChoices::default()
    };
    for (name, value) in &given {
        check_given(inputs, &chosen.selectors, name, value, refusals);
    }
    environment::check_environment(inputs, &chosen.selectors, refusals);
    let images = release_values(inputs, &chosen.selectors);
    for variable in inputs
        .target
        .variables
        .iter()
        .filter(|variable| variable.applies(&chosen.selectors))
    {
        let from_environment = inputs.is_in_environment(variable);
        let value = match given.get(&variable.name) {
            _ if variable.sensitive => None,
            Some(value) => Some(value.clone()),
            None if from_environment => None,
            None => default_value(inputs, variable, &chosen.selectors, images),
        };
        check_named_image(inputs, variable, value.as_ref(), refusals);
        if !variable.lock_only && (value.is_some() || variable.required || from_environment) {
            chosen.declared.push(variable.name.clone());
        }
        match value {
            Some(value) => {
                chosen.values.insert(variable.name.clone(), value);
            }
            None if variable.default_from == Some(DefaultFrom::BootMedium) => {}
            None if variable.required && !from_environment => {
                chosen.missing.push(describe_missing(variable));
            }
            None => {}
        }
    }
    check_relations(inputs.target, &chosen, refusals);
    chosen
}

fn choose_selectors(
    inputs: &VariableInputs<'_>,
    given: &mut BTreeMap<String, Value>,
    refusals: &mut Vec<Finding>,
) -> BTreeMap<String, String> {
    let mut chosen = BTreeMap::new();
    for selector in &inputs.target.selectors {
        let value = match given.remove(&selector.name) {
            Some(value) => named_value(selector, &value, refusals),
            None => match inputs.world.selectors.get(&selector.name) {
                Some(value) => named_value(selector, &Value::String(value.clone()), refusals),
                None => implied_value(inputs, selector, given),
            },
        };
        chosen.insert(selector.name.clone(), value);
    }
    for selector in &inputs.target.selectors {
        let value = &chosen[&selector.name];
        let Some(described) = selector.values.iter().find(|known| known.value == *value) else {
            continue;
        };
        for (other, allowed) in &described.requires {
            if chosen
                .get(other)
                .is_some_and(|other| !allowed.contains(other))
            {
                let message = format!(
                    "{} `{value}` needs {other} `{}`",
                    selector.name,
                    allowed.join("` or `")
                );
                let remedy = format!(
                    "add `--var {other}={}`",
                    allowed.first().map_or("", String::as_str)
                );
                let finding = Finding::new(Code::VARIABLE_COMBINATION, message, remedy);
                refusals.push(finding.with_source(&selector.source));
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
    let text = format_plain(value);
    if !selector.values.iter().any(|known| known.value == text) {
        let remedy = format_suggestion(
            &text,
            selector.values.iter().map(|known| known.value.as_str()),
        );
        let finding = Finding::new(
            Code::VARIABLE_VALUE,
            format!("`{}` is not `{text}`", selector.name),
            remedy,
        );
        refusals.push(
            finding
                .with_subject(&selector.name)
                .with_source(&selector.source),
        );
    }
    text
}

fn implied_value(
    inputs: &VariableInputs<'_>,
    selector: &Selector,
    given: &BTreeMap<String, Value>,
) -> String {
    // Packer's own environment variables count like flags; of others, which may be there by chance, secrets do.
    let set = &inputs.world.environment;
    let mut demands = Vec::new();
    for variable in &inputs.target.variables {
        let is_given =
            given.contains_key(&variable.name) && (selector.build_time || !variable.build_time);
        let is_set = selector.build_time
            && inputs.is_in_environment(variable)
            && (variable.sensitive || set.contains(&variable.packer_name()));
        if is_given || is_set {
            demands.extend(variable.when.get(&selector.name));
        }
    }
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
    inputs: &VariableInputs<'_>,
    selectors: &BTreeMap<String, String>,
    name: &str,
    value: &Value,
    refusals: &mut Vec<Finding>,
) {
    let target = inputs.target;
    let Some(variable) = target.find_variable(name) else {
        let variables = target.variables.iter().map(|it| it.name.as_str());
        let names = variables.chain(target.selectors.iter().map(|it| it.name.as_str()));
        let message = format!("target {} has no variable `{name}`", target.name);
        let finding = Finding::new(
            Code::VARIABLE_UNKNOWN,
            message,
            format_suggestion(name, names),
        );
        refusals.push(finding.with_subject(name).with_source(target.source()));
        return;
    };
    if let Some(finding) = refuse_source(variable) {
        refusals.push(finding);
        return;
    }

    if !variable.applies(selectors) {
        let reason = format!("`{name}` {}", describe_unused(variable, selectors));
        let remedy = "remove it, or change the choice";
        let code = Code::VARIABLE_UNUSED;
        refusals.push(refuse_variable(variable, code, reason, remedy));
    }
    if let Err(fault) = check_value(variable, value) {
        let reason = format!("`{name}` {fault}");
        let code = Code::VARIABLE_VALUE;
        refusals.push(refuse_variable(variable, code, reason, variable.describe()));
    }
    check_plugin_support(
        inputs,
        &format!("`{name}`"),
        variable.plugin.as_ref(),
        refusals,
    );
}

/// A refusal of a variable whose value a definition does not give.
fn refuse_source(variable: &Variable) -> Option<Finding> {
    let name = &variable.name;
    if variable.sensitive {
        let reason = format!("`{name}` is a secret: other users can read flags and files");
        let remedy = format!(
            "set it in the environment as {}",
            list_environment(variable)
        );
        let code = Code::SECRET_IN_SELECTION;
        return Some(refuse_variable(variable, code, reason, remedy));
    }
    if variable.default_from == Some(DefaultFrom::BootMedium) {
        let reason = format!("imagegen sets `{name}` to the path of the verified file");
        let code = Code::VARIABLE_COMPUTED;
        return Some(refuse_variable(variable, code, reason, "remove it"));
    }
    None
}

fn refuse_variable(
    variable: &Variable,
    code: Code,
    reason: String,
    remedy: impl Into<String>,
) -> Finding {
    Finding::new(code, reason, remedy)
        .with_subject(&variable.name)
        .with_source(&variable.source)
}

/// Why a variable does not apply.
fn describe_unused(variable: &Variable, selectors: &BTreeMap<String, String>) -> String {
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
    format!(
        "applies only with {}, and {}",
        needs.join(" and "),
        is.join(" and ")
    )
}

/// `--image-version` must suit the names that it becomes part of.
fn check_named_image(
    inputs: &VariableInputs<'_>,
    variable: &Variable,
    value: Option<&Value>,
    refusals: &mut Vec<Finding>,
) {
    let by_version = variable.default_from.is_some_and(DefaultFrom::names_image)
        && inputs.selection.image_version.is_some()
        && !inputs.selection.variables.contains_key(&variable.name);
    let Some(value) = value.filter(|_| by_version) else {
        return;
    };
    if let Err(reason) = check_value(variable, value) {
        let remedy = format!(
            "choose another `--image-version`, or add `--var {}=…`",
            variable.name
        );
        let finding = Finding::new(
            Code::VARIABLE_VALUE,
            format!("`{}` {reason}", variable.name),
            remedy,
        );
        refusals.push(
            finding
                .with_subject("--image-version")
                .with_source(&variable.source),
        );
    }
}

fn check_plugin_support(
    inputs: &VariableInputs<'_>,
    what: &str,
    support: Option<&PluginSupport>,
    refusals: &mut Vec<Finding>,
) {
    let plugin = inputs.packer.and_then(|packer| packer.plugins.first());
    if let (Some(support), Some(plugin)) = (support, plugin)
        && plugin.version <= support.absent_in
    {
        let message = format!(
            "{what} is not known to the Packer plugin {} {}",
            plugin.name, plugin.version
        );
        let remedy = format!(
            "choose plugin {} or newer, or remove it",
            support.present_in
        );
        let finding = Finding::new(Code::PLUGIN_VERSION, message, remedy).with_subject("packer");
        refusals.push(finding.with_source(inputs.target.source()));
    }
}

fn release_values<'a>(
    inputs: &VariableInputs<'a>,
    selectors: &BTreeMap<String, String>,
) -> Option<&'a BTreeMap<String, String>> {
    let variant = inputs.target.selectors.iter().find_map(|selector| {
        let value = selectors.get(&selector.name)?;
        selector
            .values
            .iter()
            .find(|known| known.value == *value)?
            .source_image
            .as_ref()
    });
    let sources = inputs.target.releases.get(&inputs.windows.release)?;
    sources
        .iter()
        .find(|source| source.variant.as_ref() == variant)
        .map(|source| &source.variables)
}

fn default_value(
    inputs: &VariableInputs<'_>,
    variable: &Variable,
    selectors: &BTreeMap<String, String>,
    image: Option<&BTreeMap<String, String>>,
) -> Option<Value> {
    if !variable.has_default(selectors) {
        return None;
    }
    match variable.default_from {
        Some(DefaultFrom::WindowsRelease) => image?.get(&variable.name).cloned().map(Value::String),
        Some(from) => inputs.image.format_default(from).map(Value::String),
        None => variable.default.clone(),
    }
}

fn describe_missing(variable: &Variable) -> MissingVariable {
    let mut from = Vec::new();
    if !variable.sensitive {
        let example = variable.example.as_deref();
        let example = example.map_or_else(|| "…".to_owned(), quote_argument);
        from.push(format!("--var {}={example}", variable.name));
    }
    if !variable.sensitive && !variable.set_by.is_operator() {
        from.push(format!(
            "\"variables\": {{\"{}\": …}} in the image definition",
            variable.name
        ));
    }
    if variable.build_time {
        from.push(format!("environment: {}", list_environment(variable)));
    }
    MissingVariable {
        names: vec![variable.name.clone()],
        description: variable.description.clone(),
        sensitive: variable.sensitive,
        from,
    }
}

fn list_environment(variable: &Variable) -> String {
    variable
        .environment_names()
        .collect::<Vec<_>>()
        .join(" or ")
}

fn check_relations(target: &Target, chosen: &VariableChoices, refusals: &mut Vec<Finding>) {
    let given: BTreeSet<&str> = chosen.declared.iter().map(String::as_str).collect();
    for variable in target
        .variables
        .iter()
        .filter(|variable| given.contains(variable.name.as_str()))
    {
        for needed in variable
            .requires
            .iter()
            .filter(|needed| !given.contains(needed.as_str()))
        {
            let message = format!("`{}` needs `{needed}`", variable.name);
            let finding = Finding::new(
                Code::VARIABLE_COMBINATION,
                message,
                format!("add `--var {needed}=…`"),
            );
            refusals.push(finding.with_source(&variable.source));
        }
        for other in variable
            .conflicts
            .iter()
            .filter(|other| given.contains(other.as_str()))
        {
            let message = format!("`{}` and `{other}` exclude each other", variable.name);
            let finding = Finding::new(
                Code::VARIABLE_COMBINATION,
                message,
                "remove one of them".to_owned(),
            );
            refusals.push(finding.with_source(&variable.source));
        }
        check_metadata_service(target, variable, refusals);
    }
}

/// Clones read user-data by a metadata service, so no variable may keep the platform from answering it.
fn check_metadata_service(target: &Target, variable: &Variable, refusals: &mut Vec<Finding>) {
    let (Some(excluded), Some(image)) = (&variable.excludes_service, target.image()) else {
        return;
    };
    let services = &image.platform.cloudbase_init.main.services;
    if !services.contains(&excluded.service) {
        return;
    }
    let ExcludedService {
        service,
        reason,
        instead,
    } = excluded;
    let message = format!("`{}` excludes `{service}`: {reason}", variable.name);
    let finding = Finding::new(Code::VARIABLE_COMBINATION, message, instead.clone());
    refusals.push(finding.with_source(&variable.source));
}
