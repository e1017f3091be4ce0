//! Template expressions in values: `{{ ds.meta_data.local_hostname }}`.
//!
//! Cluster API's user-data begins with `## template: jinja`, which cloudbase-init renders on the machine from the
//! platform's metadata (`bootstrap/kubeadm/internal/cloudinit` of kubernetes-sigs/cluster-api; `userdata.py` and
//! `cloudconfig.py` of cloudbase-init). It renders as SYSTEM and without jinja's sandbox, where calls, filters and
//! subscripts reach Python's own objects: an expression names a value of the metadata and does nothing else. No other
//! form is rendered: there an expression would reach the node as it is.

use std::borrow::Cow;

use serde_json::Value;

use super::Form;
use crate::base::code::Code;
use crate::base::text::is_alphanumeric_or;
use crate::diagnostic::Finding;

pub(super) const OPEN: &str = "{{";
const CLOSE: &str = "}}";

/// How expressions, statements and comments begin.
/// <https://jinja.palletsprojects.com/en/stable/templates/#synopsis>
const MARKS: &[&str] = &[OPEN, "{%", "{#"];

fn has_mark(text: &str) -> bool {
    MARKS.iter().any(|mark| text.contains(mark))
}

/// The text with a letter for each expression: only the rest can be judged here.
///
/// # Errors
/// An expression in a form that nothing renders, or anything but `{{ ds.NAME.NAME }}`.
pub(super) fn mask_spans(text: &str, form: Form) -> Result<Cow<'_, str>, Finding> {
    if !has_mark(text) {
        return Ok(Cow::Borrowed(text));
    }
    if form != Form::Capi {
        let message = format!("nothing renders the template expression in `{text}`");
        let remedy =
            "write the value itself, or use `--as capi`, whose user-data cloudbase-init renders";
        return Err(Finding::new(Code::TEMPLATE_EXPRESSION, message, remedy));
    }

    let mut masked = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(OPEN) {
        let expression = behind.split_once(CLOSE);
        let Some((_, after)) = expression.filter(|(inner, _)| is_value(inner)) else {
            return Err(refuse_expression(text));
        };
        masked.push_str(before);
        masked.push('x');
        rest = after;
    }
    masked.push_str(rest);
    if has_mark(&masked) {
        return Err(refuse_expression(text));
    }
    Ok(Cow::Owned(masked))
}

/// Judges every text of a document that is rendered, whatever wrote it.
pub(super) fn check_document(value: &Value) -> Result<(), Finding> {
    match value {
        Value::String(text) => mask_spans(text, Form::Capi).map(drop),
        Value::Array(items) => items.iter().try_for_each(check_document),
        Value::Object(fields) => fields.iter().try_for_each(|(name, value)| {
            mask_spans(name, Form::Capi)?;
            check_document(value)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

fn refuse_expression(text: &str) -> Finding {
    let message = format!("`{text}` has a template expression that does not just name a value");
    let remedy =
        "write `ds` and two names between double braces: `{{ ds.meta_data.local_hostname }}`";
    Finding::new(Code::TEMPLATE_EXPRESSION, message, remedy)
}

/// Whether it is `ds.NAME.NAME`. Names with a leading `_` are Python's own.
fn is_value(inner: &str) -> bool {
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_alphabetic()) && is_alphanumeric_or(name, "_")
    };
    match inner.trim_matches(' ').split('.').collect::<Vec<_>>()[..] {
        ["ds", group, name] => is_name(group) && is_name(name),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn expressions_are_opaque_where_they_are_rendered() {
        for (text, masked) in [
            ("win-1", "win-1"),
            ("{{ ds.meta_data.local_hostname }}", "x"),
            ("cloud://{{ds.meta_data.instance_id}}", "cloud://x"),
            ("a-{{ ds.a.b }}-{{ ds.c.d }}b", "a-x-xb"),
        ] {
            assert_eq!(mask_spans(text, Form::Capi).as_deref(), Ok(masked));
        }
    }

    #[test]
    fn an_expression_names_a_value_and_does_nothing_else() {
        for text in [
            "{{",
            "{{ }}",
            "{{ ds.a.b",
            "{{ {{ ds.a.b }} }}",
            "{{ ds.a\n.b }}",
            r"{{ ds.a.b\c }}",
            "{{ lipsum.__globals__['os'].popen('whoami').read() }}",
            "{{ ds.meta_data.__class__ }}",
            "{{ ds._a.b }}",
            "{{ ds.a }}",
            "{{ ds.a.b.c }}",
            "{{ ds.a.b() }}",
            "{{ ds.a.b|e }}",
            r#"{{ ds.a["b"] }}"#,
            "{{ ds.a.b }}{{ self }}",
            "{{- ds.a.b }}",
            "{%set(x)%}",
            "a{#b#}",
            "{{ ds.a.b }}{%raw%}",
        ] {
            assert!(mask_spans(text, Form::Capi).is_err(), "{text}");
            for document in [json!({ "a": [text] }), json!({ text: "a" })] {
                assert!(check_document(&document).is_err(), "{document}");
            }
        }
    }

    #[test]
    fn an_expression_is_refused_where_nothing_renders_it() {
        for form in [Form::Kubeadm, Form::CloudConfig, Form::Ps1, Form::Mime] {
            let refused = mask_spans("{{ ds.a.b }}", form).expect_err("not rendered");
            assert_eq!(refused.code, String::from(Code::TEMPLATE_EXPRESSION));
        }
    }
}
