//! Control characters in texts.

use imagegen::base::text::{escape_controls, escape_json_controls, find_control};

#[test]
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
