//! Lines that fit a terminal: broken at blanks, continued below their text. Words, such as URLs, stay whole.

/// Breaks every line that is longer than `width`.
pub(super) fn wrap_text(text: &str, width: usize) -> String {
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| wrap_line(line, width))
        .collect();
    lines.join("\n")
}

fn wrap_line(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let indent = find_text_column(line, width);
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
    use super::wrap_text;

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
