//! `imagegen list`.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::base::output_list::OutputList;
use crate::catalog::Trees;
use crate::cli::{HistoryPlaceArgs, ListWhat};
use crate::diagnostic::{Error, Result};
use crate::records::{HistoryPlace, read_history};
use crate::selection::{
    Definitions, SourceFolders, UnreadableFile, read_sources, read_target_sources,
};
use crate::ui::Printer;
use crate::view::list::{self, BuiltLock, Rows, WhichImages};

/// A list, and what is missing in it.
struct PrintedList {
    /// Name of the schema of the printed list.
    schema: &'static str,
    rows: Rows,
    /// Files of images that cannot be used.
    failures: Vec<Error>,
}

impl PrintedList {
    fn new(schema: &'static str, rows: Rows) -> Self {
        Self {
            schema,
            rows,
            failures: Vec::new(),
        }
    }
}

/// Prints the list, and fails by what is missing in it.
pub(super) fn run_list(what: &ListWhat, sources: &SourceFolders, printer: &Printer) -> Result<()> {
    let mut listing = list_entries(what, sources, printer)?;
    let (values, lines): (Vec<Value>, Vec<String>) = listing.rows.into_iter().unzip();
    let output = OutputList::new(listing.schema, values);
    printer.print_listing(&output, || {
        lines.iter().map(|line| format!("{line}\n")).collect()
    })?;
    let Some(last) = listing.failures.pop() else {
        return Ok(());
    };
    for failure in &listing.failures {
        printer.print_error(failure);
    }
    Err(last)
}

fn list_entries(
    what: &ListWhat,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<PrintedList> {
    let (schema, list_rows): (_, fn(&Trees) -> Result<Rows>) = match what {
        ListWhat::Targets => ("imagegen.dev/list-targets/v1", list::list_targets),
        ListWhat::Kubernetes => ("imagegen.dev/list-kubernetes/v1", list::list_kubernetes),
        ListWhat::Windows => ("imagegen.dev/list-windows/v1", list::list_windows),
        ListWhat::Networks => ("imagegen.dev/list-networks/v1", list::list_networks),
        ListWhat::Features => ("imagegen.dev/list-features/v1", list::list_features),
        ListWhat::Variables => ("imagegen.dev/list-variables/v1", list::list_variables),
        ListWhat::Steps => ("imagegen.dev/list-steps/v1", list::list_steps),
        ListWhat::Rules => ("imagegen.dev/list-rules/v1", list::list_rules),
        ListWhat::Components { name: None } => {
            ("imagegen.dev/list-components/v1", list::list_components)
        }
        ListWhat::Components { name: Some(name) } => {
            let rows = list::list_versions(&read_trees(what, sources)?, name)?;
            return Ok(PrintedList::new("imagegen.dev/pins/v1", rows));
        }
        ListWhat::Images {
            config,
            unbuilt,
            place,
        } => {
            let which = if *unbuilt {
                WhichImages::Unbuilt(list_built_locks(place, printer)?)
            } else {
                WhichImages::All
            };
            return list_images(config.as_deref(), &which, printer);
        }
    };
    let rows = list_rows(&read_trees(what, sources)?)?;
    Ok(PrintedList::new(schema, rows))
}

/// The images of all files that can be used.
fn list_images(
    config: Option<&Path>,
    which: &WhichImages,
    printer: &Printer,
) -> Result<PrintedList> {
    let definitions = Definitions::load(config)?;
    definitions.print_warnings(printer);
    let files = definitions.unreadable().iter();
    let mut failures: Vec<Error> = files.map(UnreadableFile::to_error).collect();
    // Two images that share files fail for one reason.
    let mut said = BTreeSet::new();
    failures.retain(|failure| said.insert(failure.to_string()));
    Ok(PrintedList {
        schema: "imagegen.dev/list-images/v1",
        rows: list::list_defined_images(&definitions, which)?,
        failures,
    })
}

/// The trees with the folders of `imagegen.json`; for targets those alone, whatever steps and components its images have.
fn read_trees(what: &ListWhat, sources: &SourceFolders) -> Result<Trees> {
    let definitions = Definitions::load(None)?;
    if matches!(what, ListWhat::Targets | ListWhat::Variables) {
        read_target_sources(sources, definitions.images())
    } else {
        read_sources(sources, definitions.images())
    }
}

/// Each lockfile that an image was built from, of the definition and of the workspace.
fn list_built_locks(place: &HistoryPlaceArgs, printer: &Printer) -> Result<BTreeSet<BuiltLock>> {
    let HistoryPlace { from, network } = place.into();
    let history = read_history(&from, &network, printer)?;
    let mut locks = BTreeSet::new();
    for entry in history.builds {
        if !entry.has_image() {
            continue;
        }
        for lock in entry.record.list_locks() {
            let (lock, image) = (lock.clone(), entry.record.image.clone());
            locks.insert(BuiltLock { lock, image });
        }
    }
    Ok(locks)
}
