//! Known vulnerabilities as VEX in CycloneDX: affected, fixed, not affected with the reason.

use serde_json::{Value, json};

use crate::model::plan::PlannedArtifact;
use crate::model::vulnerability::{Exposure, Vulnerability};

use super::BillOfMaterials;

/// One entry for each vulnerability and each component that it names.
pub(super) fn list_vulnerabilities(bill: &BillOfMaterials<'_>) -> Vec<Value> {
    let mut entries = Vec::new();
    for flaw in bill.flaws {
        for artifact in &bill.lock.artifacts {
            let item = bill
                .items
                .iter()
                .find(|item| item.name == artifact.component.as_str() && item.hashes_of(artifact));
            if let (Some(item), Some(exposure)) = (item, flaw.find_exposure(artifact)) {
                entries.push(describe_exposure(flaw, artifact, &item.id, &exposure));
            }
        }
    }
    entries
}

fn describe_exposure(
    flaw: &Vulnerability,
    artifact: &PlannedArtifact,
    item: &str,
    exposure: &Exposure,
) -> Value {
    let (state, status, detail) = match exposure {
        Exposure::Affected { fixed: Some(fixed) } => {
            ("exploitable", "affected", format!("first fixed in {fixed}"))
        }
        Exposure::Affected { fixed: None } => (
            "exploitable",
            "affected",
            "no release has the fix".to_owned(),
        ),
        Exposure::Fixed => (
            "resolved",
            "unaffected",
            format!("{} has the fix", artifact.title()),
        ),
        Exposure::NotAffected { reason } => ("not_affected", "unaffected", reason.clone()),
    };
    let rating = &flaw.database_specific;
    let mut entry = json!({
        "bom-ref": format!("{}/{item}", flaw.id),
        "id": flaw.id,
        "source": { "name": "Kubernetes", "url": flaw.find_page() },
        "ratings": [{
            "score": f64::from(rating.score_tenths) / 10.0,
            "severity": rating.severity.as_str(),
            "method": "CVSSv31",
            "vector": flaw.severity.first().map_or("", |it| it.score.as_str()),
        }],
        "description": flaw.summary,
        "updated": flaw.modified,
        "analysis": { "state": state, "detail": detail },
        "affects": [{
            "ref": item,
            "versions": [{ "version": artifact.version.as_str(), "status": status }],
        }],
    });
    if let Exposure::Affected { fixed: Some(fixed) } = exposure {
        entry["recommendation"] = json!(format!("update {} to {fixed}", artifact.component));
    }
    entry
}
