//! `imagegen list`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::base::output_list::OutputList;
use crate::catalog::Trees;
use crate::cli::{HistoryPlaceArgs, ListWhat};
use crate::diagnostic::Result;
use crate::records::{HistoryPlace, read_history};
use crate::selection::{Definitions, SourceFolders, read_sources, read_target_sources};
use crate::ui::Printer;
use crate::view::list::{self, BuiltLock, Rows, WhichImages};

pub(super) fn run_list(what: &ListWhat, sources: &SourceFolders, printer: &Printer) -> Result<()> {
    let (schema, rows) = list_entries(what, sources, printer)?;
    let (values, lines): (Vec<Value>, Vec<String>) = rows.into_iter().unzip();
    let output = OutputList::new(schema, values);
    printer.print_listing(&output, || {
        lines.iter().map(|line| format!("{line}\n")).collect()
    })
}

/// Name of the schema of a printed list, and its entries.
fn list_entries(
    what: &ListWhat,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<(&'static str, Rows)> {
    Ok(match what {
        ListWhat::Targets => {
            let rows = list::list_targets(&read_targets(sources)?)?;
            ("imagegen.dev/list-targets/v1", rows)
        }
        ListWhat::Kubernetes => {
            let rows = list::list_kubernetes(&read_all(sources)?)?;
            ("imagegen.dev/list-kubernetes/v1", rows)
        }
        ListWhat::Windows => {
            let rows = list::list_windows(&read_all(sources)?)?;
            ("imagegen.dev/list-windows/v1", rows)
        }
        ListWhat::Networks => {
            let rows = list::list_networks(&read_all(sources)?)?;
            ("imagegen.dev/list-networks/v1", rows)
        }
        ListWhat::Features => {
            let rows = list::list_features(&read_all(sources)?)?;
            ("imagegen.dev/list-features/v1", rows)
        }
        ListWhat::Variables => {
            let rows = list::list_variables(&read_targets(sources)?)?;
            ("imagegen.dev/list-variables/v1", rows)
        }
        ListWhat::Steps => {
            let rows = list::list_steps(&read_all(sources)?)?;
            ("imagegen.dev/list-steps/v1", rows)
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
            let rows = list::list_defined_images(config.as_deref(), &which)?;
            ("imagegen.dev/list-images/v1", rows)
        }
        ListWhat::Rules => {
            let rows = list::list_rules(&read_all(sources)?)?;
            ("imagegen.dev/list-rules/v1", rows)
        }
        ListWhat::Components { name: None } => {
            let rows = list::list_components(&read_all(sources)?)?;
            ("imagegen.dev/list-components/v1", rows)
        }
        ListWhat::Components { name: Some(name) } => {
            let rows = list::list_versions(&read_all(sources)?, name)?;
            ("imagegen.dev/pins/v1", rows)
        }
    })
}

/// The trees with every folder of `imagegen.json`.
fn read_all(sources: &SourceFolders) -> Result<Trees> {
    read_sources(sources, Definitions::load(None)?.images())
}

/// The trees with the targets of `imagegen.json`, whatever steps and components its images have.
fn read_targets(sources: &SourceFolders) -> Result<Trees> {
    read_target_sources(sources, Definitions::load(None)?.images())
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
