//! Refusals: what cannot be built, why, and what can.

use crate::base::choice::{HostAccess, Runtime};
use crate::base::code::Code;
use crate::catalog::{Catalog, CatalogError};
use crate::diagnostic::{Finding, Refusal};
use crate::model::kubernetes::KubernetesLine;

/// The image of a plan that cannot be built.
#[must_use]
pub fn refuse_image(findings: Vec<Finding>) -> Refusal {
    Refusal {
        summary: "the image cannot be built",
        findings,
    }
}

/// A runtime that the line does not run with has no version for it either: the reason stands alone, because
/// another version is no remedy.
pub(super) fn drop_consequences(
    line: &KubernetesLine,
    runtime: Runtime,
    refusals: &mut Vec<Finding>,
) {
    let runs = line
        .runtimes
        .iter()
        .any(|known| known.name == runtime.as_str());
    if runs {
        return;
    }
    let (follows, others): (Vec<Finding>, Vec<Finding>) =
        std::mem::take(refusals).into_iter().partition(|finding| {
            finding.code == Code::NO_DEFAULT_VERSION && finding.subject == runtime.as_str()
        });
    *refusals = if others.is_empty() { follows } else { others };
}

/// The span of Kubernetes lines that support a Windows release, as text.
pub(super) fn format_lines_with_windows(catalog: &Catalog, release: &str) -> Option<String> {
    format_line_span(catalog, |line| {
        line.windows.iter().any(|windows| windows.value == release)
    })
    .ok()
    .flatten()
}

/// The span of Kubernetes lines that have a kind of host access, as text.
pub(super) fn format_lines_with_host_access(
    catalog: &Catalog,
    access: HostAccess,
) -> Result<Option<String>, CatalogError> {
    format_line_span(catalog, |line| {
        line.host_access
            .iter()
            .any(|choice| choice.name == access.as_str())
    })
}

fn format_line_span(
    catalog: &Catalog,
    holds: impl Fn(&KubernetesLine) -> bool,
) -> Result<Option<String>, CatalogError> {
    let mut minors = Vec::new();
    for minor in catalog.kubernetes_minors() {
        if holds(&*catalog.load_kubernetes_line(minor)?) {
            minors.push(minor);
        }
    }
    Ok(match (minors.first(), minors.last()) {
        (Some(first), Some(last)) if first != last => Some(format!("{first} to {last}")),
        (Some(only), _) => Some(only.to_string()),
        _ => None,
    })
}
