//! The kubelet's arguments: what its batch file leaves out, and what a kubelet of a version knows.

use std::collections::BTreeSet;

use imagegen::model::gates::GateFault;
use imagegen::model::kubernetes::FlagValues;
use imagegen::model::line::Minor;

use super::Flow;
use super::fold::Image;

/// The batch file leaves these out for a kubelet of some minor version: flags without `--`, and feature gates.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    pub flags: BTreeSet<String>,
    pub gates: BTreeSet<String>,
}

/// Flags and gates that the batch file leaves out for a kubelet of this minor version.
pub(super) fn list_left_out(script: &str, minor: Minor) -> LeftOut {
    let number: u32 = minor_number(minor);
    let mut found = LeftOut::default();
    for line in script.lines() {
        let (condition, command) = match line.strip_prefix("if %minor% GTR ") {
            None => (None, line),
            Some(rest) => {
                let (last, command) = rest.split_once(' ').expect("a number and a command");
                (Some(last.parse::<u32>().expect("a number")), command)
            }
        };
        if condition.is_some_and(|last| number <= last) {
            continue;
        }
        let names = match command.split_once("set \"gone=%gone%") {
            Some((_, rest)) => rest.split('"').next(),
            None => command
                .strip_prefix("for %%g in (")
                .and_then(|rest| rest.split(')').next()),
        };
        let names = names.unwrap_or_default().split_whitespace();
        for name in names.filter(|name| *name != "%gone%") {
            match name.strip_prefix("--") {
                Some(flag) => found.flags.insert(flag.to_owned()),
                None => found.gates.insert(name.to_owned()),
            };
        }
    }
    found
}

impl LeftOut {
    /// Whether the argument is left out, or the value with which it reaches the kubelet.
    fn apply(&self, name: &str, value: &str) -> Option<String> {
        if self.flags.contains(name) {
            return None;
        }
        if name != "feature-gates" || value.is_empty() {
            return Some(value.to_owned());
        }
        let kept: Vec<&str> = value
            .split(',')
            .filter(|part| !self.gates.contains(part.split('=').next().unwrap_or(part)))
            .collect();
        (!kept.is_empty()).then(|| kept.join(","))
    }
}

fn minor_number(minor: Minor) -> u32 {
    let text = minor.to_string();
    let (_, number) = text.split_once('.').expect("a minor version");
    number.parse().expect("a number")
}

/// The arguments that are left out, or the one that ends the kubelet.
pub(super) fn check_flow(
    flow: &Flow,
    newer: &Image,
    left_out: &LeftOut,
) -> Result<Vec<String>, String> {
    let mut dropped = Vec::new();
    for (name, value) in &flow.arguments {
        let Some(value) = left_out.apply(name, value) else {
            dropped.push(format!("`--{name}`"));
            continue;
        };
        let gates = flow
            .arguments
            .get("feature-gates")
            .map_or("", String::as_str);
        let refused = |rule: &&FlagValues| rule.refuses(&newer.kubernetes, (name, &value), gates);
        if let Some(rule) = newer.values.iter().find(refused) {
            return Err(rule.reason.clone());
        }
        check_argument(name, &value, newer)?;
    }
    Ok(dropped)
}

/// Arguments `--name=value` of the image.
pub(super) fn check_image(
    arguments: &[String],
    newer: &Image,
    left_out: &LeftOut,
) -> Result<(), String> {
    for argument in arguments {
        let argument = argument.trim_start_matches("--");
        let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
        if let Some(value) = left_out.apply(name, value) {
            check_argument(name, &value, newer)?;
        }
    }
    Ok(())
}

fn check_argument(name: &str, value: &str, image: &Image) -> Result<(), String> {
    let minor = image.minor;
    let program = &image.programs["kubelet"];
    if !program.flags.iter().any(|flag| flag == name) {
        return Err(format!("the kubelet of {minor} has no flag `--{name}`"));
    }
    if name != "feature-gates" {
        return Ok(());
    }
    match &program.find_gate_faults(value)[..] {
        [] => Ok(()),
        [(gate, GateFault::Unknown), ..] => {
            Err(format!("the kubelet does not know the gate `{gate}`"))
        }
        [(gate, fault), ..] => Err(format!(
            "the kubelet of {minor} refuses the gate `{gate}`: {fault:?}"
        )),
    }
}
