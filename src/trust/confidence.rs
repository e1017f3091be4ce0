//! How well the bytes of an artifact are attested: by records of the catalog and of the policy, and by proofs
//! that were just made. Neither a definition nor a lock can say it of itself.

use url::Url;

use crate::base::code::Code;
use crate::base::url::{normalize_host, parse_host};
use crate::base::value::{FileDigest, PinAlgorithm};
use crate::catalog::Catalog;
use crate::diagnostic::Finding;
use crate::model::component::Confidence;
use crate::model::evidence::{Evidence, MIRRORED, ProofKind, Verdict};
use crate::model::plan::{PinnedDigest, PlannedArtifact};
use crate::model::policy::{Policy, Role, TrustedDigest};

use super::gate::{PolicyError, PolicyFault};
use super::subject::Subject;

/// Scheme, host and port of a URL in their normal form: one server has one origin, however it is written.
pub fn parse_origin(url: &str) -> String {
    let Ok(url) = Url::parse(url) else {
        return String::new();
    };
    let host = normalize_host(url.host_str().unwrap_or_default());
    let port = url.port_or_known_default().unwrap_or_default();
    format!("{}://{host}:{port}", url.scheme())
}

/// Whether two URLs are of one host, whatever port and scheme they name: whoever runs a host runs all of it.
fn is_same_host(one: &str, other: &str) -> bool {
    parse_host(one) == parse_host(other)
}

/// How well proofs attest a digest; none where they attest nothing of it. Whoever changes the bytes at their origin changes the
/// checksum file beside them too: that one shows no more than a whole transfer. Whoever writes an override chooses the
/// bytes and its checksum file, wherever they lie. Proofs below the minimum do not count.
fn rate_proofs(
    artifact: &PlannedArtifact,
    found: &[Evidence],
    minimum: Verdict,
) -> Option<Confidence> {
    let held = || found.iter().filter(move |proof| proof.verdict >= minimum);
    let mut signed = held().filter(|proof| proof.proof.is_signature());
    // A signature inside an archive attests its member alone. What a member says of itself attests nothing.
    let members = &artifact.members;
    let members = !members.is_empty()
        && members.iter().all(|it| {
            let name = format!("{}!{}", artifact.file, it.member);
            signed.clone().any(|proof| proof.subject == name)
        });
    let whole = signed.any(|proof| !proof.subject.contains('!'));
    if whole || members {
        return Some(Confidence::Authoritative);
    }
    let sums = held().filter(|proof| proof.proof == ProofKind::ChecksumFile);
    sums.map(|proof| match &proof.source {
        // Whoever runs a mirror has both.
        Some(source)
            if !proof.facts.contains_key(MIRRORED)
                && !artifact.overridden.has_checksums(source)
                && !is_same_host(source, artifact.url.public_url()) =>
        {
            Confidence::Medium
        }
        _ => Confidence::Low,
    })
    .max()
}

/// Whether only a lockfile states the digests still, after these proofs were made.
pub fn is_unproven(artifact: &PlannedArtifact, found: &[Evidence], policy: &Policy) -> bool {
    artifact.unproven && rate_proofs(artifact, found, policy.least_verdict()).is_none()
}

/// Raises the confidence in an artifact's digests to that of proofs which were made of it now. The word of a lockfile that
/// alone states a digest counts for nothing.
pub fn raise_confidence(artifact: &mut PlannedArtifact, found: &[Evidence]) {
    let proven = rate_proofs(artifact, found, Verdict::LEAST);
    for pin in &mut artifact.digests {
        let stated = (!artifact.unproven).then_some(pin.confidence);
        pin.confidence = stated.max(proven).unwrap_or(Confidence::Low);
    }
}

/// Pins of bytes that were proven by their publisher.
pub fn pin_digests(
    artifact: &PlannedArtifact,
    digests: impl IntoIterator<Item = FileDigest>,
    found: &[Evidence],
) -> Vec<PinnedDigest> {
    let rated = rate_proofs(artifact, found, Verdict::LEAST);
    let confidence = rated.unwrap_or(Confidence::Low);
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

/// The fault in the record of an artifact whose digest the plan states: its confidence is that of the plan, or that
/// of the evidence beside it.
pub fn find_unfounded_confidence(
    planned: &PlannedArtifact,
    locked: &PlannedArtifact,
) -> Option<String> {
    let proven = rate_proofs(planned, &locked.evidence, Verdict::LEAST);
    for (at, pin) in locked.digests.iter().enumerate() {
        let mut stated = planned.digests.iter().filter(|it| it.digest == pin.digest);
        let is_founded = stated.any(|it| {
            let raised = Some(it.confidence).max(proven);
            pin.confidence == it.confidence || Some(pin.confidence) == raised
        });
        if !is_founded {
            let field = format!("digests[{at}].confidence");
            return Some(format_unfounded(locked, &field));
        }
    }
    None
}

/// The fault in the record of an artifact that only its publisher's proofs have pinned: such a record has both
/// digests, and follows from the evidence beside it.
pub fn find_unfounded_pins(planned: &PlannedArtifact, locked: &PlannedArtifact) -> Option<String> {
    // No file says what an override states.
    let locked = &PlannedArtifact {
        overridden: planned.overridden.clone(),
        ..locked.clone()
    };
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
        && rate_proofs(locked, &locked.evidence, Verdict::LEAST).is_some()
        && stated.all(|stated| digests.iter().any(|digest| digest.as_str() == stated))
        && held().all(|proof| proof.source.is_some())
        && pin_digests(locked, digests.clone(), &locked.evidence) == locked.digests;
    (!founded).then(|| format_unfounded(locked, "digests"))
}

fn format_unfounded(locked: &PlannedArtifact, field: &str) -> String {
    format!(
        "`artifacts[{}].{field}` does not follow from the evidence beside it",
        locked.component
    )
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
    if subject.needs_trust() {
        // Refused wherever they are not trusted.
        return None;
    }
    let digest = subject.digests.iter().find(|digest| {
        let digest = digest.as_str();
        find_trusted(policy, digest).next().is_some() && !is_trusted_digest(policy, digest, subject)
    })?;
    let named = find_trusted(policy, digest.as_str()).flat_map(|own| &own.components);
    let named: Vec<&str> = named.map(String::as_str).collect();
    let wanted = match subject.list_trusted_names()[..] {
        [_] => "it".to_owned(),
        ref wanted => wanted.join(" as "),
    };
    let message = format!(
        "the policy trusts the digest {digest} for {}, and not for {wanted}",
        named.join(", ")
    );
    let remedy = format!(
        "give the digest of the right file, or add to the policy: `\"trustedDigests\": [{}]`",
        format_trusted(subject, digest.as_str())
    );
    Some(Finding::new(Code::POLICY_TRUSTED_DIGESTS, message, remedy).with_subject(&subject.title))
}

/// The entry of `trustedDigests` for a subject.
pub(super) fn format_trusted(subject: &Subject<'_>, digest: &str) -> String {
    let names = subject.list_trusted_names().join(r#"", ""#);
    format!(r#"{{"digest": "{digest}", "components": ["{names}"]}}"#)
}

/// Where the identity of an artifact's bytes is recorded: `catalog`, or `policy`; none where only the definition, a
/// lockfile or proofs pin it.
pub fn find_record(
    policy: &Policy,
    artifact: &PlannedArtifact,
    catalog: &Catalog,
) -> Option<&'static str> {
    let subject = Subject::from_artifact(artifact);
    let component = catalog.load_component(&artifact.component).ok();
    for own in &artifact.digests {
        let component = component.iter();
        let mut pins =
            component.flat_map(|component| component.pins.find_version(&artifact.version));
        if pins.any(|pin| pin.is_usable() && pin.digest.as_str() == own.digest.as_str()) {
            return Some("catalog");
        }
        if is_trusted_digest(policy, own.digest.as_str(), &subject) {
            return Some("policy");
        }
    }
    None
}

/// Confidence of catalog and policy in a digest. A digest that neither names is stated by the definition, or by a
/// lockfile alone: then it is unproven, and there is none.
fn rate_digest(
    policy: &Policy,
    artifact: &PlannedArtifact,
    pin: &PinnedDigest,
    catalog: &Catalog,
) -> Option<Confidence> {
    let subject = Subject::from_artifact(artifact);
    if is_trusted_digest(policy, pin.digest.as_str(), &subject) {
        return Some(Confidence::Authoritative);
    }
    let component = catalog.load_component(&artifact.component).ok();
    let pins = component
        .iter()
        .flat_map(|component| component.pins.find_version(&artifact.version));
    let known = pins.filter(|known| known.digest.as_str() == pin.digest.as_str());
    let stated = (!artifact.unproven).then_some(Confidence::Low);
    known.map(|known| known.confidence).max().or(stated)
}

fn rate_pins(policy: &Policy, artifact: &PlannedArtifact, catalog: &Catalog) -> Option<Confidence> {
    let pins = artifact.digests.iter();
    pins.filter_map(|pin| rate_digest(policy, artifact, pin, catalog))
        .max()
}

/// An artifact that no proof can attest better any more: what this run has proven of it counts. A checksum file attests
/// a digest that is unproven; to any other it adds nothing.
pub(super) fn check_confidence(
    policy: &Policy,
    artifact: &PlannedArtifact,
    catalog: &Catalog,
) -> Option<Finding> {
    let is_provable = artifact.is_signed() || artifact.unproven && !artifact.checksums.is_empty();
    if is_provable || !artifact.is_pinned() {
        return None;
    }
    // Beside a digest that a lockfile alone states, the evidence is that of an earlier run.
    let made = if artifact.unproven {
        None
    } else {
        rate_proofs(artifact, &artifact.evidence, policy.least_verdict())
    };
    let pinned = rate_pins(policy, artifact, catalog);
    report_low(policy, artifact, pinned.max(made))
}

/// After the proofs were made.
pub(super) fn check_proven_confidence(
    policy: &Policy,
    artifact: &PlannedArtifact,
    evidence: &[Evidence],
    catalog: &Catalog,
) -> Option<Finding> {
    let pinned = rate_pins(policy, artifact, catalog);
    let made = rate_proofs(artifact, evidence, policy.least_verdict());
    report_low(policy, artifact, pinned.max(made))
}

/// Checks artifacts whose digest only a lockfile states, where no proof can be made now. A declared signature is
/// verified before the bytes are used.
///
/// # Errors
/// The policy demands a confidence.
pub fn check_unproven<'a>(
    policy: &Policy,
    artifacts: impl Iterator<Item = &'a PlannedArtifact>,
    catalog: &Catalog,
) -> Result<(), PolicyError> {
    let mut findings = Vec::new();
    for artifact in artifacts {
        if artifact.unproven && !artifact.is_signed() {
            findings.extend(check_proven_confidence(policy, artifact, &[], catalog));
        }
    }
    PolicyFault::Proof.refuse(policy, findings)
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
            Finding::new(Code::POLICY_MINIMUM_CONFIDENCE, message, remedy)
                .with_subject(&subject.title),
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
    Some(
        Finding::new(Code::POLICY_MINIMUM_CONFIDENCE, message, remedy).with_subject(&subject.title),
    )
}

fn report_low(
    policy: &Policy,
    artifact: &PlannedArtifact,
    best: Option<Confidence>,
) -> Option<Finding> {
    let minimum = policy
        .minimum_confidence
        .filter(|minimum| best < Some(*minimum))?;
    let digest = artifact
        .digests
        .iter()
        .find(|pin| pin.digest.algorithm() == PinAlgorithm::Sha256);
    let digest = digest
        .or(artifact.digest())
        .map_or("…", |pin| pin.digest.as_str());
    let minimum = minimum.as_str();
    let message = match best {
        Some(best) => format!(
            "its digest is attested `{}`, below `{minimum}`",
            best.as_str()
        ),
        None => format!("its digest is unproven, below `{minimum}`: only the lockfile states it"),
    };
    let remedy = format!(
        "verify the file and add it to the policy (`\"trustedDigests\": [{}]`), or override {} with a build that \
         is signed",
        format_trusted(&Subject::from_artifact(artifact), digest),
        artifact.component
    );
    Some(
        Finding::new(Code::POLICY_MINIMUM_CONFIDENCE, message, remedy)
            .with_subject(artifact.title()),
    )
}
