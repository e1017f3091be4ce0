//! Until when a publisher supports its releases.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::version::VersionRange;

crate::text_value!(
    /// A day in UTC. Days compare as their texts do.
    Day,
    |text| text.len() == 10 && format!("{text}T00:00:00Z").parse::<der::DateTime>().is_ok(),
    "a day: expected a date such as `2026-10-27`"
);

impl Day {
    /// The day of a time in seconds since 1970; none if its year has no four digits.
    pub fn from_time(seconds: u64) -> Option<Self> {
        let time = der::DateTime::from_unix_duration(Duration::from_secs(seconds)).ok()?;
        time.to_string().split('T').next()?.parse().ok()
    }
}

/// The last day on which a Kubernetes line or a Windows release gets security fixes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct EndOfSupport {
    pub date: Day,
    pub source: String,
}

/// The same of a branch of a component.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct BranchEnd {
    pub versions: VersionRange,
    pub date: Day,
    pub source: String,
}

/// A part of an image with the last day of its support. Plans and lockfiles hold it, and no judgement by the clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SupportEnd {
    /// `kubernetes`, `windows`, or a component.
    pub name: String,
    /// The line, release or branch: `1.20`.
    pub release: String,
    pub date: Day,
}

impl SupportEnd {
    pub fn is_over(&self, today: &Day) -> bool {
        self.date < *today
    }

    /// The flag that chooses another release.
    pub fn flag(&self) -> String {
        match self.name.as_str() {
            "kubernetes" => "--k8s".to_owned(),
            "windows" => "--windows".to_owned(),
            name => format!("--component {name}=VERSION"),
        }
    }
}

impl fmt::Display for SupportEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.release)
    }
}

#[cfg(test)]
mod tests {
    use super::Day;

    #[test]
    fn days_are_dates_and_nothing_else() {
        let day = Day::from_time(1_795_316_081).expect("a day");
        assert_eq!(day.as_str(), "2026-11-22");
        assert!("2026-02-28".parse::<Day>().expect("a day") < day);
        for text in [
            "2026-02-30",
            "2026-2-3",
            "26-02-03",
            "soon",
            "2026-11-22T00",
            "2026/11/22",
        ] {
            assert!(text.parse::<Day>().is_err(), "{text}");
        }
    }
}
