//! One value at a time: expressions, facts, templates and lists of members.

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use tera::{Context, Tera};

use crate::base::toml::{ClosedKey, Contradiction, TomlFragment, merge_fragments};
use crate::diagnostic::classify;
use crate::embedded::Tree;
use crate::template::{LONGEST_TEXT, create_engine, render_with};

/// Keys that only the image sets, in `provisioners`.
pub const CLOSED_KEYS: &str = "closed.json";

/// Most parts of a fact's path: every run of them is tried as a key.
const MOST_PARTS: usize = 32;

/// A value of a step that cannot be rendered.
#[derive(Debug, thiserror::Error)]
pub enum RenderFault {
    #[error("{0}")]
    Text(String),
    /// A part of a configuration file, which the user gave, against the file.
    #[error(transparent)]
    Fragment(Contradiction),
}

classify!(RenderFault => STEP_FILE);

impl From<String> for RenderFault {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// Values that stand for a file beside the steps: its text, and its bytes.
pub const OWN_FILE_FORMS: &[&str] = &["file", "base64"];

/// Renders the values of steps over the facts.
#[derive(Debug)]
pub struct StepRenderer<'a> {
    facts: &'a Value,
    provisioners: &'a Tree,
    /// Made for the first text that [`StepRenderer::insert_facts`] cannot render, with the facts that were needed so far.
    tera: OnceCell<(Tera, RefCell<Context>)>,
}

impl<'a> StepRenderer<'a> {
    pub fn new(facts: &'a Value, provisioners: &'a Tree) -> Self {
        Self {
            facts,
            provisioners,
            tera: OnceCell::new(),
        }
    }

    /// A property's value, with what every special form in it stands for.
    ///
    /// # Errors
    /// An undefined name, an unknown fact or template, a form with other keys than its own, or a fragment that
    /// contradicts its file.
    pub fn render_value(&self, value: &Value, item: Option<&Value>) -> Result<Value, RenderFault> {
        let rendered = match value {
            Value::String(text) => self.render_text(text, item)?.into(),
            Value::Array(items) => {
                let items = items.iter().map(|it| self.render_value(it, item));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Value::Object(object) => match self.render_form(object, item)? {
                Some(rendered) => rendered,
                None => self.render_fields(object, item)?,
            },
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        };
        Ok(rendered)
    }

    fn render_fields(
        &self,
        object: &Map<String, Value>,
        item: Option<&Value>,
    ) -> Result<Value, RenderFault> {
        let mut fields = Map::new();
        for (name, value) in object {
            fields.insert(name.clone(), self.render_value(value, item)?);
        }
        Ok(Value::Object(fields))
    }

    /// Value of an object that is a form; none where it is plain data.
    fn render_form(
        &self,
        object: &Map<String, Value>,
        item: Option<&Value>,
    ) -> Result<Option<Value>, RenderFault> {
        if let Some(path) = object.get("membersOf").and_then(Value::as_str)
            && let Some(into) = object.get("into").and_then(Value::as_str)
            && object.len() == 2
        {
            return Ok(Some(self.place_members(path, into, item)?));
        }
        if let Some(name) = object.get("template").and_then(Value::as_str)
            && let Some(path) = object.get("fragments").and_then(Value::as_str)
            && object.len() == 2
        {
            return self.render_config(name, path, item).map(Some);
        }
        let mut entries = object.iter();
        let (Some((form, value)), None) = (entries.next(), entries.next()) else {
            return Ok(None);
        };
        let rendered = match (form.as_str(), value) {
            ("fact", Value::String(path)) => self.find_fact(path, item)?,
            ("template", Value::String(name)) => self.render_template(name, item)?.into(),
            ("file", Value::String(name)) => self.read_own_text(name)?.into(),
            ("base64", Value::String(name)) => STANDARD.encode(self.read_own_file(name)?).into(),
            ("concat", Value::Array(parts)) => self.concat_lists(parts, item)?,
            _ => return Ok(None),
        };
        Ok(Some(rendered))
    }

    /// A template of a configuration file, with the keys of the user's fragments.
    fn render_config(
        &self,
        name: &str,
        path: &str,
        item: Option<&Value>,
    ) -> Result<Value, RenderFault> {
        let file = self.render_template(name, item)?;
        let texts: Vec<String> = serde_json::from_value(self.find_fact(path, item)?)
            .map_err(|error| format!("`{path}` is not a list of texts: {error}"))?;
        let mut fragments = Vec::new();
        for text in texts {
            let fragment = text.parse::<TomlFragment>();
            fragments.push(fragment.map_err(|error| format!("`{path}`: {error}"))?);
        }
        let closed: Option<Arc<Vec<ClosedKey>>> = self
            .provisioners
            .share_json(CLOSED_KEYS)
            .map_err(|error| error.to_string())?;
        let closed = closed.unwrap_or_default();

        let merged = merge_fragments(&file, &fragments, &closed);
        merged.map(Value::from).map_err(RenderFault::Fragment)
    }

    fn read_own_text(&self, name: &str) -> Result<String, String> {
        match std::str::from_utf8(self.read_own_file(name)?) {
            Ok(text) => Ok(text.trim_start_matches('\u{feff}').to_owned()),
            Err(_) => Err(format!(
                "{name} is not UTF-8 text; use `{{\"base64\": \"{name}\"}}`"
            )),
        }
    }

    /// A text with its expressions replaced.
    ///
    /// # Errors
    /// Text that the template engine makes of a template, on one line.
    pub fn render_text(&self, text: &str, item: Option<&Value>) -> Result<String, String> {
        if !is_template(text) {
            return Ok(text.to_owned());
        }
        if let Some(text) = self.insert_facts(text, item) {
            return Ok(text);
        }
        self.render_source(text, item)
            .map_err(|error| format_report(&error))
    }

    /// Fast path without Tera, which compiles each template: inserts facts that are strings or integers. Returns
    /// `None` if an expression is not the name of such a fact.
    fn insert_facts(&self, text: &str, item: Option<&Value>) -> Option<String> {
        let mut rendered = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('{') {
            rendered.push_str(before);
            if rendered.len() > LONGEST_TEXT {
                return None;
            }
            let Some(expression) = behind.strip_prefix('{') else {
                if behind.starts_with(['%', '#']) {
                    return None;
                }
                rendered.push('{');
                rest = behind;
                continue;
            };
            let (name, after) = expression.split_once('}')?;
            let after = after.strip_prefix('}')?;
            let mut parts = name.trim().split('.');
            let mut value = match (parts.next()?, item) {
                ("item", Some(item)) => item,
                (first, _) => self.facts.get(first)?,
            };
            for part in parts {
                value = value.as_object()?.get(part)?;
            }
            match value {
                Value::String(text) => rendered.push_str(text),
                Value::Number(number) if !number.is_f64() => rendered.push_str(&number.to_string()),
                _ => return None,
            }
            rest = after;
        }
        rendered.push_str(rest);
        Some(rendered)
    }

    fn render_template(&self, name: &str, item: Option<&Value>) -> Result<String, String> {
        let path = format!("templates/{name}");
        let bytes = self
            .provisioners
            .get(&path)
            .ok_or_else(|| format!("there is no template `{name}` in the folder `templates`"))?;
        let source = std::str::from_utf8(bytes).map_err(|error| format!("{path}: {error}"))?;
        self.render_source(source, item)
            .map_err(|error| format!("{path}: {}", format_report(&error)))
    }

    /// A file beside the step files of the user.
    fn read_own_file(&self, name: &str) -> Result<&[u8], String> {
        let bytes = self.provisioners.get(&format!("files/{name}"));
        bytes.ok_or_else(|| format!("there is no file `{name}` beside the steps of `--steps`"))
    }

    fn render_source(&self, source: &str, item: Option<&Value>) -> Result<String, String> {
        let (tera, context) = self
            .tera
            .get_or_init(|| (create_engine(), RefCell::default()));
        let mut context = context.borrow_mut();
        self.add_facts(&mut context, |name| source.contains(name));
        if let Ok(text) = render_with_item(tera, source, &context, item) {
            return Ok(text);
        }
        // The error lists every fact that there is.
        self.add_facts(&mut context, |_| true);
        render_with_item(tera, source, &context, item)
    }

    /// Adds facts to what templates may name: copying all of them takes longer than rendering.
    fn add_facts(&self, context: &mut Context, is_wanted: impl Fn(&str) -> bool) {
        for (name, value) in self.facts.as_object().into_iter().flatten() {
            if !context.contains_key(name) && is_wanted(name) {
                context.insert(name.clone(), value);
            }
        }
    }

    /// The fact at a path such as `runtime.service`; `item` is the turn's value.
    ///
    /// # Errors
    /// No such fact.
    pub fn find_fact(&self, path: &str, item: Option<&Value>) -> Result<Value, String> {
        let mut parts = path.split('.');
        let mut value = match (parts.next(), item) {
            (Some("item"), Some(item)) => item,
            (Some(first), _) => self
                .facts
                .get(first)
                .ok_or_else(|| format!("no fact `{path}`"))?,
            (None, _) => return Err("the path of the fact is empty".to_owned()),
        };
        // Names of components may hold dots (`hns.psm1`): the longest key that fits is taken.
        let rest: Vec<&str> = parts.collect();
        if rest.len() > MOST_PARTS {
            return Err(format!(
                "the path of a fact has more than {MOST_PARTS} parts"
            ));
        }
        let mut start = 0;
        while start < rest.len() {
            let found = (start + 1..=rest.len()).rev().find_map(|end| {
                value
                    .get(rest[start..end].join("."))
                    .map(|found| (end, found))
            });
            (start, value) = found.ok_or_else(|| format!("no fact `{path}`"))?;
        }
        Ok(value.clone())
    }

    fn place_members(&self, path: &str, into: &str, item: Option<&Value>) -> Result<Value, String> {
        let folder = self.render_text(into, item)?;
        let Value::Array(members) = self.find_fact(&format!("{path}.members"), item)? else {
            return Err(format!("`{path}` has no members"));
        };
        members
            .iter()
            .map(|member| {
                match (
                    member.get("member"),
                    member.get("file").and_then(Value::as_str),
                ) {
                    (Some(name), Some(file)) => {
                        let mut placed =
                            json!({ "member": name, "path": format!("{folder}\\{file}") });
                        if let Some(digest) = member.get("sha256") {
                            placed["sha256"] = digest.clone();
                        }
                        Ok(placed)
                    }
                    _ => Err(format!("`{path}.members` is not a list of members")),
                }
            })
            .collect::<Result<_, _>>()
            .map(Value::Array)
    }

    fn concat_lists(&self, parts: &[Value], item: Option<&Value>) -> Result<Value, RenderFault> {
        let mut all = Vec::new();
        for part in parts {
            match self.render_value(part, item)? {
                Value::Array(items) => all.extend(items),
                other => return Err(format!("`concat` expects lists, found {other}").into()),
            }
        }
        Ok(Value::Array(all))
    }
}

fn is_template(text: &str) -> bool {
    // Most texts have no brace, and one character is found faster than two.
    text.contains('{')
        && text
            .as_bytes()
            .windows(2)
            .any(|pair| pair == b"{{" || pair == b"{%")
}

/// The first line of the engine's report and the name it points at.
fn format_report(report: &str) -> String {
    report
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .take(4)
        .collect::<Vec<_>>()
        .join(" ")
}

fn render_with_item(
    tera: &Tera,
    source: &str,
    context: &Context,
    item: Option<&Value>,
) -> Result<String, String> {
    let Some(item) = item else {
        return render_with(tera, source, context);
    };
    let mut context = context.clone();
    context.insert("item", item);
    render_with(tera, source, &context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_of_facts_are_refused() {
        let facts = json!({ "files": { "a.b": { "c": 1 } } });
        let tree = Tree::from_files("provisioners".to_owned(), std::collections::BTreeMap::new());
        let renderer = StepRenderer::new(&facts, &tree);
        assert_eq!(renderer.find_fact("files.a.b.c", None), Ok(json!(1)));
        let long = format!("files{}", ".a".repeat(1 << 20));
        let error = renderer.find_fact(&long, None).expect_err("long");
        assert!(error.contains("more than 32 parts"), "{error}");
    }

    #[test]
    fn facts_are_inserted_as_tera_does() {
        let facts = json!({ "paths": { "k": r"C:\k", "port": 10250, "ratio": 0.5 }, "on": true, "text": "a{{b" });
        let (item, tree) = (
            json!({ "url": "https://a.example/x" }),
            Tree::embedded_provisioners(),
        );
        let renderer = StepRenderer::new(&facts, &tree);
        for (text, inserted) in [
            ("{{ paths.k }}\\x", true),
            ("{{paths.k}}:{{ paths.port }}!", true),
            ("{{ item.url }}", true),
            ("{{ text }}", true),
            ("{{ paths.k }} {# comment #}", false),
            ("{{ paths.ratio }}", false),
            ("{{ on }}", false),
            ("{{ paths.k | upper }}", false),
            ("{{- paths.k -}} x", false),
            ("{% if on %}{{ paths.k }}{% endif %}", false),
        ] {
            let found = renderer.insert_facts(text, Some(&item));
            assert_eq!(found.is_some(), inserted, "{text}");
            let by_tera = renderer.render_source(text, Some(&item)).expect(text);
            assert_eq!(found.unwrap_or_else(|| by_tera.clone()), by_tera, "{text}");
        }
    }
}
