//! `imagegen lock`: the only writer of the lockfile.

use std::path::Path;

use crate::cli::LockArgs;
use crate::io::fs;
use crate::lock::Lock;
use crate::ui::Printer;

use super::overrides;
use super::prepare::{definition, lock_path, plan, predicted, trees};

pub(super) fn lock(args: &LockArgs, manifests: Option<&Path>, printer: &Printer) -> anyhow::Result<()> {
    let trees = trees(manifests)?;
    let (definition, folder) = definition(&args.selection, &trees)?;
    let mut plan = plan(&definition, &trees)?;
    overrides::policy(&args.selection, &mut plan)?;
    // A lock is a promise that the image can be made.
    predicted(&plan, &trees)?;
    let lock = Lock::from_plan(&plan);
    let path = lock_path(args.lock.as_ref(), &folder);
    fs::write(&path, lock.encode().as_bytes())?;
    for warning in &plan.warnings {
        printer.warning(&warning.message);
    }
    printer.result(&lock, || {
        let pinned = lock.artifacts.iter().filter(|artifact| artifact.is_pinned()).count();
        format!("{}: {pinned} of {} artifacts pinned\n", path.display(), lock.artifacts.len())
    })
}
