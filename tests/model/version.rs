//! Versions and ranges of them.

use imagegen::base::version::{Version, VersionRange};

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
