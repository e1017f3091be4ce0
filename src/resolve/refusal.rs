//! Refusals: what cannot be built, why, and what can.

use std::fmt;

use crate::catalog::{Catalog, CatalogError};
use crate::model::choice::HostAccess;

/// One reason why a selection is not built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub rule: String,
    pub reason: String,
    /// The nearest good choice, as an imperative.
    pub instead: String,
    pub source: String,
}

impl Refusal {
    #[must_use]
    pub fn new(rule: &str, reason: impl Into<String>, instead: impl Into<String>, source: &str) -> Self {
        Self {
            rule: rule.to_owned(),
            reason: reason.into(),
            instead: instead.into(),
            source: source.to_owned(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error("{}", Listed(.0))]
    Refused(Vec<Refusal>),
}

struct Listed<'a>(&'a [Refusal]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, refusal) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{} [{}; source: {}]", refusal.reason, refusal.rule, refusal.source)?;
        }
        Ok(())
    }
}

/// The span of Kubernetes lines that support a Windows release, as text.
pub(super) fn lines_with_windows(catalog: &Catalog, release: &str) -> Option<String> {
    span(catalog, |line| line.windows.iter().any(|windows| windows.value == release)).ok().flatten()
}

/// The span of Kubernetes lines that have a kind of host access, as text.
pub(super) fn lines_with_host_access(
    catalog: &Catalog,
    access: HostAccess,
) -> Result<Option<String>, CatalogError> {
    span(catalog, |line| line.host_access.iter().any(|choice| choice.name == access.as_str()))
}

fn span(
    catalog: &Catalog,
    holds: impl Fn(&crate::model::kubernetes::KubernetesLine) -> bool,
) -> Result<Option<String>, CatalogError> {
    let mut minors = Vec::new();
    for minor in catalog.kubernetes_minors() {
        if holds(&catalog.kubernetes(&minor)?) {
            minors.push(minor);
        }
    }
    Ok(match (minors.first(), minors.last()) {
        (Some(first), Some(last)) if first != last => Some(format!("{first} to {last}")),
        (Some(only), _) => Some(only.clone()),
        _ => None,
    })
}
