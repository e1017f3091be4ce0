//! With which flags and feature gates the baked services start: one table, read here alone.

use crate::diagnostic::Result;
use crate::model::conditions::Conditions;
use crate::model::kubernetes::BakedFlags;

use super::render::StepRenderer;
use super::value_error;

/// A flag that applies, with its value.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppliedFlag {
    pub flag: String,
    pub value: Option<String>,
    pub reason: String,
    pub source: String,
}

/// The flags of a program in the order of the table; gates last, as one flag.
///
/// # Errors
/// A value names an unknown fact.
pub fn select_flags(
    table: &BakedFlags,
    program: &str,
    conditions: &Conditions,
    renderer: &StepRenderer<'_>,
) -> Result<Vec<AppliedFlag>> {
    let mut applied = Vec::new();
    for rule in &table.flags {
        if rule.program != program || !conditions.admits(&rule.versions, &rule.when) {
            continue;
        }
        let value = rule
            .value
            .as_ref()
            .map(|value| renderer.render_text(value, None))
            .transpose();
        applied.push(AppliedFlag {
            flag: rule.flag.clone(),
            value: value.map_err(|message| {
                let flag = format!("{program} {}", rule.flag);
                value_error("manifests/kubernetes/flags.json", &flag, &message)
            })?,
            reason: rule.reason.clone(),
            source: rule.source.clone(),
        });
    }
    applied.extend(render_gates(table, program, conditions));
    Ok(applied)
}

fn render_gates(table: &BakedFlags, program: &str, conditions: &Conditions) -> Option<AppliedFlag> {
    let (mut values, mut reasons, mut sources) = (Vec::new(), Vec::new(), Vec::new());
    for rule in &table.feature_gates {
        if rule.program == program && conditions.admits(&rule.versions, &rule.when) {
            values.push(format!("{}={}", rule.gate, rule.value));
            reasons.push(rule.reason.as_str());
            sources.push(rule.source.as_str());
        }
    }
    (!values.is_empty()).then(|| AppliedFlag {
        flag: "--feature-gates".to_owned(),
        value: Some(values.join(",")),
        reason: reasons.join("; "),
        source: sources.join("; "),
    })
}

/// `--flag=value`, as Kubernetes programs take them.
pub fn format_arguments(applied: &[AppliedFlag]) -> Vec<String> {
    applied
        .iter()
        .map(|flag| match &flag.value {
            Some(value) => format!("{}={value}", flag.flag),
            None => flag.flag.clone(),
        })
        .collect()
}
