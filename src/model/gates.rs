//! Feature gates as Kubernetes programs take them (`k8s.io/component-base/featuregate`, `featureGate.Set`).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::kubernetes::Program;
use crate::base::version::{Version, VersionRange};

/// The flag that turns features on and off, without its dashes.
pub const GATES: &str = "feature-gates";

/// A fault of one part of the value of `--feature-gates`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateFault<'a> {
    /// The value is not one that `strconv.ParseBool` reads.
    NotBoolean(&'a str),
    /// The program has no such gate, and does not start.
    Unknown,
    /// The program starts with this value of the gate alone.
    Locked(bool),
}

/// A gate, and what is wrong with it.
pub type FaultyGate<'a> = (&'a str, GateFault<'a>);

/// Gates and their values; empty parts count for nothing, as in the programs.
pub fn split_gates(value: &str) -> impl Iterator<Item = (&str, &str)> {
    let parts = value.split(',').filter(|part| !part.is_empty());
    parts.map(|part| {
        let (gate, state) = part.split_once('=').unwrap_or((part, ""));
        (gate.trim(), state.trim())
    })
}

/// A boolean in the forms of Go's `strconv.ParseBool`.
pub fn read_go_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// Whether a value of `--feature-gates` gives a gate this state: of several the last one counts.
pub fn sets_gate(gates: &str, wanted: &str) -> bool {
    let (gate, state) = wanted.split_once('=').unwrap_or((wanted, ""));
    let last = split_gates(gates).filter(|(name, _)| *name == gate).last();
    last.is_some_and(|(_, given)| read_go_bool(given) == read_go_bool(state))
}

/// A gate whose state other gates rest on: programs of these versions start with it beside theirs alone.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct GateNeeds {
    /// `GATE=false`
    pub gate: String,
    /// The states of the others, none of which they have by themselves.
    pub needs: Vec<String>,
    pub versions: VersionRange,
    pub source: String,
}

impl GateNeeds {
    /// The states that a value of `--feature-gates` lacks.
    pub fn list_missing(&self, version: &Version, gates: &str) -> Vec<&str> {
        if !self.versions.contains(version) || !sets_gate(gates, &self.gate) {
            return Vec::new();
        }
        let missing = self.needs.iter().filter(|state| !sets_gate(gates, state));
        missing.map(String::as_str).collect()
    }
}

impl Program {
    /// The parts of a value of `--feature-gates` that end the program.
    pub fn find_gate_faults<'a>(&self, value: &'a str) -> Vec<FaultyGate<'a>> {
        let mut faults = Vec::new();
        for (gate, state) in split_gates(value) {
            let fault = match (read_go_bool(state), self.feature_gates.get(gate)) {
                (None, _) => GateFault::NotBoolean(state),
                (_, None) => GateFault::Unknown,
                (Some(value), Some(Some(locked))) if value != *locked => GateFault::Locked(*locked),
                (Some(_), Some(_)) => continue,
            };
            faults.push((gate, fault));
        }
        faults
    }
}

/// Gates that a program accepts, each with its value where the program accepts no other.
pub type KnownGates = BTreeMap<String, Option<bool>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_judged_as_the_programs_do() {
        let gates = [("Free", None), ("On", Some(true)), ("Off", Some(false))];
        let program = Program {
            version: Version::from_literal("1.36.0"),
            flags: Vec::new(),
            feature_gates: gates
                .map(|(gate, lock)| (gate.to_owned(), lock))
                .into_iter()
                .collect(),
        };
        for good in ["", ",", "Free=True,", "Free=0,On=t,Off=F", " On = true"] {
            assert_eq!(program.find_gate_faults(good), [], "{good}");
        }
        let faults = program.find_gate_faults("Free,Free=yes,Of=true,On=false,Off=1");
        let expected = [
            ("Free", GateFault::NotBoolean("")),
            ("Free", GateFault::NotBoolean("yes")),
            ("Of", GateFault::Unknown),
            ("On", GateFault::Locked(true)),
            ("Off", GateFault::Locked(false)),
        ];
        assert_eq!(faults, expected);
    }
}
