//! `imagegen list`.

use serde_json::Value;

use crate::base::output_list::OutputList;
use crate::catalog::Trees;
use crate::cli::ListWhat;
use crate::diagnostic::Result;
use crate::selection::{Definitions, SourceFolders, read_sources};
use crate::ui::Printer;
use crate::view::list;

pub(super) fn run_list(what: &ListWhat, sources: &SourceFolders, printer: &Printer) -> Result<()> {
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

/// Name of the schema of a printed list.
pub(super) fn name_list_schema(what: &ListWhat) -> &'static str {
    match what {
        ListWhat::Targets => "imagegen.dev/list-targets/v1",
        ListWhat::Kubernetes => "imagegen.dev/list-kubernetes/v1",
        ListWhat::Windows => "imagegen.dev/list-windows/v1",
        ListWhat::Networks => "imagegen.dev/list-networks/v1",
        ListWhat::Features => "imagegen.dev/list-features/v1",
        ListWhat::Variables => "imagegen.dev/list-variables/v1",
        ListWhat::Steps => "imagegen.dev/list-steps/v1",
        ListWhat::Images { .. } => "imagegen.dev/list-images/v1",
        ListWhat::Rules => "imagegen.dev/list-rules/v1",
        ListWhat::Components { name: None } => "imagegen.dev/list-components/v1",
        ListWhat::Components { name: Some(_) } => "imagegen.dev/pins/v1",
    }
}

/// # Errors
/// The catalog cannot be read, or the component is unknown.
pub(super) fn list_entries(what: &ListWhat, trees: &Trees) -> Result<list::Rows> {
    match what {
        ListWhat::Targets => list::list_targets(trees),
        ListWhat::Kubernetes => list::list_kubernetes(trees),
        ListWhat::Windows => list::list_windows(trees),
        ListWhat::Networks => list::list_networks(trees),
        ListWhat::Features => list::list_features(trees),
        ListWhat::Variables => list::list_variables(trees),
        ListWhat::Steps => list::list_steps(trees),
        ListWhat::Images { config } => list::list_defined_images(config.as_deref()),
        ListWhat::Rules => list::list_rules(trees),
        ListWhat::Components { name: None } => list::list_components(trees),
        ListWhat::Components { name: Some(name) } => list::list_versions(trees, name),
    }
}
