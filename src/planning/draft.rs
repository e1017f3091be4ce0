//! `imagegen init`: an image definition from a few answers.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::names::format_suggestion;
use crate::catalog::{Trees, load_target};
use crate::diagnostic::{Error, Result};
use crate::io::ask;
use crate::model::definition::{ImageDefinition, Note};
use crate::model::plan::Plan;
use crate::selection::{Flags, is_operators, parse_variables};
use crate::ui::Printer;

use super::resolve_plan;

/// Notes on each field, for people who edit the file.
const NOTES: &[(&str, &str)] = &[
    (
        "target",
        "where the image is built: `imagegen list targets`",
    ),
    (
        "kubernetes",
        "a line (`1.36`), a release (`1.36.4`) or `stable`: `imagegen list kubernetes`",
    ),
    ("windows", "`imagegen list windows`"),
    (
        "cni",
        "pod network whose programs are in the image: `imagegen list networks`",
    ),
    (
        "hostAccess",
        "how agents reach the host: `hostprocess`, `wins` or `services`",
    ),
];

/// A definition with every answer written out, and its plan. Without a terminal, defaults stand for answers.
///
/// # Errors
/// No target is named and nobody can be asked, or the answers make no plan.
pub fn draft_definition(
    flags: &Flags,
    trees: &Trees,
    printer: &Printer,
) -> Result<(ImageDefinition, Plan)> {
    let targets = trees.packer.list_folders("targets");
    let asks = ask::is_terminal();
    let target = match &flags.definition.target {
        Some(target) => target.clone(),
        None if asks => ask_target(&targets, trees, printer)?,
        None => {
            let message = "there is no terminal to ask for the target";
            return Err(Error::value(
                message,
                format!("add `--target NAME`: {}", targets.join(", ")),
            ));
        }
    };
    let question = |name: &str, given: Option<&str>, default: &str| match given {
        Some(given) => Ok(given.to_owned()),
        None if asks => ask_value(name, default),
        None => Ok(default.to_owned()),
    };
    let mut draft = ImageDefinition {
        target: Some(target),
        ..ImageDefinition::default()
    };
    draft.kubernetes = Some(question(
        "Kubernetes version",
        flags.definition.kubernetes.as_deref(),
        "stable",
    )?);
    // Defaults of what follows depend on the line.
    let chosen = resolve_plan(&draft, trees)?;
    draft.windows = Some(question(
        "Windows release",
        flags.definition.windows.as_deref(),
        &chosen.windows.release,
    )?);
    draft.cni = Some(question(
        "pod network",
        flags.definition.cni.as_deref(),
        &chosen.network.name,
    )?);
    draft.host_access = flags.definition.host_access;
    draft.variables = parse_variables(&flags.variables, draft.target.as_deref(), trees)?;
    let plan = resolve_plan(&draft, trees)?;
    refuse_operators(&plan, flags)?;
    let plan = if asks {
        ask_missing(&mut draft, plan, trees, printer)?
    } else {
        plan
    };
    draft.host_access = Some(plan.host_access);
    if flags.definition.kubernetes.is_none() && draft.kubernetes.as_deref() == Some("stable") {
        draft.kubernetes = Some(plan.line.minor.to_string());
    }
    draft.note = Some(Note::Fields(write_notes(&plan)));
    Ok((draft, plan))
}

/// A definition comes with pull requests: what only the operator gives is no part of it.
fn refuse_operators(plan: &Plan, flags: &Flags) -> Result<()> {
    let mut names = flags.variables.iter().map(|(name, _)| name);
    let Some(name) = names.find(|name| is_operators(&plan.target, name)) else {
        return Ok(());
    };
    let environment = if plan.target.is_build_time(name) {
        format!(", or set PKR_VAR_{name}")
    } else {
        String::new()
    };
    let message = format!("`{name}` does not belong in an image definition");
    let remedy = format!("give it to each build: `--var {name}=…`{environment}");
    Err(Error::value(message, remedy))
}

/// Asks for each value that a build needs and a definition may give. An empty answer leaves it out, and an answer that
/// is refused is asked for again.
fn ask_missing(
    draft: &mut ImageDefinition,
    plan: Plan,
    trees: &Trees,
    printer: &Printer,
) -> Result<Plan> {
    let mut plan = plan;
    let mut skipped = BTreeSet::new();
    while let Some((name, question)) = find_question(&plan, &skipped) {
        let Some(answer) = ask::ask_line(&question)? else {
            skipped.insert(name);
            continue;
        };
        match answer_variable(draft, &name, answer, trees) {
            Ok((completed, next)) => {
                *draft = completed;
                plan = next;
            }
            Err(error) => printer.print_note(&error.to_string()),
        }
    }
    Ok(plan)
}

/// The answer, or the default in the place of an empty one.
fn ask_value(name: &str, default: &str) -> Result<String> {
    let answer = ask::ask_line(&format!("{name} [{default}]: "))?;
    Ok(answer.unwrap_or_else(|| default.to_owned()))
}

/// The next variable that lacks a value, and the question for it.
fn find_question(plan: &Plan, skipped: &BTreeSet<String>) -> Option<(String, String)> {
    for missing in plan.missing.iter().filter(|missing| !missing.sensitive) {
        for name in &missing.names {
            if skipped.contains(name) || is_operators(&plan.target, name) {
                continue;
            }
            let variable = plan.target.find_variable(name);
            let example = variable.and_then(|variable| variable.example.as_deref());
            let example = example.map_or_else(String::new, |it| format!(", such as {it}"));
            let description = missing.description.trim_end_matches('.');
            let question = format!("{name}, {description}{example} [leave out]: ");
            return Some((name.clone(), question));
        }
    }
    None
}

/// The definition with the answer, and its plan.
fn answer_variable(
    draft: &ImageDefinition,
    name: &str,
    answer: String,
    trees: &Trees,
) -> Result<(ImageDefinition, Plan)> {
    let mut completed = draft.clone();
    let given = [(name.to_owned(), answer)];
    let values = parse_variables(&given, draft.target.as_deref(), trees)?;
    completed.variables.extend(values);
    let plan = resolve_plan(&completed, trees)?;
    Ok((completed, plan))
}

fn ask_target(targets: &[String], trees: &Trees, printer: &Printer) -> Result<String> {
    for name in targets {
        printer.print_note(&format!(
            "{name:<12} {}",
            load_target(&trees.packer, name)?.title
        ));
    }
    let default = targets.first().map_or("", String::as_str);
    loop {
        let answer = ask_value("target", default)?;
        if targets.contains(&answer) {
            return Ok(answer);
        }
        let suggestion = format_suggestion(&answer, targets.iter().map(String::as_str));
        printer.print_note(&format!("unknown target `{answer}`: {suggestion}"));
    }
}

fn write_notes(plan: &Plan) -> BTreeMap<String, String> {
    let mut notes: BTreeMap<String, String> = NOTES
        .iter()
        .map(|(field, note)| ((*field).to_owned(), (*note).to_owned()))
        .collect();
    let missing: Vec<String> = plan
        .missing
        .iter()
        .map(|missing| missing.names.join(" or "))
        .collect();
    let needs = if missing.is_empty() {
        String::new()
    } else {
        format!("; a bake needs {}", missing.join(", "))
    };
    notes.insert(
        "variables".to_owned(),
        format!("values of the target, never secrets: `imagegen explain NAME`{needs}"),
    );
    notes
}
