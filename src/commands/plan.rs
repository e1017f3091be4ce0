//! `imagegen plan`.

use crate::cli::PlanArgs;
use crate::diagnostic::Result;
use crate::planning::{
    GuestScriptUse, PlanRequest, PlannedImage, Stale, ToolUse, plan_image, predict_machine,
};
use crate::selection::{find_lock, read_definition};
use crate::view::{PlanOutput, format_details, format_plan};

use super::each::ImageRun;
use super::flags::read_flags;

pub(super) fn run_plan(args: &PlanArgs, run: &ImageRun<'_>) -> Result<()> {
    let printer = run.printer;
    let flags = read_flags(&args.selection)?;
    let definition = read_definition(&flags, run.image, &run.trees)?;
    let PlannedImage { plan, trees, .. } = plan_image(&PlanRequest {
        definition: &definition,
        flags: &flags,
        lock: &(&args.lock).into(),
        beside: &find_lock(run.image, &definition),
        stale: Stale::Warn(printer),
        tools: ToolUse::Run,
        scripts: GuestScriptUse::of_folder(args.scripts.scripts.as_ref()),
        trees: &run.trees,
    })?;
    let (guest, prediction) = predict_machine(&plan, &trees)?;
    if args.state {
        return printer.print_listing(&prediction.machine, || prediction.machine.format_listing());
    }
    printer.print_listing(&PlanOutput::new(&plan, &guest), || {
        let details = if printer.is_verbose() {
            format_details(&plan, &guest)
        } else {
            String::new()
        };
        format_plan(&plan, &guest) + &details
    })
}
