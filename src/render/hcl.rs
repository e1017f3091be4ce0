//! HCL: blocks chosen by tags that stand in comments, and declarations of variables.

use std::fmt::Write as _;

use serde_json::Value;
use tera::{Context, Tera};

use crate::embedded::Tree;
use crate::model::target::{Variable, VariableType};

use super::RenderError;

/// A template as Tera reads it. In the file every tag stands in a comment of its own line
/// (`#{% if has.x %}`), so that the file is valid HCL; the line must not leave a blank one behind.
#[must_use]
pub fn template(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    for line in source.lines() {
        if let Some(tag) = line.trim_start().strip_prefix("#{%") {
            text.push_str("{%");
            text.push_str(tag.trim_end());
        } else {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

pub(super) fn rendered(packer: &Tree, path: &str, context: &Value) -> Result<String, RenderError> {
    let bytes = packer.get(path).ok_or_else(|| RenderError::Missing(path.to_owned()))?;
    let error = |message: String| RenderError::Template { file: path.to_owned(), message };
    let source = std::str::from_utf8(bytes).map_err(|invalid| error(invalid.to_string()))?;
    let context = Context::from_serialize(context).map_err(|invalid| error(invalid.to_string()))?;
    let text = Tera::new()
        .render_str(&template(source), &context, false)
        .map_err(|invalid| error(invalid.to_string()))?;
    Ok(squeezed(&text))
}

/// Chosen blocks bring a blank line each; never two in a row, and none behind a brace.
fn squeezed(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines() {
        let blank = line.trim().is_empty();
        let after = lines.last().is_none_or(|last| last.trim().is_empty() || last.ends_with('{'));
        if !(blank && after) {
            lines.push(line);
        }
        if line.trim() == "}" && lines.len() > 1 && lines[lines.len() - 2].trim().is_empty() {
            let brace = lines.pop().unwrap_or(line);
            lines.pop();
            lines.push(brace);
        }
    }
    while lines.last().is_some_and(|last| last.trim().is_empty()) {
        lines.pop();
    }
    lines.join("\n") + "\n"
}

/// `variables.pkr.hcl`
pub(super) fn variables(declared: &[&Variable]) -> String {
    let blocks: Vec<String> = declared.iter().map(|variable| declaration(variable)).collect();
    blocks.join("\n")
}

fn declaration(variable: &Variable) -> String {
    let mut text = format!(
        "variable \"{}\" {{\n  type        = {}\n  description = {}\n",
        variable.name,
        variable.kind.as_str(),
        literal(&variable.description)
    );
    if variable.sensitive {
        text.push_str("  sensitive   = true\n");
    }
    for (condition, message) in validations(variable) {
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n  validation {{\n    condition     = {condition}\n    error_message = {}\n  }}\n",
            literal(&format!("The {} {message}.", variable.name))
        );
    }
    text.push_str("}\n");
    text
}

fn validations(variable: &Variable) -> Vec<(String, String)> {
    let name = format!("var.{}", variable.name);
    let mut conditions = Vec::new();
    let mut add = |condition: String, message: String| conditions.push((condition, message));
    if let Some(pattern) = &variable.pattern {
        let pattern_literal = literal(pattern);
        let condition = if variable.kind == VariableType::StringList {
            format!("alltrue([for item in {name} : can(regex({pattern_literal}, item))])")
        } else {
            format!("can(regex({pattern_literal}, {name}))")
        };
        add(condition, format!("must match {pattern}"));
    }
    if let Some(allowed) = &variable.one_of {
        let list: Vec<String> = allowed.iter().map(|value| literal(value)).collect();
        add(
            format!("contains([{}], {name})", list.join(", ")),
            format!("must be one of {}", allowed.join(", ")),
        );
    }
    if let Some(min) = variable.min {
        add(format!("{name} >= {min}"), format!("must be at least {min}"));
    }
    if let Some(max) = variable.max {
        add(format!("{name} <= {max}"), format!("must be at most {max}"));
    }
    if variable.integer {
        add(format!("floor({name}) == {name}"), "must be a whole number".to_owned());
    }
    if let Some(min) = variable.min_items {
        add(format!("length({name}) >= {min}"), format!("must have at least {min} item(s)"));
    }
    if let Some(max) = variable.max_items {
        add(format!("length({name}) <= {max}"), format!("must have at most {max} items"));
    }
    conditions
}

/// A quoted HCL string in which nothing is interpolated.
fn literal(text: &str) -> String {
    let mut quoted = String::from("\"");
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '$' | '%' if characters.peek() == Some(&'{') => {
                quoted.push(character);
                quoted.push(character);
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_leave_no_lines_behind() {
        let source = "a {\n  #{% if x %}\n\n  b = 1\n  #{% endif %}\n}\n";
        let render = |x: bool| {
            let mut context = Context::new();
            context.insert("x", &x);
            squeezed(&Tera::new().render_str(&template(source), &context, false).expect("rendered"))
        };
        assert_eq!(render(true), "a {\n  b = 1\n}\n");
        assert_eq!(render(false), "a {\n}\n");
    }

    #[test]
    fn literals_interpolate_nothing() {
        for text in ["plain", "a \"b\"", r"C:\k", "${env(\"HOME\")}", "%{ if true }", "$%{", "$", "ä\tb\n"] {
            let hcl = format!("x = {}\n", literal(text));
            let body: hcl_edit::structure::Body = hcl.parse().expect(text);
            let attribute = body.get_attribute("x").expect("attribute");
            let value = attribute.value.as_str().map(str::to_owned);
            // A template expression is what an interpolation would make of it.
            assert_eq!(value.as_deref(), Some(text), "{hcl}");
        }
    }
}
