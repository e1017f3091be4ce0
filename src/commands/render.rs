//! `imagegen render`, and what `build --no-bake` does.

use crate::catalog::Trees;
use crate::cli::{RenderArgs, SourceArgs, WorkspaceArgs};
use crate::diagnostic::Result;
use crate::lock::Lock;
use crate::model::plan::Plan;
use crate::scripts::use_scripts;
use crate::selection::{read_sources, resolve_locked_plan};
use crate::ui::Printer;
use crate::workspace::{BundleOutput, write_workspace};

pub(super) fn run_render(args: &RenderArgs, sources: &SourceArgs, printer: &Printer) -> Result<()> {
    let mut trees = read_sources(sources, Some((&args.selection).into()))?;
    let (mut plan, policy) = resolve_locked_plan(&args.selection, &args.lock, &trees)?;
    use_scripts(&args.scripts, &mut plan, &policy, &mut trees)?;
    print_workspace(&plan, &args.workspace, &trees, printer)
}

/// Writes the workspace and prints what it holds.
pub(super) fn print_workspace(
    plan: &Plan,
    args: &WorkspaceArgs,
    trees: &Trees,
    printer: &Printer,
) -> Result<()> {
    let lock = Lock::for_preview(plan);
    let written = write_workspace(plan, &lock, args, trees, printer)?;
    if let Some(reason) = &lock.not_admitted {
        printer.print_warning(&format!("not admitted: {reason}"));
    }
    let output = written.describe(plan);
    printer.print_result(&output, || written.format_tree(&output))
}

/// Prints the archive for an existing machine.
pub(super) fn print_archive(output: &BundleOutput, printer: &Printer) -> Result<()> {
    printer.print_result(output, || format!("{}  {}\n", output.sha256, output.bundle))
}
