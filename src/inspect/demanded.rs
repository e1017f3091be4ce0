//! Proofs that a policy demands of the bytes that a lockfile names: they are made here, from the store or the network.
//!
//! A declared signature, and evidence of an earlier run, say where to look. They are no proof.

use std::collections::{BTreeMap, BTreeSet};

use crate::acquire::{Acquirer, NetworkOptions, ProofScope, VerifiedArtifact, open_fetcher};
use crate::catalog::Trees;
use crate::diagnostic::Result;
use crate::lock::Lock;
use crate::model::evidence::Evidence;
use crate::model::plan::{Plan, PlannedArtifact, format_unasked};
use crate::model::policy::Policy;
use crate::planning::{PolicyOfLock, judge_plan, read_plan_policy, resolve_lock};
use crate::selection::{NamedPolicy, read_mirrors};
use crate::trust::{check_dropped, check_evidence, wants_proof};
use crate::ui::Printer;

/// Policy, store, network and catalog that proofs are made with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prover<'a> {
    /// The policy, and the mirrors of the user. Those of a workspace or a lockfile are not asked.
    pub named: &'a NamedPolicy,
    pub network: &'a NetworkOptions,
    pub trees: &'a Trees,
    pub printer: &'a Printer,
}

/// Proofs that were made already, by the title of their artifact.
pub(super) type MadeProofs = BTreeMap<String, Vec<Evidence>>;

impl Prover<'_> {
    /// Makes the proofs that the policy demands of the plan's pinned artifacts, beside those of `made`.
    ///
    /// # Errors
    /// A proof fails or is missing, an override drops one, or the bytes can be had neither from the store nor from the
    /// network.
    pub(super) fn prove_demanded(
        &self,
        plan: &Plan,
        policy: &Policy,
        made: &MadeProofs,
    ) -> Result<Vec<VerifiedArtifact>> {
        if self.named.file.is_none() {
            return Ok(Vec::new());
        }
        let catalog = &self.trees.catalog;
        check_dropped(policy, plan.artifacts(), catalog)?;
        if !policy.demands_proofs() {
            return Ok(Vec::new());
        }

        let mut demanded: Vec<&PlannedArtifact> = Vec::new();
        for artifact in plan.artifacts() {
            let is_met = made.get(&artifact.title()).is_some_and(|proofs| {
                is_complete(artifact, proofs)
                    && check_evidence(policy, artifact, proofs, catalog).is_empty()
            });
            if artifact.is_pinned() && !is_met && wants_proof(policy, artifact, catalog) {
                demanded.push(artifact);
            }
        }
        if demanded.is_empty() {
            return Ok(Vec::new());
        }

        let policy = Policy {
            mirrors: read_mirrors(&self.named.mirrors)?,
            ..policy.clone()
        };
        let fetcher = open_fetcher(self.network, &policy)?;
        let acquirer = Acquirer {
            trees: self.trees,
            policy: &policy,
            fetcher: &fetcher,
            network: self.network,
            printer: self.printer,
        };
        acquirer.prove_artifacts(&demanded, ProofScope::Publisher)
    }

    /// Judges what an image was made of by a policy that its build need not have known.
    ///
    /// # Errors
    /// The lockfile is not that of its selection, the policy refuses it, or a proof that it demands does not hold.
    pub(super) fn judge_lock(&self, file: &str, lock: &Lock) -> Result<Vec<VerifiedArtifact>> {
        let unnamed = NamedPolicy {
            file: None,
            ..self.named.clone()
        };
        let ignored = PolicyOfLock::Ignored;
        let (plan, _) = resolve_lock(file, lock, &unnamed, ignored, self.trees)?;
        let policy = read_plan_policy(self.named, &plan)?;
        let plan = judge_plan(self.named, &policy, plan, self.trees)?;
        self.prove_demanded(&plan, &policy, &MadeProofs::new())
    }
}

/// Declared proofs that neither the lock records nor this run has made, also with the folder that a user names.
pub(super) fn list_unasked(
    lock: &Lock,
    proven: &[VerifiedArtifact],
    made: &MadeProofs,
) -> Vec<String> {
    let titles = proven.iter().map(|it| it.artifact().title());
    let titles: BTreeSet<String> = titles.collect();
    let mut open = lock.artifacts.clone();
    open.retain(|artifact| !titles.contains(&artifact.title()));
    for artifact in &mut open {
        let again = made.get(&artifact.title());
        artifact
            .evidence
            .extend(again.into_iter().flatten().cloned());
    }
    format_unasked(open.iter())
}

/// Whether each signature that the artifact declares is among the proofs, and all of them hold.
fn is_complete(artifact: &PlannedArtifact, proofs: &[Evidence]) -> bool {
    for kind in artifact.list_signatures() {
        if !proofs.iter().any(|proof| proof.proof == kind) {
            return false;
        }
    }
    !proofs.is_empty() && proofs.iter().all(|proof| proof.verdict.holds())
}
