//! A bundle under a policy: every verb that reads a bundle proves what it carries with the signatures that it carries,
//! in a store of its own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::acquire::{
    Acquirer, NetworkOptions, PinScope, ProvenPlan, acquire_platform_tools, needs_proofs,
    open_fetcher, open_store, prove_plan,
};
use crate::bundle::{self, OpenedBundle};
use crate::catalog::Trees;
use crate::diagnostic::Result;
use crate::io::fs::Scratch;
use crate::lock::PinnedPlan;
use crate::model::policy::Policy;
use crate::resolve::BuildHost;
use crate::trust::{Admitted, admit};
use crate::ui::Printer;

use super::review::{Review, find_lock_pins, warn_alone};

impl Review<'_> {
    /// Verifies a bundle as a whole: its bytes against index and lockfile, its lockfile as the review of a lockfile does,
    /// and under a policy every artifact and tool by the proofs that the policy demands and that the bundle carries,
    /// without network. The user's store has no say: what it knows of a publisher did not come with the bundle.
    ///
    /// # Errors
    /// The bundle is not what its index says, the review refuses it, or a proof that the policy demands is not in it.
    pub fn verify_bundle(
        &self,
        file: &Path,
        trees: &Trees,
        printer: &Printer,
    ) -> Result<OpenedBundle> {
        let opened = bundle::verify_bundle(file, &trees.catalog)?;
        let Some((plan, policy)) = self.check_bundle(file, &opened, trees, printer)? else {
            return Ok(opened);
        };

        let mut alone = match self.lock {
            Some(_) => Vec::new(),
            None => find_lock_pins(&opened.lock, trees)?,
        };
        let catalog = &trees.catalog;
        let admitted = admit(PinnedPlan::new(plan)?, &policy, catalog)?;
        let tools = opened.index.tools.iter();
        let hosts: BTreeSet<BuildHost> = tools.map(|tool| tool.host).collect();
        let plan = admitted.pinned().plan();
        let is_open = opened.carries_proofs() || plan.unproven_artifacts().next().is_some();
        if !is_open && hosts.is_empty() && !needs_proofs(plan, PinScope::Needed, &policy, catalog) {
            warn_alone(&alone, printer);
            return Ok(opened);
        }

        // No proof is over a container image: those stay packed.
        let scratch = Scratch::new("bundle")?;
        let store = scratch.path().join("store");
        let opened_store = open_store(Some(&store))?;
        bundle::extract_bundle(file, &opened_store, &opened, &[bundle::OBJECTS])?;
        let proven = prove_stored(admitted, &policy, &hosts, store, trees, printer)?;
        for verified in proven.artifacts() {
            let artifact = verified.artifact();
            if !artifact.unproven {
                alone.retain(|title| *title != artifact.title());
            }
        }
        warn_alone(&alone, printer);
        Ok(opened)
    }
}

/// Proves an admitted plan and its tools under a policy out of a store alone.
fn prove_stored(
    admitted: Admitted,
    policy: &Policy,
    hosts: &BTreeSet<BuildHost>,
    store: PathBuf,
    trees: &Trees,
    printer: &Printer,
) -> Result<ProvenPlan> {
    let network = NetworkOptions {
        offline: true,
        jobs: Some(1),
        store: Some(store),
        ..NetworkOptions::default()
    };
    let fetcher = open_fetcher(&network, policy)?;
    let acquirer = Acquirer {
        trees,
        policy,
        fetcher: &fetcher,
        network: &network,
        printer,
    };
    let proven = prove_plan(admitted, &[], &acquirer)?;
    acquire_platform_tools(hosts, proven.plan(), &acquirer)?;
    Ok(proven)
}
