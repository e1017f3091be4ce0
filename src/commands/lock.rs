//! `imagegen lock`: the only writer of the lockfile.

use std::path::Path;

use crate::cli::LockArgs;
use crate::io::fs;
use crate::lock::Lock;
use crate::ui::Printer;

use super::fetch::pin_online;
use super::network::fetcher;
use super::outdated::Upstreams;
use super::overrides;
use super::prepare::{definition, lock_path, plan_with, predicted, trees};

pub(super) fn lock(args: &LockArgs, manifests: Option<&Path>, printer: &Printer) -> anyhow::Result<()> {
    let trees = trees(manifests)?;
    let (definition, folder) = definition(&args.selection, &trees)?;
    let path = lock_path(args.lock.as_ref(), &folder);
    let old = old(&path)?;
    let updated = old.as_ref().map(|lock| lock.updated.clone()).unwrap_or_default();
    let mut plan = plan_with(&definition, &trees, updated)?;
    if let Some(names) = &args.update {
        let fetcher = fetcher(&args.network, &overrides::read_policy(&args.selection)?)?;
        let upstreams = Upstreams { plan: &plan, definition: &definition, trees: &trees, fetcher: &fetcher };
        let mut updated = plan.updated.clone();
        for row in upstreams.newer(names, printer)? {
            let Some(newer) = row.newer else { continue };
            printer.note(&format!("{} {} → {newer}", row.name, row.planned));
            updated.insert(row.name, newer);
        }
        plan = plan_with(&definition, &trees, updated)?;
    }
    let policy = overrides::policy(&args.selection, &mut plan)?;
    // A lock is a promise that the image can be made.
    predicted(&plan, &trees)?;
    // What an older lock has proven of the same files need not be fetched again.
    if let Some(old) = old {
        old.pin(&mut plan);
    }
    pin_online(&mut plan, &policy, &trees, &args.network, args.prove, printer)?;
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

/// The lock in whose place this one comes. One that cannot be read any more is replaced, which is what the
/// user asked for.
fn old(path: &Path) -> anyhow::Result<Option<Lock>> {
    let bytes = fs::read_if_there(path)?;
    Ok(bytes.and_then(|bytes| Lock::decode(&path.display().to_string(), &bytes).ok()))
}
