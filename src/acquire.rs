//! `PinnedPlan` → fetched → `ProvenPlan`: the only source of an artifact's bytes, for every verb.
//!
//! A plan is pinned by [`pin_plan`], admitted by the gate of [`crate::trust`], then fetched and proven by
//! [`prove_plan`]. A `ProvenPlan` owns its verified artifacts; later stages need no check.

mod network;
mod prove;
mod tools;

use std::path::Path;

use crate::base::code::Code;
use crate::base::value::FileDigest;
use crate::catalog::{Catalog, Keys, Trees};
use crate::diagnostic::{Classify, Error, ErrorClass, Result};
use crate::fetch::{FetchedArtifact, Fetcher, Request};
use crate::io::clock;
use crate::lock::{Lock, PinnedPlan};
use crate::model::definition::ImageDefinition;
use crate::model::plan::{Pins, Plan, PlannedArtifact, format_unasked};
use crate::model::policy::Policy;
use crate::trust::{Admitted, wants_proof};
use crate::ui::{Downloads, Printer};
use crate::verify::chain::PinnedRoots;

pub use network::{
    HeaderGrants, NetworkOptions, absolute_path, find_store, open_fetcher, open_store,
    request_artifact, request_user_files,
};
pub use prove::{
    ProofScope, ProveError, SIDECAR, SignedArtifact, SignedMembers, StoredTrust, Trust,
    VerifiedArtifact, carried_name, find_sidecar, reprove_artifact,
};
pub use tools::{
    InstalledTools, PlannedTools, PlatformTool, ToolError, Tools, UnprovenTool,
    acquire_platform_tools, acquire_tools, check_own_packer, check_tools, plan_tools,
};

/// A plan whose artifacts were fetched and proven. Only [`prove_plan`] makes one.
#[derive(Debug)]
pub struct ProvenPlan {
    admitted: Admitted,
    artifacts: Vec<VerifiedArtifact>,
    user_files: Vec<FetchedArtifact>,
}

impl ProvenPlan {
    pub fn plan(&self) -> &Plan {
        self.admitted.pinned().plan()
    }

    pub fn lock(&self) -> &Lock {
        self.admitted.pinned().lock()
    }

    /// In the order of the plan.
    pub fn artifacts(&self) -> &[VerifiedArtifact] {
        &self.artifacts
    }

    /// Files that the image definition pins by its own digests.
    pub fn user_files(&self) -> &[FetchedArtifact] {
        &self.user_files
    }
}

/// Inputs of fetching and proving.
#[derive(Debug, Clone, Copy)]
pub struct Acquirer<'a> {
    pub trees: &'a Trees,
    pub policy: &'a Policy,
    pub fetcher: &'a Fetcher,
    pub network: &'a NetworkOptions,
    pub printer: &'a Printer,
}

impl Acquirer<'_> {
    /// Fetches and proves artifacts. Every failure is printed; the first one is the error.
    ///
    /// # Errors
    /// A download or a proof failed, or the policy demands another proof.
    pub fn prove_artifacts(
        &self,
        artifacts: &[&PlannedArtifact],
        scope: ProofScope,
    ) -> Result<Vec<VerifiedArtifact>> {
        let requests = artifacts
            .iter()
            .map(|artifact| self.create_request(artifact))
            .collect::<Result<Vec<Request>>>()?;
        let files = self.fetch_files(&requests)?;
        let tree = self.trees.catalog.tree();
        let (keys, roots) = (Keys::load(tree)?, PinnedRoots::read(tree)?);
        let Self {
            fetcher, policy, ..
        } = *self;
        let catalog = &self.trees.catalog;
        let trust = Trust {
            fetcher,
            policy,
            catalog,
            keys: &keys,
            roots: &roots,
            now: clock::current_time(),
        };
        let pairs = artifacts.iter().zip(&files);
        let outcomes =
            pairs.map(|(artifact, fetched)| prove::prove_artifact(artifact, fetched, scope, trust));
        let verified = collect_outcomes(outcomes.collect(), self.printer)?;
        self.print_open_proofs(&verified);
        Ok(verified)
    }

    /// Declared proofs that were waived by name, and those that `--offline` did not ask for.
    fn print_open_proofs(&self, verified: &[VerifiedArtifact]) {
        for artifact in verified {
            let (title, waived) = (artifact.artifact().title(), artifact.list_waived());
            if !waived.is_empty() {
                self.printer.print_note(&format!(
                    "{title}: missing, and waived by name: {}",
                    waived.join(", ")
                ));
            }
        }
        print_unasked(
            verified.iter().map(VerifiedArtifact::artifact),
            "`--offline` asks for none",
            self.printer,
        );
    }

    /// # Errors
    /// A download failed.
    pub fn fetch_files(&self, requests: &[Request]) -> Result<Vec<FetchedArtifact>> {
        let sizes: Vec<Option<u64>> = requests.iter().map(|request| request.size).collect();
        let downloads = Downloads::new(self.printer, &sizes);
        collect_outcomes(
            self.fetcher
                .fetch_all(requests, self.network.downloads(), &downloads),
            self.printer,
        )
    }

    /// Files that the image definition pins by its own digests.
    ///
    /// # Errors
    /// A download failed.
    pub fn fetch_user_files(&self, selection: &ImageDefinition) -> Result<Vec<FetchedArtifact>> {
        self.fetch_files(&request_user_files(selection))
    }

    /// Environment variables that may be sent as headers.
    pub fn grants(&self) -> HeaderGrants {
        HeaderGrants::new(self.network, self.policy)
    }

    fn create_request(&self, artifact: &PlannedArtifact) -> Result<Request> {
        let mut request = request_artifact(artifact, self.trees, &self.grants())?;
        let stored = self.find_stored(artifact, &request);
        request.digests.extend(stored);
        Ok(request)
    }

    /// The digest of an unpinned file that is in the store already, if its publisher signs its checksums.
    /// Without that signature the file itself is downloaded: the publisher may contradict itself.
    fn find_stored(&self, artifact: &PlannedArtifact, request: &Request) -> Option<FileDigest> {
        let store = self.fetcher.store();
        let signs = artifact.signs_checksums();
        if artifact.is_pinned() || !signs || !prove::is_stored(&artifact.url, self.fetcher) {
            return None;
        }
        let mut stated =
            prove::read_stated_digests(artifact, &request.headers, self.fetcher).into_iter();
        stated.find(|digest| store.find_object(digest).is_some())
    }
}

/// Writes the signers' proofs of artifacts that were just proven into a folder, out of the store, and names those that
/// cannot be stored.
///
/// # Errors
/// The store lacks a proof, or the folder cannot be written.
pub fn store_proofs(
    folder: &Path,
    verified: &[VerifiedArtifact],
    fetcher: &Fetcher,
    trees: &Trees,
    printer: &Printer,
) -> Result<()> {
    let trust = StoredTrust {
        keys: &*Keys::load(trees.catalog.tree())?,
        now: clock::current_time(),
    };
    for unstored in prove::write_proofs(folder, verified, fetcher, trust)? {
        printer.print_warning(&format!(
            "{}: its {} proof is not stored: {}",
            unstored.title,
            unstored.proof.as_str(),
            unstored.reason
        ));
    }
    Ok(())
}

/// Names declared signatures that were not asked for, in one line.
pub fn print_unasked<'a>(
    artifacts: impl Iterator<Item = &'a PlannedArtifact>,
    reason: &str,
    printer: &Printer,
) {
    let unasked = format_unasked(artifacts);
    if !unasked.is_empty() {
        printer.print_note(&format!(
            "signatures that were not verified ({reason}): {}",
            unasked.join("; ")
        ));
    }
}

/// All values, or the first error. The others are printed, unless an interrupt is their cause.
///
/// # Errors
/// An outcome is an error.
pub fn collect_outcomes<T, E: Into<Error>>(
    outcomes: Vec<Result<T, E>>,
    printer: &Printer,
) -> Result<Vec<T>> {
    let mut values = Vec::new();
    let mut failures: Vec<Error> = Vec::new();
    for outcome in outcomes {
        match outcome {
            Ok(value) => values.push(value),
            Err(error) => failures.push(error.into()),
        }
    }
    if let Some(at) = failures
        .iter()
        .position(|error| error.class() == ErrorClass::Interrupted)
    {
        return Err(failures.swap_remove(at));
    }
    let mut failures = failures.into_iter();
    let Some(first) = failures.next() else {
        return Ok(values);
    };
    failures.for_each(|other| printer.print_further_error(&other));
    Err(first)
}

/// Which artifacts are proven while a plan is pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinScope {
    /// Those that nobody pinned, and those of which the policy wants more than a digest.
    Needed,
    Every,
}

impl PinScope {
    fn holds(self, artifact: &PlannedArtifact, policy: &Policy, catalog: &Catalog) -> bool {
        self == Self::Every || !artifact.is_pinned() || wants_proof(policy, artifact, catalog)
    }
}

/// Whether [`pin_plan`] would fetch anything.
pub fn needs_proofs(plan: &Plan, scope: PinScope, policy: &Policy, catalog: &Catalog) -> bool {
    plan.artifacts()
        .any(|artifact| scope.holds(artifact, policy, catalog))
}

/// The plan pinned by what publishers prove, and the artifacts that were proven for it.
///
/// # Errors
/// An artifact cannot be fetched or proven.
pub fn pin_plan(
    plan: Plan,
    scope: PinScope,
    acquirer: &Acquirer<'_>,
) -> Result<(Plan, Vec<VerifiedArtifact>)> {
    let catalog = &acquirer.trees.catalog;
    let mut needed = Vec::new();
    for artifact in plan.artifacts() {
        if scope.holds(artifact, acquirer.policy, catalog) {
            require_provable(artifact)?;
            needed.push(artifact);
        }
    }

    let verified = acquirer.prove_artifacts(&needed, ProofScope::Publisher)?;
    let mut proven = Vec::new();
    for artifact in &verified {
        acquirer
            .printer
            .print_note(&format!("proven: {}", artifact.format_summary()));
        proven.push(artifact.artifact().clone());
    }
    Ok((plan.with_pins(Pins::Proven(&proven)), verified))
}

/// Fetches and proves what the gate admitted. `earlier` holds artifacts that [`pin_plan`] has proven.
///
/// # Errors
/// An artifact or a user's file cannot be fetched or proven.
pub fn prove_plan(
    mut admitted: Admitted,
    earlier: &[VerifiedArtifact],
    acquirer: &Acquirer<'_>,
) -> Result<ProvenPlan> {
    let plan = admitted.pinned().plan();
    let known =
        |artifact: &PlannedArtifact| earlier.iter().find(|known| known.artifact() == artifact);
    let open: Vec<&PlannedArtifact> = plan
        .artifacts()
        .filter(|artifact| known(artifact).is_none())
        .collect();
    let mut fresh = acquirer
        .prove_artifacts(&open, ProofScope::Signatures)?
        .into_iter();
    let artifacts: Vec<VerifiedArtifact> = plan
        .artifacts()
        .filter_map(|artifact| known(artifact).cloned().or_else(|| fresh.next()))
        .collect();
    let user_files = acquirer.fetch_user_files(&plan.selection)?;
    admitted.record_members(artifacts.iter().map(VerifiedArtifact::artifact));
    Ok(ProvenPlan {
        admitted,
        artifacts,
        user_files,
    })
}

/// Pins, admits and proves a plan in one go.
///
/// # Errors
/// As [`pin_plan`] and [`prove_plan`]; the policy refuses the plan.
pub fn acquire_plan(plan: Plan, acquirer: &Acquirer<'_>) -> Result<ProvenPlan> {
    let (plan, earlier) = pin_plan(plan, PinScope::Needed, acquirer)?;
    let admitted = crate::trust::admit(
        PinnedPlan::new(plan)?,
        acquirer.policy,
        &acquirer.trees.catalog,
    )?;
    prove_plan(admitted, &earlier, acquirer)
}

fn require_provable(artifact: &PlannedArtifact) -> Result<(), Unprovable> {
    if artifact.is_pinned() || artifact.is_signed() || !artifact.checksums.is_empty() {
        return Ok(());
    }
    Err(Unprovable {
        title: artifact.title(),
        artifact: Box::new(artifact.clone()),
    })
}

/// An artifact without a recorded digest, of which the publisher offers no proof.
#[derive(Debug, thiserror::Error)]
#[error("no digest is recorded for {title}, and its publisher offers no proof")]
pub struct Unprovable {
    title: String,
    artifact: Box<PlannedArtifact>,
}

impl Classify for Unprovable {
    fn remedies(&self) -> Vec<String> {
        let PlannedArtifact { component, url, .. } = self.artifact.as_ref();
        vec![format!(
            "verify {url} yourself and state its digest: `--override {component}.sha256=<64 digits>`"
        )]
    }

    fn code(&self) -> Code {
        Code::UNPINNED
    }
}
