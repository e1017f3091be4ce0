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
    let columns = env::var("COLUMNS").unwrap_or_default();
    let narrow = columns.parse::<usize>().is_ok_and(|columns| columns < 60);
    let longest = checks.iter().map(|check| check.name.len()).max();
    let width = longest.unwrap_or(0).min(34);
    let mut lines = Vec::new();
    for check in checks {
        let state = match check.state {
            CheckState::Ok => "ok",
            CheckState::Warning => "warning",
            CheckState::Missing => "missing",
        };
        lines.push(if narrow {
            format!("{state:<7} {}\n        {}\n", check.name, check.detail)
        } else {
            format!("{state:<7}  {:<width$}  {}\n", check.name, check.detail)
        });
    }
    lines.concat()
}
