//! Kubernetes lines (`1.20`) and ranges of them.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;

use crate::base::text::is_digits;
use crate::base::value::serde_as_text;
use crate::base::version::Version;
use crate::diagnostic::classify;

/// A Kubernetes line: `1.20`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(with = "String")]
pub struct Minor {
    major: u32,
    minor: u32,
}

/// Lines from one to another: `*`, `>=1.24`, `<1.24` or `>=1.21, <1.24`.
///
/// The bounds are lines, never patch releases, so a fact holds for a whole line or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub struct LineRange {
    since: Option<Minor>,
    before: Option<Minor>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct LineError {
    text: String,
    expected: &'static str,
}

impl Minor {
    /// The line of a release.
    pub fn from_release(release: &Version) -> Option<Self> {
        let (major, minor) = release.line_numbers()?;
        Some(Self {
            major: major.try_into().ok()?,
            minor: minor.try_into().ok()?,
        })
    }
}

classify!(LineError => VALUE);

impl FromStr for Minor {
    type Err = LineError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_minor(text).ok_or_else(|| LineError {
            text: text.to_owned(),
            expected: "a Kubernetes line such as `1.24`",
        })
    }
}

impl fmt::Display for Minor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl LineRange {
    pub fn contains(&self, minor: Minor) -> bool {
        self.since.is_none_or(|since| since <= minor)
            && self.before.is_none_or(|before| minor < before)
    }

    /// Whether some line, known or not, is in both ranges.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.starts_before_end_of(other) && other.starts_before_end_of(self)
    }

    fn starts_before_end_of(&self, other: &Self) -> bool {
        match (self.since, other.before) {
            (Some(since), Some(before)) => since < before,
            _ => true,
        }
    }
}

impl FromStr for LineRange {
    type Err = LineError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_range(text).ok_or_else(|| LineError {
            text: text.to_owned(),
            expected: "a range of Kubernetes lines such as `>=1.21, <1.24`",
        })
    }
}

impl fmt::Display for LineRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.since, self.before) {
            (None, None) => f.write_str("*"),
            (Some(since), None) => write!(f, ">={since}"),
            (None, Some(before)) => write!(f, "<{before}"),
            (Some(since), Some(before)) => write!(f, ">={since}, <{before}"),
        }
    }
}

serde_as_text!(Minor, LineRange);

fn parse_minor(text: &str) -> Option<Minor> {
    let (major, minor) = text.split_once('.')?;
    Some(Minor {
        major: parse_canonical_number(major)?,
        minor: parse_canonical_number(minor)?,
    })
}

fn parse_canonical_number(digits: &str) -> Option<u32> {
    if !is_digits(digits) || digits.len() > 1 && digits.starts_with('0') {
        return None;
    }
    digits.parse().ok()
}

fn parse_range(text: &str) -> Option<LineRange> {
    let mut range = LineRange {
        since: None,
        before: None,
    };
    if text == "*" {
        return Some(range);
    }
    let (first, second) = match text.split_once(", ") {
        Some((first, second)) => (Some(first), Some(second)),
        None if text.starts_with('<') => (None, Some(text)),
        None => (Some(text), None),
    };
    if let Some(part) = first {
        range.since = Some(parse_minor(part.strip_prefix(">=")?)?);
    }
    if let Some(part) = second {
        range.before = Some(parse_minor(part.strip_prefix('<')?)?);
    }
    match (range.since, range.before) {
        (Some(since), Some(before)) if since >= before => None,
        _ => Some(range),
    }
}

#[cfg(test)]
mod tests {
    use super::{LineRange, Minor};

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
}
