//! `imagegen fetch`, and what `lock` and `build` do with the network: download and prove.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cli::{NetworkArgs, OnlineArgs};
use crate::error::{ErrorClass, UsageError, class};
use crate::fetch::{Fetched, Fetcher, Request};
use crate::io::clock;
use crate::model::evidence::Evidence;
use crate::model::plan::{Plan, PlannedArtifact};
use crate::model::policy::Policy;
use crate::model::resource::PinAlgorithm;
use crate::prove::{Depth, Keys, Trust, VerifiedArtifact, prove, stated};
use crate::tools::{Tools, install};
use crate::ui::{Downloads, Printer};
use crate::verify::chain::PinnedRoots;

use super::network::{absolute, fetcher, own_files, request};
use super::prepare::{Trees, locked_plan_and_policy, planned_tools, trees};

/// What `imagegen fetch` says of each file.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FetchOutput {
    pub component: String,
    pub version: String,
    pub url: String,
    pub sha256: String,
    pub size: u64,
    /// The file in the store.
    pub path: String,
    pub evidence: Vec<Evidence>,
}

pub(super) fn fetch(args: &OnlineArgs, manifests: Option<&Path>, printer: &Printer) -> anyhow::Result<()> {
    let trees = trees(manifests)?;
    let (plan, policy) = locked_plan_and_policy(&args.selection, &args.lock, &trees)?;
    let fetcher = fetcher(&args.network, &policy)?;
    let artifacts: Vec<&PlannedArtifact> = plan.artifacts().collect();
    let job = Job { trees: &trees, policy: &policy, fetcher: &fetcher, jobs: args.network.jobs, printer };
    let verified = job.run(&artifacts, Depth::Bytes)?;
    job.own_files(&plan)?;
    let output: Vec<FetchOutput> = verified
        .iter()
        .map(|verified| FetchOutput {
            component: verified.artifact().component.clone(),
            version: verified.artifact().version.to_string(),
            url: verified.fetched().url().to_owned(),
            sha256: verified.fetched().sha256().to_owned(),
            size: verified.fetched().size(),
            path: verified.fetched().path().display().to_string(),
            evidence: verified.artifact().evidence.clone(),
        })
        .collect();
    printer.result(&output, || verified.iter().map(line).collect())
}

/// `kubelet 1.36.0  pinned` with the proofs by name.
pub(super) fn line(verified: &VerifiedArtifact) -> String {
    let artifact = verified.artifact();
    let mut proofs: Vec<&str> = artifact.evidence.iter().map(|proof| proof.proof.as_str()).collect();
    proofs.dedup();
    format!("{:<32} {}\n", artifact.title(), proofs.join(", "))
}

/// What downloading and proving is done with.
pub(super) struct Job<'a> {
    pub trees: &'a Trees,
    pub policy: &'a Policy,
    pub fetcher: &'a Fetcher,
    pub jobs: usize,
    pub printer: &'a Printer,
}

impl Job<'_> {
    /// The digest of a file that nobody pinned and that is in the store all the same, where its publisher
    /// signs what he states. One who does not sign is asked for the file itself: he may contradict himself.
    fn known(&self, artifact: &PlannedArtifact) -> Option<(PinAlgorithm, String)> {
        let store = self.fetcher.store();
        let signs = artifact.signatures.iter().any(|signature| signature.kind.over_checksums());
        if artifact.is_pinned() || !signs || store.find_url(&artifact.url).is_none() {
            return None;
        }
        let mut stated = stated(artifact, self.fetcher).into_iter();
        stated.find(|(algorithm, digest)| store.find(*algorithm, digest).is_some())
    }

    /// Fetches what the image definition names with digests of its own, which stand in the image definition.
    pub(super) fn own_files(&self, plan: &Plan) -> anyhow::Result<Vec<Fetched>> {
        self.fetch(&own_files(&plan.selection)?)
    }

    fn fetch(&self, requests: &[Request]) -> anyhow::Result<Vec<Fetched>> {
        let total = requests.iter().filter_map(|request| request.size).sum();
        let downloads = Downloads::new(self.printer, requests.len(), total);
        all(self.fetcher.fetch(requests, self.jobs, &downloads), self.printer)
    }

    /// Fetches and proves; every failure is told, the first is the error.
    pub(super) fn run(
        &self,
        artifacts: &[&PlannedArtifact],
        depth: Depth,
    ) -> anyhow::Result<Vec<VerifiedArtifact>> {
        let requests = artifacts
            .iter()
            .map(|artifact| {
                let component = self.trees.catalog.component(&artifact.component).ok();
                let mut request = request(artifact, component.as_deref())?;
                request.digests.extend(self.known(artifact));
                Ok(request)
            })
            .collect::<anyhow::Result<Vec<Request>>>()?;
        let fetched = self.fetch(&requests)?;
        let keys = Keys::read(self.trees.catalog.tree())?;
        let roots = PinnedRoots::read(self.trees.catalog.tree())?;
        let trust = Trust {
            fetcher: self.fetcher,
            policy: self.policy,
            keys: &keys,
            roots: &roots,
            now: clock::now(),
        };
        let proven = artifacts
            .iter()
            .zip(&fetched)
            .map(|(artifact, fetched)| prove(artifact, fetched, depth, trust))
            .collect();
        all(proven, self.printer)
    }
}

pub(super) fn all<T, E: Into<anyhow::Error>>(
    outcomes: Vec<Result<T, E>>,
    printer: &Printer,
) -> anyhow::Result<Vec<T>> {
    let mut good = Vec::new();
    let mut failed: Vec<anyhow::Error> = Vec::new();
    for outcome in outcomes {
        match outcome {
            Ok(value) => good.push(value),
            Err(error) => failed.push(error.into()),
        }
    }
    // An interrupt is why the others did not come.
    let interrupted = |error: &anyhow::Error| class(error) == ErrorClass::Interrupted;
    if let Some(at) = failed.iter().position(interrupted) {
        return Err(failed.swap_remove(at));
    }
    let mut failed = failed.into_iter();
    let Some(first) = failed.next() else { return Ok(good) };
    for other in failed {
        printer.error(&crate::error::told(&other));
    }
    Err(first)
}

/// The programs to bake with: the user's own, or those of the store, fetched and proven first.
///
/// # Errors
/// The target's plugin is no component of the catalog, or cannot be fetched or proven.
pub(super) fn tools(own: Option<&PathBuf>, plan: &Plan, job: &Job<'_>) -> anyhow::Result<Tools> {
    if let Some(packer) = own {
        // A bare name is looked up in the PATH.
        let named = packer.components().count() == 1 && !packer.is_absolute();
        let packer = if named { packer.clone() } else { absolute(packer)? };
        return Ok(Tools { packer, plugins: None });
    }
    let Some(packer) = &plan.packer else {
        return Err(anyhow::anyhow!("target {} is not built by Packer", plan.target.name));
    };
    let planned = planned_tools(plan, job.trees).into_iter().map(|(_, _, artifact)| artifact);
    let artifacts = planned.collect::<anyhow::Result<Vec<PlannedArtifact>>>()?;
    let wanted: Vec<&PlannedArtifact> = artifacts.iter().collect();
    let verified = job.run(&wanted, Depth::Bytes)?;
    let plugins: Vec<_> = packer.plugins.iter().zip(&verified[1..]).collect();
    Ok(install(job.fetcher.store(), &verified[0], &plugins)?)
}

/// Pins what nobody has pinned by what its publisher proves, and says by what.
///
/// # Errors
/// Something cannot be fetched or proven.
pub(super) fn pin_online(
    plan: &mut Plan,
    policy: &Policy,
    trees: &Trees,
    network: &NetworkArgs,
    every: bool,
    printer: &Printer,
) -> anyhow::Result<Vec<VerifiedArtifact>> {
    let wanted: Vec<PlannedArtifact> =
        plan.artifacts().filter(|artifact| every || !artifact.is_pinned()).cloned().collect();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    for artifact in wanted.iter().filter(|artifact| !artifact.is_pinned()) {
        let offers = !artifact.checksums.is_empty()
            || !artifact.signatures.is_empty()
            || artifact.authenticode.is_some();
        if !offers {
            return Err(unprovable(artifact));
        }
    }
    let fetcher = fetcher(network, policy)?;
    let job = Job { trees, policy, fetcher: &fetcher, jobs: network.jobs, printer };
    let wanted: Vec<&PlannedArtifact> = wanted.iter().collect();
    let verified = job.run(&wanted, Depth::Publisher)?;
    for one in &verified {
        let proven = one.artifact();
        printer.note(&format!("proven: {}", line(one).trim_end()));
        for artifact in plan.groups.iter_mut().flat_map(|group| &mut group.artifacts) {
            if artifact.component == proven.component && artifact.url == proven.url {
                *artifact = proven.clone();
            }
        }
    }
    plan.forget_unpinned();
    Ok(verified)
}

fn unprovable(artifact: &PlannedArtifact) -> anyhow::Error {
    UsageError {
        message: format!(
            "{} {} cannot be locked: nobody has pinned it and its publisher offers no proof of any kind",
            artifact.component, artifact.version
        ),
        hint: Some(format!(
            "check {} yourself and state its digest: `--override {}.sha256=<64 digits>`",
            artifact.url, artifact.component
        )),
    }
    .into()
}
