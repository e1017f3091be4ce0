//! Versions of images.

use imagegen::model::image_version::ImageVersion;

/// The end of the year 9999.
const LAST_SECOND: u64 = 253_402_300_799;

#[test]
fn later_builds_and_newer_releases_sort_last() {
    let numbers = |seconds: u64, kubernetes: &str| -> Vec<u64> {
        let version = ImageVersion::from_time(seconds).expect("a time");
        let text = version.format_numbers(&kubernetes.parse().expect("a version"));
        text.split('.')
            .map(|part| part.parse().expect("a number"))
            .collect()
    };
    assert_eq!(
        numbers(1_795_316_081, "1.36.4"),
        [1_036_004, 20_261_122, 25_441]
    );
    assert!(numbers(1_795_316_082, "1.36.4") > numbers(1_795_316_081, "1.36.4"));
    assert!(numbers(1_795_316_081, "1.36.10") > numbers(1_795_316_999, "1.36.4"));
    assert!(numbers(0, "1.37.0-rc.1") > numbers(1_795_316_081, "1.36.999"));
    // Numbers of a gallery's version have 31 bits.
    assert!(
        numbers(LAST_SECOND, "1.999.999")
            .iter()
            .all(|number| i32::try_from(*number).is_ok())
    );
    let suffix = |seconds| {
        ImageVersion::from_time(seconds)
            .expect("a time")
            .format_suffix()
    };
    assert_eq!(suffix(1_795_316_081), "20261122-025441");
    assert!(suffix(1_795_316_082) > suffix(1_795_316_081));
    assert!(ImageVersion::from_time(u64::MAX).is_err());
}

#[test]
fn a_preview_has_a_version_of_its_inputs() {
    let version = ImageVersion::Inputs("0123456789abcdef".repeat(4));
    assert_eq!(version.format_suffix(), "0123456789ab");
    assert_eq!(
        version.format_numbers(&"1.20.0".parse().expect("a version")),
        "1020000.74565.6785451"
    );
}

#[test]
fn names_that_clouds_refuse_are_refused_here() {
    for good in ["1.36.4", "build_7", "20261122", "A-1"] {
        assert_eq!(
            good.parse::<ImageVersion>().expect(good).format_suffix(),
            good
        );
    }
    for bad in [
        "",
        ".1",
        "-1",
        "a b",
        "a/b",
        "ä",
        "${x}",
        "123456789012345678901234567890123",
    ] {
        assert!(bad.parse::<ImageVersion>().is_err(), "{bad}");
    }
}
