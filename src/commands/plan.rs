//! `imagegen plan`.

use crate::cli::PlanArgs;
use crate::diagnostic::Result;
use crate::planning::{
    GuestScriptUse, PlannedImage, Stale, list_preview_warnings, predict_machine,
};
use crate::view::{PlanOutput, format_details, format_plan};

use super::each::ImageRun;

pub(super) fn run_plan(args: &PlanArgs, run: &ImageRun<'_>) -> Result<()> {
    let printer = run.printer;
    let scripts = GuestScriptUse::of_folder(args.scripts.scripts.as_ref());
    let PlannedImage { plan, trees, .. } =
        run.plan_selected(&args.selection, &args.lock, Stale::Warn(printer), scripts)?;
    let (guest, prediction) = predict_machine(&plan, &trees)?;
    if args.state {
        return printer.print_listing(&prediction.machine, || prediction.machine.format_listing());
    }
    let warnings = list_preview_warnings(&plan)?;
    printer.print_listing(&PlanOutput::new(&plan, &guest), || {
        let details = if printer.is_verbose() {
            format_details(&plan, &guest)
        } else {
            String::new()
        };
        format_plan(&plan, &guest, &warnings) + &details
    })
}
