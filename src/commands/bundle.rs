//! `imagegen bundle`.

use std::path::Path;

use crate::acquire::open_store;
use crate::bundle::{self, BundleOutput, Index, Opened, gather_bundle};
use crate::cli::{BundleArgs, BundleWhat, SourceArgs};
use crate::diagnostic::Result;
use crate::lock::Lock;
use crate::scripts::replace_scripts;
use crate::selection::{check_lock_path, read_lock, read_sources, write_lockfile};
use crate::ui::Printer;

pub(super) fn run_bundle(args: &BundleArgs, sources: &SourceArgs, printer: &Printer) -> Result<()> {
    match &args.what {
        BundleWhat::Create { out, lock, images, scripts, network } => {
            let lock = read_lock(lock)?;
            let mut trees = read_sources(sources, None)?;
            replace_scripts(scripts, &lock.selection.overrides, &mut trees)?;
            let index = gather_bundle(out, &lock, images, network, &trees, printer)?;
            print_bundle(out, &index, lock.artifacts.len(), None, printer)
        }
        BundleWhat::Verify { file } => {
            let opened = bundle::verify_bundle(file)?;
            print_bundle(file, &opened.index, opened.lock.artifacts.len(), None, printer)
        }
        BundleWhat::Extract { file, store: path, as_mirror, lock, write_lock } => {
            write_lock.as_deref().map_or(Ok(()), check_lock_path)?;
            let reviewed = lock.as_deref().map(read_lock).transpose()?;
            if reviewed.is_none() {
                printer.print_warning("the bundle's lock was compared with nothing: `--lock FILE` names one");
            }
            let reviewed = reviewed.as_ref();
            let (opened, place) = if let Some(folder) = as_mirror {
                (extract_mirror(file, folder, reviewed, printer)?, folder)
            } else {
                let store = open_store(path.as_ref())?;
                (bundle::extract_bundle(file, &store, reviewed)?, &store.root().to_owned())
            };
            if let Some(path) = write_lock {
                write_lockfile(path, &opened.lock)?;
            }
            print_bundle(
                file,
                &opened.index,
                opened.lock.artifacts.len(),
                Some(place.display().to_string()),
                printer,
            )
        }
    }
}

fn extract_mirror(file: &Path, folder: &Path, reviewed: Option<&Lock>, printer: &Printer) -> Result<Opened> {
    let mirrored = bundle::extract_mirror(file, folder, reviewed)?;
    if !mirrored.elsewhere.is_empty() {
        let names = mirrored.elsewhere.join(", ");
        printer.print_note(&format!("not in the mirror, for they have addresses of their own: {names}"));
    }
    let own = bundle::find_mirror_url(&mirrored.opened.lock.selection.overrides);
    printer.print_note(&format!(
        "{} files; serve {} at {}, and build with `--delivery mirror --mirror {}`",
        mirrored.files.len(),
        folder.display(),
        own.unwrap_or("an HTTPS URL"),
        own.unwrap_or("URL")
    ));
    Ok(mirrored.opened)
}

fn print_bundle(
    file: &Path,
    index: &Index,
    artifacts: usize,
    store: Option<String>,
    printer: &Printer,
) -> Result<()> {
    let output = BundleOutput::new(file, index, artifacts, store);
    printer.print_result(&output, || output.format_summary())
}
