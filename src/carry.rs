//! Bundles under the gate: what is carried was admitted where it is packed, and again where it is unpacked.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::acquire::{
    Acquirer, NetworkOptions, acquire_platform_tools, open_fetcher, open_store, prove_plan,
};
use crate::base::value::ImageReference;
use crate::bundle::{self, BundleIndex, CarriedExtras, Mirrored, OpenedBundle, gather_bundle};
use crate::catalog::Trees;
use crate::diagnostic::Result;
use crate::inspect::Review;
use crate::lock::{Lock, PinnedPlan};
use crate::planning::{PolicyOfLock, resolve_lock};
use crate::resolve::BuildHost;
use crate::scripts::read_guest_scripts;
use crate::selection::{NamedPolicy, read_lock};
use crate::trust::{Subject, admit, check_subjects};
use crate::ui::Printer;

/// Contents of a bundle, as the user asks for them.
#[derive(Debug, Clone, Copy)]
pub struct BundleRequest<'a> {
    pub lock: &'a Path,
    pub images: &'a [ImageReference],
    /// Machines that bake: Packer and its plugins for each are part of the bundle.
    pub hosts: &'a BTreeSet<BuildHost>,
    /// Folder of the user's own guest scripts.
    pub scripts: Option<&'a Path>,
    pub policy: &'a NamedPolicy,
    pub network: &'a NetworkOptions,
}

/// Writes a bundle of what the lockfile names. Returns its index and the lockfile.
///
/// # Errors
/// The lockfile is stale or not pinned, the policy refuses something, or it cannot be fetched, proven or written.
pub fn pack_bundle(
    out: &Path,
    contents: BundleRequest<'_>,
    trees: &Trees,
    printer: &Printer,
) -> Result<(BundleIndex, Lock)> {
    let lock = read_lock(contents.lock)?;
    lock.require_pins()?;
    lock.require_admission()?;
    let file = contents.lock.display().to_string();
    let required = PolicyOfLock::Required;
    let (plan, policy) = resolve_lock(&file, &lock, contents.policy, required, trees)?;
    let scripts = read_guest_scripts(contents.scripts, &plan.selection.overrides, &policy, trees)?;
    let plan = scripts.sign_plan(plan);
    let trees = Trees {
        provisioners: scripts.provisioners,
        ..trees.clone()
    };
    let mirrors = &plan.selection.list_registry_urls();
    let images: Vec<Subject<'_>> = contents
        .images
        .iter()
        .map(|image| Subject::from_image(image, mirrors))
        .collect();
    check_subjects(
        &policy,
        &images,
        plan.governance.policy.is_some(),
        &trees.catalog,
    )?;
    let network = contents.network;
    let fetcher = open_fetcher(network, &policy)?;
    let acquirer = Acquirer {
        trees: &trees,
        policy: &policy,
        fetcher: &fetcher,
        network,
        printer,
    };
    let proven = prove_plan(
        admit(PinnedPlan::new(plan)?, &policy, &trees.catalog)?,
        &[],
        &acquirer,
    )?;
    let tools = acquire_platform_tools(contents.hosts, proven.plan(), &acquirer)?;
    for tool in &tools {
        tool.require_offline_proof()?;
    }
    let carried = CarriedExtras {
        images: contents.images,
        tools: &tools,
    };
    let index = gather_bundle(out, &lock, &proven, carried, &acquirer)?;
    Ok((index, lock))
}

/// Where a bundle is unpacked to.
#[derive(Debug)]
pub enum Unpacked {
    Store(PathBuf),
    Mirror(PathBuf, Mirrored),
}

/// Unpacks a bundle into a store, or as a mirror.
///
/// # Errors
/// The bundle is not what its index and its lockfile say, the review refuses it, or it cannot be written.
pub fn unpack_bundle(
    file: &Path,
    store: Option<&PathBuf>,
    mirror: Option<&PathBuf>,
    review: Review<'_>,
    trees: &Trees,
    printer: &Printer,
) -> Result<(OpenedBundle, Unpacked)> {
    let opened = review.verify_bundle(file, trees, printer)?;
    if mirror.is_none() {
        let folders = [bundle::OBJECTS, bundle::BLOBS];
        bundle::extract_bundle(file, &open_store(store)?, &opened, &folders)?;
    }
    let unpacked = match mirror {
        Some(folder) => Unpacked::Mirror(
            folder.clone(),
            bundle::extract_mirror(file, folder, &opened)?,
        ),
        None => Unpacked::Store(open_store(store)?.root().to_owned()),
    };
    Ok((opened, unpacked))
}
