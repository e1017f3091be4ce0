//! SPDX 2.3 (<https://spdx.github.io/spdx-spec/v2.3/>).

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::model::evidence::UNPROVEN;

use super::super::inventory::{Item, ItemKind};
use super::cyclonedx::list_built;
use super::{BillOfMaterials, GoModule, keep_filled};

/// The format demands a time; that of a lockfile alone is the beginning of the epoch, as it has none.
const NO_TIME: &str = "1970-01-01T00:00:00Z";
const IMAGE: &str = "SPDXRef-image";
const UNKNOWN: &str = "NOASSERTION";

/// The bill as one JSON value.
pub fn format_spdx(bill: &BillOfMaterials<'_>) -> Value {
    let mut packages = vec![describe_image(bill)];
    let mut relationships = vec![relate("SPDXRef-DOCUMENT", "DESCRIBES", IMAGE)];
    let mut licenses = BTreeSet::new();
    for item in &bill.items {
        let id = format_id(&item.id);
        relationships.push(match (item.kind, item.outside) {
            (ItemKind::OperatingSystem, _) => relate(IMAGE, "DESCENDANT_OF", &id),
            (ItemKind::ContainerImage, true) => relate(IMAGE, "DEPENDS_ON", &id),
            (_, true) => relate(&id, "BUILD_TOOL_OF", IMAGE),
            (_, false) => relate(IMAGE, "CONTAINS", &id),
        });
        packages.push(describe_package(item));
        for member in &item.members {
            relationships.push(relate(&id, "CONTAINS", &format_id(&member.id)));
            packages.push(describe_package(member));
        }
        licenses.extend(item.license.iter().flat_map(|text| list_own_licenses(text)));
    }
    for module in bill.list_modules() {
        let id = format_id(&module.id);
        for program in &module.programs {
            // syft takes no package that another one is GENERATED_FROM.
            relationships.push(relate(&format_id(program), "DEPENDS_ON", &id));
        }
        packages.push(describe_module(&module, &id));
    }
    let mut extracted = Vec::new();
    for id in &licenses {
        extracted.push(json!({ "licenseId": id, "name": id, "extractedText": UNKNOWN }));
    }
    keep_filled(json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": bill.title(),
        "documentNamespace": format!("https://imagegen.dev/spdx/{}", bill.uuid("spdx")),
        "creationInfo": {
            "created": bill.time.as_deref().unwrap_or(NO_TIME),
            "creators": [format!("Tool: imagegen-{}", bill.program.version)],
            "comment": format!("made from the lockfile with SHA-256 {}", bill.lock_digest),
        },
        "packages": packages,
        "relationships": relationships,
        "hasExtractedLicensingInfos": extracted,
    }))
}

/// Identifiers of a license expression that are not on SPDX's list.
fn list_own_licenses(expression: &str) -> Vec<String> {
    expression
        .split([' ', '(', ')'])
        .filter(|word| word.starts_with("LicenseRef-"))
        .map(str::to_owned)
        .collect()
}

fn relate(from: &str, kind: &str, to: &str) -> Value {
    json!({ "spdxElementId": from, "relationshipType": kind, "relatedSpdxElement": to })
}

/// Letters, digits, dots and hyphens; any other character as its code, so that two names stay apart.
fn format_id(id: &str) -> String {
    let mut text = "SPDXRef-".to_owned();
    for character in id.chars() {
        match character {
            'A'..='Z' | 'a'..='z' | '0'..='9' | '.' => text.push(character),
            '/' => text.push('-'),
            other => {
                // Writing to a String cannot fail.
                let _ = write!(text, "-{:x}-", u32::from(other));
            }
        }
    }
    text
}

fn describe_image(bill: &BillOfMaterials<'_>) -> Value {
    let mut files =
        list_built(bill.baked).flat_map(|it| it["files"].as_array().into_iter().flatten());
    let digest = files.find_map(|file| file["sha256"].as_str());
    keep_filled(json!({
        "SPDXID": IMAGE,
        "name": bill.title(),
        "versionInfo": bill.version(),
        "downloadLocation": UNKNOWN,
        "filesAnalyzed": false,
        "licenseConcluded": UNKNOWN,
        "licenseDeclared": UNKNOWN,
        "copyrightText": UNKNOWN,
        "primaryPackagePurpose": "OPERATING-SYSTEM",
        "checksums": digest.map(|digest| json!([{ "algorithm": "SHA256", "checksumValue": digest }])),
    }))
}

fn describe_module(module: &GoModule<'_>, id: &str) -> Value {
    keep_filled(json!({
        "SPDXID": id,
        "name": module.name,
        "versionInfo": module.version,
        "supplier": module.supplier.map(format_supplier),
        "downloadLocation": UNKNOWN,
        "filesAnalyzed": false,
        "licenseConcluded": UNKNOWN,
        "licenseDeclared": module.license.unwrap_or(UNKNOWN),
        "copyrightText": UNKNOWN,
        "primaryPackagePurpose": "LIBRARY",
        "externalRefs": [describe_purl(module.purl)],
    }))
}

fn format_supplier(name: &str) -> String {
    format!("Organization: {name}")
}

fn describe_purl(purl: &str) -> Value {
    json!({
        "referenceCategory": "PACKAGE-MANAGER",
        "referenceType": "purl",
        "referenceLocator": purl,
    })
}

fn describe_package(item: &Item) -> Value {
    let mut checksums = Vec::new();
    for (algorithm, digest) in &item.hashes {
        let algorithm = algorithm.to_ascii_uppercase();
        checksums.push(json!({ "algorithm": algorithm, "checksumValue": digest }));
    }
    keep_filled(json!({
        "SPDXID": format_id(&item.id),
        "name": item.name,
        "versionInfo": item.version,
        "supplier": item.supplier.as_deref().map(format_supplier),
        "downloadLocation": item.url.as_deref().unwrap_or(UNKNOWN),
        "filesAnalyzed": false,
        "checksums": checksums,
        "licenseConcluded": UNKNOWN,
        "licenseDeclared": item.license.as_deref().unwrap_or(UNKNOWN),
        "copyrightText": UNKNOWN,
        "summary": item.summary,
        "sourceInfo": format_proofs(item),
        "primaryPackagePurpose": find_purpose(item.kind),
        "externalRefs": list_references(item),
    }))
}

fn find_purpose(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Application => "APPLICATION",
        ItemKind::Archive => "ARCHIVE",
        ItemKind::ContainerImage => "CONTAINER",
        ItemKind::File => "FILE",
        ItemKind::OperatingSystem => "OPERATING-SYSTEM",
        ItemKind::Update => "INSTALL",
    }
}

/// Where the digests come from, and what was proven of the bytes.
fn format_proofs(item: &Item) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(purl) = &item.replaces {
        parts.push(format!(
            "an override puts these bytes in the place of {purl}"
        ));
    }
    if !item.sources.is_empty() {
        parts.push(format!("digest from {}", item.sources.join("; ")));
    }
    if item.unproven {
        parts.push(format!("{UNPROVEN}: only the lockfile states the digest"));
    }
    for proof in &item.evidence {
        parts.push(format!(
            "{}{} {}: {}",
            item.describe_recorded(),
            proof.proof.as_str(),
            proof.verdict.as_str(),
            proof.detail
        ));
    }
    (!parts.is_empty()).then(|| parts.join("\n"))
}

fn list_references(item: &Item) -> Vec<Value> {
    let mut references = Vec::new();
    if let Some(purl) = &item.purl {
        references.push(describe_purl(purl));
    }
    if let Some(cpe) = &item.cpe {
        references.push(json!({
            "referenceCategory": "SECURITY",
            "referenceType": "cpe23Type",
            "referenceLocator": cpe,
        }));
    }
    references
}
