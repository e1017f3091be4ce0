//! The warnings of a plan as the terminal says them: with the day of the run, which no lockfile knows.

use crate::base::code::Code;
use crate::diagnostic::Result;
use crate::model::plan::Plan;
use crate::model::support::SupportEnd;
use crate::selection::read_today;

/// The warnings for `lock` and for a build that makes something.
///
/// # Errors
/// `SOURCE_DATE_EPOCH` is no time.
pub fn list_warnings(plan: &Plan) -> Result<Vec<String>> {
    let warnings = plan.warnings().into_iter().map(|warning| warning.message);
    Ok(warnings.chain(describe_ended(plan)?).collect())
}

/// The same for what only shows an image: no base image is chosen yet.
///
/// # Errors
/// As [`list_warnings`].
pub fn list_preview_warnings(plan: &Plan) -> Result<Vec<String>> {
    let warnings = plan.warnings().into_iter();
    let told = warnings.filter(|warning| warning.id != Code::FLOATING_BASE_IMAGE);
    let told = told.map(|warning| warning.message);
    Ok(told.chain(describe_ended(plan)?).collect())
}

/// One warning for all parts whose support is over today. Components follow the Kubernetes line, so their flags help
/// only where the line is supported.
fn describe_ended(plan: &Plan) -> Result<Option<String>> {
    let today = read_today()?;
    let ended: Vec<&SupportEnd> = plan
        .support
        .iter()
        .filter(|it| it.is_over(&today))
        .collect();
    let Some(first) = ended.first() else {
        return Ok(None);
    };
    let names: Vec<String> = ended
        .iter()
        .map(|it| format!("{it} on {}", it.date))
        .collect();
    let mut flags: Vec<String> = ended.iter().map(|it| format!("`{}`", it.flag())).collect();
    if first.name == "kubernetes" {
        flags.retain(|flag| !flag.contains("--component"));
    }
    Ok(Some(format!(
        "support has ended, and nobody fixes vulnerabilities: {}; choose newer releases with {} (`imagegen list kubernetes` and `list windows` show the dates)",
        names.join(", "),
        flags.join(" and ")
    )))
}
