//! Characters that change how a terminal, a script or a reviewer reads a text.

use std::borrow::Cow;
use std::path::{MAIN_SEPARATOR, Path};

/// Whether a character ends a line, controls a terminal, changes the direction of the text, or is invisible.
pub fn is_control(c: char) -> bool {
    c.is_control() || is_invisible(c)
}

/// Characters that a reviewer does not see: two texts that differ in them look alike.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// The first character that a value may not hold. Where `lines` is set, the text is prose: it may have line ends,
/// and the joiners and selectors of emoji.
pub fn find_control(text: &str, lines: bool) -> Option<char> {
    // Most texts are plain ASCII.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return None;
    }
    text.chars()
        .find(|c| is_control(*c) && !(lines && is_of_prose(*c)))
}

/// Whether prose may hold the character although it is a control.
fn is_of_prose(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\t' | '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}'
    )
}

/// A path of this system with `/` between its parts, as definitions, records and pipelines have it.
pub fn format_path(path: &Path) -> String {
    path.display().to_string().replace(MAIN_SEPARATOR, "/")
}

/// The folder of a path; empty for a name alone.
pub fn parent_folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// The text in lower case, made in its place where it is ASCII, as most are.
pub fn into_lowercase(mut text: String) -> String {
    if !text.is_ascii() {
        return text.to_lowercase();
    }
    text.make_ascii_lowercase();
    text
}

/// The part after the last `/`: the name in a path.
pub fn last_segment(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a text has only ASCII letters, digits and the bytes of `others`.
pub(crate) fn is_alphanumeric_or(text: &str, others: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || others.as_bytes().contains(&byte))
}

/// Whether a text has only ASCII letters in lower case, digits and the bytes of `others`.
pub(crate) fn is_lowercase_or(text: &str, others: &str) -> bool {
    is_alphanumeric_or(text, others) && !text.bytes().any(|byte| byte.is_ascii_uppercase())
}

/// Whether a text has only decimal digits.
pub(crate) fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a text has only hexadecimal digits, of either case.
pub(crate) fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The text for a terminal: control characters but line ends and tabs as `\u{1b}`.
pub fn escape_controls(text: &str) -> Cow<'_, str> {
    escape_with(text, is_kept, format_escape)
}

/// The text in one line of a terminal or script: line ends and tabs as `\u{a}`, too.
pub fn escape_line(text: &str) -> Cow<'_, str> {
    escape_with(text, |c| !is_control(c), format_escape)
}

/// The text for a terminal as JSON, where `\u001b` stands for the character itself.
pub fn escape_json_controls(json: &str) -> Cow<'_, str> {
    escape_with(json, is_kept, |c| format!("\\u{:04x}", u32::from(c)))
}

fn format_escape(c: char) -> String {
    format!("\\u{{{:x}}}", u32::from(c))
}

fn escape_with(
    text: &str,
    is_kept: impl Fn(char) -> bool,
    escape: impl Fn(char) -> String,
) -> Cow<'_, str> {
    if text.chars().all(&is_kept) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if is_kept(c) {
            escaped.push(c);
        } else {
            escaped.push_str(&escape(c));
        }
    }
    Cow::Owned(escaped)
}

fn is_kept(c: char) -> bool {
    !is_control(c) || matches!(c, '\n' | '\t')
}

/// Each line on one of its own, below the line that introduces them.
pub fn indent_lines(lines: &[String]) -> String {
    lines.iter().map(|line| format!("\n  {line}")).collect()
}

/// The bytes without the byte order mark that Windows' programs write before UTF-8.
pub fn strip_byte_order_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// A text in UTF-8 without byte order mark, from UTF-16 too, which `>` of Windows PowerShell writes. Bytes that are no
/// such text stay as they are.
pub fn convert_to_utf8(bytes: &[u8]) -> Cow<'_, [u8]> {
    let units: fn([u8; 2]) -> u16 = match bytes {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return Cow::Borrowed(strip_byte_order_mark(bytes)),
    };
    let (pairs, rest) = bytes[2..].as_chunks();
    let units: Vec<u16> = pairs.iter().map(|pair| units(*pair)).collect();
    match String::from_utf16(&units) {
        Ok(text) if rest.is_empty() => Cow::Owned(text.into_bytes()),
        _ => Cow::Borrowed(bytes),
    }
}

/// Whether a literal block of YAML gives the lines back byte for byte.
pub(crate) fn fits_literal_block(lines: &str) -> bool {
    lines.ends_with('\n')
        && !lines.ends_with("\n\n")
        && !lines.starts_with([' ', '\n'])
        && lines.chars().all(|c| c == '\n' || (' '..='~').contains(&c))
}

/// Whether bytes begin as a page or as the XML of an error.
pub fn is_web_page(head: &[u8]) -> bool {
    let head = strip_byte_order_mark(head).trim_ascii_start();
    ["<!doctype", "<html", "<?xml"].iter().any(|start| {
        head.get(..start.len())
            .is_some_and(|found| found.eq_ignore_ascii_case(start.as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::{escape_controls, escape_json_controls, find_control};

    #[test]
    #[expect(clippy::disallowed_methods, reason = "texts of this test")]
    fn terminals_get_no_control_characters() {
        for (text, expected) in [
            ("a\n\tb", "a\n\tb"),
            ("\u{1b}[2J\u{9b}2J", "\\u{1b}[2J\\u{9b}2J"),
            ("a\rb\0", "a\\u{d}b\\u{0}"),
            (
                "x\u{202e}y\u{2066}z\u{2028}",
                "x\\u{202e}y\\u{2066}z\\u{2028}",
            ),
            (
                "Micro\u{ad}soft\u{200b}\u{e0041}",
                "Micro\\u{ad}soft\\u{200b}\\u{e0041}",
            ),
            ("grün’", "grün’"),
        ] {
            assert_eq!(escape_controls(text), expected);
        }
        let json = escape_json_controls("\"\u{9b}2J\u{202e}\"").into_owned();
        assert_eq!(
            serde_json::from_str::<String>(&json).expect("JSON"),
            "\u{9b}2J\u{202e}"
        );
    }

    #[test]
    fn values_of_one_line_hold_no_line_end() {
        assert_eq!(find_control("a\nb", false), Some('\n'));
        assert_eq!(find_control("a\nb", true), None);
        assert_eq!(find_control("a\0b", true), Some('\0'));
        assert_eq!(find_control("plain", false), None);
        assert_eq!(find_control("a\u{200b}b", false), Some('\u{200b}'));
        assert_eq!(find_control("a\u{200b}b", true), Some('\u{200b}'));
        assert_eq!(find_control("\u{26a0}\u{fe0f}", false), Some('\u{fe0f}'));
        assert_eq!(find_control("\u{26a0}\u{fe0f}", true), None);
    }
}
