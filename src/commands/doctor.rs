//! `imagegen doctor`.

use std::env;

use crate::cli::DoctorArgs;
use crate::diagnostic::Result;
use crate::preflight::{CheckState, DoctorCheck, SurveyRequest, check_machine};
use crate::selection::{SourceFolders, read_one_image};
use crate::ui::Printer;

use super::flags::read_flags;

pub(super) fn run_doctor(
    args: &DoctorArgs,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<()> {
    let (image, trees) = read_one_image(args.selection.config.as_deref(), sources)?;
    let request = SurveyRequest {
        flags: &read_flags(&args.selection)?,
        lock: &(&args.lock).into(),
        packer: args.packer.as_deref(),
        network: &(&args.network).into(),
    };
    let output = check_machine(&request, &image, &trees)?;
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
