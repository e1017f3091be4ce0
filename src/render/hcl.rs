//! HCL: templates with tags in comments, arguments selected by their variable, and declarations of variables.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;
use tera::{Context, Tera};

use super::{file_error, missing_error};
use crate::diagnostic::Result;
use crate::embedded::Tree;
use crate::model::variable::{Variable, VariableType};
use crate::template::{create_engine, render_with};

/// A template as Tera reads it. In the file every tag stands in a comment of its own line
/// (`#{% if has.x %}`), so that the file is valid HCL; the line must not leave a blank one behind.
pub fn convert_template(source: &str) -> String {
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

/// The templates of `packer/` with what they may name.
pub(super) struct Templates<'a> {
    packer: &'a Tree,
    tera: Tera,
    context: Context,
}

impl<'a> Templates<'a> {
    pub(super) fn new(packer: &'a Tree, facts: &Value) -> Self {
        let mut context = Context::new();
        for (name, value) in facts.as_object().into_iter().flatten() {
            context.insert(name.clone(), value);
        }
        Self {
            packer,
            tera: create_engine(),
            context,
        }
    }

    pub(super) fn set_fact(&mut self, name: &'static str, value: &impl Serialize) {
        self.context.insert(name, value);
    }

    pub(super) fn render_template(&self, path: &str) -> Result<String> {
        let bytes = self.packer.get(path).ok_or_else(|| missing_error(path))?;
        match self.render_source(bytes) {
            Ok(text) => Ok(join_lines(text.lines().map(str::to_owned).collect())),
            Err(message) => Err(file_error(path, &format!("packer/{path}: {message}"))),
        }
    }

    fn render_source(&self, bytes: &[u8]) -> Result<String, String> {
        let source = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
        let template = convert_template(source);
        render_with(&self.tera, &template, &self.context)
    }
}

/// Removes the arguments whose variable the workspace does not declare, then the blocks that became
/// empty, and aligns the rest as `packer fmt` does.
pub(super) fn select_arguments(text: &str, is_declared: impl Fn(&str) -> bool) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        if find_variable(line).is_some_and(|name| !is_declared(name)) {
            continue;
        }
        let opening = lines.iter().rposition(|known| !known.trim().is_empty());
        match opening {
            Some(at) if line.trim() == "}" && lines[at].ends_with('{') => lines.truncate(at),
            _ => lines.push(line.to_owned()),
        }
    }
    align_arguments(&mut lines);
    join_lines(lines)
}

/// The variable that is all of an argument's value.
fn find_variable(line: &str) -> Option<&str> {
    let (_, _, value) = split_argument(line)?;
    let name = value.strip_prefix("var.")?;
    name.chars().all(is_name_character).then_some(name)
}

/// Indentation, name and value of a line that holds one argument.
fn split_argument(line: &str) -> Option<(&str, &str, &str)> {
    let name = line.trim_start();
    let indent = &line[..line.len() - name.len()];
    let (name, value) = name.split_once('=')?;
    let name = name.trim_end();
    (!name.is_empty() && name.chars().all(is_name_character)).then_some((
        indent,
        name,
        value.trim_start(),
    ))
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || character == '-'
}

/// Neighbouring arguments on one line each have their `=` in one column.
fn align_arguments(lines: &mut [String]) {
    for group in lines.chunk_by_mut(|a, b| is_argument(a) && is_argument(b)) {
        let names = group.iter().filter_map(|line| split_argument(line));
        let width = names.map(|(_, name, _)| name.len()).max().unwrap_or(0);
        for line in group {
            if let Some((indent, name, value)) = split_argument(line) {
                *line = format!("{indent}{name:width$} = {value}");
            }
        }
    }
}

fn is_argument(line: &str) -> bool {
    split_argument(line).is_some() && !line.ends_with(['{', '(', '['])
}

/// Joins lines; blank lines neither repeat nor stand next to a brace.
fn join_lines(lines: Vec<String>) -> String {
    let mut kept: Vec<String> = Vec::new();
    for line in lines {
        let last = kept.last().map_or("{", String::as_str);
        let after_blank = last.trim().is_empty();
        if line.trim().is_empty() && (after_blank || last.ends_with('{')) {
            continue;
        }
        if line.trim() == "}" && after_blank {
            kept.pop();
        }
        kept.push(line);
    }
    kept.join("\n").trim_end().to_owned() + "\n"
}

/// `variables.pkr.hcl`
pub(super) fn render_variables(declared: &[&Variable]) -> String {
    let blocks: Vec<String> = declared
        .iter()
        .map(|variable| render_variable(variable))
        .collect();
    blocks.join("\n")
}

fn render_variable(variable: &Variable) -> String {
    let mut text = format!(
        "variable \"{}\" {{\n  type        = {}\n  description = {}\n",
        variable.name,
        variable.kind.as_str(),
        quote_string(&variable.description)
    );
    if variable.sensitive {
        text.push_str("  sensitive   = true\n");
    }
    for (condition, message) in list_validations(variable) {
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n  validation {{\n    condition     = {condition}\n    error_message = {}\n  }}\n",
            quote_string(&format!("The {} {message}.", variable.name))
        );
    }
    text.push_str("}\n");
    text
}

fn list_validations(variable: &Variable) -> Vec<(String, String)> {
    let name = format!("var.{}", variable.name);
    let mut conditions = Vec::new();
    if let Some(pattern) = &variable.pattern {
        let literal = quote_string(pattern);
        let condition = if variable.kind == VariableType::StringList {
            format!("alltrue([for item in {name} : can(regex({literal}, item))])")
        } else {
            format!("can(regex({literal}, {name}))")
        };
        conditions.push((condition, format!("must match {pattern}")));
    }
    if let Some(allowed) = &variable.one_of {
        let list: Vec<String> = allowed.iter().map(|value| quote_string(value)).collect();
        let condition = format!("contains([{}], {name})", list.join(", "));
        conditions.push((condition, format!("must be one of {}", allowed.join(", "))));
    }
    if let Some(min) = variable.min {
        let message = format!("must be at least {min}");
        conditions.push((format!("{name} >= {min}"), message));
    }
    if let Some(max) = variable.max {
        let message = format!("must be at most {max}");
        conditions.push((format!("{name} <= {max}"), message));
    }
    if variable.integer {
        let message = "must be a whole number".to_owned();
        conditions.push((format!("floor({name}) == {name}"), message));
    }
    if let Some(min) = variable.min_items {
        let message = format!("must have at least {min} item(s)");
        conditions.push((format!("length({name}) >= {min}"), message));
    }
    if let Some(max) = variable.max_items {
        let message = format!("must have at most {max} items");
        conditions.push((format!("length({name}) <= {max}"), message));
    }
    conditions
}

/// A quoted HCL string in which nothing is interpolated.
fn quote_string(text: &str) -> String {
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
            let text =
                crate::template::render(&convert_template(source), &context).expect("rendered");
            join_lines(text.lines().map(str::to_owned).collect())
        };
        assert_eq!(render(true), "a {\n  b = 1\n}\n");
        assert_eq!(render(false), "a {\n}\n");
    }

    #[test]
    fn templates_of_a_target_without_bound_are_refused() {
        let nested = "#{% for a in x %}\n#{% for b in x %}\n#{% for c in x %}\n#{% endfor %}\n#{% endfor %}\n#{% endfor %}\n";
        let files = [("a.pkr.hcl".to_owned(), nested.as_bytes().to_vec())];
        let packer = Tree::from_files("packer".to_owned(), files.into());
        let templates = Templates::new(&packer, &serde_json::json!({ "x": [1] }));
        let error = templates.render_template("a.pkr.hcl").expect_err("nested");
        assert!(error.to_string().contains("loops are nested"), "{error}");
    }

    #[test]
    fn arguments_without_a_declared_variable_are_left_out() {
        let source = "source \"x\" \"y\" {\n  a_long_name = var.a\n  b           = merge(var.b, var.c)\n\n  \
                      spot {\n    d = var.d\n  }\n\n  # Why.\n  e = var.e == 1\n}\n";
        let select = |declared: &[&str]| select_arguments(source, |name| declared.contains(&name));
        assert_eq!(select(&["a", "d"]), source);
        assert_eq!(
            select(&[]),
            "source \"x\" \"y\" {\n  b = merge(var.b, var.c)\n\n  # Why.\n  e = var.e == 1\n}\n"
        );
    }

    #[test]
    fn keys_with_dashes_are_aligned() {
        let source = "a = {\n  name = 1\n  root-device-type = 2\n}\n";
        assert_eq!(
            select_arguments(source, |_| true),
            "a = {\n  name             = 1\n  root-device-type = 2\n}\n"
        );
    }

    #[test]
    fn literals_interpolate_nothing() {
        for text in [
            "plain",
            "a \"b\"",
            r"C:\k",
            "${env(\"HOME\")}",
            "%{ if true }",
            "$%{",
            "$",
            "ä\tb\n",
        ] {
            let hcl = format!("x = {}\n", quote_string(text));
            let body: hcl_edit::structure::Body = hcl.parse().expect(text);
            let attribute = body.get_attribute("x").expect("attribute");
            let value = attribute.value.as_str().map(str::to_owned);
            // A template expression is what an interpolation would make of it.
            assert_eq!(value.as_deref(), Some(text), "{hcl}");
        }
    }
}
