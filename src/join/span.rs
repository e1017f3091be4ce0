//! Template expressions in values: `{{ ds.meta_data.local_hostname }}`.
//!
//! Cluster API's user-data begins with `## template: jinja`, which cloudbase-init renders on the machine from the
//! platform's metadata (`bootstrap/kubeadm/internal/cloudinit` of kubernetes-sigs/cluster-api; `userdata.py` and
//! `cloudconfig.py` of cloudbase-init). No other form is rendered: there an expression would reach the node as it is.

use std::borrow::Cow;

use super::Form;
use crate::base::code::Code;
use crate::base::text::is_control;
use crate::diagnostic::Finding;

pub(super) const OPEN: &str = "{{";
const CLOSE: &str = "}}";

/// The text with a letter for each expression: only the rest can be judged here.
///
/// # Errors
/// An expression in a form that nothing renders, or one that is not `{{ … }}`.
pub(super) fn mask_spans(text: &str, form: Form) -> Result<Cow<'_, str>, Finding> {
    if !text.contains(OPEN) {
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
        let Some((_, after)) = expression.filter(|(inner, _)| is_expression(inner)) else {
            let message = format!("`{text}` has a template expression that does not end");
            let remedy = "write it on one line, without braces and backslashes in it: `{{ ds.meta_data.local_hostname }}`";
            return Err(Finding::new(Code::TEMPLATE_EXPRESSION, message, remedy));
        };
        masked.push_str(before);
        masked.push('x');
        rest = after;
    }
    masked.push_str(rest);
    Ok(Cow::Owned(masked))
}

/// Cluster API quotes the value once more, as YAML: a backslash would mean something else afterwards.
fn is_expression(inner: &str) -> bool {
    !inner.trim().is_empty() && !inner.contains(['{', '}', '\\']) && !inner.contains(is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_opaque_where_they_are_rendered() {
        for (text, masked) in [
            ("win-1", "win-1"),
            ("{{ ds.meta_data.local_hostname }}", "x"),
            (r#"cloud://{{ ds.meta_data["instance_id"] }}"#, "cloud://x"),
            ("a-{{ x }}-{{ y }}b", "a-x-xb"),
        ] {
            assert_eq!(mask_spans(text, Form::Capi).as_deref(), Ok(masked));
        }
        for text in [
            "{{",
            "{{ }}",
            "{{ a",
            "{{ {{ a }} }}",
            "{{ a\n}}",
            r"{{ a\b }}",
        ] {
            assert!(mask_spans(text, Form::Capi).is_err(), "{text}");
        }
        for form in [Form::Kubeadm, Form::CloudConfig, Form::Ps1, Form::Mime] {
            let refused = mask_spans("{{ x }}", form).expect_err("not rendered");
            assert_eq!(refused.code, String::from(Code::TEMPLATE_EXPRESSION));
        }
    }
}
