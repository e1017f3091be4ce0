//! `imagegen list`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::base::output_list::OutputList;
use crate::catalog::Trees;
use crate::cli::{HistoryPlaceArgs, ListWhat};
use crate::diagnostic::Result;
use crate::records::{HistoryPlace, read_history};
use crate::selection::{Definitions, SourceFolders, read_sources};
use crate::ui::Printer;
use crate::view::list::{self, BuiltLock, Rows, WhichImages};

pub(super) fn run_list(what: &ListWhat, sources: &SourceFolders, printer: &Printer) -> Result<()> {
    let trees = read_sources(sources, Definitions::load(None)?.images())?;
    let (schema, rows) = list_entries(what, &trees, printer)?;
    let (values, lines): (Vec<Value>, Vec<String>) = rows.into_iter().unzip();
    let output = OutputList::new(schema, values);
    printer.print_listing(&output, || {
        lines.iter().map(|line| format!("{line}\n")).collect()
    })
}

/// Name of the schema of a printed list, and its entries.
fn list_entries(what: &ListWhat, trees: &Trees, printer: &Printer) -> Result<(&'static str, Rows)> {
    Ok(match what {
        ListWhat::Targets => ("imagegen.dev/list-targets/v1", list::list_targets(trees)?),
        ListWhat::Kubernetes => (
            "imagegen.dev/list-kubernetes/v1",
            list::list_kubernetes(trees)?,
        ),
        ListWhat::Windows => ("imagegen.dev/list-windows/v1", list::list_windows(trees)?),
        ListWhat::Networks => ("imagegen.dev/list-networks/v1", list::list_networks(trees)?),
        ListWhat::Features => ("imagegen.dev/list-features/v1", list::list_features(trees)?),
        ListWhat::Variables => (
            "imagegen.dev/list-variables/v1",
            list::list_variables(trees)?,
        ),
        ListWhat::Steps => ("imagegen.dev/list-steps/v1", list::list_steps(trees)?),
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
        ListWhat::Rules => ("imagegen.dev/list-rules/v1", list::list_rules(trees)?),
        ListWhat::Components { name: None } => (
            "imagegen.dev/list-components/v1",
            list::list_components(trees)?,
        ),
        ListWhat::Components { name: Some(name) } => {
            ("imagegen.dev/pins/v1", list::list_versions(trees, name)?)
        }
    })
}

/// Each lockfile that an image was built from, of the definition and of the workspace.
fn list_built_locks(place: &HistoryPlaceArgs, printer: &Printer) -> Result<BTreeSet<BuiltLock>> {
    let HistoryPlace { from, network } = place.into();
    let history = read_history(&from, &network, printer)?;
    let mut locks = BTreeSet::new();
    for entry in history.builds {
        let record = entry.record;
        if record.has_image() {
            for lock in record.list_locks() {
                let (lock, image) = (lock.clone(), record.image.clone());
                locks.insert(BuiltLock { lock, image });
            }
        }
    }
    Ok(locks)
}
