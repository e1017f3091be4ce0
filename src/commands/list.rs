//! `imagegen list`.

use serde_json::Value;

use crate::base::output_list::OutputList;
use crate::cli::{ListWhat, SourceArgs};
use crate::diagnostic::Result;
use crate::selection::{Definitions, read_sources};
use crate::ui::Printer;
use crate::view::{list_entries, name_list_schema};

pub(super) fn run_list(what: &ListWhat, sources: &SourceArgs, printer: &Printer) -> Result<()> {
    let rows = list_entries(
        what,
        &read_sources(sources, Definitions::load(None)?.images())?,
    )?;
    let (values, lines): (Vec<Value>, Vec<String>) = rows.into_iter().unzip();
    let output = OutputList::new(name_list_schema(what), values);
    printer.print_listing(&output, || {
        lines.iter().map(|line| format!("{line}\n")).collect()
    })
}
