//! `imagegen catalog`.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::json::format_json;
use crate::base::json::parse_foreign;
use crate::base::output_list::OutputList;
use crate::catalog::{CatalogError, Trees, lint_catalog, lint_sources, lint_targets};
use crate::cli::CatalogWhat;
use crate::diagnostic::{Finding, Result, Severity};
use crate::guest::lint_coverage;
use crate::io::{clock, fs};
use crate::schemas::list_schemas;
use crate::ui::Printer;
use crate::verify::lint_anchors;

use crate::view::WrittenFolder;

use crate::selection::{Definitions, SourceFolders, read_sources};

pub(super) fn run_catalog(
    what: &CatalogWhat,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<()> {
    match what {
        CatalogWhat::Export { out } => {
            let trees = read_sources(sources, &[])?;
            let mut files = trees.catalog.files();
            files.extend(referenced_schemas(&files, &trees)?);
            fs::place_directory(out, &files, &[], &[], false)?;
            let output = WrittenFolder::new(out, &files);
            printer.print_result(&output, || format!("{}\n", out.display()))
        }
        CatalogWhat::Lint => {
            let trees = read_sources(sources, Definitions::load(None)?.images())?;
            let mut findings = lint_catalog(&trees.catalog);
            findings.extend(lint_anchors(&trees.catalog, clock::current_time()));
            findings.extend(lint_targets(&trees.packer));
            findings.extend(
                [&trees.packer, &trees.provisioners]
                    .into_iter()
                    .flat_map(lint_sources),
            );
            // It asks every file, and one that cannot be read is a finding already.
            if !findings.iter().any(is_error) {
                findings.extend(lint_coverage(&trees)?);
            }
            let output = OutputList::new("imagegen.dev/findings/v1", findings);
            printer.print_result(&output, || {
                output.items.iter().map(format_finding).collect()
            })?;
            let findings = &output.items;
            let errors = findings.iter().filter(|finding| is_error(finding)).count();
            if errors == 0 {
                printer.print_note(&format!(
                    "{}: no errors, {} warning(s)",
                    trees.catalog.label(),
                    findings.len()
                ));
                return Ok(());
            }
            Err(CatalogError::Lint {
                catalog: trees.catalog.label().to_owned(),
                findings: errors,
            }
            .into())
        }
    }
}

fn is_error(finding: &Finding) -> bool {
    finding.severity == Severity::Error
}

/// The schemas that the files name by `$schema`, where they name them.
fn referenced_schemas(
    files: &BTreeMap<String, Vec<u8>>,
    trees: &Trees,
) -> Result<BTreeMap<String, Vec<u8>>> {
    let names = files.values().filter_map(|bytes| {
        let value: serde_json::Value = parse_foreign(bytes).ok()?;
        let (_, name) = value.get("$schema")?.as_str()?.split_once("schema/")?;
        Some(name.strip_suffix(".json")?.to_owned())
    });
    let names: BTreeSet<String> = names.collect();
    let mut referenced = BTreeMap::new();
    for (name, schema) in list_schemas(trees)? {
        if names.contains(name) {
            let text = format_json(&schema);
            referenced.insert(format!("schema/{name}.json"), text.into_bytes());
        }
    }
    Ok(referenced)
}

fn format_finding(finding: &Finding) -> String {
    let prefix = if finding.severity == Severity::Warning {
        "warning: "
    } else {
        ""
    };
    format!("{prefix}{finding}\n")
}
