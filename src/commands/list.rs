//! `imagegen list`.

use crate::cli::{ListWhat, SourceArgs};
use crate::diagnostic::Result;
use crate::selection::{Definitions, read_sources};
use crate::ui::Printer;
use crate::view::list_entries;

pub(super) fn run_list(what: &ListWhat, sources: &SourceArgs, printer: &Printer) -> Result<()> {
    let rows = list_entries(
        what,
        &read_sources(sources, Definitions::load(None)?.images())?,
    )?;
    printer.print_listing(
        &rows.iter().map(|(value, _)| value).collect::<Vec<_>>(),
        || rows.iter().map(|(_, line)| format!("{line}\n")).collect(),
    )
}
