//! Known vulnerabilities of what is planned.

use crate::base::code::Code;
use crate::catalog::{Catalog, CatalogError};
use crate::model::line::Minor;
use crate::model::plan::{PlannedArtifact, PlannedGroup, Warning};
use crate::model::vulnerability::{Exposure, Vulnerability};

/// One warning for each flaw that a planned component still has.
pub(super) fn warn_flaws(
    catalog: &Catalog,
    groups: &[PlannedGroup],
) -> Result<Vec<Warning>, CatalogError> {
    let mut warnings = Vec::new();
    for flaw in &catalog.load_vulnerabilities()?.vulnerabilities {
        let artifacts = groups.iter().flat_map(|group| &group.artifacts);
        for artifact in artifacts {
            if let Some(Exposure::Affected { fixed }) = flaw.find_exposure(artifact) {
                let message = describe_flaw(flaw, artifact, fixed.as_ref());
                warnings.push(Warning::new(Code::SECURITY_FLOOR, flaw.id.clone(), message));
            }
        }
    }
    Ok(warnings)
}

fn describe_flaw(
    flaw: &Vulnerability,
    artifact: &PlannedArtifact,
    fixed: Option<&crate::base::version::Version>,
) -> String {
    let rating = flaw.database_specific.severity;
    let start = format!("{} has {} ({rating})", artifact.title(), flaw.id);
    let Some(fixed) = fixed else {
        return format!("{start}: no release has the fix");
    };
    let (own, later) = (
        Minor::from_release(&artifact.version),
        Minor::from_release(fixed),
    );
    match own {
        Some(minor) if own != later => {
            format!("{start}: {minor} never got the fix, first fixed in {fixed}")
        }
        _ => format!("{start}: first fixed in {fixed}"),
    }
}
