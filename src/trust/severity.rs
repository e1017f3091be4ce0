//! `maximumSeverity` and `refuseBelowSecurityFloor` of a policy.

use crate::base::code::Code;
use crate::catalog::Catalog;
use crate::diagnostic::Finding;
use crate::model::plan::Plan;
use crate::model::policy::Policy;
use crate::model::vulnerability::{Exposure, Vulnerability};

/// Components with known vulnerabilities that the policy refuses.
pub(super) fn check_severity(policy: &Policy, plan: &Plan, catalog: &Catalog) -> Vec<Finding> {
    if !policy.refuse_below_security_floor && policy.maximum_severity.is_none() {
        return Vec::new();
    }
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
    for flaw in &flaws.vulnerabilities {
        let Some(clause) = find_clause(policy, flaw) else {
            continue;
        };
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
                Finding::new(clause, message, remedy)
                    .with_subject(artifact.title())
                    .with_source(flaw.find_page()),
            );
        }
    }
    findings
}

/// The clause that refuses components with this vulnerability.
fn find_clause(policy: &Policy, flaw: &Vulnerability) -> Option<Code> {
    let rating = flaw.database_specific.severity;
    if policy
        .maximum_severity
        .is_some_and(|maximum| rating > maximum)
    {
        return Some(Code::POLICY_MAXIMUM_SEVERITY);
    }
    let floor = Code::POLICY_REFUSE_BELOW_SECURITY_FLOOR;
    policy.refuse_below_security_floor.then_some(floor)
}
