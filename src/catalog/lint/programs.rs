//! The survey of the Kubernetes programs.

use std::collections::BTreeMap;

use crate::base::code::Code;
use crate::catalog::PROGRAMS;
use crate::model::kubernetes::{NameRange, ProgramTable};
use crate::model::line::Minor;

use super::Report;

pub(super) fn lint_programs(report: &mut Report<'_>) {
    if let Some(table) = report.accept_file(PROGRAMS, report.catalog.load_programs()) {
        lint_table(report, &table);
    }
}

fn lint_table(report: &mut Report<'_>, table: &ProgramTable) {
    let known = report.catalog.kubernetes_minors();
    for survey in &table.surveyed.0 {
        if Minor::from_release(&survey.release) != Some(survey.minor)
            || !known.contains(&survey.minor)
        {
            let message = format!(
                "surveyed: {} is not a release of a known line {}",
                survey.release, survey.minor
            );
            report.add_error(Code::DANGLING_REFERENCE, PROGRAMS, message);
        }
    }
    if !table.surveyed.0.is_sorted_by(|a, b| a.minor < b.minor) {
        report.add_error(
            Code::ORDER,
            PROGRAMS,
            "surveyed lines are not ascending".to_owned(),
        );
    }
    for minor in &known {
        if table.surveyed.find(*minor).is_some() {
            continue;
        }
        let message = format!(
            "the programs of Kubernetes {minor} are not surveyed: their flags, feature gates and configuration \
             fields are not checked"
        );
        report.add_warning(Code::NOT_SURVEYED, PROGRAMS, message);
    }
    for (name, flags) in &table.flags {
        lint_ranges(
            report,
            table,
            &format!("{name} flags"),
            flags.iter().collect(),
        );
        lint_ranges(
            report,
            table,
            &format!("{name} feature gates"),
            table.list_gates(name).collect(),
        );
        let lists = table.list_gate_lists(name);
        let locked = lists.flat_map(|list| list.locked_on.iter().chain(&list.locked_off));
        lint_ranges(
            report,
            table,
            &format!("{name} locked feature gates"),
            locked.collect(),
        );
    }
    lint_locked_gates(report, table);
    for (name, fields) in &table.configuration {
        lint_ranges(report, table, name, fields.iter().collect());
    }
    for program in table.feature_gates.iter().flat_map(|list| &list.programs) {
        if !table.flags.contains_key(program.as_str()) {
            let message = format!("featureGates: {program} has no list of flags");
            report.add_error(Code::DANGLING_REFERENCE, PROGRAMS, message);
        }
    }
}

/// A program accepts the gates that it locks.
fn lint_locked_gates(report: &mut Report<'_>, table: &ProgramTable) {
    let minors: Vec<Minor> = table.surveyed.0.iter().map(|it| it.minor).collect();
    for list in &table.feature_gates {
        for range in list.locked_on.iter().chain(&list.locked_off) {
            for minor in minors.iter().filter(|minor| range.holds(**minor)) {
                for name in &range.names {
                    let mut gates = list.gates.iter();
                    if !gates.any(|gates| gates.holds(*minor) && gates.has_name(name)) {
                        let message = format!(
                            "featureGates: {name} is locked in {minor}, whose programs do not accept it"
                        );
                        report.add_error(Code::DANGLING_REFERENCE, PROGRAMS, message);
                    }
                }
            }
        }
    }
}

/// Ranges are of surveyed lines, their names sorted, and no name is in two ranges that overlap.
fn lint_ranges(
    report: &mut Report<'_>,
    table: &ProgramTable,
    list: &str,
    mut ranges: Vec<&NameRange>,
) {
    for range in &ranges {
        let label = format!("{list} since {}", range.since);
        let end = range.until.unwrap_or(range.since);
        let is_surveyed =
            table.surveyed.find(range.since).is_some() && table.surveyed.find(end).is_some();
        if !is_surveyed {
            let message =
                format!("{label}: the range starts or ends with a line that is not surveyed");
            report.add_error(Code::DANGLING_REFERENCE, PROGRAMS, message);
        }
        if range.until.is_some_and(|until| until < range.since) {
            let message = format!("{label}: `until` is before `since`");
            report.add_error(Code::MISSING_RANGE, PROGRAMS, message);
        }
        for pair in range.names.windows(2) {
            if pair[0] >= pair[1] {
                let message = format!("{label}: {} stands after {}", pair[1], pair[0]);
                report.add_error(Code::ORDER, PROGRAMS, message);
            }
        }
    }
    ranges.sort_by_key(|range| range.since);
    let mut before: BTreeMap<&str, &NameRange> = BTreeMap::new();
    for range in ranges {
        for name in &range.names {
            let earlier = before.insert(name, range);
            if earlier.is_some_and(|earlier| earlier.until.is_none_or(|until| until >= range.since))
            {
                let message = format!("{list}: {name}: ranges overlap");
                report.add_error(Code::OVERLAPPING_RANGES, PROGRAMS, message);
            }
        }
    }
}
