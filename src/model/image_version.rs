//! The version of an image: what distinguishes two images that are built from one lockfile.
//!
//! It is no part of the lock. A bake takes it from the user, from `SOURCE_DATE_EPOCH` or from the clock; a
//! preview has no time and takes it from what the image is made from, so that two previews are the same.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;

use crate::diagnostic::classify;

use crate::base::text::is_alphanumeric_or;
use crate::base::value::serde_as_text;
use crate::base::version::Version;

/// 9999-12-31T23:59:59Z: later dates have no year of four digits.
const LAST_SECOND: u64 = 253_402_300_799;

#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub enum ImageVersion {
    /// As the user gives it.
    Given(String),
    /// Seconds since 1970, in UTC. Only [`ImageVersion::from_time`] makes one.
    Time(u64),
    /// SHA-256 of what the image is made from.
    Inputs(String),
}

crate::text_value!(
    /// The version in the record of a build; empty in older records.
    RecordedVersion,
    |text| text.is_empty() || text.parse::<ImageVersion>().is_ok(),
    "an image version: expected up to 32 letters, digits, `.`, `-` and `_` with a letter or digit first, such as `1.36.4`"
);

impl From<&ImageVersion> for RecordedVersion {
    fn from(version: &ImageVersion) -> Self {
        Self(version.format_suffix())
    }
}

impl RecordedVersion {
    /// The version of an older record.
    pub fn absent() -> Self {
        Self(String::new())
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ImageVersionError {
    #[error(
        "expected up to 32 letters, digits, `.`, `-` and `_` with a letter or digit first, such as `1.36.4`"
    )]
    Text,
    #[error("expected seconds since 1970, such as `1767225600`")]
    Time,
}

classify!(ImageVersionError => VALUE);

impl ImageVersion {
    /// # Errors
    /// The time has no date with a year of four digits.
    pub fn from_time(seconds: u64) -> Result<Self, ImageVersionError> {
        if seconds > LAST_SECOND {
            Err(ImageVersionError::Time)
        } else {
            Ok(Self::Time(seconds))
        }
    }

    /// End of an image's name: `20261122-025441`. Later builds sort last.
    pub fn format_suffix(&self) -> String {
        match self {
            Self::Given(text) => text.clone(),
            Self::Time(seconds) => {
                let (date, time) = split_time(*seconds);
                format!("{date:08}-{time:06}")
            }
            Self::Inputs(digest) => digest.chars().take(12).collect(),
        }
    }

    /// Three numbers, as galleries want them: Kubernetes, date, time (`1036004.20261122.25441`). Newer Kubernetes
    /// releases sort last, then later builds.
    pub fn format_numbers(&self, kubernetes: &Version) -> String {
        let release = format_release(kubernetes);
        match self {
            Self::Given(text) => text.clone(),
            Self::Time(seconds) => {
                let (date, time) = split_time(*seconds);
                format!("{release}.{date}.{time}")
            }
            Self::Inputs(digest) => {
                let (first, second) = (parse_digits(digest, 0), parse_digits(digest, 6));
                format!("{release}.{first}.{second}")
            }
        }
    }
}

/// `1036004` for 1.36.4.
fn format_release(kubernetes: &Version) -> u64 {
    let mut numbers = kubernetes.numbers();
    numbers.resize(3, 0);
    numbers
        .iter()
        .fold(0, |release, number| 1_000 * release + number.min(&999))
}

/// Date and time of day as numbers: 20261122 and 25441.
fn split_time(seconds: u64) -> (u32, u32) {
    let Ok(time) = der::DateTime::from_unix_duration(Duration::from_secs(seconds)) else {
        return (0, 0);
    };
    let date =
        u32::from(time.year()) * 10_000 + u32::from(time.month()) * 100 + u32::from(time.day());
    (
        date,
        u32::from(time.hour()) * 10_000
            + u32::from(time.minutes()) * 100
            + u32::from(time.seconds()),
    )
}

impl FromStr for ImageVersion {
    type Err = ImageVersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let starts = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        if starts && text.len() <= 32 && is_alphanumeric_or(text, ".-_") {
            return Ok(Self::Given(text.to_owned()));
        }
        Err(ImageVersionError::Text)
    }
}

impl fmt::Display for ImageVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.format_suffix())
    }
}

serde_as_text!(ImageVersion);

/// Six digits of a digest as a number.
fn parse_digits(digest: &str, start: usize) -> u32 {
    let digits = digest.get(start..start + 6).unwrap_or("0");
    u32::from_str_radix(digits, 16).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::ImageVersion;

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
}
