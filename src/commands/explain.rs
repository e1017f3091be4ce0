//! `imagegen explain`.

use std::slice;

use crate::base::code::Code;
use crate::base::output_list::OutputList;
use crate::cli::{ExplainArgs, SourceArgs};
use crate::diagnostic::Result;
use crate::selection::{Definitions, read_sources};
use crate::ui::Printer;
use crate::view::{Explanation, explain_name};

pub(super) fn run_explain(
    args: &ExplainArgs,
    sources: &SourceArgs,
    printer: &Printer,
) -> Result<()> {
    let image = Definitions::load(args.selection.config.as_deref())?.require_one()?;
    let trees = read_sources(sources, slice::from_ref(&image))?;
    let (found, plan) = explain_name(args, &image, &trees)?;
    printer.print_note(&format!(
        "for Kubernetes {}, Windows {}, target {}",
        plan.kubernetes, plan.windows.release, plan.target.name
    ));
    for warning in plan
        .choice_warnings
        .iter()
        .filter(|warning| warning.id == Code::NOT_SURVEYED)
    {
        printer.print_warning(&warning.message);
    }
    let output = OutputList::new("imagegen.dev/explanation/v1", found);
    printer.print_listing(&output, || {
        output.items.iter().map(format_explanation).collect()
    })
}

fn format_explanation(item: &Explanation) -> String {
    let lines: String = item
        .lines
        .iter()
        .map(|line| format!("  {line}\n"))
        .collect();
    format!(
        "{} {}\n{lines}  source: {}\n",
        item.kind, item.name, item.source
    )
}
