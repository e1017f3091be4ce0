//! A lock against the one that is computed anew: every field, by its name.

use serde_json::{Map, Value};

use crate::base::json::format_plain;
use crate::model::definition::ImageDefinition;
use crate::model::evidence::ProofKind;
use crate::model::plan::PlannedArtifact;

use super::Lock;

/// Fields that differ, as a reader finds them. What was proven is a record that the digests stand for; a size
/// that nobody states beforehand comes with it. The program that wrote a lock is a record, too.
pub(super) fn list_differences(locked: &Lock, fresh: &Lock) -> Vec<String> {
    let (locked, fresh) = (
        without_records(locked, fresh, fresh),
        without_records(fresh, fresh, locked),
    );
    let mut found = Vec::new();
    compare("", &locked, &fresh, &mut found);
    found
}

/// Fields of the selection that differ.
pub(super) fn list_selection_changes(
    locked: &ImageDefinition,
    fresh: &ImageDefinition,
) -> Vec<String> {
    let mut found = Vec::new();
    let locked = serde_json::to_value(locked).unwrap_or_default();
    let fresh = serde_json::to_value(fresh).unwrap_or_default();
    compare("", &locked, &fresh, &mut found);
    found
}

fn without_records(lock: &Lock, fresh: &Lock, other: &Lock) -> Value {
    let mut lock = Lock {
        written_by: None,
        ..lock.clone()
    };
    for artifact in &mut lock.artifacts {
        artifact.evidence.clear();
        let same = fresh
            .artifacts
            .iter()
            .find(|it| it.component == artifact.component);
        if same.is_some_and(|it| it.size.is_none()) {
            artifact.size = None;
        }
        // Confidence above the fresh one follows from the evidence.
        for pin in &mut artifact.digests {
            let mut known = same.into_iter().flat_map(|it| &it.digests);
            if let Some(known) = known.find(|known| known.digest == pin.digest) {
                pin.confidence = known.confidence;
            }
        }
        // A member's digest follows from its archive's: it is there where the archive was read.
        let other = other
            .artifacts
            .iter()
            .find(|it| it.component == artifact.component);
        for member in &mut artifact.members {
            let mut others = other.iter().flat_map(|it| &it.members);
            if !others.any(|it| it.member == member.member && it.sha256.is_some()) {
                member.sha256 = None;
            }
        }
    }
    serde_json::to_value(&lock).unwrap_or_default()
}

fn compare(path: &str, locked: &Value, fresh: &Value, found: &mut Vec<String>) {
    match (locked, fresh) {
        (Value::Object(locked), Value::Object(fresh)) => {
            compare_objects(path, locked, fresh, found);
        }
        (Value::Object(locked), Value::Null) => compare_objects(path, locked, &Map::new(), found),
        (Value::Null, Value::Object(fresh)) => compare_objects(path, &Map::new(), fresh, found),
        (Value::Array(locked), Value::Array(fresh)) if locked.len() == fresh.len() => {
            for (at, (locked, fresh)) in locked.iter().zip(fresh).enumerate() {
                let name = locked["component"]
                    .as_str()
                    .map_or_else(|| at.to_string(), str::to_owned);
                compare(&format!("{path}[{name}]"), locked, fresh, found);
            }
        }
        _ if locked != fresh => {
            found.push(format!(
                "`{path}` was {} and is {}",
                shorten(locked),
                shorten(fresh)
            ));
        }
        _ => {}
    }
}

fn compare_objects(
    path: &str,
    locked: &Map<String, Value>,
    fresh: &Map<String, Value>,
    found: &mut Vec<String>,
) {
    let mut names: Vec<&String> = locked.keys().chain(fresh.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        let path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        let locked = locked.get(name).unwrap_or(&Value::Null);
        let fresh = fresh.get(name).unwrap_or(&Value::Null);
        compare(&path, locked, fresh, found);
    }
}

fn shorten(value: &Value) -> String {
    let text = match value {
        Value::Null => "nothing".to_owned(),
        Value::Array(items) => format!("a list of {}", items.len()),
        other => format_plain(other),
    };
    if text.chars().count() <= 90 {
        text
    } else {
        text.chars().take(90).chain("...".chars()).collect()
    }
}

/// A digest that the artifact's own evidence contradicts, or two of one kind: such a record pins nothing.
pub(super) fn find_contradiction(artifact: &PlannedArtifact) -> Option<String> {
    let mut digests = Vec::new();
    for proof in &artifact.evidence {
        if proof.verdict.holds()
            && matches!(proof.proof, ProofKind::Pin | ProofKind::ChecksumFile)
            && let Some(digest) = proof.facts.get("digest")
        {
            digests.push(digest.as_str());
        }
    }
    let pins: Vec<&str> = artifact
        .digests
        .iter()
        .map(|pin| pin.digest.as_str())
        .collect();
    digests.extend(&pins);

    for one in digests {
        let mut others = pins.iter();
        if let Some(other) = others.find(|pin| pin.len() == one.len() && **pin != one) {
            return Some(format!(
                "`artifacts[{}].digests` contains both {other} and {one}",
                artifact.component
            ));
        }
    }
    None
}

/// A proof that held of a kind that the artifact does not declare: nothing could have made it.
pub(super) fn find_undeclared_proof(artifact: &PlannedArtifact) -> Option<String> {
    let signatures = artifact.list_signatures();
    for proof in &artifact.evidence {
        let is_declared = match proof.proof {
            ProofKind::Pin | ProofKind::Size | ProofKind::Statement => true,
            ProofKind::ChecksumFile => !artifact.checksums.is_empty(),
            kind => signatures.contains(&kind),
        };
        if proof.verdict.holds() && !is_declared {
            return Some(format!(
                "`artifacts[{}].evidence` records {}, and no such proof is declared",
                artifact.component,
                proof.proof.as_str()
            ));
        }
    }
    None
}
