//! Bounds of a template's work, as far as its text shows them.

use std::fmt::Write as _;

use super::tags::Tag;
use super::{COUNTER, cut_line};

/// Longest template.
const LONGEST_SOURCE: usize = 256 << 10;
/// How deep loops are nested.
const DEEPEST_LOOP: usize = 2;
/// Most `elif`: the engine calls itself for each.
const MOST_BRANCHES: usize = 256;
/// Filters whose result is not longer than what they are given.
const SHRINKING: &[&str] = &[
    "default", "first", "int", "last", "length", "lower", "nth", "split", "trim", "upper",
];

/// The template with a call of the counter at the begin of each loop's body. A loop that trims the text behind its tag
/// still does.
pub(super) fn count_loops(source: &str, tags: &[Tag]) -> String {
    let mut counted = String::with_capacity(source.len());
    let mut done = 0;
    for tag in tags {
        let (word, _) = split_word(&tag.code);
        if tag.is_block && word == "for" {
            let trim = if tag.code.ends_with('-') { "-" } else { "" };
            counted.push_str(&source[done..tag.end]);
            let _ = write!(counted, "{{{{ {COUNTER}() {trim}}}}}");
            done = tag.end;
        }
    }
    counted.push_str(&source[done..]);
    counted
}

/// The word that code begins with, and the rest.
fn split_word(code: &str) -> (&str, &str) {
    let code = code.trim_start();
    let end = code.find(|c: char| !is_word_character(c));
    code.split_at(end.unwrap_or(code.len()))
}

fn is_word_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// Refuses a template whose work has no bound.
pub(super) fn check_bounds(source: &str, tags: &[Tag]) -> Result<(), String> {
    if source.len() > LONGEST_SOURCE {
        return Err(format!(
            "a template has at most {} KiB",
            LONGEST_SOURCE >> 10
        ));
    }
    let (mut depth, mut branches) = (0_usize, 0_usize);
    for tag in tags {
        let code = tag.code.trim_end_matches('-').trim();
        let (word, rest) = split_word(code);
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
            "elif" if branches == MOST_BRANCHES => {
                return Err(format!("it has more than {MOST_BRANCHES} `elif`"));
            }
            "elif" => branches += 1,
            "if" | "else" | "endif" | "raw" | "endraw" | "break" | "continue" => {}
            "" => return Err("`{% %}` begins with no word".to_owned()),
            other => {
                let other = cut_line(other);
                return Err(format!("`{{% {other} %}}` is not available in templates"));
            }
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
        let (filter, _) = split_word(rest);
        filter
    });
    if let Some(filter) = filters
        .into_iter()
        .find(|filter| !SHRINKING.contains(filter))
    {
        let filter = cut_line(filter);
        return Err(format!("the filter `{filter}` is not available in `set`"));
    }
    if value.contains(['~', '{']) || holds_names(value) {
        return Err("`set` does not join values: join them where they are inserted".to_owned());
    }
    Ok(())
}

/// Whether code has a word that is no field's name.
fn has_word(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| {
        let (before, behind) = (&code[..at], &code[at + word.len()..]);
        let is_whole =
            !before.ends_with(is_word_character) && !behind.starts_with(is_word_character);
        is_whole && !ends_with_field(before)
    })
}

/// Whether what follows is the name of a field: `name.`, `names[0].`. Behind `1.` it is none.
fn ends_with_field(code: &str) -> bool {
    code.strip_suffix('.').is_some_and(|owner| {
        let word = last_word(owner);
        owner.ends_with([']', ')'])
            || word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
    })
}

fn last_word(code: &str) -> &str {
    code.rsplit(|c: char| !is_word_character(c))
        .next()
        .unwrap_or_default()
}

/// Words behind which a value begins: no index follows them.
const OPERATORS: &[&str] = &["and", "else", "if", "in", "is", "not", "or"];

/// Whether a list that is written out holds more than literals. An index is no list.
fn holds_names(text: &str) -> bool {
    text.match_indices('[').any(|(at, _)| {
        let before = &text[..at];
        let word = last_word(before);
        let is_index =
            (!word.is_empty() && !OPERATORS.contains(&word)) || before.ends_with([']', ')']);
        let inner = text[at + 1..].split(']').next().unwrap_or_default();
        !is_index && inner.contains(|c: char| c.is_alphabetic() || matches!(c, '_' | '['))
    })
}

#[cfg(test)]
mod tests {
    use super::super::tags::list_tags;
    use super::*;

    fn check(source: &str) -> Result<(), String> {
        check_bounds(source, &list_tags(source))
    }

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
            ("{% set _1 = [_0,_0] %}", "does not join"),
            ("{% set b = [é, é] %}", "does not join"),
            ("{% set b = false or[a,a] %}", "does not join"),
            ("{% set b = not[a,a] %}", "does not join"),
            ("{% set b = 1 in[a,a] %}", "does not join"),
            ("{% set b = 1 if 1 else[a,a] %}", "does not join"),
            ("{% set b = 1 if[a,a] else 1 %}", "does not join"),
            ("{% set b = true and[a,a] %}", "does not join"),
            ("{% set b = 1 is[a,a] %}", "does not join"),
            ("{{ [1.for a in x] }}", "`for` is not available inside"),
            ("{% for(a in x) %}{% for a in x %}{%for a in x%}", "nested"),
            ("{% (1) %}", "begins with no word"),
        ] {
            let error = check(source).expect_err(source);
            assert!(error.contains(said), "{source}: {error}");
        }
        assert!(check(&"a".repeat(LONGEST_SOURCE + 1)).is_err());
        let branches =
            |count: usize| format!("{{% if a %}}{}{{% endif %}}", "{% elif b %}".repeat(count));
        assert!(check(&branches(MOST_BRANCHES)).is_ok());
        let error = check(&branches(MOST_BRANCHES + 1)).expect_err("too many");
        assert!(error.contains("more than 256 `elif`"), "{error}");
        for source in [
            "{% for a in x %}{% for b in a %}{{ b }}{% endfor %}{% endfor %}{% for a in x %}{% endfor %}",
            "{{ 'a for b' }}{% if 'for' in x %}{% endif %}{# {% include 'a' %} #}",
            "{%- set names = [\"a-b\", 'c'] -%}{% if a in names %}{% elif b %}{% else %}{% endif %}",
            "{% set c = p[0] == \"0\" and (p[1] in [\"0\", \"1\"]) %}",
            "{% set minor = kubernetes.minor | split(pat=\".\") | last %}",
            "{% if(1 == 1) %}{% elif(a) %}{% endif %}{{ x.for }}{{ x[0].for }}{{ forward }}",
        ] {
            check(source).unwrap_or_else(|error| panic!("{source}: {error}"));
        }
    }
}
