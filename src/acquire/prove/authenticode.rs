//! Authenticode of a file, or of the members of an archive.

use std::path::Path;

use crate::base::code::Code;
use crate::fetch::FetchedArtifact;
use crate::io::fs::{self, FileError};
use crate::model::component::Authenticode;
use crate::model::evidence::{Evidence, ProofKind};
use crate::model::plan::PlannedArtifact;
use crate::verify::archive::{self, Limits, WantedMembers};
use crate::verify::authenticode::{Publisher, SignatureDemand, verify_source};
use crate::verify::chain::{PinnedRoots, parse_roots};
use crate::verify::{ProofError, Proven, record_evidence};
use crate::windows::resource::ArchiveFormat;

use super::ProveError;

/// Largest file whose signature is looked at.
const LARGEST: u64 = 1 << 30;

/// A file that carries its signature, or an archive whose members do.
#[derive(Debug, Clone, Copy)]
pub struct SignedArtifact<'a> {
    pub path: &'a Path,
    /// Name by which evidence calls it.
    pub name: &'a str,
    /// Where it came from; none where it was here.
    pub source: Option<&'a str>,
    /// None where the file itself is signed.
    pub archive: Option<SignedMembers<'a>>,
}

/// Globs over the members of an archive.
#[derive(Debug, Clone, Copy)]
pub struct SignedMembers<'a> {
    pub format: ArchiveFormat,
    pub signed: &'a [String],
    /// Members that may be unsigned, and must be.
    pub unsigned: &'a [String],
}

impl SignedArtifact<'_> {
    /// One piece of evidence for the file, or for each member that is to be signed.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn check_authenticode(&self, demand: &SignatureDemand) -> Result<Vec<Evidence>, FileError> {
        let Some(members) = self.archive else {
            let outcome = verify_source(self.name, &mut fs::open_file(self.path)?, demand);
            return Ok(vec![self.record(self.name, outcome)]);
        };
        let mut found = Vec::new();
        let walked = archive::read_members(
            fs::open_file(self.path)?,
            members.format,
            &WantedMembers::from_globs(members.signed),
            &Limits {
                entry: LARGEST,
                ..Limits::default()
            },
            &mut |entry, content| {
                let mut member = fs::spool_stream(content)
                    .map_err(|error| archive::unreadable_error(entry, &error))?;
                let outcome = verify_source(&entry.name, &mut member, demand);
                if let Some(outcome) = members.judge(&entry.name, outcome) {
                    let subject = format!("{}!{}", self.name, entry.name);
                    found.push(self.record(&subject, outcome));
                }
                Ok(())
            },
        );
        if let Err(error) = walked {
            found.push(self.record(self.name, Err(error)));
        }
        Ok(found)
    }

    fn record(&self, subject: &str, outcome: Result<Proven, ProofError>) -> Evidence {
        record_evidence(ProofKind::Authenticode, subject, self.source, outcome)
    }
}

impl SignedMembers<'_> {
    /// The outcome of a member; none where it is unsigned and may be.
    fn judge(
        &self,
        name: &str,
        outcome: Result<Proven, ProofError>,
    ) -> Option<Result<Proven, ProofError>> {
        let mut exceptions = self.unsigned.iter();
        if !exceptions.any(|glob| archive::matches_glob(glob, name)) {
            return Some(outcome);
        }
        match outcome {
            Err(error) if error.code == Code::UNSIGNED => None,
            Err(error) => Some(Err(error)),
            Ok(_) => {
                let message = "it is signed; remove it from `unsigned`";
                Some(Err(ProofError::new(Code::EXCEPTION_UNNECESSARY, message)))
            }
        }
    }
}

/// The signatures that an artifact carries, as the catalog declares them.
pub(super) fn check_declared(
    artifact: &PlannedArtifact,
    fetched: &FetchedArtifact,
    pinned: &PinnedRoots,
    now: u64,
) -> Result<Vec<Evidence>, ProveError> {
    let Some(wanted) = &artifact.authenticode else {
        return Ok(Vec::new());
    };
    let demand = build_demand(wanted, pinned, now)?;
    let format = artifact.kind.archive_format();
    let archive = format
        .filter(|_| !wanted.members.is_empty())
        .map(|format| SignedMembers {
            format,
            signed: &wanted.members,
            unsigned: &wanted.unsigned,
        });
    let file = SignedArtifact {
        path: fetched.path(),
        name: &artifact.file,
        source: Some(fetched.url()),
        archive,
    };
    Ok(file.check_authenticode(&demand)?)
}

fn build_demand(
    wanted: &Authenticode,
    pinned: &PinnedRoots,
    now: u64,
) -> Result<SignatureDemand, ProofError> {
    let mut demand = SignatureDemand::new(pinned, now);
    let publisher: Publisher = wanted
        .publisher
        .parse()
        .map_err(|error| ProofError::new(Code::PUBLISHER, format!("{error}")))?;
    demand.publisher = Some(publisher);
    if let Some(pem) = &wanted.roots {
        let own = parse_roots(pem.as_bytes())
            .map_err(|error| ProofError::new(Code::ROOTS, error.to_string()))?;
        demand = demand.with_own_roots(own);
    }
    Ok(demand)
}
