//! `imagegen lock`: the only writer of the lockfile.

use std::path::Path;

use crate::cli::LockArgs;
use crate::io::fs;
use crate::lock::Lock;
use crate::model::plan::Plan;
use crate::prove::{Keys, keep};
use crate::ui::Printer;

use super::fetch::pin_online;
use super::network::store;
use super::overrides;
use super::prepare::{definition, lock_path, plan, predicted, trees};

pub(super) fn lock(args: &LockArgs, manifests: Option<&Path>, printer: &Printer) -> anyhow::Result<()> {
    let trees = trees(manifests)?;
    let (definition, folder) = definition(&args.selection, &trees)?;
    let mut plan = plan(&definition, &trees)?;
    let policy = overrides::policy(&args.selection, &mut plan)?;
    // A lock is a promise that the image can be made.
    predicted(&plan, &trees)?;
    let path = lock_path(args.lock.as_ref(), &folder);
    known(&path, &mut plan)?;
    let every = args.prove || args.bundles.is_some();
    let verified = pin_online(&mut plan, &policy, &trees, &args.network, every, printer)?;
    if let Some(folder) = &args.bundles {
        let (store, keys) = (store(args.network.store.as_ref())?, Keys::read(trees.catalog.tree())?);
        for artifact in &verified {
            for (name, bytes) in keep(artifact, &store, &keys)? {
                fs::write(&folder.join(name), &bytes)?;
            }
        }
    }
    let lock = Lock::from_plan(&plan);
    fs::write(&path, lock.encode().as_bytes())?;
    for warning in &plan.warnings {
        printer.warning(&warning.message);
    }
    printer.result(&lock, || {
        let pinned = lock.artifacts.iter().filter(|artifact| artifact.is_pinned()).count();
        format!("{}: {pinned} of {} artifacts pinned\n", path.display(), lock.artifacts.len())
    })
}

/// What an older lock has proven of the same files need not be fetched again.
fn known(path: &Path, plan: &mut Plan) -> anyhow::Result<()> {
    let Some(bytes) = fs::read_if_there(path)? else { return Ok(()) };
    // One that cannot be read any more is replaced, which is what the user asked for.
    if let Ok(old) = Lock::decode(&path.display().to_string(), &bytes) {
        old.pin(plan);
    }
    Ok(())
}
