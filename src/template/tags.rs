//! Tags of a template, as the engine finds them: text in comments, in `raw` and in strings is no code.

/// A `{{ … }}`, or a `{% … %}`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub is_block: bool,
    /// Its code, with empty strings in place of those that it has.
    pub code: String,
    /// The place behind it.
    pub end: usize,
}

/// Tags up to the first that does not end, which the engine refuses.
pub(super) fn list_tags(source: &str) -> Vec<Tag> {
    let mut tags = Vec::new();
    let mut rest = source;
    while let Some((start, kind)) = find_start(rest) {
        let behind = &rest[start + 2..];
        let behind = behind.strip_prefix('-').unwrap_or(behind);
        let is_block = kind == '%';

        let after = if kind == '#' {
            behind.split_once("#}").map(|(_, after)| after)
        } else if is_block && let Some(body) = strip_tag(behind, "raw") {
            skip_raw(body)
        } else {
            let (code, after) = read_code(behind, if is_block { "%}" } else { "}}" });
            let end = source.len() - after.map_or(0, str::len);
            tags.push(Tag {
                is_block,
                code,
                end,
            });
            after
        };
        let Some(after) = after else { break };
        rest = after;
    }
    tags
}

/// Place and kind of the next tag or comment.
fn find_start(text: &str) -> Option<(usize, char)> {
    text.match_indices('{').find_map(|(at, _)| {
        let kind = text[at + 1..].chars().next()?;
        matches!(kind, '{' | '%' | '#').then_some((at, kind))
    })
}

/// The text behind a block tag that is only a word.
fn strip_tag<'a>(inner: &'a str, word: &str) -> Option<&'a str> {
    let inner = inner.strip_prefix('-').unwrap_or(inner);
    let rest = inner.trim_ascii_start().strip_prefix(word)?;
    let rest = rest.trim_ascii_start();
    rest.strip_prefix('-').unwrap_or(rest).strip_prefix("%}")
}

/// The text behind `{% endraw %}`.
fn skip_raw(body: &str) -> Option<&str> {
    let mut starts = body.match_indices("{%");
    starts.find_map(|(at, _)| strip_tag(&body[at + 2..], "endraw"))
}

/// Code up to the end of its tag, and the text behind it.
fn read_code<'a>(text: &'a str, end: &str) -> (String, Option<&'a str>) {
    let mut code = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix(end) {
            return (code, Some(after));
        }
        rest = &rest[first.len_utf8()..];
        code.push(first);
        if matches!(first, '"' | '\'' | '`') {
            code.push(first);
            let Some(after) = skip_string(rest, first) else {
                break;
            };
            rest = after;
        }
    }
    (code, None)
}

/// The text behind the end of a string; a backslash takes the meaning of the character behind it.
fn skip_string(text: &str, quote: char) -> Option<&str> {
    let mut is_escaped = false;
    for (at, character) in text.char_indices() {
        if is_escaped {
            is_escaped = false;
        } else if character == quote {
            return Some(&text[at + character.len_utf8()..]);
        } else {
            is_escaped = character == '\\';
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_is_found() {
        for (source, expected) in [
            ("a {b} %}", ""),
            ("{{ a }}{%- if b -%}", "{{ a }|{% if b -}"),
            ("{{ '}}' ~ b }}", "{{ '' ~ b }"),
            (r#"{{ "\"}}" ~ b }}"#, r#"{{ "" ~ b }"#),
            ("{% set a = `%}` ~ b %}", "{% set a = `` ~ b }"),
            ("{# {{ a }} #}{{ b }}", "{{ b }"),
            (
                "{%- raw -%}{% endfor %}{{ a }}{% endraw %}{{ b }}",
                "{{ b }",
            ),
            ("{{{ a }}", "{{{ a }"),
            ("{{ a", "{{ a}"),
            ("{{ 'a", "{{ ''}"),
            ("{# {{ a }}", ""),
            ("{% raw %}{{ a }}", ""),
        ] {
            let tags = list_tags(source);
            let shown = tags.iter().map(|tag| {
                let kind = if tag.is_block { '%' } else { '{' };
                format!("{{{kind}{}}}", tag.code)
            });
            assert_eq!(shown.collect::<Vec<_>>().join("|"), expected, "{source}");
        }
    }
}
