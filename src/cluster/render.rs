//! Templates of whole files. Values are inserted as JSON, which is valid YAML, so that no value can
//! change the structure.

use serde_json::Value;
use tera::{Context, Kwargs, State, Tera};

use crate::base::code::Code;
use crate::base::text::fits_literal_block;
use crate::diagnostic::{CodedError, Result};
use crate::template::{bound_text, create_engine, format_json, render_with};

/// Renders templates over the facts.
#[derive(Debug)]
pub struct ManifestRenderer {
    tera: Tera,
    context: Context,
}

impl ManifestRenderer {
    pub fn new(facts: &Value) -> Self {
        let mut tera = create_engine();
        // Tera passes undefined names to filters as null; facts are never null, so null is an error.
        tera.register_filter("json", |value: tera::Value, _: Kwargs, _: &State<'_>| {
            match format_json(&value)? {
                text if text == "null" => Err(tera::Error::message("no such fact")),
                text => Ok(text),
            }
        });
        // Lines as a literal block of a ConfigMap's `data`; what a block would change stays JSON.
        tera.register_filter("lines", |text: &str, _: Kwargs, _: &State<'_>| {
            bound_text(format_block(text))
        });
        let mut context = Context::new();
        for (name, value) in facts.as_object().into_iter().flatten() {
            context.insert(name.clone(), value);
        }
        Self { tera, context }
    }

    /// # Errors
    /// An unknown fact, or a template that is invalid or whose work has no bound.
    pub fn render_file(&self, file: &str, source: &str) -> Result<String> {
        if !source.contains("{{") && !source.contains("{%") {
            return Ok(source.to_owned());
        }
        let rendered = render_with(&self.tera, source, &self.context);
        rendered.map_err(|error| {
            let words: Vec<&str> = error.split_whitespace().collect();
            let message = format!("{file}: {}", words.join(" "));
            CodedError::in_file(Code::RENDER, file, message).into()
        })
    }
}

/// Indent of a text below a key of `data`.
const INDENT: &str = "    ";

fn format_block(text: &str) -> String {
    if !fits_literal_block(text) {
        return Value::String(text.to_owned()).to_string();
    }
    let lines = text.lines().map(|line| {
        if line.is_empty() {
            String::new()
        } else {
            format!("\n{INDENT}{line}")
        }
    });
    let mut block = "|".to_owned();
    for line in lines {
        block.push_str(if line.is_empty() { "\n" } else { &line });
    }
    block
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn manifests_without_bound_are_refused() {
        let nested =
            "{% for a in x %}{% for b in x %}{% for c in x %}{% endfor %}{% endfor %}{% endfor %}";
        let renderer = ManifestRenderer::new(&json!({ "x": [1] }));
        let error = renderer.render_file("m.yaml", nested).expect_err("nested");
        assert!(error.to_string().contains("loops are nested"), "{error}");
    }
}
