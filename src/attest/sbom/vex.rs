//! Known vulnerabilities as VEX in CycloneDX: affected, fixed, not affected with the reason.

use serde_json::{Value, json};

use crate::model::plan::PlannedArtifact;
use crate::model::vulnerability::{Exposure, Vulnerability};

use super::{BillOfMaterials, GoModule};

/// A component of the image that a vulnerability names.
struct Exposed<'a> {
    artifact: &'a PlannedArtifact,
    item: &'a str,
    exposure: Exposure,
    /// Modules for which this component speaks: of those that share one, the worst.
    modules: Vec<&'a GoModule<'a>>,
}

/// One entry for each vulnerability and each component that it names.
pub(super) fn list_vulnerabilities(
    bill: &BillOfMaterials<'_>,
    modules: &[GoModule<'_>],
) -> Vec<Value> {
    let mut entries = Vec::new();
    for flaw in bill.flaws {
        let mut exposed = list_exposed(bill, flaw);
        for module in modules {
            let programs = exposed
                .iter_mut()
                .filter(|it| module.programs.contains(&it.item));
            if let Some(worst) = programs.min_by(|a, b| a.exposure.cmp(&b.exposure)) {
                worst.modules.push(module);
            }
        }
        entries.extend(exposed.iter().map(|it| describe_exposure(flaw, it)));
    }
    entries
}

fn list_exposed<'a>(bill: &'a BillOfMaterials<'_>, flaw: &Vulnerability) -> Vec<Exposed<'a>> {
    let mut exposed = Vec::new();
    for artifact in &bill.lock.artifacts {
        let mut items = bill.items.iter();
        let item =
            items.find(|item| item.name == artifact.component.as_str() && item.hashes_of(artifact));
        if let (Some(item), Some(exposure)) = (item, flaw.find_exposure(artifact)) {
            exposed.push(Exposed {
                artifact,
                item: &item.id,
                exposure,
                modules: Vec::new(),
            });
        }
    }
    exposed
}

fn describe_exposure(flaw: &Vulnerability, exposed: &Exposed<'_>) -> Value {
    let Exposed {
        artifact,
        item,
        exposure,
        modules,
    } = exposed;
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
    let mut affects = vec![describe_affected(item, artifact.version.as_str(), status)];
    for module in modules {
        affects.push(describe_affected(&module.id, &module.version, status));
    }
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
        "affects": affects,
    });
    if let Exposure::Affected { fixed: Some(fixed) } = exposure {
        entry["recommendation"] = json!(format!("update {} to {fixed}", artifact.component));
    }
    entry
}

fn describe_affected(id: &str, version: &str, status: &str) -> Value {
    json!({ "ref": id, "versions": [{ "version": version, "status": status }] })
}
