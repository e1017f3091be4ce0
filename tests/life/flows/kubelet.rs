//! The kubelet's arguments: what its batch file leaves out, and what a kubelet of a version knows.

use std::collections::BTreeSet;

use imagegen::model::gates::GateFault;
use imagegen::model::line::Minor;

use super::fold::Image;
use super::{Flow, Limit};

/// Flags that the batch file leaves out for a kubelet of this minor version, without `--`.
pub(super) fn list_left_out(script: &str, minor: Minor) -> BTreeSet<String> {
    let number: u32 = minor_number(minor);
    let mut found = BTreeSet::new();
    for line in script.lines() {
        let (condition, set) = match line.strip_prefix("if %minor% GTR ") {
            None => (None, line),
            Some(rest) => {
                let (last, set) = rest.split_once(' ').expect("a number and a command");
                (Some(last.parse::<u32>().expect("a number")), set)
            }
        };
        let Some(flags) = set.strip_prefix("set \"gone=%gone%") else {
            continue;
        };
        if condition.is_none_or(|last| number > last) {
            let flags = flags.trim_end_matches('"').split_whitespace();
            found.extend(flags.map(|flag| flag.trim_start_matches("--").to_owned()));
        }
    }
    found
}

fn minor_number(minor: Minor) -> u32 {
    let text = minor.to_string();
    let (_, number) = text.split_once('.').expect("a minor version");
    number.parse().expect("a number")
}

/// The arguments that are left out, or the one that ends the kubelet.
pub(super) fn check_flow(
    flow: &Flow,
    limits: &[Limit],
    newer: &Image,
    left_out: &BTreeSet<String>,
) -> Result<Vec<String>, String> {
    let mut dropped = Vec::new();
    for (name, value) in &flow.arguments {
        if left_out.contains(name) {
            dropped.push(format!("`--{name}`"));
            continue;
        }
        let argument = format!("{name}={value}");
        if let Some(limit) = limits.iter().find(|limit| limit.argument == argument) {
            if !limit.kubernetes.contains(&newer.kubernetes) {
                return Err(limit.reason.clone());
            }
            continue;
        }
        check_argument(name, value, newer)?;
    }
    Ok(dropped)
}

/// Arguments `--name=value` of the image.
pub(super) fn check_image(
    arguments: &[String],
    newer: &Image,
    left_out: &BTreeSet<String>,
) -> Result<(), String> {
    for argument in arguments {
        let argument = argument.trim_start_matches("--");
        let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
        if !left_out.contains(name) {
            check_argument(name, value, newer)?;
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
