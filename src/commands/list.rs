//! `imagegen list`.

use std::path::Path;

use crate::cli::ListWhat;
use crate::diagnostic::Result;
use crate::selection::read_trees;
use crate::ui::Printer;
use crate::view::list_entries;

pub(super) fn list(what: &ListWhat, manifests: Option<&Path>, printer: &Printer) -> Result<()> {
    let rows = list_entries(what, &read_trees(manifests)?)?;
    printer.result(&rows.iter().map(|(value, _)| value).collect::<Vec<_>>(), || {
        rows.iter().map(|(_, line)| format!("{line}\n")).collect()
    })
}
