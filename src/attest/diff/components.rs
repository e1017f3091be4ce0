//! Components and container images of two images.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::base::choice::words;
use crate::base::version::Version;
use crate::lock::Lock;
use crate::model::plan::PlannedArtifact;

use super::DescribedImage;
use super::fields::{FieldChange, compare_values};

words!(
    /// How a component changed.
    ComponentChangeKind {
        Added = "added",
        Removed = "removed",
        Updated = "updated",
        Downgraded = "downgraded",
        /// Other bytes under the same version.
        Replaced = "replaced",
        /// Address, proofs or members changed; version and digest are the same.
        Changed = "changed",
    }
);

/// A component that differs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentChange {
    /// Name of the component, `kubernetes`, or a container image without tag.
    pub component: String,
    pub change: ComponentChangeKind,
    /// Version of the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Version of the second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Why an image contains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// URL of the release notes of the second version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release_notes: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldChange>,
}

/// A component as both sides have it.
struct Part {
    version: Version,
    /// Digests by algorithm.
    digests: BTreeMap<String, String>,
    /// Every other property.
    rest: Value,
    /// How well the digests are attested, and the proofs that held. Null where one side has made none yet.
    trust: Value,
}

/// Components that differ, `kubernetes` first, then by name, container images last.
pub(super) fn compare_components(
    from: (&DescribedImage, &Lock),
    to: (&DescribedImage, &Lock),
) -> Vec<ComponentChange> {
    let mut changes: Vec<ComponentChange> = compare_kubernetes(from.1, to.1).into_iter().collect();
    let has_proofs = !from.0.is_planned && !to.0.is_planned;
    changes.extend(compare_parts(
        &index_artifacts(from.1, has_proofs),
        &index_artifacts(to.1, has_proofs),
    ));
    changes.extend(compare_parts(&index_images(from.1), &index_images(to.1)));
    for change in &mut changes {
        let note = [to.0, from.0]
            .iter()
            .find_map(|image| image.notes.get(&change.component));
        change.reason = note.and_then(|note| note.reason.clone());
        if change.change != ComponentChangeKind::Removed {
            let note = to.0.notes.get(&change.component);
            change.release_notes = note.and_then(|note| note.release_notes.clone());
        }
    }
    changes
}

fn compare_kubernetes(from: &Lock, to: &Lock) -> Option<ComponentChange> {
    let change = compare_versions(&from.kubernetes, &to.kubernetes)?;
    Some(describe_change(
        "kubernetes",
        change,
        Some(&from.kubernetes),
        Some(&to.kubernetes),
    ))
}

fn compare_versions(from: &Version, to: &Version) -> Option<ComponentChangeKind> {
    match from.cmp(to) {
        std::cmp::Ordering::Less => Some(ComponentChangeKind::Updated),
        std::cmp::Ordering::Greater => Some(ComponentChangeKind::Downgraded),
        // Two texts of one version, such as `1.0` and `1.0.0`.
        std::cmp::Ordering::Equal if from.as_str() != to.as_str() => {
            Some(ComponentChangeKind::Updated)
        }
        std::cmp::Ordering::Equal => None,
    }
}

fn describe_change(
    component: &str,
    change: ComponentChangeKind,
    from: Option<&Version>,
    to: Option<&Version>,
) -> ComponentChange {
    ComponentChange {
        component: component.to_owned(),
        change,
        from: from.map(ToString::to_string),
        to: to.map(ToString::to_string),
        reason: None,
        release_notes: None,
        fields: Vec::new(),
    }
}

fn compare_parts(
    from: &BTreeMap<String, Part>,
    to: &BTreeMap<String, Part>,
) -> Vec<ComponentChange> {
    let names: BTreeSet<&String> = from.keys().chain(to.keys()).collect();
    let mut changes = Vec::new();
    for name in names {
        let change = match (from.get(name), to.get(name)) {
            (Some(from), Some(to)) => compare_part(name, from, to),
            (Some(from), None) => Some(describe_change(
                name,
                ComponentChangeKind::Removed,
                Some(&from.version),
                None,
            )),
            (None, Some(to)) => Some(describe_change(
                name,
                ComponentChangeKind::Added,
                None,
                Some(&to.version),
            )),
            (None, None) => None,
        };
        changes.extend(change);
    }
    changes
}

fn compare_part(name: &str, from: &Part, to: &Part) -> Option<ComponentChange> {
    let versions = (Some(&from.version), Some(&to.version));
    let change = |kind, fields| ComponentChange {
        fields,
        ..describe_change(name, kind, versions.0, versions.1)
    };
    let trust = compare_values(&from.trust, &to.trust);
    // Address and digest of another version are other ones.
    if let Some(kind) = compare_versions(&from.version, &to.version) {
        return Some(change(kind, trust));
    }
    let mut digests = compare_digests(from, to);
    if !digests.is_empty() {
        digests.extend(trust);
        return Some(change(ComponentChangeKind::Replaced, digests));
    }
    let mut fields = compare_values(&from.rest, &to.rest);
    fields.extend(trust);
    (!fields.is_empty()).then(|| change(ComponentChangeKind::Changed, fields))
}

/// Digests of an algorithm that both sides know and that differ.
fn compare_digests(from: &Part, to: &Part) -> Vec<FieldChange> {
    let mut changes = Vec::new();
    for (algorithm, digest) in &from.digests {
        let Some(other) = to.digests.get(algorithm).filter(|other| *other != digest) else {
            continue;
        };
        let (one, other) = (digest.as_str().into(), other.as_str().into());
        changes.push(FieldChange::new(algorithm, one, other));
    }
    changes
}

fn index_artifacts(lock: &Lock, has_proofs: bool) -> BTreeMap<String, Part> {
    let mut index = BTreeMap::new();
    for artifact in &lock.artifacts {
        let mut part = read_artifact(artifact);
        if has_proofs {
            part.trust = describe_trust(artifact);
        }
        index.insert(artifact.component.to_string(), part);
    }
    index
}

/// Confidence by algorithm, and each kind of proof with its outcome.
fn describe_trust(artifact: &PlannedArtifact) -> Value {
    let mut confidence = BTreeMap::new();
    for pin in &artifact.digests {
        confidence.insert(pin.digest.algorithm().as_str(), pin.confidence.as_str());
    }
    let mut proofs = BTreeSet::new();
    for proof in &artifact.evidence {
        proofs.insert(format!(
            "{} {}",
            proof.proof.as_str(),
            proof.verdict.as_str()
        ));
    }
    json!({ "confidence": confidence, "proofs": proofs })
}

fn read_artifact(artifact: &PlannedArtifact) -> Part {
    let digests = artifact
        .digests
        .iter()
        .map(|pin| {
            let algorithm = pin.digest.algorithm().as_str().to_owned();
            (algorithm, pin.digest.as_str().to_owned())
        })
        .collect();
    let mut rest = serde_json::to_value(artifact).unwrap_or_default();
    if let Some(fields) = rest.as_object_mut() {
        for known in [
            "component",
            "version",
            "file",
            "digests",
            "evidence",
            "size",
        ] {
            fields.remove(known);
        }
    }
    Part {
        version: artifact.version.clone(),
        digests,
        rest,
        trust: Value::Null,
    }
}

/// `registry.k8s.io/pause:3.10.2@sha256:…` by its name without tag.
fn index_images(lock: &Lock) -> BTreeMap<String, Part> {
    let mut index = BTreeMap::new();
    for image in &lock.images {
        let (name, digest) = image.split_once('@').unwrap_or((image, ""));
        let tag = name.rfind(':').filter(|at| !name[*at..].contains('/'));
        let (name, tag) = match tag {
            Some(at) => (&name[..at], &name[at + 1..]),
            None => (name, ""),
        };
        let Ok(version) = tag.parse::<Version>().or_else(|_| "latest".parse()) else {
            continue;
        };
        let mut digests = BTreeMap::new();
        if let Some((algorithm, digest)) = digest.split_once(':') {
            digests.insert(algorithm.to_owned(), digest.to_owned());
        }
        let part = Part {
            version,
            digests,
            rest: Value::Null,
            trust: Value::Null,
        };
        // Two tags of one repository are two images.
        let known = index.contains_key(name);
        let key = if known {
            format!("{name}:{tag}")
        } else {
            name.to_owned()
        };
        index.insert(key, part);
    }
    index
}
