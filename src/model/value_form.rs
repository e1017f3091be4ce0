//! Values of the kubelet's flags, in the forms in which the kubelet reads them. `--help` names them, and a value in another
//! form ends the kubelet when it starts.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::Deserialize;

use super::gates::{GATES, read_go_bool, sets_gate};
use crate::base::duration::read_duration;
use crate::base::text::is_digits;
use crate::base::version::{Version, VersionRange};
use crate::windows::paths::is_absolute;

/// Flags whose values the kubelets of these versions read in one form.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FlagForm {
    pub form: ValueForm,
    /// The smallest integer.
    pub least: Option<i64>,
    /// The largest integer, or how many addresses there may be.
    pub most: Option<i64>,
    /// Without leading dashes.
    pub names: Vec<String>,
    pub versions: VersionRange,
    /// Words that the kubelet takes beside the form.
    #[serde(default)]
    pub words: Vec<String>,
    /// Another flag that has a value: without it, the kubelet reads other values, too.
    pub beside: Option<String>,
    /// A feature gate with its value, beside which the kubelet reads other values, too.
    pub unless_gate: Option<String>,
    /// The end of a kubelet with another value.
    pub reason: String,
    pub instead: String,
    pub source: String,
}

/// How a value is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ValueForm {
    /// `strconv.ParseBool` of Go.
    Boolean,
    /// `strconv.ParseInt` of Go.
    Integer,
    /// `time.ParseDuration` of Go.
    Duration,
    /// An IP address, or one of each family.
    Addresses,
    /// `10Mi`
    Quantity,
    /// `cpu=500m,memory=2Gi`
    Resources,
    /// `memory.available<500Mi,nodefs.available<10%`
    Thresholds,
    /// `memory.available=1m30s`
    GracePeriods,
    /// `memory.available=500Mi,nodefs.available=5%`
    Reclaims,
    /// A file of the node with its drive, or nothing: other paths are of another system.
    NodeFile,
}

/// A flag that rests on another one. Where neither the join nor the cluster gives that, the kubelet ends.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FlagCompanion {
    /// Without leading dashes.
    pub flag: String,
    /// The other flag.
    pub needs: String,
    /// Smaller integers rest on nothing.
    pub least: Option<i64>,
    /// Larger integers rest on nothing.
    pub most: Option<i64>,
    /// The field of the cluster's ConfigMap `kubelet-config` that may stand for the other flag.
    pub field: String,
    /// The end of a kubelet without both.
    pub reason: String,
    pub source: String,
}

impl FlagCompanion {
    /// Whether an argument stands without the other one among these.
    pub fn lacks(&self, (name, value): (&str, &str), arguments: &[(String, String)]) -> bool {
        let bounds = self.least.unwrap_or(i64::MIN)..=self.most.unwrap_or(i64::MAX);
        self.flag == name
            && !value.is_empty()
            && value
                .parse()
                .map_or(true, |number| bounds.contains(&number))
            && !arguments.iter().any(|(name, _)| *name == self.needs)
    }
}

/// The value of an argument among these; empty where it is not given.
pub fn find_argument<'a>(arguments: &'a [(String, String)], wanted: &str) -> &'a str {
    let found = arguments.iter().find(|(name, _)| name == wanted);
    found.map_or("", |(_, value)| value)
}

impl FlagForm {
    /// Whether a kubelet of this version takes no such argument among these.
    pub fn refuses(
        &self,
        version: &Version,
        (name, value): (&str, &str),
        arguments: &[(String, String)],
    ) -> bool {
        let is_beside = self
            .beside
            .as_deref()
            .is_none_or(|flag| !find_argument(arguments, flag).is_empty());
        let gate = self.unless_gate.as_deref();
        self.names.iter().any(|known| known == name)
            && self.versions.contains(version)
            && is_beside
            && !gate.is_some_and(|gate| sets_gate(find_argument(arguments, GATES), gate))
            && !self.words.iter().any(|word| word == value)
            && !self.fits(value)
    }

    fn fits(&self, value: &str) -> bool {
        let bounds = self.least.unwrap_or(i64::MIN)..=self.most.unwrap_or(i64::MAX);
        match self.form {
            ValueForm::Boolean => read_go_bool(value).is_some(),
            // Other bases are the kubelet's to judge.
            ValueForm::Integer if value.starts_with('0') && !is_digits(value) => true,
            ValueForm::Integer => value.parse().is_ok_and(|number| bounds.contains(&number)),
            ValueForm::Duration => is_duration(value),
            ValueForm::Addresses => are_addresses(value, &bounds),
            ValueForm::Quantity => is_quantity(value),
            ValueForm::Resources => fit_pairs(value, '=', |name, quantity| {
                ["cpu", "memory", "ephemeral-storage", "pid"].contains(&name)
                    && is_quantity(quantity)
            }),
            ValueForm::Thresholds => fit_pairs(value, '<', is_threshold),
            ValueForm::GracePeriods => fit_pairs(value, '=', |signal, time| {
                SIGNALS.contains(&signal) && is_duration(time) && !time.starts_with('-')
            }),
            ValueForm::Reclaims => fit_pairs(value, '=', is_reclaim),
            ValueForm::NodeFile => value.is_empty() || is_absolute(value),
        }
    }
}

/// A nanosecond more makes a duration of zero one that is read.
fn is_duration(value: &str) -> bool {
    let text = value.trim_start_matches(['-', '+']);
    text == "0" || !text.is_empty() && read_duration(&format!("1ns{text}")).is_some()
}

fn are_addresses(value: &str, bounds: &std::ops::RangeInclusive<i64>) -> bool {
    let parts = value.split(',').filter(|_| !value.is_empty());
    let Ok(found) = parts.map(str::parse).collect::<Result<Vec<IpAddr>, _>>() else {
        return false;
    };
    let is_pair = match found.as_slice() {
        [first, second] => {
            first.is_ipv4() != second.is_ipv4()
                && !first.is_unspecified()
                && !second.is_unspecified()
        }
        _ => true,
    };
    is_pair && i64::try_from(found.len()).is_ok_and(|count| bounds.contains(&count))
}

/// Empty parts count for nothing, as in the programs.
fn fit_pairs(value: &str, between: char, fits: impl Fn(&str, &str) -> bool) -> bool {
    let mut parts = value.split(',').filter(|part| !part.is_empty());
    parts.all(|part| {
        part.split_once(between)
            .is_some_and(|(name, rest)| fits(name, rest))
    })
}

/// Signals for which the kubelet evicts pods.
const SIGNALS: &[&str] = &[
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "containerfs.available",
    "containerfs.inodesFree",
    "allocatableMemory.available",
    "pid.available",
];

fn is_threshold(signal: &str, value: &str) -> bool {
    SIGNALS.contains(&signal)
        && match value.strip_suffix('%') {
            Some(part) => part
                .parse()
                .is_ok_and(|part: f32| (0.0..=100.0).contains(&part)),
            None => is_quantity(value) && value.contains(|c: char| ('1'..='9').contains(&c)),
        }
}

fn is_reclaim(signal: &str, value: &str) -> bool {
    SIGNALS.contains(&signal)
        && match value.strip_suffix('%') {
            Some(part) => part.parse().is_ok_and(|part: f32| part > 0.0),
            None => is_quantity(value),
        }
}

/// `resource.ParseQuantity` of Kubernetes, without a sign.
fn is_quantity(text: &str) -> bool {
    const SUFFIXES: &[&str] = &[
        "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
    ];
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let power = suffix.strip_prefix(['e', 'E']).unwrap_or_default();
    let power = power.strip_prefix(['-', '+']).unwrap_or(power);
    number.matches('.').count() < 2
        && number.contains(|c: char| c.is_ascii_digit())
        && (SUFFIXES.contains(&suffix) || !power.is_empty() && is_digits(power))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn form(name: &str) -> FlagForm {
        let value = json!({
            "form": name, "names": ["x"], "versions": "*", "reason": "", "instead": "", "source": "", "most": 2
        });
        serde_json::from_value(value).expect("a form")
    }

    /// A form, and values that it takes and refuses.
    type FormRow<'a> = (&'a str, &'a [&'a str], &'a [&'a str]);

    fn check_forms(rows: &[FormRow]) {
        for (name, good, bad) in rows {
            let form = form(name);
            for value in *good {
                assert!(form.fits(value), "{name}: {value}");
            }
            for value in *bad {
                assert!(!form.fits(value), "{name}: {value}");
            }
        }
    }

    /// As the kubelets of 1.30 and 1.36 took and refused them, but for a text that is no address, which they leave out.
    #[test]
    fn forms_are_those_of_the_kubelet() {
        let rows: &[FormRow] = &[
            ("boolean", &["true", "F", "1"], &["yes", "", "tRUE"]),
            (
                "integer",
                &["2", "-1", "+1", "0x1", "02"],
                &["1O", "", "3", "1.5", "1,000"],
            ),
            (
                "duration",
                &["10s", "0", "0s", "-1m", "1.5h", "1h30m0s"],
                &["10", "", "1d", "s", "0m5"],
            ),
            (
                "addresses",
                &["10.0.0.1", "::", "10.0.0.1,fd00::1", "fd00::1,10.0.0.1", ""],
                &[
                    "10.0.0.1,10.0.0.2",
                    "10.0.0",
                    "10.0.0.1/24",
                    "0.0.0.0,fd00::1",
                    "a,::1",
                    "10.0.0.1,::1,::2",
                    ",",
                ],
            ),
            ("quantity", &["10Mi", "1.5G", "100"], &["10MB", "", "M"]),
            (
                "resources",
                &[
                    "cpu=500m,memory=2Gi",
                    "memory=1.5Gi,",
                    "ephemeral-storage=1e9,pid=1000",
                    "",
                    "cpu=.5",
                ],
                &[
                    "cpus=1",
                    "memory=2GiB",
                    "memory=2gb",
                    "cpu=100m;memory=1Gi",
                    "cpu",
                    "cpu=-1",
                    "cpu=",
                    "memory=1 Gi",
                ],
            ),
            (
                "thresholds",
                &[
                    "memory.available<500Mi,nodefs.available<10%",
                    "nodefs.inodesFree<0%",
                    "imagefs.available<12.5%",
                    "",
                ],
                &[
                    "memory.available=500Mi",
                    "memory<5%",
                    "memory.available<101%",
                    "memory.available<0",
                    "memory.available<5MB",
                ],
            ),
        ];
        check_forms(rows);
    }

    /// As the kubelets of 1.20, 1.30 and 1.36 took and refused them.
    #[test]
    fn signals_have_times_and_quantities() {
        check_forms(&[
            (
                "gracePeriods",
                &["memory.available=1m30s,nodefs.available=0s", ""],
                &[
                    "memory.available=90",
                    "memory=1m",
                    "memory.available<1m",
                    "memory.available=-1m",
                ],
            ),
            (
                "reclaims",
                &[
                    "memory.available=500Mi,nodefs.available=5%",
                    "",
                    "imagefs.available=0",
                ],
                &["memory.available=5GB", "memory.available=0%", "disk=1Gi"],
            ),
        ]);
    }
}
