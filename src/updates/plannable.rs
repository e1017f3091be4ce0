//! Whether a pin can be used: some plan must be able to choose its version, and no pin that counts may
//! contradict it.

use crate::base::version::Version;
use crate::catalog::{Catalog, CatalogError};
use crate::diagnostic::{Error, Result};
use crate::model::component::{Component, Pin};
use crate::model::kubernetes_release::{KubernetesRelease, ProductRelease};
use crate::model::line::Minor;

/// # Errors
/// No plan of this catalog chooses the version.
pub(super) fn check_version(
    catalog: &Catalog,
    component: &Component,
    version: &Version,
) -> Result<()> {
    let name = &component.definition.name;
    if !component
        .definition
        .releases
        .iter()
        .any(|release| release.versions.contains(version))
    {
        let remedy = format!("add a range to `releases` in components/{name}.json first");
        return Err(Error::value(
            format!("no release of {name} has the version {version}"),
            remedy,
        ));
    }
    let contents = catalog.load_contents()?;
    let alternatives = contents.groups.iter().flat_map(|group| &group.alternatives);
    let mut parts = alternatives.flatten();
    if parts.any(|part| part.component == *name && part.follows_kubernetes) {
        return check_kubernetes(catalog, name, version);
    }
    let allowed: Vec<String> = component
        .definition
        .choices
        .iter()
        .map(|choice| choice.allowed.to_string())
        .collect();
    if !allowed.is_empty()
        && !component
            .definition
            .choices
            .iter()
            .any(|choice| choice.allowed.contains(version))
    {
        let mut ranges = allowed;
        ranges.dedup();
        return Err(Error::value(
            format!(
                "no Kubernetes line works with {name} {version}: allowed are {}",
                ranges.join(" or ")
            ),
            format!("widen `allowed` in components/{name}.json first"),
        ));
    }
    Ok(())
}

/// Programs of Kubernetes have its version.
fn check_kubernetes(catalog: &Catalog, name: &str, version: &Version) -> Result<()> {
    let text = version.as_str();
    if text.parse::<KubernetesRelease>().is_err() && ProductRelease::split(text).is_none() {
        let message = format!("{name} {version}: this is not a release of Kubernetes");
        let remedy = "give the release as Kubernetes tags it, without `v`: three numbers without leading zeros";
        return Err(Error::value(message, remedy));
    }
    let minor = Minor::from_release(version);
    let line = match minor.map(|minor| catalog.load_kubernetes_line(minor)) {
        Some(Ok(line)) => line,
        None | Some(Err(CatalogError::Unknown { .. })) => {
            let line = minor.map_or_else(|| version.to_string(), |minor| minor.to_string());
            return Err(Error::value(
                format!("{name} {version}: the catalog has no Kubernetes line {line}"),
                format!("add kubernetes/lines/{line}.json first"),
            ));
        }
        Some(Err(error)) => return Err(error.into()),
    };
    if line.patches.contains(version) || *version < line.latest {
        return Ok(());
    }
    let message = format!(
        "{name} {version}: the latest release of Kubernetes {} in this catalog is {}",
        line.minor, line.latest
    );
    let remedy = format!(
        "add `\"{version}\"` to `patches` in kubernetes/lines/{}.json first",
        line.minor
    );
    Err(Error::value(message, remedy))
}

/// # Errors
/// A pin that counts names another digest or size for the same file.
pub(super) fn check_contradiction(component: &Component, added: &[Pin]) -> Result<()> {
    for pin in added {
        let mut known = component.pins.find_version(&pin.version).into_iter();
        let other = known.find(|known| {
            is_same_file(known, pin) && (has_other_digest(known, pin) || has_other_size(known, pin))
        });
        let Some(other) = other else { continue };
        let recorded = if has_other_digest(&other, pin) {
            format!(
                "the digest {}, not {}",
                other.digest.as_str(),
                pin.digest.as_str()
            )
        } else {
            format!(
                "{} bytes, not {}",
                other.size.unwrap_or_default(),
                pin.size.unwrap_or_default()
            )
        };
        let message = format!(
            "{} {}: the catalog records {recorded} (source: {})",
            component.definition.name,
            pin.version,
            other.source.join("; ")
        );
        let remedy = format!(
            "check both sources; if the publisher replaced the file, set `\"confidence\": \"mutable\"` at the \
                 old record in pins/{}.json",
            component.definition.name
        );
        return Err(Error::value(message, remedy));
    }
    Ok(())
}

fn is_same_file(known: &Pin, pin: &Pin) -> bool {
    known.is_usable()
        && known.version == pin.version
        && known.platform == pin.platform
        && known.url == pin.url
}

fn has_other_digest(known: &Pin, pin: &Pin) -> bool {
    known.digest.algorithm() == pin.digest.algorithm() && known.digest != pin.digest
}

fn has_other_size(known: &Pin, pin: &Pin) -> bool {
    known.size.is_some() && pin.size.is_some() && known.size != pin.size
}
