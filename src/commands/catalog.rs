//! `imagegen catalog`.

use crate::catalog::{CatalogError, lint_catalog, lint_sources, lint_targets};
use crate::cli::{CatalogWhat, SourceArgs};
use crate::diagnostic::{Finding, Result, Severity};
use crate::io::fs;
use crate::ui::Printer;

use crate::selection::read_sources;

pub(super) fn run_catalog(what: &CatalogWhat, sources: &SourceArgs, printer: &Printer) -> Result<()> {
    match what {
        CatalogWhat::Export { out, force } => {
            let trees = read_sources(sources)?;
            let files = trees.catalog.files();
            fs::place_directory(out, &files, &[], &[], *force)?;
            printer.print_result(&files.keys().collect::<Vec<_>>(), || format!("{}\n", out.display()))
        }
        CatalogWhat::Lint => {
            let trees = read_sources(sources)?;
            let mut findings = lint_catalog(&trees.catalog);
            findings.extend(lint_targets(&trees.packer));
            findings.extend([&trees.packer, &trees.provisioners].into_iter().flat_map(lint_sources));
            printer.print_result(&findings, || findings.iter().map(format_finding).collect())?;
            let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
            if errors == 0 {
                printer.print_note(&format!(
                    "{}: no errors, {} warning(s)",
                    trees.catalog.label(),
                    findings.len()
                ));
                return Ok(());
            }
            Err(CatalogError::Lint { catalog: trees.catalog.label().to_owned(), findings: errors }.into())
        }
    }
}

fn format_finding(finding: &Finding) -> String {
    let prefix = if finding.severity == Severity::Warning { "warning: " } else { "" };
    format!("{prefix}{finding}\n")
}
