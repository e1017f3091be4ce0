//! `imagegen schema`.

use crate::base::names::format_suggestion;
use crate::base::output_list::OutputList;
use crate::cli::SchemaArgs;
use crate::diagnostic::{Error, Result};
use crate::schemas::list_schemas;
use crate::selection::{SourceFolders, read_sources};
use crate::ui::Printer;

pub(super) fn run_schema(
    args: &SchemaArgs,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<()> {
    let schemas = list_schemas(&read_sources(sources, &[])?)?;
    let names: Vec<&str> = schemas.iter().map(|(name, _)| *name).collect();
    let Some(name) = &args.name else {
        let output = OutputList::new("imagegen.dev/schemas/v1", names.clone());
        return printer.print_result(&output, || {
            names.iter().map(|name| format!("{name}\n")).collect()
        });
    };
    let Some((_, schema)) = schemas.iter().find(|(known, _)| known == name) else {
        return Err(Error::value(
            format!("unknown schema `{name}`"),
            format_suggestion(name, names),
        ));
    };
    printer.print_result(schema, || crate::base::json::format_json(schema))
}
