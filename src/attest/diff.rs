//! Changes from one image to another: components, the machine, and the build.

mod components;
mod fields;
mod machine;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::base::choice::DiffPart;
use crate::lock::Lock;
use crate::model::component::ComponentIdentity;
use crate::model::evidence::Evidence;
use crate::model::guest_plan::GuestPlan;

pub use components::{ComponentChange, ComponentChangeKind};
pub use fields::FieldChange;
pub use machine::{ResourceChange, ResourceChangeKind};
pub use text::{format_markdown, format_text};

use components::compare_components;
use fields::compare_values;
use machine::compare_machines;

/// Name of the schema of `imagegen diff --format json`.
pub const SCHEMA: &str = "imagegen.dev/diff/v1";

/// A known image. A part that is absent on one side is not compared.
#[derive(Debug, Clone, Default)]
pub struct DescribedImage {
    /// As the user named it.
    pub name: String,
    pub lock: Option<Lock>,
    /// The lock is what a definition gives: no proof of it was made yet.
    pub is_planned: bool,
    pub guest: Option<GuestPlan>,
    /// Values of variables that are no part of a lock, such as the place of the build; of a definition alone.
    pub build_time: Option<BTreeMap<String, Value>>,
    /// An `image.json`.
    pub baked: Option<Value>,
    /// Proofs that the bake made of each component, by its `image.json`.
    pub proofs: BTreeMap<String, Vec<Evidence>>,
    /// By component.
    pub notes: BTreeMap<String, ComponentNote>,
    /// Why a part is absent, or is not what was once built.
    pub remarks: Vec<String>,
    /// Components with a digest that only the lockfile states, and of whose bytes no proof is recorded by a bake.
    pub unproven: BTreeSet<String>,
}

/// A component as the catalog describes it.
#[derive(Debug, Clone, Default)]
pub struct ComponentNote {
    /// Why an image contains it.
    pub reason: Option<String>,
    /// URL of the release notes of its version.
    pub release_notes: Option<String>,
    /// One line.
    pub summary: Option<String>,
    pub identity: Option<ComponentIdentity>,
    /// Digests that the catalog has for its version.
    pub digests: BTreeSet<String>,
}

/// `imagegen diff --format json`
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageDiff {
    pub schema: &'static str,
    pub from: String,
    pub to: String,
    /// Whether no part that was compared differs.
    pub equal: bool,
    /// Absent if it was not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub components: Option<Vec<ComponentChange>>,
    /// Absent if it was not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<Vec<ResourceChange>>,
    /// Absent if it was not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<Vec<FieldChange>>,
    /// Why a part was not compared, or what its values stand for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// Compares the named parts of two images; without a name, all.
pub fn compare_images(from: &DescribedImage, to: &DescribedImage, only: &[DiffPart]) -> ImageDiff {
    let is_wanted = |part: DiffPart| only.is_empty() || only.contains(&part);
    let locks = from.lock.as_ref().zip(to.lock.as_ref());
    let components = locks
        .filter(|_| is_wanted(DiffPart::Components))
        .map(|(one, other)| compare_components((from, one), (to, other)));
    let machine = from
        .guest
        .as_ref()
        .zip(to.guest.as_ref())
        .filter(|_| is_wanted(DiffPart::Machine))
        .map(|(one, other)| compare_machines(one, other));
    let build = is_wanted(DiffPart::Build)
        .then(|| compare_builds(from, to))
        .flatten();

    let equal = components.as_ref().is_none_or(Vec::is_empty)
        && machine.as_ref().is_none_or(Vec::is_empty)
        && build.as_ref().is_none_or(Vec::is_empty);
    let remarks = from.remarks.iter().chain(&to.remarks).cloned().collect();
    ImageDiff {
        schema: SCHEMA,
        from: from.name.clone(),
        to: to.name.clone(),
        equal,
        components,
        machine,
        build,
        remarks,
    }
}

impl ImageDiff {
    /// Whether a part was compared at all.
    pub fn is_empty(&self) -> bool {
        self.components.is_none() && self.machine.is_none() && self.build.is_none()
    }
}

/// Base image, target, variables, Packer and everything else that is neither a component nor on the machine.
fn compare_builds(from: &DescribedImage, to: &DescribedImage) -> Option<Vec<FieldChange>> {
    let mut changes = Vec::new();
    let mut compared = false;
    if let (Some(one), Some(other)) = (&from.lock, &to.lock) {
        changes.extend(compare_values(&describe_build(one), &describe_build(other)));
        if !from.is_planned && !to.is_planned {
            changes.extend(compare_values(
                &describe_warnings(one),
                &describe_warnings(other),
            ));
        }
        compared = true;
    }
    if let (Some(one), Some(other)) = (&from.build_time, &to.build_time) {
        changes.extend(compare_values(
            &json!({ "variables": one }),
            &json!({ "variables": other }),
        ));
        compared = true;
    }
    if let (Some(one), Some(other)) = (&from.guest, &to.guest) {
        changes.extend(compare_values(
            &json!({ "guestScripts": one.scripts, "signers": one.signers }),
            &json!({ "guestScripts": other.scripts, "signers": other.signers }),
        ));
        compared = true;
    }
    if let (Some(one), Some(other)) = (&from.baked, &to.baked) {
        changes.extend(compare_values(&describe_bake(one), &describe_bake(other)));
        compared = true;
    }
    changes.sort_by(|one, other| one.path.cmp(&other.path));
    changes.dedup();
    compared.then_some(changes)
}

/// A lock without what is a component.
fn describe_build(lock: &Lock) -> Value {
    let mut selection = serde_json::to_value(&lock.selection).unwrap_or_default();
    if let Some(fields) = selection.as_object_mut() {
        // Versions of components are components; variables of the base image have a place of their own.
        for known in ["kubernetes", "components", "name"] {
            fields.remove(known);
        }
        if let Some(variables) = fields.get_mut("variables").and_then(Value::as_object_mut) {
            variables.retain(|name, _| !lock.base_image.contains_key(name));
        }
    }
    let mut build = json!({
        "baseImage": lock.base_image,
        "pauseImage": lock.pause,
        "packer": lock.packer,
        "policy": lock.policy,
        "ownFiles": lock.own_files,
        "notAdmitted": lock.not_admitted,
    });
    if let (Some(build), Some(selection)) = (build.as_object_mut(), selection.as_object()) {
        build.extend(selection.clone());
    }
    build
}

/// The warnings with which a lockfile was made, in one line each.
fn describe_warnings(lock: &Lock) -> Value {
    let mut lines = Vec::new();
    for warning in &lock.warnings {
        lines.push(format!(
            "{} {}: {}",
            warning.id, warning.subject, warning.message
        ));
    }
    json!({ "warnings": lines })
}

/// The comparable part of a bake: not its times, its identifiers and its proofs.
fn describe_bake(record: &Value) -> Value {
    json!({
        "target": record["target"],
        "windows": record["windows"],
        "kubernetes": record["kubernetes"],
        "imagegen": record["builtBy"]["version"],
        "catalog": record["builtBy"]["catalog"],
    })
}
