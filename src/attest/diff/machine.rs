//! Resources of two guest plans, by the thing on the machine that they are about.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::base::choice::words;
use crate::model::guest_plan::GuestPlan;
use crate::windows::resource::{Identity, Resource};

use super::fields::{FieldChange, compare_values};

words!(
    ResourceChangeKind {
        Added = "added",
        Removed = "removed",
        Changed = "changed",
    }
);

/// A resource that differs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceChange {
    /// The thing on the machine, such as a path or ``service `kubelet` ``.
    pub resource: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub step: String,
    pub change: ResourceChangeKind,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldChange>,
}

/// Resources that differ, in the order of the second plan; those that only the first has come last.
pub(super) fn compare_machines(from: &GuestPlan, to: &GuestPlan) -> Vec<ResourceChange> {
    let (one, other) = (index_resources(from), index_resources(to));
    let mut changes = Vec::new();
    let mut seen = BTreeSet::new();
    for resource in &to.resources {
        let identity = resource.kind.properties().identity();
        if !seen.insert(identity.clone()) {
            continue;
        }
        let none = Vec::new();
        let earlier = one.get(&identity).unwrap_or(&none);
        pair_resources(earlier, &other[&identity], &mut changes);
    }
    for resource in &from.resources {
        let identity = resource.kind.properties().identity();
        if seen.insert(identity.clone()) {
            pair_resources(&one[&identity], &[], &mut changes);
        }
    }
    changes
}

fn index_resources(plan: &GuestPlan) -> BTreeMap<Identity, Vec<&Resource>> {
    let mut index: BTreeMap<Identity, Vec<&Resource>> = BTreeMap::new();
    for resource in &plan.resources {
        let identity = resource.kind.properties().identity();
        index.entry(identity).or_default().push(resource);
    }
    index
}

/// Resources about one thing: those of one name belong together, then those of one place in the list.
fn pair_resources(from: &[&Resource], to: &[&Resource], changes: &mut Vec<ResourceChange>) {
    let mut earlier: Vec<&Resource> = from.to_vec();
    let mut later = Vec::new();
    for resource in to {
        match earlier.iter().position(|it| it.name == resource.name) {
            Some(at) => changes.extend(compare_resource(earlier.remove(at), resource)),
            None => later.push(*resource),
        }
    }
    let pairs = earlier.len().min(later.len());
    for (one, other) in earlier.iter().zip(&later) {
        changes.extend(compare_resource(one, other));
    }
    for resource in &later[pairs..] {
        changes.push(describe_change(resource, ResourceChangeKind::Added));
    }
    for resource in &earlier[pairs..] {
        changes.push(describe_change(resource, ResourceChangeKind::Removed));
    }
}

fn compare_resource(from: &Resource, to: &Resource) -> Option<ResourceChange> {
    let fields = compare_values(&list_properties(from), &list_properties(to));
    (!fields.is_empty()).then(|| ResourceChange {
        fields,
        ..describe_change(to, ResourceChangeKind::Changed)
    })
}

fn describe_change(resource: &Resource, change: ResourceChangeKind) -> ResourceChange {
    let kind = serde_json::to_value(&resource.kind).unwrap_or_default();
    ResourceChange {
        resource: resource.kind.properties().identity().to_string(),
        kind: kind["type"].as_str().unwrap_or_default().to_owned(),
        step: resource.step.to_string(),
        change,
        fields: Vec::new(),
    }
}

/// The type's properties as they are; what every resource has under names in parentheses.
fn list_properties(resource: &Resource) -> Value {
    let mut value = serde_json::to_value(resource).unwrap_or_default();
    let Some(fields) = value.as_object_mut() else {
        return value;
    };
    let mut properties = fields.remove("properties").unwrap_or_default();
    if let Some(properties) = properties.as_object_mut() {
        for (name, value) in fields.iter().filter(|(name, _)| *name != "name") {
            properties.insert(format!("({name})"), value.clone());
        }
    }
    properties
}
