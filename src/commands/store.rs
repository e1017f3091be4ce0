//! `imagegen store`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use crate::bundle::list_kept_objects;
use crate::cli::{StoreArgs, StoreWhat};
use crate::diagnostic::Result;
use crate::io::fs;
use crate::io::store::{DamagedStore, Store};
use crate::lock::Lock;
use crate::selection::{SourceFolders, read_sources};
use crate::ui::Printer;
use crate::view::{StoreOutput, StoredFile};

use crate::acquire::{find_store, open_store};

pub(super) fn run_store(
    args: &StoreArgs,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<()> {
    if matches!(args.what, StoreWhat::Path) {
        let place = find_store(args.store.as_ref())?;
        let output = StoreOutput::new(place.display().to_string());
        return printer.print_result(&output, || format!("{}\n", output.store));
    }
    let store = open_store(args.store.as_ref())?;
    let mut output = StoreOutput::new(store.root().display().to_string());
    match &args.what {
        StoreWhat::Path => Ok(()),
        StoreWhat::Add { files } => {
            for file in files {
                output.added.push(StoredFile {
                    sha256: store.insert_file(file)?.1.sha256,
                    file: file.display().to_string(),
                });
            }
            printer.print_result(&output, || {
                let added = output.added.iter();
                added
                    .map(|added| format!("{}  {}\n", added.sha256, added.file))
                    .collect()
            })
        }
        StoreWhat::Verify => verify_store(&store, output, printer),
        StoreWhat::Gc { days, lock } => {
            let kept = list_kept(lock, sources, &store)?;
            let age = Duration::from_secs(u64::from(*days) * 24 * 60 * 60);
            let removed = store.collect_garbage(&|digest| kept.contains(digest), age)?;
            let removed = removed.iter().map(|path| path.display().to_string());
            output.removed = removed.collect();
            printer.print_result(&output, || {
                format!("{} files removed\n", output.removed.len())
            })
        }
    }
}

/// SHA-256 of every object that these lockfiles name.
fn list_kept(
    lockfiles: &[PathBuf],
    sources: &SourceFolders,
    store: &Store,
) -> Result<BTreeSet<String>> {
    let mut kept = BTreeSet::new();
    if lockfiles.is_empty() {
        return Ok(kept);
    }

    let catalog = read_sources(sources, &[])?.catalog;
    for file in lockfiles {
        let lock = Lock::decode(&file.display().to_string(), &fs::read_text(file)?)?;
        kept.extend(list_kept_objects(&lock, &catalog, store)?);
    }
    Ok(kept)
}

fn verify_store(store: &Store, mut output: StoreOutput, printer: &Printer) -> Result<()> {
    let (files, found) = store.find_damaged()?;
    for object in &found {
        store.discard(object)?;
    }

    output.files = Some(files);
    output.damaged = found.into_iter().map(|object| object.sha256).collect();
    printer.print_result(&output, || {
        format!("{files} files, {} damaged\n", output.damaged.len())
    })?;
    if output.damaged.is_empty() {
        Ok(())
    } else {
        Err(DamagedStore(output.damaged).into())
    }
}
