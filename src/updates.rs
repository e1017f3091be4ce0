//! Publishers' releases that are newer than a plan's: `imagegen outdated` prints them, `lock --update` takes them.

mod answers;
mod github;
mod images;
mod pin;
mod plannable;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;

use crate::acquire::{HeaderGrants, SIDECAR, collect_outcomes};
use crate::base::code::Code;
use crate::base::secret::Secret;
use crate::base::url::HttpUrl;
use crate::base::version::Version;
use crate::catalog::Trees;
use crate::diagnostic::{Classify as _, Error, Result};
use crate::fetch::{FetchError, Fetcher};
use crate::model::component::Component;
use crate::model::definition::ImageDefinition;
use crate::model::evidence::ProofKind;
use crate::model::line::Minor;
use crate::model::plan::{Plan, PlannedArtifact};
use crate::model::upstream::UpstreamError;
use crate::resolve::{KUBERNETES, plan_artifact};
use crate::trust::parse_origin;
use crate::ui::Printer;

pub use answers::Answers;
pub use images::{LockedImages, OutdatedImage, check_images};
pub use pin::{PinRequest, pin_digest};

/// The longest list: a hundred releases with all their files.
const LARGEST_LIST: u64 = 32 << 20;

/// Publishers' releases of one thing that an image holds.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutdatedOutput {
    /// Component, or `kubernetes` for all that has its version.
    pub name: String,
    pub planned: Version,
    /// The newest that this Kubernetes line works with; none where the planned one is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newer: Option<Version>,
    /// By what `newer` could be pinned; none where nobody proves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<ProofKind>,
    /// The newest of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest: Option<Version>,
    /// Why `lock --update` leaves it where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
}

/// One row of `imagegen outdated`.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum OutdatedRow {
    Release(Box<OutdatedOutput>),
    Image(OutdatedImage),
}

/// Inputs of asking publishers.
#[derive(Debug)]
pub struct Upstreams<'a> {
    pub plan: &'a Plan,
    /// As the user has it, before defaults are written out.
    pub definition: &'a ImageDefinition,
    pub trees: &'a Trees,
    pub fetcher: &'a Fetcher,
    pub grants: &'a HeaderGrants,
}

/// Something of the plan that has a version of its own.
#[derive(Debug)]
pub struct UpdateCandidate<'a> {
    name: &'a str,
    artifact: &'a PlannedArtifact,
    component: Arc<Component>,
}

impl Upstreams<'_> {
    /// Versions that an update of these names, or of everything that is not held, moves to.
    ///
    /// # Errors
    /// A name is none of the plan, or is held where it is; a list cannot be had.
    pub fn find_updates(&self, names: &[String], printer: &Printer) -> Result<Vec<OutdatedOutput>> {
        let mut subjects = self.list_candidates()?;
        if let Some(unknown) = names
            .iter()
            .find(|name| !subjects.iter().any(|it| it.name == *name))
        {
            return Err(self.unknown_name(unknown, &subjects));
        }
        subjects
            .retain(|subject| names.is_empty() || names.iter().any(|name| name == subject.name));
        let rows = self.check_releases(&subjects, printer)?;
        if let Some((row, held)) = rows.iter().find_map(|row| Some((row, row.held.as_ref()?)))
            && !names.is_empty()
        {
            let message = format!(
                "--update {0}: {0} stays at {1}: {held}",
                row.name, row.planned
            );
            return Err(Error::value(
                message,
                "`imagegen outdated` shows what can be updated",
            ));
        }
        Ok(rows
            .into_iter()
            .filter(|row| row.newer.is_some() && row.held.is_none())
            .collect())
    }

    fn unknown_name(&self, name: &str, subjects: &[UpdateCandidate<'_>]) -> Error {
        let follows = self
            .plan
            .artifacts()
            .any(|artifact| artifact.component == name);
        let names: Vec<&str> = subjects.iter().map(|subject| subject.name).collect();
        Error::value(
            format!("--update {name}: this image has no separate version of it"),
            if follows {
                format!("{name} follows the version of Kubernetes: use `--update {KUBERNETES}`")
            } else {
                format!("choose one of {}", names.join(", "))
            },
        )
    }

    /// One for each version that can move; all that has Kubernetes' version is one.
    ///
    /// # Errors
    /// The catalog cannot be read.
    pub fn list_candidates(&self) -> Result<Vec<UpdateCandidate<'_>>> {
        let contents = self.trees.catalog.load_contents()?;
        let parts = contents
            .groups
            .iter()
            .flat_map(|group| group.alternatives.iter().flatten());
        let follow: BTreeSet<&str> = parts
            .filter(|part| part.follows_kubernetes)
            .map(|part| part.component.as_str())
            .collect();
        let mut subjects: Vec<UpdateCandidate<'_>> = Vec::new();
        for artifact in self.plan.artifacts() {
            let name = artifact.component.as_str();
            let name = if follow.contains(name) {
                KUBERNETES
            } else {
                name
            };
            if !subjects.iter().any(|known| known.name == name) {
                let component = self.trees.catalog.load_component(&artifact.component)?;
                subjects.push(UpdateCandidate {
                    name,
                    artifact,
                    component,
                });
            }
        }
        Ok(subjects)
    }

    /// # Errors
    /// A list of releases cannot be downloaded or parsed.
    pub fn check_releases(
        &self,
        subjects: &[UpdateCandidate<'_>],
        printer: &Printer,
    ) -> Result<Vec<OutdatedOutput>> {
        collect_outcomes(
            subjects
                .iter()
                .map(|subject| self.check_release(subject))
                .collect(),
            printer,
        )
    }

    fn check_release(&self, subject: &UpdateCandidate<'_>) -> Result<OutdatedOutput> {
        let planned = &subject.artifact.version;
        let mut row = OutdatedOutput {
            name: subject.name.to_owned(),
            planned: planned.clone(),
            newer: None,
            proof: None,
            newest: None,
            held: self.hold_reason(subject),
        };
        let Some(upstream) = &subject.component.definition.upstream else {
            row.held = row
                .held
                .or(Some("the catalog has no list of its releases".to_owned()));
            return Ok(row);
        };
        let url: HttpUrl = upstream
            .list_url(&self.plan.line.minor.to_string())
            .parse()?;
        let Some(list) = self.fetch_list(subject, &url)? else {
            row.held = row
                .held
                .or(Some("its publisher has no list of this line".to_owned()));
            return Ok(row);
        };
        let versions = upstream
            .parse_releases(&list)
            .map_err(|reason| UpstreamError {
                name: subject.name.to_owned(),
                url: url.to_string(),
                reason,
            })?;
        row.newest = versions.last().cloned();
        let newer: Vec<Version> = versions
            .into_iter()
            .filter(|version| version > planned && self.fits_line(subject, version))
            .collect();
        row.newer = newer.last().cloned();
        if let Some(version) = &row.newer {
            let artifact = plan_artifact(&subject.component, version, &self.definition.overrides);
            if let Ok((artifact, _)) = artifact {
                row.proof = self.find_proof(subject, &artifact)?;
            }
            if row.proof.is_none() {
                row.held = row
                    .held
                    .or(Some(format!("{version} has no proof of its publisher")));
            }
        }
        Ok(row)
    }

    /// A list of releases; none where there is none.
    fn fetch_list(&self, subject: &UpdateCandidate<'_>, url: &HttpUrl) -> Result<Option<Vec<u8>>> {
        let name = subject.name;
        let ask = |headers: &[(String, Secret)]| {
            self.fetcher.fetch_small(name, url, LARGEST_LIST, headers)
        };
        let login = github::read_login(url, |name| std::env::var(name).ok());
        let answer = match login.filter(|_| !self.fetcher.is_mirrored(url)) {
            None => ask(&[]),
            Some(login) => match ask(&[login]) {
                // A token that expired, or that its owner restricted, takes nothing away.
                Err(error) if matches!(error.code(), Code::FORBIDDEN | Code::RATE_LIMIT) => {
                    ask(&[])
                }
                answer => answer,
            },
        };
        match answer {
            Ok(list) => Ok(Some(list)),
            // Limits of an API say nothing about the list.
            Err(error) if error.failure.code() == Code::NOT_FOUND => Ok(None),
            Err(error) => Err(error.of_answer().into()),
        }
    }

    /// Why the user's own words leave it where it is.
    fn hold_reason(&self, subject: &UpdateCandidate<'_>) -> Option<String> {
        if subject.name == KUBERNETES {
            let asked = self
                .definition
                .kubernetes
                .as_deref()
                .unwrap_or("stable")
                .trim_start_matches('v');
            if asked != "stable" && asked != self.plan.line.minor.to_string() {
                return Some(format!("the selection names {asked}, not a line"));
            }
        } else if self.definition.components.contains_key(subject.name) {
            return Some("the selection names its version".to_owned());
        }
        let moves = self
            .plan
            .artifacts()
            .filter(|artifact| artifact.version == subject.artifact.version);
        moves
            .filter(|it| subject.name == KUBERNETES || it.component == subject.name)
            .find_map(|artifact| {
                let over = self.definition.overrides.get(artifact.component.as_str())?;
                let one_file = over
                    .url
                    .as_ref()
                    .is_some_and(|url| !url.public_url().contains("{version"));
                let one_digest = over.sha256.is_some() || over.sha512.is_some();
                (one_file || one_digest)
                    .then(|| format!("an override names one file of {}", artifact.component))
            })
    }

    fn fits_line(&self, subject: &UpdateCandidate<'_>, version: &Version) -> bool {
        if version.is_prerelease() {
            return false;
        }
        if subject.name == KUBERNETES {
            return Minor::from_release(version) == Some(self.plan.line.minor);
        }
        let choice = subject.component.find_choice(self.plan.line.minor);
        choice.is_none_or(|choice| choice.allowed.contains(version))
            && subject
                .component
                .definition
                .releases
                .iter()
                .any(|release| release.versions.contains(version))
    }

    /// By what the artifact could be pinned. Checksum files are looked for, signatures believed to be there.
    fn find_proof(
        &self,
        subject: &UpdateCandidate<'_>,
        artifact: &PlannedArtifact,
    ) -> Result<Option<ProofKind>> {
        if artifact.is_pinned() {
            return Ok(Some(ProofKind::Pin));
        }
        let none = BTreeMap::new();
        for checksum in &artifact.checksums {
            let beside =
                parse_origin(checksum.url.public_url()) == parse_origin(artifact.url.public_url());
            let headers = if beside { &artifact.headers } else { &none };
            match self.fetch_checksums(subject, &checksum.url, headers)? {
                Ok(_) => return Ok(Some(ProofKind::ChecksumFile)),
                Err(error) if error.is_absent() || error.is_offline() => {}
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(signature) = artifact.signatures.first() {
            return Ok(Some(signature.kind.proof_kind()));
        }
        let is_signed = artifact.authenticode.is_some();
        Ok(is_signed.then_some(ProofKind::Authenticode))
    }

    fn fetch_checksums(
        &self,
        subject: &UpdateCandidate<'_>,
        url: &HttpUrl,
        names: &BTreeMap<String, String>,
    ) -> Result<Result<Vec<u8>, FetchError>> {
        let name = subject.name;
        let headers = self.grants.read_headers(names, name, url)?;
        Ok(self.fetcher.fetch_small(name, url, SIDECAR, &headers))
    }
}
