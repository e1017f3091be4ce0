//! `imagegen build`.

use crate::acquire::{
    Acquirer, PinScope, acquire_tools, check_own_packer, needs_proofs, open_fetcher, pin_plan,
    print_unasked, prove_plan,
};
use crate::bake::{self, Bake};
use crate::base::choice::Delivery;
use crate::cli::BuildArgs;
use crate::diagnostic::Result;
use crate::lock::{Lock, PinnedPlan};
use crate::model::plan::Plan;
use crate::scripts::use_scripts;
use crate::selection::{resolve_bake_plan, resolve_locked_plan};
use crate::trust::admit;
use crate::workspace::{list_media, write_workspace};

use super::each::ImageRun;
use super::render::{print_archive, print_workspace};

pub(super) fn run_build(args: &BuildArgs, run: &ImageRun<'_>) -> Result<()> {
    let printer = run.printer;
    let mut trees = run.trees.clone();
    let resolve = if args.no_bake {
        resolve_locked_plan
    } else {
        resolve_bake_plan
    };
    let (mut plan, policy) = resolve(&args.selection, &args.lock, run.image, &trees)?;
    use_scripts(&args.scripts, &mut plan, &policy, &mut trees)?;
    let place = run.place_workspace(&args.workspace, &plan);
    if args.no_bake {
        return print_workspace(&plan, &place, &trees, printer);
    }
    bake::require_inputs(&plan, args.packer.as_ref())?;
    check_own_packer(args.packer.as_deref(), &plan, &policy)?;
    let open = || open_fetcher(&args.network, &policy);
    let network = &args.network;
    let mut earlier = Vec::new();
    // With `--locked` nothing is pinned here: the lock is what was reviewed.
    if !args.lock.locked && plan.unpinned_artifacts().next().is_some() {
        let fetcher = open()?;
        let acquirer = Acquirer {
            trees: &trees,
            policy: &policy,
            fetcher: &fetcher,
            network,
            printer,
        };
        earlier = pin_plan(&mut plan, PinScope::Needed, &acquirer)?;
    }
    let packs = plan.target.image().is_none();
    let downloads = packs && plan.delivery != Delivery::Media;
    // Nothing that could be installed is written before a policy has seen the bytes.
    let write =
        |plan: &Plan| write_workspace(plan, &Lock::from_plan(plan), &place, &trees, printer);
    let needs_bytes = needs_proofs(&plan, PinScope::Needed, &policy, &trees.catalog);
    let early = if plan.policy.is_some() || needs_bytes {
        None
    } else {
        Some(write(&plan)?)
    };
    printer.print_note(&format!("workspace: {}", place.folder.display()));
    let admitted = admit(PinnedPlan::new(plan)?, &policy, &trees.catalog)?;
    if downloads && !needs_bytes {
        // The machine itself downloads, and checks every digest.
        print_unasked(
            admitted.pinned().plan().artifacts(),
            "the machine downloads",
            printer,
        );
        let written = early.map_or_else(|| write(admitted.pinned().plan()), Ok)?;
        return print_archive(
            &written.pack_archive(admitted.pinned().plan(), &[])?,
            printer,
        );
    }
    let fetcher = open()?;
    let acquirer = Acquirer {
        trees: &trees,
        policy: &policy,
        fetcher: &fetcher,
        network,
        printer,
    };
    let proven = prove_plan(admitted, &earlier, &acquirer)?;
    // The archives were read: now the plan has the digests of their members.
    let written = write(proven.plan())?;
    if packs {
        let media = if downloads {
            Vec::new()
        } else {
            list_media(&proven, &acquirer)?
        };
        return print_archive(&written.pack_archive(proven.plan(), &media)?, printer);
    }
    let tools = acquire_tools(args.packer.as_ref(), proven.plan(), &acquirer)?;
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .collect();
    let image = Bake {
        proven: &proven,
        folder: &written.folder,
        tools: &tools,
        on_error: args.on_error,
        environment: &environment,
        printer,
    }
    .run()?;
    printer.print_note(&format!(
        "image: {}",
        written.folder.join("image.json").display()
    ));
    printer.print_result(&image, || {
        image
            .artifacts
            .iter()
            .map(|artifact| format!("{}\n", artifact.id))
            .collect()
    })
}
