//! Versions and ranges of versions, as the publishers of node components write them.
//!
//! Not semantic versioning: `19.03.12`, `8.6.0.0p1`, `2.24-101` and `1.9.1-flannel3` are all met.
//! Dotted numbers decide first; a pre-release (`-rc.1`, `-alpha.2`, `-beta.0`) sorts before the
//! release it announces; any other rest sorts after it, numbers in it as numbers.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;

use super::text::is_alphanumeric_or;
use super::value::serde_as_text;

/// A version without leading `v`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, JsonSchema)]
#[schemars(with = "String", extend("examples" = ["1.36.4"]))]
pub struct Version(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a version: {reason}")]
pub struct VersionError {
    text: String,
    reason: &'static str,
}

impl Version {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A version that stands in the program's text.
    ///
    /// # Panics
    /// If it is none, which a test of the caller would see.
    pub fn from_literal(text: &'static str) -> Self {
        text.parse()
            .expect("a version in the program's text is one")
    }

    /// The dotted numbers at the start.
    pub fn numbers(&self) -> Vec<u64> {
        self.split_numbers().0.collect()
    }

    /// 1 and 20 of `1.20.0`.
    pub fn line_numbers(&self) -> Option<(u64, u64)> {
        let mut numbers = self.split_numbers().0;
        Some((numbers.next()?, numbers.next()?))
    }

    /// `1.20` of `1.20.0`.
    pub fn minor(&self) -> String {
        self.line_numbers().map_or_else(
            || self.0.clone(),
            |(major, minor)| format!("{major}.{minor}"),
        )
    }

    /// Whether a text, as files state their version, begins with this version's numbers: `v1.36.0`, `1.36.0.5` and
    /// `1.36.0 (abc)` all state 1.36.0. A number that is missing at the end is 0. A pre-release is no release; a text
    /// without one, as numbers alone are, may be either.
    pub fn is_stated_by(&self, text: &str) -> bool {
        self.has_numbers_of(text) && !self.is_other_prerelease(text)
    }

    /// Whether a text states a pre-release with this version's numbers that this version is not: `v1.36.0-rc.1` for
    /// 1.36.0.
    pub fn is_other_prerelease(&self, text: &str) -> bool {
        let (_, rest) = split_stated(text);
        let (own, stated) = (cut_build(self.split_numbers().1), cut_build(&rest));
        is_prerelease(stated) && own != stated && self.has_numbers_of(text)
    }

    fn has_numbers_of(&self, text: &str) -> bool {
        let (wanted, mut stated) = (self.numbers(), read_numbers(text));
        if wanted.is_empty() || stated.is_empty() {
            return false;
        }
        stated.resize(wanted.len(), 0);
        stated == wanted
    }

    pub fn is_prerelease(&self) -> bool {
        is_prerelease(self.split_numbers().1)
    }

    fn split_numbers(&self) -> (impl Iterator<Item = u64>, &str) {
        let end = self
            .0
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(self.0.len());
        let (head, rest) = self.0.split_at(end);
        (head.split('.').filter_map(|part| part.parse().ok()), rest)
    }
}

/// The dotted numbers that a text begins with: 1, 36, 0 and 5 of `v1.36.0.5` and of `1, 36, 0, 5`.
pub fn read_numbers(text: &str) -> Vec<u64> {
    split_stated(text).0
}

/// The numbers at the start of a text, and what follows them.
fn split_stated(text: &str) -> (Vec<u64>, String) {
    let text = text.trim().trim_start_matches(['v', 'V']);
    let mut text = text.replace(", ", ".");
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let rest = text.split_off(end.unwrap_or(text.len()));
    let parts = text.split('.');
    (parts.map_while(|part| part.parse().ok()).collect(), rest)
}

/// The text behind the numbers, without the build: `-rc.1` of `-rc.1+k3s1` and of `-rc.1 (abc)`.
fn cut_build(rest: &str) -> &str {
    let end = rest.find(|c: char| !matches!(c, '-' | '.') && !c.is_ascii_alphanumeric());
    &rest[..end.unwrap_or(rest.len())]
}

fn is_prerelease(rest: &str) -> bool {
    ["-alpha", "-beta", "-rc", "-pre"]
        .iter()
        .any(|marker| rest.starts_with(marker))
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match find_version_fault(text) {
            Some(reason) => Err(VersionError {
                text: text.to_owned(),
                reason,
            }),
            None => Ok(Self(text.to_owned())),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let ((a, a_rest), (b, b_rest)) = (self.split_numbers(), other.split_numbers());
        compare_numbers(a, b)
            .then_with(|| compare_rest(a_rest, b_rest))
            .then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A number that is missing at the end is 0.
fn compare_numbers(mut a: impl Iterator<Item = u64>, mut b: impl Iterator<Item = u64>) -> Ordering {
    loop {
        match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (a, b) if a.unwrap_or(0) == b.unwrap_or(0) => {}
            (a, b) => return a.unwrap_or(0).cmp(&b.unwrap_or(0)),
        }
    }
}

fn compare_rest(a: &str, b: &str) -> Ordering {
    rank_rest(a)
        .cmp(&rank_rest(b))
        .then_with(|| split_chunks(a).cmp(&split_chunks(b)))
}

/// A prerelease is before the release, a revision after it.
fn rank_rest(rest: &str) -> u8 {
    match rest {
        "" => 1,
        rest if is_prerelease(rest) => 0,
        _ => 2,
    }
}

fn find_version_fault(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        return Some("it is empty");
    }
    if text.starts_with(['v', 'V']) {
        return Some("leave out the leading `v`");
    }
    if !is_alphanumeric_or(text, ".-+_") {
        return Some("only letters, digits, `.`, `-`, `+` and `_` are used in versions");
    }
    if text.contains("..") || text.ends_with('.') || text.starts_with('.') {
        return Some("a number is missing beside a dot");
    }
    None
}

/// Runs of digits as numbers, everything else as text, so that `flannel10` follows `flannel9`.
fn split_chunks(text: &str) -> Vec<(u64, &str)> {
    let mut result = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        if digits > 0 {
            result.push((rest[..digits].parse().unwrap_or(u64::MAX), ""));
            rest = &rest[digits..];
        } else {
            let end = rest
                .find(|c: char| c.is_ascii_digit())
                .unwrap_or(rest.len());
            result.push((0, &rest[..end]));
            rest = &rest[end..];
        }
    }
    result
}

/// Comparators joined by commas (all hold), alternatives by ` || `; `*` is every version.
///
/// A pre-release belongs to the range that its release belongs to: `1.24.0-rc.1` is a 1.24.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String", extend("examples" = [">=1.24.0, <1.30.0"]))]
pub struct VersionRange {
    text: String,
    alternatives: Vec<Vec<(Operator, Version)>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl VersionRange {
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn contains(&self, version: &Version) -> bool {
        let release = strip_prerelease(version);
        self.alternatives.iter().any(|all| {
            all.iter().all(|(operator, bound)| {
                let order = if bound.is_prerelease() {
                    version.cmp(bound)
                } else {
                    release.as_ref().cmp(bound)
                };
                match operator {
                    Operator::Equal => order.is_eq(),
                    Operator::Less => order.is_lt(),
                    Operator::LessOrEqual => order.is_le(),
                    Operator::Greater => order.is_gt(),
                    Operator::GreaterOrEqual => order.is_ge(),
                }
            })
        })
    }

    /// Whether some version may lie in both, judged at and around every bound of the two.
    pub fn overlaps(&self, other: &Self) -> bool {
        let mut probes = vec![Version("0".to_owned())];
        for (_, bound) in self
            .alternatives
            .iter()
            .chain(&other.alternatives)
            .flatten()
        {
            probes.push(bound.clone());
            // Just above a bound lies its `.0.0.0.1`; below every bound lies 0.
            probes.push(Version(format!("{}.0.0.0.1", format_numbers(bound))));
        }
        probes
            .iter()
            .any(|probe| self.contains(probe) && other.contains(probe))
    }
}

fn format_numbers(version: &Version) -> String {
    version
        .numbers()
        .iter()
        .map(u64::to_string)
        .collect::<Vec<_>>()
        .join(".")
}

fn strip_prerelease(version: &Version) -> Cow<'_, Version> {
    if version.is_prerelease() {
        Cow::Owned(Version(format_numbers(version)))
    } else {
        Cow::Borrowed(version)
    }
}

impl FromStr for VersionRange {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // Nearly all have one, and to search a text takes longer than to read it.
        let alternatives = if text.contains('|') {
            let alternatives = text.split("||").map(parse_comparators);
            alternatives.collect::<Result<Vec<_>, _>>()?
        } else {
            vec![parse_comparators(text)?]
        };
        Ok(Self {
            text: text.to_owned(),
            alternatives,
        })
    }
}

fn parse_comparators(text: &str) -> Result<Vec<(Operator, Version)>, VersionError> {
    if text.trim() == "*" {
        return Ok(Vec::new());
    }
    text.split(',')
        .map(|part| parse_comparator(part.trim()))
        .collect()
}

fn parse_comparator(part: &str) -> Result<(Operator, Version), VersionError> {
    let operators = [
        (">=", Operator::GreaterOrEqual),
        ("<=", Operator::LessOrEqual),
        (">", Operator::Greater),
        ("<", Operator::Less),
        ("=", Operator::Equal),
    ];
    for (sign, operator) in operators {
        if let Some(rest) = part.strip_prefix(sign) {
            return Ok((operator, rest.trim().parse()?));
        }
    }
    Err(VersionError {
        text: part.to_owned(),
        reason: "a range starts with >=, >, <=, < or =",
    })
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

serde_as_text!(Version, VersionRange);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_agree_by_their_numbers() {
        for (stated, planned, same) in [
            ("v1.36.0", "1.36.0", true),
            ("1.36.0.0", "1.36.0", true),
            ("1, 36, 0, 0", "1.36.0", true),
            ("1.36.0 (abc)", "1.36.0", true),
            ("2.24 64-bit 2014-08-31", "2.24", true),
            ("10.0.0.0", "10.0.0.0p2", true),
            ("1.36.0+build.7", "1.36.0", true),
            ("1.36.0.5", "1.36.0", true),
            ("1.36", "1.36.0", true),
            ("1.20.0", "1.36.0", false),
            ("1.36.01", "1.36.10", false),
            ("11.36.0", "1.36.0", false),
            ("(devel)", "1.36.0", false),
            ("", "1.36.0", false),
            ("v1.36.0-rc.1", "1.36.0", false),
            ("1.36.0-alpha.2+abc", "1.36.0", false),
            ("v1.36.0-rc.1 (abc)", "1.36.0-rc.1", true),
            ("v1.36.0-rc.2", "1.36.0-rc.1", false),
            ("1.36.0.0", "1.36.0-rc.1", true),
            ("1.36.0 for a tool-prefix", "1.36.0", true),
            ("1.36.0-flannel1", "1.36.0", true),
            ("v1.36.0-rc.1+rke2r1", "1.36.0-rc.1+rke2r1", true),
            ("v1.36.0-rc.1", "1.36.0-rc.1+rke2r1", true),
            ("v1.36.0-eks-abc", "1.36.0", true),
            ("v1.27.3-hotfix.20230728", "1.27.3", true),
            ("1.24.0-gke.100", "1.24.0", true),
            ("1.1.8.dev12", "1.1.8.dev12", true),
            ("v0.5.0-rc1", "0.5.0-rc1", true),
            ("28.0.0+incompatible", "28.0.0", true),
        ] {
            let planned: Version = planned.parse().expect("a version");
            assert_eq!(planned.is_stated_by(stated), same, "{stated} {planned}");
        }
    }

    fn version(text: &str) -> Version {
        text.parse().expect(text)
    }

    fn range(text: &str) -> VersionRange {
        text.parse().expect(text)
    }

    #[test]
    fn orders_as_publishers_count() {
        for pair in [
            ["1.9.0", "1.10.0"],
            ["1.20.0-rc.1", "1.20.0"],
            ["1.20.0-alpha.2", "1.20.0-rc.1"],
            ["19.03.9", "19.03.12"],
            ["2.24", "2.24-101"],
            ["1.9.1-flannel3", "1.9.1-flannel10"],
            ["1.18.9", "1.18.9+eksd.1-18-1"],
            ["8.6.0.0p1", "8.9.1.0p1"],
        ] {
            assert!(version(pair[0]) < version(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn refuses_what_is_no_version() {
        for (text, reason) in [
            ("", "empty"),
            ("v1.20.0", "leading `v`"),
            ("1..2", "number is missing"),
            ("1.20.", "number is missing"),
            ("1.20 .0", "only letters"),
            ("../x", "only letters"),
            ("1.20.0;rm", "only letters"),
        ] {
            let error = text.parse::<Version>().expect_err(text).to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn ranges_hold_their_versions() {
        for (text, inside, outside) in [
            (">=1.4.0, <2.0.0", "1.7.27", "2.0.0"),
            (">=1.24.0", "1.24.0-rc.1", "1.23.17"),
            ("=2.24", "2.24", "2.24-101"),
            (">=1.7.20, <1.8.0 || >=2.0.1", "2.0.4", "2.0.0"),
            ("*", "0.0.1", ""),
            ("<=1.22.0", "1.22.0", "1.22.1"),
        ] {
            assert!(range(text).contains(&version(inside)), "{text} {inside}");
            if !outside.is_empty() {
                assert!(!range(text).contains(&version(outside)), "{text} {outside}");
            }
        }
        assert!("1.20".parse::<VersionRange>().is_err());
    }

    #[test]
    fn overlap_is_seen_at_the_bounds() {
        for (a, b, overlap) in [
            ("<1.0.0", ">=1.0.0", false),
            ("<=1.0.0", ">=1.0.0", true),
            (">1.0.0", "<1.0.1", true),
            ("*", ">=3.0.0", true),
            (">=1.0.0, <2.0.0", ">=2.0.0", false),
            ("=1.0.0", "=1.0.0", true),
        ] {
            assert_eq!(range(a).overlaps(&range(b)), overlap, "{a} / {b}");
        }
    }
}
