//! Whether the versions that a user names for components can be releases at all.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::code::Code;
use crate::base::version::Version;
use crate::catalog::{Catalog, CatalogError};
use crate::diagnostic::{Finding, Result};
use crate::model::component::Component;
use crate::model::line::Minor;

use super::refuse_image;

/// Refuses versions with fewer or more numbers than the releases of their component: every rule about versions, and
/// the address of the download, would take them for releases.
///
/// # Errors
/// A version cannot be a release, or the catalog cannot be read.
pub(super) fn check_versions(
    catalog: &Catalog,
    components: &BTreeMap<String, Version>,
    minor: Minor,
) -> Result<()> {
    let mut refusals = Vec::new();
    for (name, asked) in components {
        let component = match catalog.load_component(name) {
            Ok(component) => component,
            // Whether the image uses it is asked later, with a suggestion.
            Err(CatalogError::Unknown { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
        refusals.extend(find_malformed(&component, asked, minor));
    }
    if refusals.is_empty() {
        return Ok(());
    }
    Err(refuse_image(refusals).into())
}

fn find_malformed(component: &Component, asked: &Version, minor: Minor) -> Option<Finding> {
    let known = list_known(component);
    let counts: BTreeSet<usize> = known.iter().map(count_numbers).collect();
    // Commits and names of branches are versions, too, and say nothing of others.
    let fewest = counts.first().copied().unwrap_or_default();
    if fewest < 2 || counts.contains(&count_numbers(asked)) {
        return None;
    }

    let name = &component.definition.name;
    let choice = component.find_choice(minor);
    let good = known.iter().filter(|version| {
        !version.is_prerelease() && choice.is_none_or(|choice| choice.allowed.contains(version))
    });
    let mut good: Vec<&Version> = good.collect();
    if good.iter().any(|version| is_begun_by(version, asked)) {
        good.retain(|version| is_begun_by(version, asked));
    }
    let newest = good.pop().or(known.last())?;
    let numbers: Vec<String> = counts.iter().map(ToString::to_string).collect();
    let message = format!(
        "`{asked}` is not a release of {name}: its releases have {} numbers, such as {newest}",
        numbers.join(" or ")
    );
    let remedy = format!(
        "choose `--component {name}={newest}`, or leave the component out for the default (`imagegen explain {name}`)"
    );
    let finding = Finding::new(Code::COMPONENT_RELEASE, message, remedy).with_subject(name);
    Some(finding.with_source(component.definition.releases.first()?.source.clone()))
}

/// Versions with a recorded digest, and the defaults of Kubernetes lines.
fn list_known(component: &Component) -> BTreeSet<Version> {
    let pins = component.pins.list().into_iter().map(|pin| pin.version);
    let choices = component.definition.choices.iter();
    pins.chain(choices.map(|choice| choice.default.clone()))
        .collect()
}

fn count_numbers(version: &Version) -> usize {
    version.numbers().len()
}

/// Whether a known release is one of the line that was asked for: 2.0.5 of `2.0`.
fn is_begun_by(known: &Version, asked: &Version) -> bool {
    let asked = asked.numbers();
    !asked.is_empty() && known.numbers().starts_with(&asked)
}
