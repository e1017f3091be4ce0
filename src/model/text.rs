//! Characters that change how a terminal, a script or a reviewer reads a text.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character ends a line, controls a terminal or changes the direction of the text.
#[must_use]
pub fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
        )
}

/// The first character that a value may not hold. Line ends are allowed where `lines` is set.
#[must_use]
pub fn find_control(text: &str, lines: bool) -> Option<char> {
    text.chars().find(|c| is_control(*c) && !(lines && matches!(c, '\n' | '\r' | '\t')))
}

/// The text for a terminal: control characters but line ends and tabs as `\u{1b}`.
#[must_use]
pub fn escape_controls(text: &str) -> Cow<'_, str> {
    escape_with(text, |escaped, c| write!(escaped, "\\u{{{:x}}}", u32::from(c)))
}

/// The same for JSON, where `\u001b` stands for the character itself.
#[must_use]
pub fn escape_json_controls(json: &str) -> Cow<'_, str> {
    escape_with(json, |escaped, c| write!(escaped, "\\u{:04x}", u32::from(c)))
}

fn escape_with(text: &str, write: impl Fn(&mut String, char) -> std::fmt::Result) -> Cow<'_, str> {
    let is_kept = |c: char| !is_control(c) || matches!(c, '\n' | '\t');
    if text.chars().all(is_kept) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if is_kept(c) {
            escaped.push(c);
        } else {
            // Writing to a string does not fail.
            let _ = write(&mut escaped, c);
        }
    }
    Cow::Owned(escaped)
}

/// Whether bytes begin as a page or as the XML of an error.
#[must_use]
pub fn is_web_page(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    ["<!doctype", "<html", "<?xml"].iter().any(|start| {
        head.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start.as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_get_no_control_characters() {
        for (text, expected) in [
            ("a\n\tb", "a\n\tb"),
            ("\u{1b}[2J\u{9b}2J", "\\u{1b}[2J\\u{9b}2J"),
            ("a\rb\0", "a\\u{d}b\\u{0}"),
            ("x\u{202e}y\u{2066}z\u{2028}", "x\\u{202e}y\\u{2066}z\\u{2028}"),
            ("grün’", "grün’"),
        ] {
            assert_eq!(escape_controls(text), expected);
        }
        let json = escape_json_controls("\"\u{9b}2J\u{202e}\"").into_owned();
        assert_eq!(serde_json::from_str::<String>(&json).expect("JSON"), "\u{9b}2J\u{202e}");
    }

    #[test]
    fn values_of_one_line_hold_no_line_end() {
        assert_eq!(find_control("a\nb", false), Some('\n'));
        assert_eq!(find_control("a\nb", true), None);
        assert_eq!(find_control("a\0b", true), Some('\0'));
        assert_eq!(find_control("plain", false), None);
    }
}
