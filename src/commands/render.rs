//! `imagegen render`, and what `build --no-bake` does.

use crate::catalog::Trees;
use crate::cli::RenderArgs;
use crate::diagnostic::Result;
use crate::lock::Lock;
use crate::model::plan::Plan;
use crate::model::policy::Policy;
use crate::planning::{GuestScriptUse, PlannedImage, Stale, list_preview_warnings};
use crate::trust::check_dropped;
use crate::ui::Printer;
use crate::workspace::{InstallerOutput, WorkspacePlace, render_plan, write_workspace};

use super::each::ImageRun;

pub(super) fn run_render(args: &RenderArgs, run: &ImageRun<'_>) -> Result<()> {
    let scripts = GuestScriptUse::of_folder(args.scripts.scripts.as_ref());
    let PlannedImage {
        plan,
        policy,
        trees,
        ..
    } = run.plan_selected(&args.selection, &args.lock, Stale::Refuse, scripts)?;
    let place = run.place_workspace(&args.workspace, &plan)?;
    check_preview(&plan, &policy, &trees)?;
    print_workspace(&plan, &place, &trees, run.printer)
}

/// Refuses a preview whose overrides drop proofs that `--waive` does not name. Under a policy, the preview itself says
/// that nothing is admitted.
///
/// # Errors
/// All findings at once.
pub(super) fn check_preview(plan: &Plan, policy: &Policy, trees: &Trees) -> Result<()> {
    if plan.governance.policy.is_none() {
        check_dropped(policy, plan.artifacts(), &trees.catalog)?;
    }
    Ok(())
}

/// Writes the workspace and prints what it holds.
pub(super) fn print_workspace(
    plan: &Plan,
    place: &WorkspacePlace,
    trees: &Trees,
    printer: &Printer,
) -> Result<()> {
    let lock = Lock::for_preview(plan);
    let rendered = render_plan(plan, &lock, trees)?;
    let claim = place.claim()?;
    let written = write_workspace(plan, rendered, &claim, place.force)?;
    for warning in list_preview_warnings(plan)? {
        printer.print_warning(&warning);
    }
    if let Some(reason) = &lock.not_admitted {
        printer.print_warning(&format!("not admitted: {reason}"));
    }
    let output = written.describe(plan);
    printer.print_summary(&output, || written.format_tree(&output))
}

/// Prints the archive for an existing machine.
pub(super) fn print_archive(output: &InstallerOutput, printer: &Printer) -> Result<()> {
    printer.print_result(output, || {
        format!("{}  {}\n", output.sha256, output.installer)
    })
}
