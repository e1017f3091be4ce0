//! `imagegen schema`.

use crate::cli::SchemaArgs;
use crate::diagnostic::{InputError, Result};
use crate::model::names::did_you_mean;
use crate::schemas::list_schemas;
use crate::ui::Printer;

pub(super) fn schema(args: &SchemaArgs, printer: &Printer) -> Result<()> {
    let schemas = list_schemas();
    let names: Vec<&str> = schemas.iter().map(|(name, _)| *name).collect();
    let Some(name) = &args.name else {
        return printer.result(&names, || names.iter().map(|name| format!("{name}\n")).collect());
    };
    let Some((_, schema)) = schemas.iter().find(|(known, _)| known == name) else {
        return Err(InputError::new(format!("unknown schema `{name}`"), did_you_mean(name, names)).into());
    };
    printer.result(schema, || crate::model::json::pretty(schema))
}
