//! Until when the parts of a plan are supported.

use crate::catalog::Catalog;
use crate::model::plan::PlannedGroup;
use crate::model::support::{EndOfSupport, SupportEnd};

use super::{ChosenPlatform, KUBERNETES};

/// Kubernetes and Windows first, then the components whose branches the catalog dates.
pub(super) fn list_support_ends(
    catalog: &Catalog,
    platform: &ChosenPlatform,
    groups: &[PlannedGroup],
) -> Vec<SupportEnd> {
    let (line, windows) = (&platform.line, &platform.windows);
    let mut ends = Vec::new();
    let mut add = |name: &str, release: String, end: Option<&EndOfSupport>| {
        ends.extend(end.map(|end| SupportEnd {
            name: name.to_owned(),
            release,
            date: end.date.clone(),
        }));
    };
    add(
        KUBERNETES,
        line.minor.to_string(),
        line.end_of_support.as_ref(),
    );
    add(
        "windows",
        windows.release.clone(),
        windows.end_of_support.as_ref(),
    );

    for artifact in groups.iter().flat_map(|group| &group.artifacts) {
        // A medium of the target is no component.
        let Ok(component) = catalog.load_component(&artifact.component) else {
            continue;
        };
        let mut branches = component.definition.end_of_support.iter();
        let branch = branches.find(|branch| branch.versions.contains(&artifact.version));
        ends.extend(branch.map(|branch| SupportEnd {
            name: artifact.component.to_string(),
            release: artifact.version.minor(),
            date: branch.date.clone(),
        }));
    }
    ends
}
