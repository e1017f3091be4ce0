//! `imagegen explain`.

use crate::cli::{ExplainArgs, SourceArgs};
use crate::diagnostic::Result;
use crate::selection::read_sources;
use crate::ui::Printer;
use crate::view::{Explanation, explain_name};

pub(super) fn run_explain(
    args: &ExplainArgs,
    sources: &SourceArgs,
    printer: &Printer,
) -> Result<()> {
    let (found, plan) = explain_name(
        args,
        &read_sources(sources, Some((&args.selection).into()))?,
    )?;
    printer.print_note(&format!(
        "for Kubernetes {}, Windows {}, target {}",
        plan.kubernetes, plan.windows.release, plan.target.name
    ));
    for warning in plan
        .warnings
        .iter()
        .filter(|warning| warning.id == "not-surveyed")
    {
        printer.print_warning(&warning.message);
    }
    printer.print_listing(&found, || found.iter().map(format_explanation).collect())
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
