//! The template engine of steps, manifests and HCL, and the bounds of its work: steps and targets of somebody else's
//! are templates, too.

mod bounds;
mod tags;

use std::cell::Cell;
use std::io::{self, Write};

use serde::Serialize;
use tera::{Context, Error, Kwargs, State, Tera, TeraResult, Value};

use bounds::{check_bounds, count_loops};
use tags::list_tags;

/// Longest text that is rendered; real ones have less than a hundredth.
pub(crate) const LONGEST_TEXT: usize = 4 << 20;
/// Longest result of `range`.
const LONGEST_RANGE: i64 = 256;
/// Longest result of `split`.
const LONGEST_SPLIT: usize = 4096;
/// Most rounds that the loops of a template make together; a text and a list of the user's may be of any length.
const MOST_ROUNDS: usize = 1 << 18;
/// Longest line of an error: the engine shows whole lines of the template.
const LONGEST_LINE: usize = 600;

/// The function that counts the rounds of a loop.
const COUNTER: &str = "count_round";

thread_local! {
    /// Rounds of the template that is rendered.
    static ROUNDS: Cell<usize> = const { Cell::new(0) };
}
/// Filters of the engine that lengthen a text over and over.
const UNBOUNDED: &[&str] = &["escape", "escape_html", "escape_xml", "indent"];

pub(crate) fn create_engine() -> Tera {
    let mut tera = Tera::new();
    tera.register_filter("join", join_values);
    tera.register_filter("literal", quote_literal);
    tera.register_filter("replace", replace_text);
    tera.register_filter("split", split_text);
    tera.register_filter("str", format_value);
    for name in UNBOUNDED {
        tera.register_filter(*name, move |_: Value, _: Kwargs, _: &State<'_>| {
            refuse_filter(name)
        });
    }
    tera.register_function("range", list_range);
    tera.register_function(COUNTER, count_round);
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

/// As the engine's own filter, for short lists.
#[expect(clippy::needless_pass_by_value, reason = "the engine's signature")]
fn split_text(text: &str, arguments: Kwargs, _: &State) -> TeraResult<Vec<String>> {
    let pattern = arguments.must_get::<&str>("pat")?;
    let parts = text.split(pattern).take(LONGEST_SPLIT + 1);
    let parts: Vec<String> = parts.map(str::to_owned).collect();
    if parts.len() > LONGEST_SPLIT {
        let message = format!("`split` makes at most {LONGEST_SPLIT} parts");
        return Err(Error::message(message));
    }
    Ok(parts)
}

/// Prints nothing.
fn count_round(_: Kwargs, _: &State) -> TeraResult<String> {
    let rounds = ROUNDS.get() + 1;
    ROUNDS.set(rounds);
    if rounds > MOST_ROUNDS {
        let message = format!("its loops make more than {MOST_ROUNDS} rounds");
        return Err(Error::message(message));
    }
    Ok(String::new())
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
            return report_length();
        }
        let text = error.to_string();
        let lines: Vec<String> = text.lines().map(cut_line).collect();
        lines.join("\n")
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

fn cut_line(line: &str) -> String {
    match line.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
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
    let tags = list_tags(source);
    check_bounds(source, &tags)?;
    let counted = count_loops(source, &tags);
    ROUNDS.set(0);

    let mut rendered = BoundedText::default();
    let outcome = tera.render_str_to(&counted, context, false, &mut rendered);
    outcome.map_err(|error| rendered.explain(&error))?;
    String::from_utf8(rendered.text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

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
            format!("| split(pat='a') | join(sep='{}')", "b".repeat(50_000)),
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
            ("{{ '1.2' | split(pat='.') | last }}", "2"),
            ("{% for a in 'ab' -%}  {{ a }}  {%- endfor %}", "ab"),
            ("{% for a in 'ab' %} {{ a }} {%- endfor %}", " a b"),
        ] {
            assert_eq!(render(source).as_deref(), Ok(text), "{source}");
        }
    }

    #[test]
    fn loops_lists_and_errors_have_an_end() {
        for (source, said) in [
            ("{{ text | split(pat='') }}", "at most 4096 parts"),
            (
                "{% for a in text %}{% for b in text -%} {% endfor %}{% endfor %}",
                "more than 262144 rounds",
            ),
            (
                "{% for a in range(end=256) -%} {%- for b in text %}{% endfor %}{% endfor %}",
                "more than 262144 rounds",
            ),
        ] {
            let mut context = Context::new();
            context.insert("text", &"a".repeat(5000));
            let error = render(source, &context).expect_err(source);
            assert!(error.contains(said), "{source}: {error}");
        }
        let long = format!("{{{{ a b }}}}{}", "a".repeat(1000));
        let error = render(&long, &Context::new()).expect_err("no template");
        assert!(
            error
                .lines()
                .all(|line| line.chars().count() <= LONGEST_LINE + 1),
            "{error}"
        );
    }
}
