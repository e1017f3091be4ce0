//! Lines for a POSIX shell that a user or a pipeline runs.

use super::text::{escape_line, is_alphanumeric_or};

/// A word as it is, or in single quotes.
pub(crate) fn quote_argument(word: &str) -> String {
    if !word.is_empty() && is_alphanumeric_or(word, "-_./:=,@+") {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A comment line. Its text comes from other machines, so no character of it ends the line.
pub(crate) fn format_comment(text: &str) -> String {
    format!("# {}\n", escape_line(text))
}

#[cfg(test)]
mod tests {
    use super::{format_comment, quote_argument};

    #[test]
    fn a_comment_is_one_line() {
        for (text, expected) in [
            ("1.36.4 cloud a-0", "# 1.36.4 cloud a-0\n"),
            ("1\nreboot #", "# 1\\u{a}reboot #\n"),
            ("1\rreboot", "# 1\\u{d}reboot\n"),
            ("\u{1b}[2J\u{2028}x", "# \\u{1b}[2J\\u{2028}x\n"),
        ] {
            assert_eq!(format_comment(text), expected);
        }
    }

    #[test]
    fn an_argument_is_one_word() {
        for (word, expected) in [
            ("a=b", "a=b"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("$(reboot)\n", "'$(reboot)\n'"),
        ] {
            assert_eq!(quote_argument(word), expected);
        }
    }
}
