//! `maximumSeverity` of a policy.

use crate::base::code::Code;
use crate::catalog::Catalog;
use crate::diagnostic::Finding;
use crate::model::plan::Plan;
use crate::model::vulnerability::{Exposure, Rating};

/// Components whose known vulnerabilities are rated worse than the policy allows.
pub(super) fn check_severity(maximum: Rating, plan: &Plan, catalog: &Catalog) -> Vec<Finding> {
    let flaws = match catalog.load_vulnerabilities() {
        Ok(flaws) => flaws,
        Err(error) => {
            let remedy = "export the catalog again";
            return vec![Finding::new(
                Code::POLICY_MAXIMUM_SEVERITY,
                error.to_string(),
                remedy,
            )];
        }
    };
    let mut findings = Vec::new();
    for flaw in flaws
        .vulnerabilities
        .iter()
        .filter(|flaw| flaw.database_specific.severity > maximum)
    {
        for artifact in plan.artifacts() {
            let Some(Exposure::Affected { fixed }) = flaw.find_exposure(artifact) else {
                continue;
            };
            let rating = flaw.database_specific.severity;
            let message = format!("{} has {} ({rating})", artifact.title(), flaw.id);
            let remedy = fixed.map_or_else(
                || format!("leave {} out", artifact.component),
                |fixed| format!("choose {fixed} or newer"),
            );
            findings.push(
                Finding::new(Code::POLICY_MAXIMUM_SEVERITY, message, remedy)
                    .with_subject(artifact.title())
                    .with_source(flaw.find_page()),
            );
        }
    }
    findings
}
