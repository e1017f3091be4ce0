//! Arguments of the kubelet that this node alone gets, held against the program of its version.

use crate::base::code::Code;
use crate::base::names::format_suggestion;
use crate::base::text::is_alphanumeric_or;
use crate::catalog::Catalog;
use crate::model::kubernetes::{FlagRule, JoinFlags, Program, ProgramTable};
use crate::model::plan::Plan;
use crate::model::policy::matches_pattern;

use super::JoinInput;
use crate::diagnostic::{Finding, Result as RunResult};

/// Flags that kubeadm or a field of the input sets: giving them twice means that one is lost.
const ELSEWHERE: &[(&str, &str)] = &[
    ("node-labels", "use `--label KEY=VALUE`"),
    ("register-with-taints", "use `--taint KEY=VALUE:EFFECT`"),
    ("hostname-override", "use `--name NAME`"),
];

pub(super) fn collect_arguments(
    input: &JoinInput,
    plan: &Plan,
    catalog: &Catalog,
    problems: &mut Vec<Finding>,
) -> RunResult<Vec<(String, String)>> {
    let mut arguments: Vec<(String, String)> = Vec::new();
    let fixed = list_fixed_flags(plan, catalog)?;
    let table = catalog.load_flags()?;
    let free = table.join_flags.as_slice();
    let by_file = input.kubelet_args.iter().map(|text| (text, Some(free)));
    let given = input.given_args.iter().map(|text| (text, None));
    for (text, free) in by_file.chain(given) {
        match parse_argument(text, plan, catalog, &fixed)?
            .and_then(|argument| require_free_flag(argument, free))
        {
            Ok((name, _)) if arguments.iter().any(|(known, _)| *known == name) => {
                let message = format!("the kubelet's `--{name}` is given twice");
                problems.push(Finding::new(Code::ARGUMENT_TWICE, message, "give it once"));
            }
            Ok(argument) => arguments.push(argument),
            Err(problem) => problems.push(problem),
        }
    }
    Ok(arguments)
}

/// A file comes with anybody's pull request: it gives what opens nothing. `free` is none where the operator gives it.
fn require_free_flag(
    argument: (String, String),
    free: Option<&[JoinFlags]>,
) -> Result<(String, String), Finding> {
    let (name, value) = &argument;
    let mut names = free.into_iter().flatten().flat_map(|flags| &flags.names);
    if free.is_none() || names.any(|pattern| matches_pattern(pattern, name)) {
        return Ok(argument);
    }
    let message =
        format!("`--{name}` of the kubelet is not one that the input file of a join may give");
    let remedy = format!("if you mean it, give it yourself: `--kubelet-arg {name}={value}`");
    Err(Finding::new(
        Code::ARGUMENT_OF_THE_OPERATOR,
        message,
        remedy,
    ))
}

/// Flags that the image's service starts with already.
fn list_fixed_flags(plan: &Plan, catalog: &Catalog) -> RunResult<Vec<FlagRule>> {
    let conditions = plan.conditions();
    let table = catalog.load_flags()?;
    let rules = table.flags.iter().filter(|rule| rule.program == "kubelet");
    let applied = rules.filter(|rule| conditions.admits(&rule.versions, &rule.when));
    Ok(applied.cloned().collect())
}

/// The image's own flag wins: what the user can do about it.
fn refuse_fixed_flag(name: &str, rule: &FlagRule) -> Finding {
    let message = format!("the image's kubelet service starts with `--{name}` already");
    let features = rule
        .when
        .feature
        .iter()
        .flatten()
        .filter_map(|feature| feature.strip_prefix('!'));
    let instead = match { features }.next() {
        Some(feature) => format!(
            "remove it, or build the image with `--feature {feature}`, which leaves `--{name}` to the join"
        ),
        None => format!("remove it (`imagegen explain --{name}` gives the reason for its value)"),
    };
    Finding::new(Code::ARGUMENT_OF_THE_IMAGE, message, instead)
}

fn parse_argument(
    text: &str,
    plan: &Plan,
    catalog: &Catalog,
    fixed: &[FlagRule],
) -> RunResult<Result<(String, String), Finding>> {
    let Some((name, value)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
        let message = format!("the kubelet argument `{text}` has no value");
        return Ok(Err(Finding::new(
            Code::ARGUMENT_FORMAT,
            message,
            "write it as NAME=VALUE, without dashes",
        )));
    };
    if names_variable(value) {
        let message =
            format!("the kubelet argument `{name}` holds a variable, which Windows replaces");
        return Ok(Err(Finding::new(
            Code::ARGUMENT_FORMAT,
            message,
            "write its value out",
        )));
    }
    // kubeadm joins arguments by blanks, and the service's command line is split at them again.
    if name.starts_with('-')
        || !value
            .bytes()
            .all(|b| (b'!'..=b'~').contains(&b) && b != b'"')
    {
        let message = format!(
            "the kubelet argument `{name}` has leading dashes, or a blank, a quotation mark or a special character in its value"
        );
        return Ok(Err(Finding::new(
            Code::ARGUMENT_FORMAT,
            message,
            "write it as NAME=VALUE, without dashes",
        )));
    }
    if let Some((_, instead)) = ELSEWHERE.iter().find(|(known, _)| *known == name) {
        let message = format!("the kubelet argument `{name}` is set by another flag");
        return Ok(Err(Finding::new(
            Code::ARGUMENT_ELSEWHERE,
            message,
            *instead,
        )));
    }
    if let Some(rule) = fixed
        .iter()
        .find(|rule| rule.flag.trim_start_matches('-') == name)
    {
        return Ok(Err(refuse_fixed_flag(name, rule)));
    }
    let table = catalog.load_programs()?;
    let Some(program) = find_kubelet(plan, &table) else {
        return Ok(Ok((name.to_owned(), value.to_owned())));
    };
    if !program.flags.iter().any(|flag| flag == name) {
        return Ok(Err(refuse_flag(name, plan, &table, &program)));
    }
    if name == "feature-gates"
        && let Some(problem) = check_gates(value, plan, &program)
    {
        return Ok(Err(problem));
    }
    Ok(Ok((name.to_owned(), value.to_owned())))
}

/// The line's kubelet. For a line that is not surveyed, the one of the nearest surveyed line before.
fn find_kubelet(plan: &Plan, table: &ProgramTable) -> Option<Program> {
    table
        .list_programs(table.surveyed.find_nearest(plan.line.minor)?.minor)
        .remove("kubelet")
}

fn refuse_flag(name: &str, plan: &Plan, table: &ProgramTable, program: &Program) -> Finding {
    let known = table.flags.get("kubelet").into_iter().flatten();
    let last = known
        .filter(|flags| flags.has_name(name))
        .max_by_key(|flags| flags.since);
    let instead = match last
        .and_then(|flags| Some((flags.since, flags.until.or(table.surveyed.newest())?)))
    {
        Some((first, last)) => format!("remove it: only kubelets from {first} to {last} have it"),
        None => format_suggestion(name, program.flags.iter().map(String::as_str)),
    };
    let message = format!(
        "the kubelet of Kubernetes {} has no flag `--{name}`",
        plan.line.minor
    );
    Finding::new(Code::ARGUMENT_UNKNOWN, message, instead)
}

fn check_gates(value: &str, plan: &Plan, program: &Program) -> Option<Finding> {
    let known = || program.feature_gates.iter().map(String::as_str);
    for pair in value.split(',') {
        let (gate, state) = pair.split_once('=').unwrap_or((pair, ""));
        if !["true", "false"].contains(&state) {
            let message = format!("the feature gate `{pair}` is set to neither true nor false");
            return Some(Finding::new(
                Code::GATE_FORMAT,
                message,
                "write it as GATE=true or GATE=false",
            ));
        }
        if !known().any(|known| known == gate) {
            let message = format!(
                "the kubelet of Kubernetes {} has no feature gate `{gate}`",
                plan.line.minor
            );
            return Some(Finding::new(
                Code::GATE_UNKNOWN,
                message,
                format_suggestion(gate, known()),
            ));
        }
    }
    None
}

/// Whether a text holds `%NAME%`: service control replaces it in the command line of a service.
fn names_variable(text: &str) -> bool {
    let between: Vec<&str> = text.split('%').collect();
    between.len() > 2
        && between[1..between.len() - 1]
            .iter()
            .any(|part| is_variable_name(part))
}

fn is_variable_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic()) && is_alphanumeric_or(text, "_()")
}
