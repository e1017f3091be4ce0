//! How well the bytes of an artifact are attested: by records of the catalog and of the policy, and by proofs
//! that were just made. Neither a definition nor a lock can say it of itself.

use crate::base::value::{FileDigest, PinAlgorithm};
use crate::catalog::Catalog;
use crate::diagnostic::Finding;
use crate::model::component::Confidence;
use crate::model::evidence::{Evidence, ProofKind};
use crate::model::plan::{PinnedDigest, PlannedArtifact};
use crate::model::policy::{Policy, Role};

use super::subject::Subject;

/// Scheme, host and port of a URL.
#[must_use]
pub fn parse_origin(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    format!("{scheme}://{authority}").to_ascii_lowercase()
}

/// How well what was proven attests a digest. Whoever changes the bytes at their origin changes the
/// checksum file beside them too: that one shows no more than a whole transfer.
#[must_use]
pub fn rate_confidence(artifact: &PlannedArtifact, found: &[Evidence]) -> Confidence {
    let held = || found.iter().filter(|proof| proof.verdict.holds());
    let is_elsewhere = |proof: &Evidence| {
        proof
            .source
            .as_ref()
            .is_some_and(|source| parse_origin(source) != parse_origin(artifact.url.public_url()))
    };
    // A signature inside an archive attests its member alone.
    let covers = |proof: &Evidence, member: &str| {
        proof
            .subject
            .strip_prefix(&artifact.file)
            .and_then(|rest| rest.strip_prefix('!'))
            == Some(member)
    };
    let is_covered = |member: &str| held().any(|proof| covers(proof, member));
    let members =
        !artifact.members.is_empty() && artifact.members.iter().all(|it| is_covered(&it.member));
    let whole = held().any(|proof| proof.proof.is_signature() && !proof.subject.contains('!'));
    if whole || members {
        Confidence::Authoritative
    } else if held().any(|proof| proof.proof == ProofKind::ChecksumFile && is_elsewhere(proof)) {
        Confidence::Medium
    } else {
        Confidence::Low
    }
}

/// Pins of bytes that were proven by their publisher.
#[must_use]
pub fn pin_digests(
    artifact: &PlannedArtifact,
    digests: impl IntoIterator<Item = FileDigest>,
    found: &[Evidence],
) -> Vec<PinnedDigest> {
    let confidence = rate_confidence(artifact, found);
    let source: Vec<String> = found
        .iter()
        .filter(|proof| proof.verdict.holds())
        .map(|proof| match &proof.source {
            Some(source) => format!("{}: {source}", proof.proof.as_str()),
            None => proof.proof.as_str().to_owned(),
        })
        .collect();
    digests
        .into_iter()
        .map(|digest| PinnedDigest {
            digest,
            confidence,
            source: source.clone(),
        })
        .collect()
}

/// The fault in the record of an artifact that only its publisher's proofs have pinned: such a record has both
/// digests, and follows from the evidence beside it.
#[must_use]
pub fn find_unfounded_pins(locked: &PlannedArtifact) -> Option<String> {
    let digests: Vec<FileDigest> = locked
        .digests
        .iter()
        .map(|pin| pin.digest.clone())
        .collect();
    let algorithms: Vec<PinAlgorithm> = digests.iter().map(FileDigest::algorithm).collect();
    let held = || locked.evidence.iter().filter(|proof| proof.verdict.holds());
    let mut stated = held()
        .filter(|proof| proof.proof == ProofKind::ChecksumFile)
        .map(|proof| {
            proof
                .facts
                .get("digest")
                .map(String::as_str)
                .unwrap_or_default()
        });
    let founded = algorithms == [PinAlgorithm::Sha256, PinAlgorithm::Sha512]
        && held().next().is_some()
        && stated.all(|stated| digests.iter().any(|digest| digest.as_str() == stated))
        && held().all(|proof| proof.source.is_some())
        && pin_digests(locked, digests.clone(), &locked.evidence) == locked.digests;
    (!founded).then(|| {
        format!(
            "`artifacts[{}].digests` does not follow from the evidence beside it",
            locked.component
        )
    })
}

/// Whether the policy names these bytes.
pub(super) fn is_trusted_digest(policy: &Policy, digest: &str) -> bool {
    policy
        .trusted_digests
        .iter()
        .any(|own| own.eq_ignore_ascii_case(digest))
}

/// Confidence of catalog and policy in a digest; a digest that neither names is stated by the definition or the
/// lock alone.
fn rate_digest(
    policy: &Policy,
    artifact: &PlannedArtifact,
    pin: &PinnedDigest,
    catalog: &Catalog,
) -> Confidence {
    if is_trusted_digest(policy, pin.digest.as_str()) {
        return Confidence::Authoritative;
    }
    let component = catalog.load_component(&artifact.component).ok();
    let pins = component
        .iter()
        .flat_map(|component| component.find_pins(&artifact.version));
    let known = pins.filter(|known| known.digest.as_str() == pin.digest.as_str());
    known
        .map(|known| known.confidence)
        .max()
        .unwrap_or(Confidence::Low)
}

fn rate_pins(policy: &Policy, artifact: &PlannedArtifact, catalog: &Catalog) -> Option<Confidence> {
    artifact
        .digests
        .iter()
        .map(|pin| rate_digest(policy, artifact, pin, catalog))
        .max()
}

/// Before anything is fetched: an artifact without a signature that could attest more.
pub(super) fn check_confidence(
    policy: &Policy,
    artifact: &PlannedArtifact,
    catalog: &Catalog,
) -> Option<Finding> {
    let signed = !artifact.signatures.is_empty() || artifact.authenticode.is_some();
    let best = rate_pins(policy, artifact, catalog).filter(|_| !signed)?;
    report_low(policy, artifact, best)
}

/// After the proofs were made.
pub(super) fn check_proven_confidence(
    policy: &Policy,
    artifact: &PlannedArtifact,
    evidence: &[Evidence],
    catalog: &Catalog,
) -> Option<Finding> {
    let pinned = rate_pins(policy, artifact, catalog).unwrap_or(Confidence::Low);
    report_low(
        policy,
        artifact,
        pinned.max(rate_confidence(artifact, evidence)),
    )
}

/// Files and images of the definition: it alone states their digests.
pub(super) fn check_stated_digest(policy: &Policy, subject: &Subject<'_>) -> Option<Finding> {
    let minimum = policy
        .minimum_confidence
        .filter(|minimum| *minimum > Confidence::Low)?;
    if subject.outside {
        // The catalog states it, with its source.
        return None;
    }
    let Some(digest) = subject.digests.first() else {
        let message = "no digest attests its bytes";
        let remedy = match subject.role {
            Role::Update => "give updates as files with their digests (`updates.files`)",
            _ => "give its digest",
        };
        return Some(
            Finding::new("minimumConfidence", message, remedy).with_subject(&subject.title),
        );
    };
    if subject
        .digests
        .iter()
        .any(|digest| is_trusted_digest(policy, digest.as_str()))
    {
        return None;
    }
    let message = format!(
        "the image definition alone states its digest, below `{}`",
        minimum.as_str()
    );
    let remedy =
        format!("verify it and add it to the policy: `\"trustedDigests\": [\"{digest}\"]`");
    Some(Finding::new("minimumConfidence", message, remedy).with_subject(&subject.title))
}

fn report_low(policy: &Policy, artifact: &PlannedArtifact, best: Confidence) -> Option<Finding> {
    let minimum = policy
        .minimum_confidence
        .filter(|minimum| best < *minimum)?;
    let digest = artifact
        .digests
        .iter()
        .find(|pin| pin.digest.algorithm() == PinAlgorithm::Sha256);
    let digest = digest
        .or(artifact.digest())
        .map_or("…", |pin| pin.digest.as_str());
    let message = format!(
        "its digest is attested `{}`, below `{}`",
        best.as_str(),
        minimum.as_str()
    );
    let remedy = format!(
        "verify the file and add it to the policy (`\"trustedDigests\": [\"{digest}\"]`), or override {} \
         with a build that is signed",
        artifact.component
    );
    Some(Finding::new("minimumConfidence", message, remedy).with_subject(artifact.title()))
}
