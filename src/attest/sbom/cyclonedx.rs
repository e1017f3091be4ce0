//! CycloneDX 1.6 (<https://cyclonedx.org/docs/1.6/json/>).

use serde_json::{Value, json};

use crate::model::evidence::{UNPROVEN, Verdict};

use super::super::inventory::{Item, ItemKind};
use super::{BillOfMaterials, GoModule, keep_filled};

const IMAGE: &str = "image";

/// The bill as one JSON value.
pub fn format_cyclonedx(bill: &BillOfMaterials<'_>) -> Value {
    let inside = bill.items.iter().filter(|item| !item.outside);
    let mut dependencies = vec![json!({
        "ref": IMAGE,
        "dependsOn": inside.map(|item| item.id.as_str()).collect::<Vec<_>>(),
    })];
    let modules = bill.list_modules();
    for item in &bill.items {
        let members: Vec<&str> = item.members.iter().map(|it| it.id.as_str()).collect();
        let sources = modules
            .iter()
            .filter(|module| module.programs.contains(&item.id.as_str()))
            .map(|module| module.id.as_str());
        let parts: Vec<&str> = members.iter().copied().chain(sources).collect();
        dependencies.push(json!({ "ref": item.id, "dependsOn": parts }));
        for member in members {
            dependencies.push(json!({ "ref": member }));
        }
    }
    dependencies.extend(modules.iter().map(|module| json!({ "ref": module.id })));
    let components = bill.items.iter().map(describe_item);
    let components: Vec<Value> = components
        .chain(modules.iter().map(describe_module))
        .collect();
    keep_filled(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": format!("urn:uuid:{}", bill.uuid("cyclonedx")),
        "version": 1,
        "metadata": describe_metadata(bill),
        "components": components,
        "dependencies": dependencies,
        // Windows itself consists of more than is listed.
        "compositions": [{ "aggregate": "incomplete", "assemblies": [IMAGE] }],
    }))
}

fn describe_metadata(bill: &BillOfMaterials<'_>) -> Value {
    let phase = if bill.baked.is_some() {
        "build"
    } else {
        "pre-build"
    };
    let catalog = format!("sha256:{}", bill.program.catalog);
    keep_filled(json!({
        "timestamp": bill.time,
        "lifecycles": [{ "phase": phase }],
        "tools": { "components": [{
            "type": "application",
            "name": "imagegen",
            "version": bill.program.version,
            "properties": [property("imagegen:catalog", &catalog)],
        }] },
        "component": describe_image(bill),
    }))
}

fn describe_image(bill: &BillOfMaterials<'_>) -> Value {
    let lock = bill.lock;
    let selection = &lock.selection;
    let mut properties = vec![
        property("imagegen:lock:sha256", &bill.lock_digest),
        property(
            "imagegen:target",
            selection.target.as_deref().unwrap_or_default(),
        ),
        property(
            "imagegen:windows",
            selection.windows.as_deref().unwrap_or_default(),
        ),
        property("imagegen:kubernetes", lock.kubernetes.as_str()),
    ];
    if let Some(policy) = &lock.policy {
        properties.push(property("imagegen:policy", &policy.name));
        properties.push(property("imagegen:policy:sha256", &policy.sha256));
    }
    let mut hashes = Vec::new();
    for artifact in list_built(bill.baked) {
        properties.push(property(
            "imagegen:image:id",
            artifact["id"].as_str().unwrap_or_default(),
        ));
        for file in artifact["files"].as_array().into_iter().flatten() {
            if let (Some(sha256), true) = (file["sha256"].as_str(), hashes.is_empty()) {
                hashes.push(json!({ "alg": "SHA-256", "content": sha256 }));
            }
        }
    }
    keep_filled(json!({
        "type": "operating-system",
        "bom-ref": IMAGE,
        "name": bill.title(),
        "version": bill.version(),
        "properties": properties,
        "hashes": hashes,
    }))
}

pub(super) fn list_built(baked: Option<&Value>) -> impl Iterator<Item = &Value> {
    baked
        .and_then(|baked| baked["artifacts"].as_array())
        .into_iter()
        .flatten()
}

fn property(name: &str, value: &str) -> Value {
    json!({ "name": name, "value": value })
}

fn describe_item(item: &Item) -> Value {
    let kind = match item.kind {
        // Scanners read no version of a `file`, and an archive is how a publisher distributes an application.
        ItemKind::Application | ItemKind::Archive => "application",
        ItemKind::ContainerImage => "container",
        ItemKind::OperatingSystem => "operating-system",
        // The specification has no type for an update, which is a file that is distributed.
        ItemKind::File | ItemKind::Update => "file",
    };
    let hashes: Vec<Value> = item.hashes.iter().map(describe_hash).collect();
    let mut references = Vec::new();
    if let Some(url) = &item.url {
        references.push(keep_filled(
            json!({ "type": "distribution", "url": url, "hashes": hashes }),
        ));
    }
    let supplier = item.supplier.as_ref();
    let license = item.license.as_ref();
    let replaced = item.replaces.as_ref();
    let members: Vec<Value> = item.members.iter().map(describe_item).collect();
    keep_filled(json!({
        "type": kind,
        "bom-ref": item.id,
        "supplier": supplier.map(|name| json!({ "name": name })),
        "name": item.name,
        "version": item.version,
        "description": item.summary,
        "scope": if item.outside { "excluded" } else { "required" },
        "hashes": hashes,
        "licenses": license.map(|license| json!([{ "expression": license }])),
        "cpe": item.cpe,
        "purl": item.purl,
        "pedigree": replaced.map(|purl| describe_pedigree(item, purl)),
        "externalReferences": references,
        "properties": describe_properties(item),
        "components": members,
        "evidence": describe_evidence(item),
    }))
}

fn describe_module(module: &GoModule<'_>) -> Value {
    let license = module.license;
    keep_filled(json!({
        "type": "library",
        "bom-ref": module.id,
        "supplier": module.supplier.map(|name| json!({ "name": name })),
        "name": module.name,
        "version": module.version,
        "scope": "required",
        "purl": module.purl,
        "licenses": license.map(|license| json!([{ "expression": license }])),
    }))
}

fn describe_hash((algorithm, digest): &(String, String)) -> Value {
    let algorithm = algorithm.to_ascii_uppercase().replacen("SHA", "SHA-", 1);
    json!({ "alg": algorithm, "content": digest })
}

fn describe_pedigree(item: &Item, purl: &str) -> Value {
    json!({
        "ancestors": [{ "type": "application", "name": item.name, "version": item.version, "purl": purl }],
        "notes": "an override of the image definition puts other bytes in the place of the publisher's",
    })
}

fn describe_properties(item: &Item) -> Value {
    let mut properties = vec![property("imagegen:role", item.role.as_str())];
    let sources = item.sources.iter();
    properties.extend(sources.map(|source| property("imagegen:digest:source", source)));
    if item.unproven {
        properties.push(property("imagegen:digest:confidence", UNPROVEN));
    }
    Value::Array(properties)
}

/// Each proof is a method by which the identity of the bytes was established. A record that nothing has proven again
/// establishes none.
fn describe_evidence(item: &Item) -> Option<Value> {
    let mut methods = Vec::new();
    let mut best = 0.0_f64;
    for proof in &item.evidence {
        let confidence = match proof.verdict {
            _ if item.unproven || item.is_recorded => 0.0,
            Verdict::Verified => 1.0,
            Verdict::SignedTimeUnproven => 0.9,
            Verdict::Absent | Verdict::Failed => 0.0,
        };
        best = best.max(confidence);
        let technique = if proof.proof.is_signature() {
            "attestation"
        } else {
            "hash-comparison"
        };
        let source = proof.source.as_deref().unwrap_or_default();
        let value = format!(
            "{}{} {} of {}: {} {source}",
            item.describe_recorded(),
            proof.proof.as_str(),
            proof.verdict.as_str(),
            proof.subject,
            proof.detail
        );
        methods.push(json!({
            "technique": technique,
            "confidence": confidence,
            "value": value.trim_end(),
        }));
    }
    (!methods.is_empty()).then(
        || json!({ "identity": [{ "field": "hash", "confidence": best, "methods": methods }] }),
    )
}
