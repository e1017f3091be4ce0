//! How well the bytes of an artifact are attested: by records of the catalog and of the policy, and by proofs
//! that were just made. Neither a definition nor a lock can say it of itself.

use url::Url;

use crate::base::url::parse_host;
use crate::base::value::{FileDigest, PinAlgorithm};
use crate::catalog::Catalog;
use crate::diagnostic::Finding;
use crate::model::component::Confidence;
use crate::model::evidence::{Evidence, ProofKind};
use crate::model::plan::{PinnedDigest, PlannedArtifact};
use crate::model::policy::{Policy, Role, TrustedDigest};

use super::subject::Subject;

/// Scheme, host and port of a URL in their normal form: one server has one origin, however it is written.
#[must_use]
pub fn parse_origin(url: &str) -> String {
    let Ok(url) = Url::parse(url) else {
        return String::new();
    };
    let host = url.host_str().unwrap_or_default().to_ascii_lowercase();
    let port = url.port_or_known_default().unwrap_or_default();
    format!("{}://{}:{port}", url.scheme(), host.trim_end_matches('.'))
}

/// Whether two URLs are of one host, whatever port and scheme they name: whoever runs a host runs all of it.
fn is_same_host(one: &str, other: &str) -> bool {
    let host = |url: &str| parse_host(url).trim_end_matches('.').to_ascii_lowercase();
    host(one) == host(other)
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
            .is_some_and(|source| !is_same_host(source, artifact.url.public_url()))
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

/// Entries of the policy for these bytes.
fn find_trusted<'a>(
    policy: &'a Policy,
    digest: &'a str,
) -> impl Iterator<Item = &'a TrustedDigest> {
    let trusted = policy.trusted_digests.iter();
    trusted.filter(|own| own.digest.eq_ignore_ascii_case(digest))
}

/// Whether the policy names these bytes, and names them for this subject.
pub(super) fn is_trusted_digest(policy: &Policy, digest: &str, subject: &Subject<'_>) -> bool {
    find_trusted(policy, digest).any(|own| subject.is_within(own.scope()))
}

/// Bytes that the policy trusts for something else: they are not what the definition calls them.
pub(super) fn check_foreign_digests(policy: &Policy, subject: &Subject<'_>) -> Option<Finding> {
    if matches!(subject.role, Role::OwnFile | Role::GuestScript) {
        // Refused wherever they are not trusted.
        return None;
    }
    let is_foreign = |digest: &&FileDigest| {
        let digest = digest.as_str();
        find_trusted(policy, digest).next().is_some() && !is_trusted_digest(policy, digest, subject)
    };
    let digest = subject.digests.iter().find(is_foreign)?;
    let named = find_trusted(policy, digest.as_str()).flat_map(|own| &own.components);
    let named: Vec<&str> = named.map(String::as_str).collect();
    let message = format!(
        "the policy trusts the digest {digest} for {}, and not for it",
        named.join(", ")
    );
    let remedy = format!(
        "give the digest of the right file, or add to the policy: `\"trustedDigests\": [{}]`",
        format_trusted(subject, digest.as_str())
    );
    Some(Finding::new("trustedDigests", message, remedy).with_subject(&subject.title))
}

/// The entry of `trustedDigests` for a subject.
pub(super) fn format_trusted(subject: &Subject<'_>, digest: &str) -> String {
    format!(
        r#"{{"digest": "{digest}", "components": ["{}"]}}"#,
        subject.name
    )
}

/// Where the identity of an artifact's bytes is recorded: `catalog`, or `policy`; none where only the definition, a
/// lockfile or proofs pin it.
#[must_use]
pub fn find_record(
    policy: &Policy,
    artifact: &PlannedArtifact,
    catalog: &Catalog,
) -> Option<&'static str> {
    let subject = Subject::from_artifact(artifact);
    let component = catalog.load_component(&artifact.component).ok();
    let is_pinned = |digest: &str| {
        let pins = component.iter();
        pins.flat_map(|component| component.find_pins(&artifact.version))
            .any(|pin| pin.is_usable() && pin.digest.as_str() == digest)
    };
    artifact.digests.iter().find_map(|pin| {
        let digest = pin.digest.as_str();
        if is_pinned(digest) {
            Some("catalog")
        } else {
            is_trusted_digest(policy, digest, &subject).then_some("policy")
        }
    })
}

/// Confidence of catalog and policy in a digest; a digest that neither names is stated by the definition or the
/// lock alone.
fn rate_digest(
    policy: &Policy,
    artifact: &PlannedArtifact,
    pin: &PinnedDigest,
    catalog: &Catalog,
) -> Confidence {
    if is_trusted_digest(
        policy,
        pin.digest.as_str(),
        &Subject::from_artifact(artifact),
    ) {
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
        .any(|digest| is_trusted_digest(policy, digest.as_str(), subject))
    {
        return None;
    }
    let message = format!(
        "the image definition alone states its digest, below `{}`",
        minimum.as_str()
    );
    let remedy = format!(
        "verify it and add it to the policy: `\"trustedDigests\": [{}]`",
        format_trusted(subject, digest.as_str())
    );
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
        "verify the file and add it to the policy (`\"trustedDigests\": [{}]`), or override {} with a build that \
         is signed",
        format_trusted(&Subject::from_artifact(artifact), digest),
        artifact.component
    );
    Some(Finding::new("minimumConfidence", message, remedy).with_subject(artifact.title()))
}
