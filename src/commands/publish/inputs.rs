//! Values and lockfiles of the verbs that publish.

use std::collections::{BTreeMap, BTreeSet};

use crate::cli::RetireArgs;
use crate::diagnostic::{Error, Result};
use crate::selection::Definitions;
use crate::ui::Printer;

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
