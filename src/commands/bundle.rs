//! `imagegen bundle`.

use std::path::Path;

use crate::bundle::{self, BundleIndex, BundleOutput, Mirrored, OpenedBundle};
use crate::carry::{BundleRequest, Unpacked, pack_bundle, unpack_bundle};
use crate::cli::{BundleArgs, BundleWhat, SourceArgs};
use crate::diagnostic::Result;
use crate::inspect::Review;
use crate::io::fs;
use crate::selection::{NamedPolicy, check_lock_path, read_sources, write_lockfile};
use crate::ui::Printer;

pub(super) fn run_bundle(args: &BundleArgs, sources: &SourceArgs, printer: &Printer) -> Result<()> {
    let trees = read_sources(sources, &[])?;
    match &args.what {
        BundleWhat::Create {
            out,
            lock,
            images,
            scripts,
            waive,
            policy,
            network,
        } => {
            let policy = NamedPolicy {
                waivers: waive,
                ..policy.into()
            };
            let contents = BundleRequest {
                lock,
                images,
                scripts,
                policy,
                network,
            };
            fs::check_overwrite(out, "a bundle", &["PK\u{3}\u{4}"])?;
            let (index, artifacts) = pack_bundle(out, contents, &trees, printer)?;
            print_bundle(out, &index, artifacts, None, printer)
        }
        BundleWhat::Verify { file, lock, policy } => {
            let opened = bundle::verify_bundle(file)?;
            let review = Review {
                lock: lock.as_deref(),
                policy: policy.into(),
            };
            review.check_bundle(file, &opened, &trees, printer)?;
            print_bundle(
                file,
                &opened.index,
                opened.lock.artifacts.len(),
                None,
                printer,
            )
        }
        BundleWhat::Extract {
            file,
            store,
            as_mirror,
            lock,
            write_lock,
            policy,
        } => {
            if let Some(path) = write_lock {
                check_lock_path(path)?;
            }
            let review = Review {
                lock: lock.as_deref(),
                policy: policy.into(),
            };
            let (opened, unpacked) = unpack_bundle(
                file,
                store.as_ref(),
                as_mirror.as_ref(),
                review,
                &trees,
                printer,
            )?;
            let place = match unpacked {
                Unpacked::Store(root) => root,
                Unpacked::Mirror(folder, mirrored) => {
                    print_mirror(&folder, &mirrored, &opened, printer);
                    folder
                }
            };
            if let Some(path) = write_lock {
                write_lockfile(path, &opened.lock)?;
            }
            let place = Some(place.display().to_string());
            print_bundle(
                file,
                &opened.index,
                opened.lock.artifacts.len(),
                place,
                printer,
            )
        }
    }
}

fn print_mirror(folder: &Path, mirrored: &Mirrored, opened: &OpenedBundle, printer: &Printer) {
    if !mirrored.elsewhere.is_empty() {
        let names = mirrored.elsewhere.join(", ");
        printer.print_note(&format!(
            "not in the mirror, because overrides give them URLs: {names}"
        ));
    }
    let own = bundle::find_mirror_url(&opened.lock.selection.overrides);
    printer.print_note(&format!(
        "{} files; serve {} at {}, and build with `--delivery mirror --mirror {}`",
        mirrored.files.len(),
        folder.display(),
        own.unwrap_or("an HTTPS URL"),
        own.unwrap_or("URL")
    ));
}

fn print_bundle(
    file: &Path,
    index: &BundleIndex,
    artifacts: usize,
    store: Option<String>,
    printer: &Printer,
) -> Result<()> {
    let output = BundleOutput::new(file, index, artifacts, store);
    printer.print_result(&output, || output.format_summary())
}
