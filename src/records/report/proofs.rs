//! How each subject of an image was proven, the weakest first.

use crate::attest::inventory::Item;
use crate::attest::report::ProofRow;
use crate::model::evidence::{Evidence, ProofKind, Verdict};
use crate::model::policy::Role;

use super::super::image::ImageRecord;

/// The strength of the proofs of a subject, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ProofStrength {
    Failed,
    NotVerified,
    Waived,
    NoDigest,
    Unproven,
    Digest,
    ChecksumFile,
    TimeUnproven,
    Signed,
}

impl ProofStrength {
    fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::Failed => ("a proof failed", "bad"),
            Self::NotVerified => ("not verified: the build ended before", "warn"),
            Self::Waived => ("a proof is missing, and waived", "warn"),
            Self::NoDigest => ("no digest", "warn"),
            Self::Unproven => ("unproven: only the lockfile states the digest", "warn"),
            Self::Digest => ("digest alone", "quiet"),
            Self::ChecksumFile => ("publisher's checksum file", "quiet"),
            Self::TimeUnproven => ("signed, time unproven", "good"),
            Self::Signed => ("signed", "good"),
        }
    }
}

/// The proofs of the bake in the place of those that the lockfile records.
pub(super) fn add_proofs_of_bake(items: &mut [Item], record: &ImageRecord) {
    for item in items {
        if let Some(proofs) = find_proofs(item, record) {
            item.evidence.clone_from(proofs);
        }
    }
}

fn find_proofs<'a>(item: &Item, record: &'a ImageRecord) -> Option<&'a Vec<Evidence>> {
    let component = item.id.strip_prefix("artifact/")?;
    record.evidence.get(component)
}

/// A row for each subject. The artifacts of a failed build that its record has no proofs of were not verified.
pub(super) fn describe_proofs(items: &[Item], record: Option<&ImageRecord>) -> Vec<ProofRow> {
    let failed = record.filter(|record| record.error.is_some());
    let mut rows: Vec<(ProofStrength, ProofRow)> = Vec::new();
    for item in items {
        let unverified = failed.is_some_and(|record| {
            item.role == Role::Artifact && find_proofs(item, record).is_none()
        });
        let strength = if unverified {
            ProofStrength::NotVerified
        } else {
            judge_item(item)
        };
        rows.push((strength, describe_item(item, strength)));
    }
    rows.sort_by_key(|row| row.0);
    rows.into_iter().map(|(_, row)| row).collect()
}

fn judge_item(item: &Item) -> ProofStrength {
    // A group of files, such as the guest scripts, is as strong as its members.
    let has_digest = !item.hashes.is_empty()
        || (!item.members.is_empty() && item.members.iter().all(|it| !it.hashes.is_empty()));
    let strength = item
        .evidence
        .iter()
        .map(judge_proof)
        .max()
        .unwrap_or(if has_digest {
            ProofStrength::Digest
        } else {
            ProofStrength::NoDigest
        });
    let worst = item.evidence.iter().map(judge_proof).min();
    match worst {
        Some(ProofStrength::Failed) => ProofStrength::Failed,
        _ if item.unproven => ProofStrength::Unproven,
        Some(ProofStrength::Waived) => ProofStrength::Waived,
        _ => strength,
    }
}

fn describe_item(item: &Item, strength: ProofStrength) -> ProofRow {
    let (words, tone) = strength.describe();
    let version = item.version.as_deref().unwrap_or_default();
    let hash = item.hashes.first();
    let (algorithm, hash) = hash.cloned().unwrap_or_default();
    // The digest of a container image has a column of its own.
    let name = item.name.split('@').next().unwrap_or(&item.name);
    ProofRow {
        subject: format!("{name} {version}").trim().to_owned(),
        role: item.role.as_str().to_owned(),
        strength: words.to_owned(),
        tone,
        proofs: item.evidence.iter().map(describe_proof).collect(),
        digest: format!("{algorithm} {}", &hash[..hash.len().min(16)])
            .trim()
            .to_owned(),
        whole_digest: hash,
    }
}

fn judge_proof(proof: &Evidence) -> ProofStrength {
    match (proof.verdict, proof.proof) {
        (Verdict::Failed, _) => ProofStrength::Failed,
        (Verdict::Absent, _) => ProofStrength::Waived,
        (_, ProofKind::Pin | ProofKind::Size) => ProofStrength::Digest,
        (_, ProofKind::ChecksumFile) => ProofStrength::ChecksumFile,
        (Verdict::SignedTimeUnproven, _) => ProofStrength::TimeUnproven,
        (Verdict::Verified, _) => ProofStrength::Signed,
    }
}

fn describe_proof(proof: &Evidence) -> String {
    let signer = proof.facts.get("signer").or(proof.facts.get("publisher"));
    let signer = signer.map_or_else(String::new, |signer| format!(", by {signer}"));
    format!(
        "{} {}{signer}",
        proof.proof.as_str(),
        proof.verdict.as_str()
    )
}
