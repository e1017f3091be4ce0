//! The template engine of steps, manifests and HCL, and the bounds of its work: steps and targets of somebody else's
//! are templates, too.

mod tags;

use std::io::{self, Write};

use serde::Serialize;
use tera::{Context, Error, Kwargs, State, Tera, TeraResult, Value};

use tags::list_tags;

/// Longest text that is rendered; real ones have less than a hundredth.
pub(crate) const LONGEST_TEXT: usize = 4 << 20;
/// Longest template.
const LONGEST_SOURCE: usize = 256 << 10;
/// How deep loops are nested.
const DEEPEST_LOOP: usize = 2;
/// Longest result of `range`.
const LONGEST_RANGE: i64 = 256;
/// Filters whose result is not longer than what they are given.
const SHRINKING: &[&str] = &[
    "default", "first", "int", "last", "length", "lower", "nth", "split", "trim", "upper",
];

/// Filters of the engine that lengthen a text over and over.
const UNBOUNDED: &[&str] = &["escape", "escape_html", "escape_xml", "indent"];

pub(crate) fn create_engine() -> Tera {
    let mut tera = Tera::new();
    tera.register_filter("join", join_values);
    tera.register_filter("literal", quote_literal);
    tera.register_filter("replace", replace_text);
    tera.register_filter("str", format_value);
    for name in UNBOUNDED {
        tera.register_filter(*name, move |_: Value, _: Kwargs, _: &State<'_>| {
            refuse_filter(name)
        });
    }
    tera.register_function("range", list_range);
    tera
}

fn refuse_filter(name: &str) -> TeraResult<Value> {
    let message = format!("the filter `{name}` is not available in templates");
    Err(Error::message(message))
}

/// As the engine's own filter, for texts that stay small.
#[expect(clippy::needless_pass_by_value, reason = "the engine's signature")]
fn join_values(values: &[Value], arguments: Kwargs, _: &State) -> TeraResult<String> {
    let separator = arguments.get::<&str>("sep")?.unwrap_or_default();
    format_json(&values)?;
    check_length(values.len().saturating_mul(separator.len()))?;
    let values: Vec<String> = values.iter().map(Value::to_string).collect();
    Ok(values.join(separator))
}

/// As the engine's own filter, for texts that stay small.
fn format_value(value: &Value, _: Kwargs, _: &State) -> TeraResult<String> {
    format_json(value)?;
    Ok(value.to_string())
}

/// A value as JSON, up to [`LONGEST_TEXT`].
pub(crate) fn format_json(value: &impl Serialize) -> TeraResult<String> {
    let mut written = BoundedText::default();
    let outcome = serde_json::to_writer(&mut written, value);
    outcome.map_err(|error| Error::message(written.explain(&error)))?;
    String::from_utf8(written.text).map_err(|error| Error::message(error.to_string()))
}

/// A text that a filter has lengthened.
pub(crate) fn bound_text(text: String) -> TeraResult<String> {
    check_length(text.len())?;
    Ok(text)
}

fn check_length(length: usize) -> TeraResult<()> {
    if length > LONGEST_TEXT {
        Err(Error::message(report_length()))
    } else {
        Ok(())
    }
}

/// A `PowerShell` string literal. The language has five characters that end it, and all of them are escaped
/// (language specification 2.3.5.2).
fn quote_literal(text: &str, _: Kwargs, _: &State) -> TeraResult<String> {
    let quotes = ['\'', '\u{2018}', '\u{2019}', '\u{201a}', '\u{201b}'];
    let inner = text
        .chars()
        .flat_map(|c| std::iter::repeat_n(c, if quotes.contains(&c) { 2 } else { 1 }));
    bound_text(format!("'{}'", inner.collect::<String>()))
}

/// As the engine's own filter, for texts that stay small.
#[expect(clippy::needless_pass_by_value, reason = "the engine's signature")]
fn replace_text(text: &str, arguments: Kwargs, _: &State) -> TeraResult<String> {
    let (from, to) = (
        arguments.must_get::<&str>("from")?,
        arguments.must_get::<&str>("to")?,
    );
    check_length(text.len() + text.matches(from).count().saturating_mul(to.len()))?;
    Ok(text.replace(from, to))
}

/// As the engine's own function, for short lists.
#[expect(clippy::needless_pass_by_value, reason = "the engine's signature")]
fn list_range(arguments: Kwargs, _: &State) -> TeraResult<Vec<i64>> {
    let start = arguments.get::<i64>("start")?.unwrap_or_default();
    let end = arguments.must_get::<i64>("end")?;
    let step = arguments.get::<usize>("step_by")?.unwrap_or(1);
    let length = end.saturating_sub(start);
    if step == 0 || !(0..=LONGEST_RANGE).contains(&length) {
        let message =
            format!("`range` counts up by at most {LONGEST_RANGE}, in steps of at least 1");
        return Err(Error::message(message));
    }
    Ok((start..end).step_by(step).collect())
}

fn report_length() -> String {
    format!("it renders more than {} MiB", LONGEST_TEXT >> 20)
}

/// Rendered text, up to [`LONGEST_TEXT`].
#[derive(Default)]
struct BoundedText {
    text: Vec<u8>,
    is_full: bool,
}

impl BoundedText {
    /// Those that write do not say why a text cannot be written.
    fn explain(&self, error: &dyn std::fmt::Display) -> String {
        if self.is_full {
            report_length()
        } else {
            error.to_string()
        }
    }
}

impl Write for BoundedText {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.is_full |= self.text.len() + piece.len() > LONGEST_TEXT;
        if self.is_full {
            Err(io::ErrorKind::FileTooLarge.into())
        } else {
            self.text.write(piece)
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Renders a template with no filters but those of every template.
pub(crate) fn render(source: &str, context: &Context) -> Result<String, String> {
    render_with(&create_engine(), source, context)
}

/// Renders a template, up to [`LONGEST_TEXT`].
///
/// # Errors
/// The template is invalid, or its work has no bound.
pub(crate) fn render_with(tera: &Tera, source: &str, context: &Context) -> Result<String, String> {
    check_bounds(source)?;
    let mut rendered = BoundedText::default();
    let outcome = tera.render_str_to(source, context, false, &mut rendered);
    outcome.map_err(|error| rendered.explain(&error))?;
    String::from_utf8(rendered.text).map_err(|error| error.to_string())
}

/// Refuses a template whose work has no bound.
fn check_bounds(source: &str) -> Result<(), String> {
    if source.len() > LONGEST_SOURCE {
        return Err(format!(
            "a template has at most {} KiB",
            LONGEST_SOURCE >> 10
        ));
    }
    let mut depth = 0_usize;
    for tag in list_tags(source) {
        let code = tag.code.trim_end_matches('-').trim();
        let (word, rest) = match code.split_once(char::is_whitespace) {
            Some(parts) if tag.is_block => parts,
            _ => (code, ""),
        };
        let expression = if tag.is_block { rest } else { code };
        if has_word(expression, "for") {
            return Err("`for` is not available inside an expression".to_owned());
        }
        match word {
            _ if !tag.is_block => {}
            "for" if depth == DEEPEST_LOOP => {
                return Err(format!("loops are nested more than {DEEPEST_LOOP} deep"));
            }
            "for" => depth += 1,
            "endfor" => depth = depth.saturating_sub(1),
            "set" if depth > 0 => return Err("`set` is not available inside a loop".to_owned()),
            "set" => check_assignment(rest)?,
            "if" | "elif" | "else" | "endif" | "raw" | "endraw" | "break" | "continue" => {}
            other => return Err(format!("`{{% {other} %}}` is not available in templates")),
        }
    }
    Ok(())
}

/// A value that is assigned is no longer than its parts, so that a few lines cannot double it over and over.
fn check_assignment(text: &str) -> Result<(), String> {
    let Some((_, value)) = text.split_once('=') else {
        return Err("`set` takes a value: `{% set name = value %}`".to_owned());
    };
    let filters = value.split('|').skip(1).map(|rest| {
        let rest = rest.trim_start();
        rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .next()
            .unwrap_or_default()
    });
    if let Some(filter) = filters
        .into_iter()
        .find(|filter| !SHRINKING.contains(filter))
    {
        return Err(format!("the filter `{filter}` is not available in `set`"));
    }
    if value.contains(['~', '{']) || holds_names(value) {
        return Err("`set` does not join values: join them where they are inserted".to_owned());
    }
    Ok(())
}

fn has_word(code: &str, word: &str) -> bool {
    let mut words = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.any(|found| found == word)
}

/// Whether a list that is written out holds more than literals. An index is no list.
fn holds_names(text: &str) -> bool {
    text.match_indices('[').any(|(at, _)| {
        let is_index = text[..at]
            .ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ']' | ')'));
        let inner = text[at + 1..].split(']').next().unwrap_or_default();
        !is_index && inner.contains(|c: char| c.is_ascii_alphabetic() || c == '[')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_without_bound_are_refused() {
        for (source, said) in [
            (
                "{% for a in x %}{%- for b in x -%}{% for c in x %}{% endfor %}{% endfor %}{% endfor %}",
                "nested",
            ),
            (
                "{% for a in x %}{% set b = a %}{% endfor %}",
                "inside a loop",
            ),
            ("{% set a = b ~ b %}", "does not join"),
            ("{% set a = [b, b] %}", "does not join"),
            ("{% set a = [[1], [1]] %}", "does not join"),
            ("{% set a = {\"k\": b} %}", "does not join"),
            ("{% set a = b | join(sep='|') %}", "the filter `join`"),
            (
                "{%- set a = b|replace(from='a', to='aa') -%}",
                "the filter `replace`",
            ),
            ("{% set a %}b{% endset %}", "`set` takes a value"),
            (
                "{% set_global a = 1 %}",
                "`{% set_global %}` is not available",
            ),
            ("{% set a = \"%}\" ~ b ~ b %}", "does not join"),
            (r#"{% set a = "\"" ~ b ~ b ~ "\"" %}"#, "does not join"),
            (
                "{% for a in x %}{{ '{% endfor %}' }}{% for b in x %}{# {% endfor %} #}{% for c in x %}",
                "nested",
            ),
            (
                "{% for a in x %}{% for b in x %}{% raw %}{% endfor %}{% endraw %}{% for c in x %}",
                "nested",
            ),
            ("{{ [a for a in x] }}", "`for` is not available inside"),
            (
                "{% if [a for a in x] %}{% endif %}",
                "`for` is not available inside",
            ),
            (
                "{% for a in [b for b in x] %}",
                "`for` is not available inside",
            ),
            ("{% include 'a' %}", "`{% include %}` is not available"),
            ("{% component a() %}{% endcomponent %}", "is not available"),
        ] {
            let error = check_bounds(source).expect_err(source);
            assert!(error.contains(said), "{source}: {error}");
        }
        assert!(check_bounds(&"a".repeat(LONGEST_SOURCE + 1)).is_err());
        for source in [
            "{% for a in x %}{% for b in a %}{{ b }}{% endfor %}{% endfor %}{% for a in x %}{% endfor %}",
            "{{ 'a for b' }}{% if 'for' in x %}{% endif %}{# {% include 'a' %} #}",
            "{%- set names = [\"a-b\", 'c'] -%}{% if a in names %}{% elif b %}{% else %}{% endif %}",
            "{% set c = p[0] == \"0\" and (p[1] in [\"0\", \"1\"]) %}",
            "{% set minor = kubernetes.minor | split(pat=\".\") | last %}",
        ] {
            check_bounds(source).unwrap_or_else(|error| panic!("{source}: {error}"));
        }
    }

    #[test]
    fn what_is_rendered_has_an_end() {
        let render = |source: &str| render(source, &Context::new());
        assert_eq!(
            render("{% for a in range(end=3) %}{{ a }}{% endfor %}").as_deref(),
            Ok("012")
        );
        assert_eq!(
            render("{% for a in range(start=1, end=6, step_by=2) %}{{ a }}{% endfor %}").as_deref(),
            Ok("135")
        );
        assert_eq!(
            render("{{ 'a.b' | replace(from='.', to='[.]') }}").as_deref(),
            Ok("a[.]b")
        );
        for source in [
            "{{ range(end=257) }}",
            "{{ range(start=2, end=1) }}",
            "{{ range(end=3, step_by=0) }}",
        ] {
            assert!(
                render(source)
                    .expect_err(source)
                    .contains("`range` counts up by at most 256"),
                "{source}"
            );
        }
        let body = "a".repeat(100);
        let long = format!(
            "{{% for a in range(end=256) %}}{{% for b in range(end=256) %}}{body}{{% endfor %}}{{% endfor %}}"
        );
        assert!(
            render(&long)
                .expect_err("too long")
                .contains("it renders more than 4 MiB")
        );
        let grown = [
            "| replace(from='a', to='aaaaaaaaaa') ".repeat(6),
            "| literal ".repeat(100),
            format!("| split(pat='') | join(sep='{body}')").repeat(6),
        ];
        for filters in grown {
            let source = format!("{{{{ \"'{body}'\" {filters} }}}}");
            let error = render(&source).expect_err("too long");
            assert!(
                error.contains("it renders more than 4 MiB"),
                "{filters}: {error}"
            );
        }
        let many = vec!["a"; 200].join(", ");
        for filter in ["str", "join"] {
            let list = format!(
                "{{% set a = '{}' %}}{{{{ [{many}] | {filter} | length }}}}",
                "a".repeat(100_000)
            );
            let error = render(&list).expect_err("too long");
            assert!(error.contains("it renders more than 4 MiB"), "{error}");
        }
        for filter in UNBOUNDED {
            let error = render(&format!("{{{{ 'a' | {filter} }}}}")).expect_err(filter);
            assert!(error.contains("is not available"), "{error}");
        }
        for (source, text) in [
            ("{{ [1, 'a', []] | join(sep='-') }}", "1-a-[]"),
            ("{{ ['a', 'b'] | join }}", "ab"),
            ("{{ [1, 'a'] | str }}", "[1, \"a\"]"),
            ("{{ \"a'\" | literal }}", "'a'''"),
        ] {
            assert_eq!(render(source).as_deref(), Ok(text), "{source}");
        }
    }
}
