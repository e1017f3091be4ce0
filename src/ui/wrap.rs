//! Lines that fit a terminal: broken at blanks, continued below their text. Words, such as URLs, stay whole.

use std::io;

use super::find_width;
use crate::base::text::is_digits;

/// A text in Markdown as stdout shows it: on a terminal its prose breaks at blanks.
pub fn wrap_for_stdout(text: &str) -> String {
    let size = terminal_size::terminal_size_of(io::stdout());
    match size.and_then(find_width) {
        Some(width) => wrap_markdown(text, width),
        None => text.to_owned(),
    }
}

/// Breaks every line that is longer than `width`.
pub(super) fn wrap_text(text: &str, width: usize) -> String {
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| wrap_line(line, width))
        .collect();
    lines.join("\n")
}

/// Breaks the prose of a text in Markdown. Code and tables stay as they are.
fn wrap_markdown(text: &str, width: usize) -> String {
    let (mut lines, mut is_code) = (Vec::new(), false);
    for line in text.split('\n') {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if is_code || is_fence || line.starts_with('|') {
            lines.push(line.to_owned());
        } else {
            lines.push(break_line(line, width, find_item_column(line)));
        }
    }
    lines.join("\n")
}

/// Where the text of an item of a list begins; of other lines, where the line does.
fn find_item_column(line: &str) -> usize {
    let text = line.trim_start();
    let start = line.len() - text.len();
    match text.split_once(' ') {
        Some((mark, _)) if is_item_mark(mark) => start + mark.len() + 1,
        _ => start,
    }
}

fn is_item_mark(mark: &str) -> bool {
    let number = mark.strip_suffix('.').unwrap_or_default();
    let is_number = !number.is_empty() && is_digits(number);
    mark == "*" || mark == "-" || is_number
}

fn wrap_line(line: &str, width: usize) -> String {
    break_line(line, width, find_text_column(line, width))
}

/// Breaks a line at blanks; what follows begins in the column `indent`.
fn break_line(line: &str, width: usize, indent: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let mut wrapped = String::new();
    let mut column = 0;
    for word in line.split_inclusive(' ') {
        let length = word.trim_end().chars().count();
        if column > indent && column + length > width {
            wrapped.truncate(wrapped.trim_end_matches(' ').len());
            wrapped.push('\n');
            wrapped.extend(std::iter::repeat_n(' ', indent));
            column = indent;
        }
        wrapped.push_str(word);
        column += word.chars().count();
    }
    wrapped
}

/// Where the continued text begins: below the last column of a table, or a little further in than the line.
fn find_text_column(line: &str, width: usize) -> usize {
    let start = line.len() - line.trim_start().len();
    let column = line[start..]
        .rfind("  ")
        .map(|at| line[..start + at + 2].chars().count());
    column
        .filter(|column| *column <= width / 2)
        .unwrap_or(start + 2)
}

#[cfg(test)]
mod tests {
    use super::{wrap_markdown, wrap_text};

    #[test]
    fn prose_of_markdown_is_broken_and_nothing_else() {
        let code = "```sh\none two three four\n```\n| one | two | three |";
        for (text, expected) in [
            ("one two three", "one two\nthree"),
            ("* one two three", "* one two\n  three"),
            ("12. one two", "12. one\n    two"),
            (code, code),
        ] {
            assert_eq!(wrap_markdown(text, 9), expected, "{text}");
        }
    }

    #[test]
    fn lines_break_at_blanks_and_continue_below_their_text() {
        for (text, width, expected) in [
            ("short\n", 10, "short\n"),
            ("one two three\nfour", 9, "one two\n  three\nfour"),
            ("  id  one two three", 13, "  id  one two\n      three"),
            (
                "hint: https://a.example/very/long",
                12,
                "hint:\n  https://a.example/very/long",
            ),
            (
                "name                    one two three",
                30,
                "name                    one\n  two three",
            ),
            ("äöü äöü äöü", 7, "äöü äöü\n  äöü"),
        ] {
            assert_eq!(wrap_text(text, width), expected, "{text}");
        }
    }
}
