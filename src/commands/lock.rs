//! `imagegen lock`: the only writer of the lockfile.

use std::collections::BTreeMap;

use crate::acquire::{
    Acquirer, HeaderGrants, NetworkOptions, PinScope, VerifiedArtifact, needs_proofs, open_fetcher,
    pin_plan, store_proofs,
};
use crate::base::version::Version;
use crate::cli::LockArgs;
use crate::diagnostic::Result;
use crate::lock::PinnedPlan;
use crate::model::plan::Plan;
use crate::model::policy::Policy;
use crate::planning::{
    check_tool_floors, complete_for_lock, govern_plan, list_warnings, predict_machine,
    read_plan_policy, resolve_updated_plan,
};
use crate::selection::{
    check_lock_path, choose_lock, read_definition, read_old_lock, write_lockfile,
};
use crate::trust::admit;
use crate::ui::Printer;
use crate::updates::{Answers, LockedImages, Upstreams};
use crate::view::format_lock;

use super::each::ImageRun;
use super::flags::read_flags;

pub(super) fn run_lock(args: &LockArgs, answers: &Answers, run: &ImageRun<'_>) -> Result<()> {
    let (trees, printer) = (&run.trees, run.printer);
    let flags = read_flags(&args.selection)?;
    let network = NetworkOptions::from(&args.network);
    let definition = read_definition(&flags, run.image, trees)?;
    let path = match &args.lock {
        Some(named) => named.clone(),
        None => choose_lock(run.image, &definition)?,
    };
    check_lock_path(&path)?;
    let old = read_old_lock(&path)?;
    let definition = complete_for_lock(definition, old.as_ref(), &flags, &path, trees)?;
    let (updated, images) = match old {
        Some(lock) => (lock.updated, lock.tagged_images),
        None => Default::default(),
    };
    let plan = resolve_updated_plan(&definition, trees, updated)?;
    let plan = if let Some(names) = &args.update {
        let policy = read_plan_policy(&flags.policy, &plan)?;
        let fetcher = answers.share(open_fetcher(&network, &policy)?);
        let grants = HeaderGrants::new(&network, &policy);
        let upstreams = Upstreams {
            plan: &plan,
            definition: &definition,
            trees,
            fetcher: &fetcher,
            grants: &grants,
        };
        let mut components = names.clone();
        components.retain(|name| !plan.names_image(name));
        let only_images = components.is_empty() && !names.is_empty();
        let updated = if only_images {
            plan.updated.clone()
        } else {
            find_updates(&upstreams, &components, printer)?
        };
        resolve_updated_plan(&definition, trees, updated)?
    } else {
        plan
    };
    let (plan, policy) = govern_plan(&flags.policy, plan, trees)?;
    check_tool_floors(&plan, &policy, &flags.allow_old, trees)?;
    let locked = LockedImages {
        images: &images,
        updated: args.update.as_deref(),
        answers,
    };
    let plan = locked.pin_plan(plan, &network, &policy, printer)?;
    // A lock is a promise that the image can be made.
    predict_machine(&plan, trees)?;
    let (plan, verified) = pin_for_lock(plan, args, (&network, answers), &policy, run)?;
    let admitted = admit(PinnedPlan::new(plan)?, &policy, &trees.catalog)?;
    let (plan, lock) = (admitted.pinned().plan(), admitted.pinned().lock());
    // The folder may hold the proofs of a lockfile that stays, if this one is refused.
    if let Some(folder) = &args.proofs {
        let fetcher = open_fetcher(&network, &policy)?;
        store_proofs(folder, &verified, &fetcher, trees, run.printer)?;
    }
    write_lockfile(&path, lock)?;
    for warning in list_warnings(plan)? {
        printer.print_warning(&warning);
    }
    printer.print_summary(lock, || format_lock(&path.display().to_string(), lock))
}

/// The plan with the digests that a lockfile needs, and with every one of them proven where the user asks for it; and
/// what was proven.
fn pin_for_lock(
    plan: Plan,
    args: &LockArgs,
    (network, answers): (&NetworkOptions, &Answers),
    policy: &Policy,
    run: &ImageRun<'_>,
) -> Result<(Plan, Vec<VerifiedArtifact>)> {
    let (trees, printer) = (&run.trees, run.printer);
    let every = args.prove || args.proofs.is_some();
    let scope = if every {
        PinScope::Every
    } else {
        PinScope::Needed
    };
    if !needs_proofs(&plan, scope, policy, &trees.catalog) {
        return Ok((plan, Vec::new()));
    }

    let fetcher = answers.share(open_fetcher(network, policy)?);
    let acquirer = Acquirer {
        trees,
        policy,
        fetcher: &fetcher,
        network,
        printer,
    };
    pin_plan(plan, scope, &acquirer)
}

/// The plan's updates and those that publishers have now; each new one is printed.
fn find_updates(
    upstreams: &Upstreams<'_>,
    names: &[String],
    printer: &Printer,
) -> Result<BTreeMap<String, Version>> {
    let mut updated = upstreams.plan.updated.clone();
    for row in upstreams.find_updates(names, printer)? {
        let Some(newer) = row.newer else { continue };
        printer.print_note(&format!("{} {} → {newer}", row.name, row.planned));
        updated.insert(row.name, newer);
    }
    Ok(updated)
}
