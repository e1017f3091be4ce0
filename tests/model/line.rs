//! Kubernetes lines and ranges of them.

use imagegen::model::line::{LineRange, Minor};

fn range(text: &str) -> LineRange {
    text.parse().expect(text)
}

#[test]
fn ranges_hold_their_lines() {
    for (text, inside, outside) in [
        ("*", &["1.0", "1.37"][..], &[][..]),
        (">=1.24", &["1.24", "1.100"], &["1.9", "1.23"]),
        ("<1.24", &["1.9", "1.23"], &["1.24"]),
        (">=1.21, <1.24", &["1.21", "1.23"], &["1.20", "1.24"]),
    ] {
        assert_eq!(range(text).to_string(), text);
        assert!(
            inside
                .iter()
                .all(|minor| range(text).contains(minor.parse().expect(minor))),
            "{text}"
        );
        assert!(
            !outside
                .iter()
                .any(|minor| range(text).contains(minor.parse().expect(minor))),
            "{text}"
        );
    }
}

#[test]
fn overlap_is_seen_at_the_bounds() {
    for (a, b, overlap) in [
        ("<1.24", ">=1.24", false),
        ("<1.24", ">=1.23", true),
        ("*", ">=1.37", true),
        (">=1.21, <1.23", ">=1.23, <1.25", false),
        (">=1.21, <1.24", ">=1.23, <1.25", true),
    ] {
        assert_eq!(range(a).overlaps(&range(b)), overlap, "{a} / {b}");
        assert_eq!(range(b).overlaps(&range(a)), overlap, "{b} / {a}");
    }
}

#[test]
fn refuses_other_texts() {
    for text in [
        "",
        "1.24",
        ">=1.22.5",
        ">1.24",
        "<=1.24",
        ">=1.24, <1.24",
        ">=1.24,<1.25",
        "<1.2 || >=1.4",
        ">=1.024",
    ] {
        let error = text.parse::<LineRange>().expect_err(text).to_string();
        assert!(
            error.contains("a range of Kubernetes lines"),
            "{text}: {error}"
        );
    }
    for text in ["", "1", "1.x", "1.20.0", "v1.20", "1.+2"] {
        assert!(text.parse::<Minor>().is_err(), "{text}");
    }
}
