//! `imagegen plan`.

use std::path::Path;

use crate::cli::PlanArgs;
use crate::diagnostic::Result;
use crate::scripts::use_scripts;
use crate::selection::{predict_machine, read_trees, resolve_locked_plan};
use crate::ui::Printer;
use crate::view::{PlanOutput, format_plan};

pub(super) fn plan(args: &PlanArgs, manifests: Option<&Path>, printer: &Printer) -> Result<()> {
    let mut trees = read_trees(manifests)?;
    let (mut plan, policy) = resolve_locked_plan(&args.selection, &args.lock, &trees)?;
    use_scripts(&args.scripts, &mut plan, &policy, &mut trees)?;
    let (guest, prediction) = predict_machine(&plan, &trees)?;
    if args.state {
        return printer.result(&prediction.machine, || prediction.machine.format_listing());
    }
    printer.result(&PlanOutput::new(&plan, &guest), || format_plan(&plan, &guest))
}
