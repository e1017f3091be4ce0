//! `imagegen catalog`.

use std::path::Path;

use crate::catalog::{CatalogError, lint};
use crate::cli::CatalogWhat;
use crate::diagnostic::Result;
use crate::io::fs;
use crate::ui::Printer;

use crate::selection::read_trees;

pub(super) fn catalog(what: &CatalogWhat, manifests: Option<&Path>, printer: &Printer) -> Result<()> {
    match what {
        CatalogWhat::Export { out, force } => {
            let trees = read_trees(manifests)?;
            let files = trees.catalog.files();
            fs::place(out, &files, &[], &[], *force)?;
            printer.result(&files.keys().collect::<Vec<_>>(), || format!("{}\n", out.display()))
        }
        CatalogWhat::Lint => {
            let trees = read_trees(manifests)?;
            let findings = lint(&trees.catalog);
            printer.result(&findings, || findings.iter().map(|finding| format!("{finding}\n")).collect())?;
            if findings.is_empty() {
                printer.note(&format!("{}: nothing found", trees.catalog.label()));
                return Ok(());
            }
            Err(CatalogError::Lint { catalog: trees.catalog.label().to_owned(), findings: findings.len() }
                .into())
        }
    }
}
