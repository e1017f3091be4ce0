//! `imagegen bundle`.

use std::path::Path;

use crate::bundle::{BundleIndex, BundleOutput, Mirrored};
use crate::carry::{BundleRequest, Unpacked, pack_bundle, unpack_bundle};
use crate::catalog::Trees;
use crate::cli::{BundleArgs, BundleCreateArgs, BundleExtractArgs, BundleVerifyArgs, BundleWhat};
use crate::diagnostic::{Error, Result};
use crate::inspect::Review;
use crate::io::fs::OutputKind;
use crate::lock::Lock;
use crate::selection::{NamedPolicy, SourceFolders, check_lock_path, read_sources, write_lockfile};
use crate::ui::Printer;

use super::flags::name_mirrored_policy;

pub(super) fn run_bundle(
    args: &BundleArgs,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<()> {
    let trees = read_sources(sources, &[])?;
    match &args.what {
        BundleWhat::Create(args) => create_bundle(args, &trees, printer),
        BundleWhat::Verify(args) => verify_bundle(args, &trees, printer),
        BundleWhat::Extract(args) => extract_bundle(args, &trees, printer),
    }
}

const BUNDLE: OutputKind = OutputKind {
    name: "a bundle",
    beginnings: &["PK\u{3}\u{4}"],
};

fn create_bundle(args: &BundleCreateArgs, trees: &Trees, printer: &Printer) -> Result<()> {
    let policy = NamedPolicy {
        waivers: args.waivers.waive.clone(),
        ..name_mirrored_policy(&args.policy, &args.mirrors)
    };
    let contents = BundleRequest {
        lock: &args.lock,
        images: &args.images,
        hosts: &args.tools.list_hosts(),
        scripts: args.scripts.scripts.as_deref(),
        policy: &policy,
        network: &(&args.network).into(),
    };

    let out = args.out.check(BUNDLE)?.path();
    require_lockfile(&args.lock)?;
    let (index, lock) = pack_bundle(out, contents, trees, printer)?;
    print_bundle(out, &index, &lock, None, printer)
}

/// The user may have named none, and several images have no lockfile of the default name.
fn require_lockfile(path: &Path) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    let message = format!("the lockfile {} does not exist", path.display());
    let remedy =
        "run `imagegen lock` first; of several images each has its own: name it by `--lock FILE`";
    Err(Error::value(message, remedy))
}

fn verify_bundle(args: &BundleVerifyArgs, trees: &Trees, printer: &Printer) -> Result<()> {
    let review = Review {
        lock: args.lock.as_deref(),
        images: &args.images,
        policy: &name_mirrored_policy(&args.policy, &args.mirrors),
    };

    let opened = review.verify_bundle(&args.file, trees, printer)?;
    print_bundle(&args.file, &opened.index, &opened.lock, None, printer)
}

fn extract_bundle(args: &BundleExtractArgs, trees: &Trees, printer: &Printer) -> Result<()> {
    if let Some(path) = &args.write_lock {
        check_lock_path(path)?;
    }
    let review = Review {
        lock: args.lock.as_deref(),
        images: &args.images,
        policy: &name_mirrored_policy(&args.policy, &args.mirrors),
    };

    let (opened, unpacked) = unpack_bundle(
        &args.file,
        args.store.as_ref(),
        args.as_mirror.as_ref(),
        review,
        trees,
        printer,
    )?;
    let place = match unpacked {
        Unpacked::Store(root) => root,
        Unpacked::Mirror(folder, mirrored) => {
            print_mirror(&folder, &mirrored, printer);
            folder
        }
    };
    if let Some(path) = &args.write_lock {
        write_lockfile(path, &opened.lock)?;
    }

    let place = Some(place.display().to_string());
    print_bundle(&args.file, &opened.index, &opened.lock, place, printer)
}

fn print_mirror(folder: &Path, mirrored: &Mirrored, printer: &Printer) {
    if !mirrored.elsewhere.is_empty() {
        let names = mirrored.elsewhere.join(", ");
        printer.print_note(&format!(
            "not in the mirror, because overrides give them URLs: {names}"
        ));
    }
    printer.print_note(&format!(
        "{} files; serve {} at an HTTPS URL, and build with `--delivery mirror --mirror URL`",
        mirrored.files.len(),
        folder.display(),
    ));
}

fn print_bundle(
    file: &Path,
    index: &BundleIndex,
    lock: &Lock,
    store: Option<String>,
    printer: &Printer,
) -> Result<()> {
    let output = BundleOutput::new(file, index, lock, store);
    printer.print_summary(&output, || output.format_summary())
}
