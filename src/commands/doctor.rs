//! `imagegen doctor`.

use std::env;
use std::slice;

use crate::cli::{DoctorArgs, SourceArgs};
use crate::diagnostic::Result;
use crate::preflight::{CheckState, DoctorCheck, check_machine};
use crate::selection::{Definitions, read_sources};
use crate::ui::Printer;

pub(super) fn run_doctor(args: &DoctorArgs, sources: &SourceArgs, printer: &Printer) -> Result<()> {
    let image = Definitions::load(args.selection.config.as_deref())?.require_one()?;
    let trees = read_sources(sources, slice::from_ref(&image))?;
    let output = check_machine(args, &image, &trees)?;
    printer.print_listing(&output, || format_table(&output.checks))?;
    Ok(output.require_ready()?)
}

fn format_table(checks: &[DoctorCheck]) -> String {
    let columns = env::var("COLUMNS")
        .ok()
        .and_then(|value| value.parse::<usize>().ok());
    let narrow = columns.is_some_and(|columns| columns < 60);
    let width = checks
        .iter()
        .map(|check| check.name.len())
        .max()
        .unwrap_or(0)
        .min(34);
    let line = |check: &DoctorCheck| {
        let state = match check.state {
            CheckState::Ok => "ok",
            CheckState::Warning => "warning",
            CheckState::Missing => "missing",
        };
        if narrow {
            return format!("{state:<7} {}\n        {}\n", check.name, check.detail);
        }
        format!("{state:<7}  {:<width$}  {}\n", check.name, check.detail)
    };
    checks.iter().map(line).collect()
}
