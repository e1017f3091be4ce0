//! Trees and values of the verbs that publish.

use std::collections::{BTreeMap, BTreeSet};

use crate::catalog::Trees;
use crate::cli::RetireArgs;
use crate::diagnostic::{Error, Result};
use crate::selection::{Definitions, SourceFolders, read_target_sources};
use crate::ui::Printer;

/// The trees with the targets of the flags and of `imagegen.json`. A definition that cannot be read has none: records say
/// what is published.
pub(in crate::commands) fn read_publish_trees(
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<Trees> {
    match Definitions::load(None) {
        Ok(definitions) => read_target_sources(sources, definitions.images()),
        Err(error) => {
            printer.print_warning(&format!("targets of its folders are not known: {error}"));
            read_target_sources(sources, &[])
        }
    }
}

/// Values of `--var` by name.
pub(in crate::commands) fn collect_values(
    given: &[(String, String)],
) -> Result<BTreeMap<String, String>> {
    let mut values = BTreeMap::new();
    for (name, value) in given {
        if values.insert(name.clone(), value.clone()).is_some() {
            let message = format!("--var {name} is given twice");
            let remedy = format!("give it once; a list has commas: `--var {name}=ONE,OTHER`");
            return Err(Error::value(message, remedy));
        }
    }
    Ok(values)
}

/// Lockfiles whose newest build stays.
pub(super) fn list_current_locks(args: &RetireArgs, printer: &Printer) -> Result<BTreeSet<String>> {
    if args.keep_current {
        let definitions = Definitions::load(args.config.as_deref())?;
        definitions.print_warnings(printer);
        return definitions.list_lock_digests();
    }
    Ok(BTreeSet::new())
}
