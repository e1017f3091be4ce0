//! Fetched files × what is published about them → verified artifacts with evidence.
//!
//! One failed proof refuses the artifact, even if others hold. An artifact that nobody has pinned needs at
//! least one proof by its publisher; then its digest is pinned by what was proven.

mod authenticode;
mod error;
mod members;
mod sidecar;
mod signatures;
mod statements;
mod stored;

use std::collections::BTreeMap;

use crate::base::code::Code;
use crate::base::secret::Secret;
use crate::base::url::HttpUrl;
use crate::base::value::{FileDigest, PinAlgorithm};
use crate::catalog::{Catalog, Keys};
use crate::fetch::{FetchedArtifact, Fetcher};
use crate::model::component::ChecksumFile;
use crate::model::evidence::{CONFIDENCE, Evidence, MIRRORED, ProofKind, UNPROVEN, Verdict};
use crate::model::plan::PlannedArtifact;
use crate::model::policy::Policy;
use crate::trust::{
    PolicyFault, check_evidence, declares_own_proof, is_unproven, is_waived, list_dropped,
    pin_digests, raise_confidence,
};
use crate::verify::chain::PinnedRoots;
use crate::verify::{ProofError, Proven, checksums, record_evidence};

pub use authenticode::{SignedArtifact, SignedMembers};
pub use error::ProveError;
pub(super) use sidecar::is_stored;
pub use sidecar::{SIDECAR, carried_name, find_sidecar};
use sidecar::{Sidecar, fetch_sidecar};
pub(super) use stored::write_proofs;
pub use stored::{StoredTrust, reprove_artifact};

/// Proofs that are asked for of a pinned artifact. Of one that nobody pinned, everything is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProofScope {
    /// Every declared signature. A checksum file from the origin of the bytes shows nothing that the pin does not
    /// show, unless a signature is over it.
    Signatures,
    /// The publisher's checksum files too.
    Publisher,
}

/// An artifact whose bytes are pinned and proven as the policy demands. Only `prove_artifact` makes one.
#[derive(Debug, Clone)]
pub struct VerifiedArtifact {
    artifact: PlannedArtifact,
    fetched: FetchedArtifact,
}

impl VerifiedArtifact {
    /// With its digests and evidence.
    pub fn artifact(&self) -> &PlannedArtifact {
        &self.artifact
    }

    pub fn fetched(&self) -> &FetchedArtifact {
        &self.fetched
    }

    /// `kubelet 1.36.0` with the proofs that hold, by name.
    pub fn format_summary(&self) -> String {
        let held = self
            .artifact
            .evidence
            .iter()
            .filter(|proof| proof.verdict.holds());
        let mut proofs: Vec<&str> = held.map(|proof| proof.proof.as_str()).collect();
        proofs.dedup();
        let waived = self.list_waived();
        let waived = if waived.is_empty() {
            String::new()
        } else {
            format!("; waived: {}", waived.join(", "))
        };
        format!(
            "{:<32} {}{waived}",
            self.artifact.title(),
            proofs.join(", ")
        )
    }

    /// Declared proofs that are missing and that a waiver accepts as missing.
    pub fn list_waived(&self) -> Vec<&'static str> {
        let waived = self
            .artifact
            .evidence
            .iter()
            .filter(|proof| proof.is_waived());
        let mut names: Vec<&str> = waived.map(|proof| proof.proof.as_str()).collect();
        names.dedup();
        names
    }
}

/// Code of a missing proof that a waiver accepts.
const WAIVED: Code = Code::PROOF_WAIVED;

/// The policy, roots and waivers that proofs are held against.
#[derive(Debug, Clone, Copy)]
pub struct Trust<'a> {
    pub fetcher: &'a Fetcher,
    pub policy: &'a Policy,
    pub catalog: &'a Catalog,
    pub keys: &'a Keys,
    pub roots: &'a PinnedRoots,
    /// Seconds since 1970.
    pub now: u64,
}

/// Proves a file that was fetched for an artifact.
///
/// # Errors
/// A proof fails, none can be had where one is needed, or the policy wants another.
pub fn prove_artifact(
    artifact: &PlannedArtifact,
    fetched: &FetchedArtifact,
    scope: ProofScope,
    trust: Trust<'_>,
) -> Result<VerifiedArtifact, ProveError> {
    let mut found = pin_evidence(artifact, fetched);
    let asked = select_sidecars(artifact, scope, trust);
    let sums = read_checksum_files(&asked, fetched, trust, &mut found)?;
    signatures::check_signatures(&asked, fetched, &sums, trust, &mut found)?;
    found.extend(authenticode::check_declared(
        artifact,
        fetched,
        trust.roots,
        trust.now,
    )?);
    statements::record_statements(artifact, fetched, trust, &mut found)?;
    found.extend(record_dropped(artifact, trust));
    require_evidence(artifact, &found, trust)?;
    let mut artifact = artifact.clone();
    members::verify_members(&mut artifact, fetched)?;
    if artifact.is_pinned() {
        raise_confidence(&mut artifact, &found);
    } else {
        artifact.digests = pin_digests(&artifact, fetched.file_digests()?, &found);
    }
    artifact.unproven = is_unproven(&artifact, &found, trust.policy);
    artifact.size = Some(fetched.size());
    artifact.evidence = found;
    Ok(VerifiedArtifact {
        artifact,
        fetched: fetched.clone(),
    })
}

/// The artifact with those of its declared checksum files and signatures that are asked for now.
fn select_sidecars(
    artifact: &PlannedArtifact,
    scope: ProofScope,
    trust: Trust<'_>,
) -> PlannedArtifact {
    let mut asked = artifact.clone();
    if scope == ProofScope::Publisher
        || !artifact.is_pinned()
        || requires_publisher(artifact, trust)
    {
        return asked;
    }
    // Without network, what the store has of them is verified: a signature that is there must hold.
    if trust.fetcher.is_offline() {
        asked
            .checksums
            .retain(|file| is_stored(&file.url, trust.fetcher));
        let sums = !asked.checksums.is_empty();
        asked.signatures.retain(|signature| {
            let urls = std::iter::once(&signature.url).chain(&signature.certificate_url);
            (sums || !signature.kind.signs_checksums())
                && urls.into_iter().all(|url| is_stored(url, trust.fetcher))
        });
    }
    if !asked
        .signatures
        .iter()
        .any(|signature| signature.kind.signs_checksums())
    {
        asked.checksums.clear();
    }
    asked
}

/// Digests that the publisher's checksum files state, for looking into the store. Nothing of it is believed
/// before [`prove_artifact`] has seen the bytes and the signature.
pub fn read_stated_digests(
    artifact: &PlannedArtifact,
    headers: &[(String, Secret)],
    network: &Fetcher,
) -> Vec<FileDigest> {
    let files = artifact.checksums.iter();
    files
        .filter_map(|file| {
            let sidecar = fetch_sidecar(artifact, headers, &file.url, network).ok()??;
            let url = &artifact.url;
            let line = checksums::find_url_line(&sidecar.bytes, url, file.algorithm).ok()?;
            FileDigest::new(file.algorithm, line.digest).ok()
        })
        .collect()
}

/// Proofs that a provider declares of its own builds are asked for, whoever pinned them.
fn requires_publisher(artifact: &PlannedArtifact, trust: Trust<'_>) -> bool {
    !check_evidence(trust.policy, artifact, &[], trust.catalog).is_empty()
        || declares_own_proof(artifact, trust.catalog)
}

fn require_evidence(
    artifact: &PlannedArtifact,
    found: &[Evidence],
    trust: Trust<'_>,
) -> Result<(), ProveError> {
    let name = artifact.title();
    let policy = trust.policy;
    let failed = error::failed_proofs(&artifact.component, found);
    if !failed.is_empty() {
        return Err(ProveError::Failed { name, failed });
    }
    // What a file says of itself proves nothing.
    let mut held = found.iter().filter(|proof| proof.verdict.holds());
    if held.all(|proof| proof.proof == ProofKind::Statement) {
        return Err(ProveError::Nothing {
            name,
            component: artifact.component.to_string(),
        });
    }
    let findings = check_evidence(policy, artifact, found, trust.catalog);
    PolicyFault::Proof
        .refuse(policy, findings)
        .map_err(ProveError::Policy)
}

/// Fetching has compared every digest and size already.
fn pin_evidence(artifact: &PlannedArtifact, fetched: &FetchedArtifact) -> Vec<Evidence> {
    artifact
        .digests
        .iter()
        .map(|pin| {
            let (confidence, detail) = if artifact.unproven {
                let detail = "the bytes have the digest that the lockfile alone states";
                (UNPROVEN, detail.to_owned())
            } else {
                let source = pin.source.join(", ");
                let detail = format!("the bytes have the digest that {source} states");
                (pin.confidence.as_str(), detail)
            };
            let facts = [
                ("digest".to_owned(), pin.digest.to_string()),
                (CONFIDENCE.to_owned(), confidence.to_owned()),
            ];
            let outcome = Ok(Proven {
                verdict: Verdict::Verified,
                detail,
                facts: facts.into(),
            });
            record_evidence(ProofKind::Pin, &artifact.file, Some(fetched.url()), outcome)
        })
        .collect()
}

/// A checksum file that holds an entry for the artifact, for signatures over it.
pub(crate) struct VerifiedChecksums {
    pub url: String,
    pub bytes: Vec<u8>,
    /// The file that the entry names; none where the checksum file is a digest alone.
    pub line: Option<String>,
}

fn read_checksum_files(
    artifact: &PlannedArtifact,
    fetched: &FetchedArtifact,
    trust: Trust<'_>,
    found: &mut Vec<Evidence>,
) -> Result<Vec<VerifiedChecksums>, ProveError> {
    let mut sums = Vec::new();
    let mut missing = Vec::new();
    for checksum in &artifact.checksums {
        let Some(sidecar) =
            fetch_sidecar(artifact, fetched.headers(), &checksum.url, trust.fetcher)?
        else {
            missing.push(record_missing(
                artifact,
                ProofKind::ChecksumFile,
                &checksum.url,
                trust.policy,
            ));
            continue;
        };
        let outcome = compare_checksum(artifact, fetched, checksum, &sidecar);
        if let Ok(proven) = &outcome {
            sums.push(VerifiedChecksums {
                url: checksum.url.to_string(),
                bytes: sidecar.bytes,
                line: proven.facts.get(checksums::LINE).cloned(),
            });
        }
        let source = strip_url_secrets(&checksum.url);
        found.push(record_evidence(
            ProofKind::ChecksumFile,
            &artifact.file,
            Some(&source),
            outcome,
        ));
    }
    // Another declared file states the digest of the same bytes: it stands for the one that is missing.
    if !sums.is_empty() {
        for proof in &mut missing {
            proof.verdict = Verdict::Absent;
        }
    }
    found.append(&mut missing);
    Ok(sums)
}

fn compare_checksum(
    artifact: &PlannedArtifact,
    fetched: &FetchedArtifact,
    checksum: &ChecksumFile,
    sidecar: &Sidecar,
) -> Result<Proven, ProofError> {
    let actual = match checksum.algorithm {
        PinAlgorithm::Sha256 => fetched.sha256().to_owned(),
        PinAlgorithm::Sha512 => read_sha512(fetched)?,
    };
    let line = checksums::find_url_line(&sidecar.bytes, &artifact.url, checksum.algorithm)?;
    let stated = line.digest;
    if stated != actual {
        let message =
            format!("the publisher's checksum file states {stated}, the file has {actual}");
        return Err(ProofError::new(Code::CHECKSUM_MISMATCH, message));
    }
    let (verdict, detail) = if sidecar.carried {
        (
            Verdict::Absent,
            "a bundle brought this checksum file: it proves nothing by itself",
        )
    } else if sidecar.mirrored {
        (
            Verdict::Verified,
            "a mirror's copy of the publisher's checksum file states this digest",
        )
    } else if artifact.overridden.checksums.contains(&checksum.url) {
        (
            Verdict::Verified,
            "the checksum file that an override names states this digest",
        )
    } else {
        (
            Verdict::Verified,
            "the publisher's checksum file states this digest",
        )
    };
    Ok(Proven {
        verdict,
        detail: detail.to_owned(),
        facts: line
            .name
            .map(|name| (checksums::LINE.to_owned(), name))
            .into_iter()
            .chain([("digest".to_owned(), stated)])
            .chain(
                sidecar
                    .mirrored
                    .then(|| (MIRRORED.to_owned(), "true".to_owned())),
            )
            .collect(),
    })
}

fn read_sha512(fetched: &FetchedArtifact) -> Result<String, ProofError> {
    let both = fetched
        .read_both()
        .map_err(|error| ProofError::new(Code::UNREADABLE, error.to_string()))?;
    Ok(both.digest(PinAlgorithm::Sha512).to_owned())
}

fn strip_url_secrets(url: &HttpUrl) -> String {
    crate::base::url::strip_secrets(url.public_url())
}

/// Proofs that an override or a component file drops and a waiver names.
fn record_dropped(artifact: &PlannedArtifact, trust: Trust<'_>) -> Vec<Evidence> {
    let mut waived = list_dropped(artifact, trust.catalog);
    waived.retain(|proof| is_waived(trust.policy, artifact, *proof));
    let waived = waived.into_iter().map(|proof| Evidence {
        proof,
        verdict: Verdict::Absent,
        subject: artifact.file.clone(),
        code: Some(WAIVED.into()),
        detail: "this proof of the publisher is dropped; a waiver accepts that".to_owned(),
        source: None,
        facts: BTreeMap::new(),
    });
    waived.collect()
}

/// A declared proof that cannot be had has failed, unless it is waived by name.
fn record_missing(
    artifact: &PlannedArtifact,
    proof: ProofKind,
    url: &HttpUrl,
    policy: &Policy,
) -> Evidence {
    let waived = is_waived(policy, artifact, proof);
    let (verdict, code, detail) = if waived {
        (
            Verdict::Absent,
            WAIVED,
            "the server does not have it; a waiver accepts that",
        )
    } else {
        (
            Verdict::Failed,
            Code::PROOF_MISSING,
            "the publisher declares this proof, but the server does not have it",
        )
    };
    Evidence {
        proof,
        verdict,
        subject: artifact.file.clone(),
        code: Some(code.into()),
        detail: detail.to_owned(),
        source: Some(strip_url_secrets(url)),
        facts: BTreeMap::new(),
    }
}
