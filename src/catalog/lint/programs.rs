//! The survey of the Kubernetes programs.

use crate::catalog::PROGRAMS;
use crate::model::kubernetes::{NameEntry, ProgramTable};
use crate::model::line::Minor;

use super::Report;

pub(super) fn lint_programs(report: &mut Report<'_>) {
    match report.catalog.load_programs() {
        Ok(table) => lint_table(report, &table),
        Err(error) => report.add_error("unreadable", PROGRAMS, error.to_string()),
    }
}

fn lint_table(report: &mut Report<'_>, table: &ProgramTable<'_>) {
    let known = report.catalog.kubernetes_minors();
    for survey in &table.surveyed {
        if Minor::from_release(&survey.release) != Some(survey.minor) || !known.contains(&survey.minor) {
            let message =
                format!("surveyed: {} is no release of a known line {}", survey.release, survey.minor);
            report.add_error("dangling-reference", PROGRAMS, message);
        }
    }
    if !table.surveyed.is_sorted_by(|a, b| a.minor < b.minor) {
        report.add_error("order", PROGRAMS, "surveyed lines are not ascending".to_owned());
    }
    for minor in known.iter().filter(|minor| table.survey(**minor).is_none()) {
        let message = format!(
            "the programs of Kubernetes {minor} are not surveyed: their flags, feature gates and configuration \
             fields are not checked"
        );
        report.add_warning("not-surveyed", PROGRAMS, message);
    }
    for (name, program) in &table.programs {
        lint_names(report, table, &format!("{name} flags"), &program.flags);
        lint_names(report, table, &format!("{name} feature gates"), &program.feature_gates);
    }
    for (name, fields) in &table.configuration {
        lint_names(report, table, name, fields);
    }
}

/// Names are sorted, and the ranges of one name are surveyed lines, ascending, without overlap.
fn lint_names(report: &mut Report<'_>, table: &ProgramTable<'_>, list: &str, entries: &[NameEntry<'_>]) {
    for entry in entries {
        let bounds = [Some(entry.since), entry.until];
        if bounds.iter().flatten().any(|minor| table.survey(*minor).is_none()) {
            let message =
                format!("{list}: {}: a range starts or ends with a line that is not surveyed", entry.name);
            report.add_error("dangling-reference", PROGRAMS, message);
        }
        if entry.until.is_some_and(|until| until < entry.since) {
            let message = format!("{list}: {}: `until` is before `since`", entry.name);
            report.add_error("missing-range", PROGRAMS, message);
        }
    }
    for pair in entries.windows(2) {
        let [first, second] = pair else { continue };
        if first.name > second.name {
            report.add_error(
                "order",
                PROGRAMS,
                format!("{list}: {} stands after {}", second.name, first.name),
            );
        }
        let is_later = first.until.is_some_and(|until| until < second.since);
        if first.name == second.name && !is_later {
            let message = format!("{list}: {}: ranges overlap", first.name);
            report.add_error("overlapping-ranges", PROGRAMS, message);
        }
    }
}
