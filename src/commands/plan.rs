//! `imagegen plan`.

use crate::cli::{PlanArgs, SourceArgs};
use crate::diagnostic::Result;
use crate::scripts::use_scripts;
use crate::selection::{predict_machine, read_sources, resolve_viewed_plan};
use crate::ui::Printer;
use crate::view::{PlanOutput, format_plan};

pub(super) fn run_plan(args: &PlanArgs, sources: &SourceArgs, printer: &Printer) -> Result<()> {
    let mut trees = read_sources(sources, Some((&args.selection).into()))?;
    let (mut plan, policy) = resolve_viewed_plan(&args.selection, &args.lock, &trees, printer)?;
    use_scripts(&args.scripts, &mut plan, &policy, &mut trees)?;
    let (guest, prediction) = predict_machine(&plan, &trees)?;
    if args.state {
        return printer.print_result(&prediction.machine, || prediction.machine.format_listing());
    }
    printer.print_result(&PlanOutput::new(&plan, &guest), || format_plan(&plan, &guest))
}
