//! `imagegen plan`.

use crate::cli::{PlanArgs, SourceArgs};
use crate::diagnostic::Result;
use crate::scripts::use_scripts;
use crate::selection::{predict_machine, read_sources, resolve_viewed_plan};
use crate::ui::Printer;
use crate::view::{PlanOutput, format_details, format_plan};

pub(super) fn run_plan(args: &PlanArgs, sources: &SourceArgs, printer: &Printer) -> Result<()> {
    let mut trees = read_sources(sources, Some((&args.selection).into()))?;
    let (mut plan, policy) = resolve_viewed_plan(&args.selection, &args.lock, &trees, printer)?;
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
