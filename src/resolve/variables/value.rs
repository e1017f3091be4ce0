//! A value against its variable: type, pattern, limits.

use serde_json::Value;

use crate::base::text::find_control;
use crate::base::url::{HttpUrl, UrlError, find_secret_parts};
use crate::model::variable::{PACKER_TEMPLATE, Variable, VariableType};

/// The value's type, and every limit that the descriptor gives.
pub(super) fn check_value(variable: &Variable, value: &Value) -> Result<(), String> {
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
                other => Err(format!("must be a {kind}, found {other} in it")),
            })
        }
        (VariableType::StringMap, Value::Object(entries)) => {
            check_count(variable, entries.len())?;
            entries.iter().try_for_each(|(key, item)| match item {
                Value::String(text) => [key, text]
                    .into_iter()
                    .try_for_each(|text| check_characters(variable, text)),
                other => Err(format!("must be a {kind}, found {other} in it")),
            })
        }
        _ => Err(format!("must be a {kind}, found {value}")),
    }
}

fn check_text(variable: &Variable, text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err("is empty".to_owned());
    }
    check_characters(variable, text)?;
    variable.find_fault(text).map_or(Ok(()), Err)
}

/// Refuses characters that no text may hold, whatever it is for.
fn check_characters(variable: &Variable, text: &str) -> Result<(), String> {
    if find_control(text, false).is_some() {
        return Err("contains a control character".to_owned());
    }
    if text.contains(PACKER_TEMPLATE) {
        return Err(format!(
            "contains `{PACKER_TEMPLATE}`, which Packer's plugins take for a template"
        ));
    }
    check_url(variable, text)
}

/// A URL has no user, and no query that would be written into a file.
fn check_url(variable: &Variable, text: &str) -> Result<(), String> {
    let lower = text.to_ascii_lowercase();
    if !lower.starts_with("https://") && !lower.starts_with("http://") {
        return if find_secret_parts(text).is_empty() {
            Ok(())
        } else {
            Err(
                "contains a URL with a user or a signature, and the workspace would hold it"
                    .to_owned(),
            )
        };
    }
    let url: HttpUrl = text
        .parse()
        .map_err(|error: UrlError| format!("is a wrong URL: {error}"))?;
    if url.has_secret() && !variable.lock_only {
        return Err(format!(
            "is `{url}` with a query that may be a secret, and the workspace would hold it; use a URL without it"
        ));
    }
    Ok(())
}

fn check_number(variable: &Variable, number: f64) -> Result<(), String> {
    if variable.integer && number.fract() != 0.0 {
        return Err(format!("is {number}, expected a whole number"));
    }
    if variable.min.is_some_and(|min| number < min) || variable.max.is_some_and(|max| number > max)
    {
        return Err(format!(
            "is {number}, expected {} to {}",
            format_bound(variable.min),
            format_bound(variable.max)
        ));
    }
    Ok(())
}

fn format_bound(bound: Option<f64>) -> String {
    match bound {
        Some(number) => number.to_string(),
        None => "…".to_owned(),
    }
}

fn check_count(variable: &Variable, count: usize) -> Result<(), String> {
    if variable.min_items.is_some_and(|min| count < min)
        || variable.max_items.is_some_and(|max| count > max)
    {
        return Err(format!("has {count} items"));
    }
    Ok(())
}
