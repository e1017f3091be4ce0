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
    Recorded,
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
            Self::Recorded => ("recorded in the lockfile, not proven again", "quiet"),
            Self::ChecksumFile => ("publisher's checksum file", "quiet"),
            Self::TimeUnproven => ("signed, time unproven", "good"),
            Self::Signed => ("signed", "good"),
        }
    }
}

/// A row for each subject. The artifacts of a failed build that its record has no proofs of were not verified.
pub(super) fn describe_proofs(items: &[Item], record: Option<&ImageRecord>) -> Vec<ProofRow> {
    let has_failed = record.is_some_and(|record| record.error.is_some());
    let mut rows: Vec<(ProofStrength, ProofRow)> = Vec::new();
    for item in items {
        let strength = if has_failed && item.role == Role::Artifact && item.is_recorded {
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
    let proofs: Vec<ProofStrength> = item.evidence.iter().filter_map(judge_proof).collect();
    let strength = proofs.iter().max().copied().unwrap_or(if has_digest {
        ProofStrength::Digest
    } else {
        ProofStrength::NoDigest
    });

    match proofs.iter().min() {
        Some(ProofStrength::Failed) => ProofStrength::Failed,
        _ if item.unproven => ProofStrength::Unproven,
        Some(ProofStrength::Waived) => ProofStrength::Waived,
        // A record of a proof is as good as whoever wrote the lockfile.
        _ if item.is_recorded => strength.min(ProofStrength::Recorded),
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

/// None for what shows nothing, such as a file that does not say which program it is.
fn judge_proof(proof: &Evidence) -> Option<ProofStrength> {
    let strength = match (proof.verdict, proof.proof) {
        (Verdict::Failed, _) => ProofStrength::Failed,
        (Verdict::Absent, _) if proof.is_waived() => ProofStrength::Waived,
        (Verdict::Absent, _) | (_, ProofKind::Statement) => return None,
        (_, ProofKind::Pin | ProofKind::Size) => ProofStrength::Digest,
        (_, ProofKind::ChecksumFile) => ProofStrength::ChecksumFile,
        (Verdict::SignedTimeUnproven, _) => ProofStrength::TimeUnproven,
        (Verdict::Verified, _) => ProofStrength::Signed,
    };
    Some(strength)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::code::Code;

    fn prove(proof: ProofKind, verdict: Verdict, code: Option<Code>) -> Evidence {
        Evidence {
            proof,
            verdict,
            subject: "kubelet.exe".to_owned(),
            code: code.map(String::from),
            detail: String::new(),
            source: None,
            facts: std::collections::BTreeMap::default(),
        }
    }

    #[test]
    fn a_file_that_does_not_name_itself_is_neither_waived_nor_signed() {
        let silent = prove(ProofKind::Statement, Verdict::Absent, None);
        assert_eq!(judge_proof(&silent), None);
        let named = prove(ProofKind::Statement, Verdict::Verified, None);
        assert_eq!(judge_proof(&named), None);
        let waived = prove(
            ProofKind::Statement,
            Verdict::Absent,
            Some(Code::PROOF_WAIVED),
        );
        assert_eq!(judge_proof(&waived), Some(ProofStrength::Waived));
    }
}
