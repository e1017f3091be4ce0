//! Arguments of the kubelet that this node alone gets, held against the program of its version.

use std::collections::BTreeSet;

use crate::catalog::Catalog;
use crate::model::kubernetes::{KubernetesLine, Program};
use crate::model::names::did_you_mean;
use crate::model::plan::Plan;

use super::{JoinError, JoinInput};
use crate::diagnostic::Finding;

/// Flags that kubeadm or a field of the input sets: giving them twice means that one is lost.
const ELSEWHERE: &[(&str, &str)] = &[
    ("node-labels", "use `--label KEY=VALUE`"),
    ("register-with-taints", "use `--taint KEY=VALUE:EFFECT`"),
    ("hostname-override", "use `--name NAME`"),
];

pub(super) fn arguments(
    input: &JoinInput,
    plan: &Plan,
    catalog: &Catalog,
    problems: &mut Vec<Finding>,
) -> Result<Vec<(String, String)>, JoinError> {
    let mut arguments: Vec<(String, String)> = Vec::new();
    let fixed = fixed(plan, catalog)?;
    for text in &input.kubelet_args {
        match argument(text, plan, catalog, &fixed)? {
            Ok((name, _)) if arguments.iter().any(|(known, _)| *known == name) => {
                let message = format!("the kubelet's `--{name}` is given twice");
                problems.push(Finding::new("argument-twice", message, "give it once"));
            }
            Ok(argument) => arguments.push(argument),
            Err(problem) => problems.push(problem),
        }
    }
    Ok(arguments)
}

/// Flags that the image's service starts with already, by name.
fn fixed(plan: &Plan, catalog: &Catalog) -> Result<Vec<String>, JoinError> {
    let situation = plan.situation();
    let rules = catalog.flags()?.flags.into_iter().filter(|rule| {
        rule.program == "kubelet" && rule.versions.contains(&plan.kubernetes) && situation.holds(&rule.when)
    });
    Ok(rules.map(|rule| rule.flag.trim_start_matches('-').to_owned()).collect())
}

fn argument(
    text: &str,
    plan: &Plan,
    catalog: &Catalog,
    fixed: &[String],
) -> Result<Result<(String, String), Finding>, JoinError> {
    let Some((name, value)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
        let message = format!("the kubelet argument `{text}` has no value");
        return Ok(Err(Finding::new("argument-format", message, "write it as NAME=VALUE, without dashes")));
    };
    // kubeadm joins arguments by blanks, and the service's command line is split at them again.
    if name.starts_with('-') || !value.bytes().all(|b| (b'!'..=b'~').contains(&b) && b != b'"') {
        let message = format!(
            "the kubelet argument `{name}` has leading dashes, or a blank, a quotation mark or a special character in its value"
        );
        return Ok(Err(Finding::new("argument-format", message, "write it as NAME=VALUE, without dashes")));
    }
    if let Some((_, instead)) = ELSEWHERE.iter().find(|(known, _)| *known == name) {
        let message = format!("`{name}` has a place of its own");
        return Ok(Err(Finding::new("argument-elsewhere", message, *instead)));
    }
    if fixed.iter().any(|known| known == name) {
        let message = format!("the image's kubelet service starts with `--{name}` already");
        let instead = format!("leave it out (`imagegen explain --{name}` says why it is as it is)");
        return Ok(Err(Finding::new("argument-of-the-image", message, instead)));
    }
    let Some(program) = program(plan, catalog)? else { return Ok(Ok((name.to_owned(), value.to_owned()))) };
    if !knows(&program, name) {
        return Ok(Err(unknown(name, plan, catalog, &program)?));
    }
    if name == "feature-gates"
        && let Some(problem) = gates(value, plan, catalog)?
    {
        return Ok(Err(problem));
    }
    Ok(Ok((name.to_owned(), value.to_owned())))
}

/// The line's kubelet; while it is not known yet, that of the nearest line before.
fn program(plan: &Plan, catalog: &Catalog) -> Result<Option<Program>, JoinError> {
    if let Some(program) = plan.line.programs.get("kubelet") {
        return Ok(Some(program.clone()));
    }
    let minors = catalog.kubernetes_minors();
    for minor in minors.iter().rev().skip_while(|minor| **minor != plan.line.minor) {
        if let Some(program) = catalog.kubernetes(minor)?.programs.remove("kubelet") {
            return Ok(Some(program));
        }
    }
    Ok(None)
}

fn knows(program: &Program, flag: &str) -> bool {
    program.flags.iter().any(|known| known.trim_start_matches('-') == flag)
}

fn unknown(name: &str, plan: &Plan, catalog: &Catalog, program: &Program) -> Result<Finding, JoinError> {
    let mut minors = Vec::new();
    for minor in catalog.kubernetes_minors() {
        let line = catalog.kubernetes(&minor)?;
        if line.programs.get("kubelet").is_some_and(|program| knows(program, name)) {
            minors.push(minor);
        }
    }
    let instead = match (minors.first(), minors.last()) {
        (Some(first), Some(last)) => format!("leave it out: kubelets from {first} to {last} have it"),
        _ => did_you_mean(name, program.flags.iter().map(|flag| flag.trim_start_matches('-'))),
    };
    Ok(Finding::new(
        "argument-unknown",
        format!("the kubelet of Kubernetes {} has no flag `--{name}`", plan.line.minor),
        instead,
    ))
}

/// Gates that graduated are hidden from the help of their line and accepted still: those of the
/// line before count too.
fn gates(value: &str, plan: &Plan, catalog: &Catalog) -> Result<Option<Finding>, JoinError> {
    let minors = catalog.kubernetes_minors();
    let before = minors.iter().take_while(|minor| **minor != plan.line.minor).last();
    let before: Option<KubernetesLine> = before.map(|minor| catalog.kubernetes(minor)).transpose()?;
    let lines = before.iter().chain([&plan.line]);
    let known: BTreeSet<&str> = lines
        .filter_map(|line| line.programs.get("kubelet"))
        .flat_map(|program| program.feature_gates.iter().map(String::as_str))
        .collect();
    for pair in value.split(',') {
        let (gate, state) = pair.split_once('=').unwrap_or((pair, ""));
        if !["true", "false"].contains(&state) {
            let message = format!("the feature gate `{pair}` is neither on nor off");
            return Ok(Some(Finding::new("gate-format", message, "write it as GATE=true or GATE=false")));
        }
        if !known.contains(gate) {
            let message =
                format!("the kubelet of Kubernetes {} has no feature gate `{gate}`", plan.line.minor);
            let instead = did_you_mean(gate, known.iter().copied());
            return Ok(Some(Finding::new("gate-unknown", message, instead)));
        }
    }
    Ok(None)
}
