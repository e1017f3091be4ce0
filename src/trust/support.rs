//! `refuseUnsupported` of a policy.

use crate::base::code::Code;
use crate::diagnostic::Finding;
use crate::model::plan::Plan;
use crate::model::policy::Policy;
use crate::model::support::Day;

use super::gate::{PolicyError, PolicyFault};

/// Refuses parts of an image whose publishers fix nothing any more on this day.
///
/// # Errors
/// All of them at once.
pub fn check_support(policy: &Policy, plan: &Plan, today: &Day) -> Result<(), PolicyError> {
    let mut findings = Vec::new();
    if policy.refuse_unsupported {
        for end in plan.support.iter().filter(|end| end.is_over(today)) {
            let message = format!("its support ended on {}", end.date);
            let remedy = format!("choose a supported release with `{}`", end.flag());
            let finding = Finding::new(Code::POLICY_REFUSE_UNSUPPORTED, message, remedy);
            findings.push(finding.with_subject(end.to_string()));
        }
    }
    PolicyFault::Selection.refuse(policy, findings)
}
