//! `imagegen plan`.

use crate::cli::PlanArgs;
use crate::diagnostic::Result;
use crate::scripts::use_scripts;
use crate::selection::{predict_machine, resolve_viewed_plan};
use crate::view::{PlanOutput, format_details, format_plan};

use super::each::ImageRun;

pub(super) fn run_plan(args: &PlanArgs, run: &ImageRun<'_>) -> Result<()> {
    let printer = run.printer;
    let mut trees = run.trees.clone();
    let (mut plan, policy) =
        resolve_viewed_plan(&args.selection, &args.lock, run.image, &trees, printer)?;
    use_scripts(&args.scripts, &mut plan, &policy, &mut trees)?;
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
