//! `imagegen store`.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;

use crate::bundle::list_kept_objects;
use crate::cli::{StoreArgs, StoreWhat};
use crate::diagnostic::Result;
use crate::io::fs;
use crate::io::store::DamagedStore;
use crate::lock::Lock;
use crate::ui::Printer;

use crate::acquire::open_store;

/// Output of `store verify` and `store gc`.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoreOutput {
    pub store: String,
    /// Files that were looked at; absent for `gc`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<usize>,
    /// Digests of files that are not what their names say; they were taken out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
}

pub(super) fn run_store(args: &StoreArgs, printer: &Printer) -> Result<()> {
    let store = open_store(args.store.as_ref())?;
    let root = store.root().display().to_string();
    match &args.what {
        StoreWhat::Path => printer.print_result(&root, || format!("{root}\n")),
        StoreWhat::Add { files } => {
            let mut added = Vec::new();
            for file in files {
                added.push((
                    store.insert_file(file)?.1.sha256,
                    file.display().to_string(),
                ));
            }
            printer.print_result(&added, || {
                added
                    .iter()
                    .map(|(sha256, file)| format!("{sha256}  {file}\n"))
                    .collect()
            })
        }
        StoreWhat::Verify => {
            let (files, found) = store.find_damaged()?;
            for object in &found {
                store.discard(object)?;
            }
            let damaged: Vec<String> = found.into_iter().map(|object| object.sha256).collect();
            let output = StoreOutput {
                store: root,
                files: Some(files),
                damaged: damaged.clone(),
                removed: Vec::new(),
            };
            printer.print_result(&output, || {
                format!("{files} files, {} damaged\n", damaged.len())
            })?;
            if damaged.is_empty() {
                Ok(())
            } else {
                Err(DamagedStore(damaged).into())
            }
        }
        StoreWhat::Gc { days, lock } => {
            let mut kept = BTreeSet::new();
            for file in lock {
                let lock = Lock::decode(&file.display().to_string(), &fs::read_text(file)?)?;
                kept.extend(list_kept_objects(&lock, &store)?);
            }
            let age = Duration::from_secs(u64::from(*days) * 24 * 60 * 60);
            let removed = store.collect_garbage(&|digest| kept.contains(digest), age)?;
            let removed: Vec<String> = removed
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            let count = removed.len();
            let output = StoreOutput {
                store: root,
                files: None,
                damaged: Vec::new(),
                removed,
            };
            printer.print_result(&output, || format!("{count} files removed\n"))
        }
    }
}
