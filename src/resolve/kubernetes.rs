//! Which Kubernetes release a user means, and what is known to be wrong with it.

use std::sync::Arc;

use crate::base::code::Code;
use crate::base::names::find_closest_name;
use crate::base::version::Version;
use crate::catalog::{Catalog, CatalogError};
use crate::diagnostic::{Error, Finding, Result};
use crate::model::kubernetes::KubernetesLine;
use crate::model::kubernetes_release::{KubernetesRelease, ProductRelease};
use crate::model::line::Minor;
use crate::model::plan::Warning;
use crate::model::rules::NodeOwner;

use super::refuse_image;

/// Resolves `1.20.0`, `1.20` (the latest release of the line) or `stable` (the latest release of the newest
/// surveyed line, and the default). An update applies if the selection fixes no patch release.
pub(super) fn choose_kubernetes(
    catalog: &Catalog,
    asked: Option<&str>,
    updated: Option<&Version>,
) -> Result<(Arc<KubernetesLine>, Version, Vec<Warning>)> {
    let asked = asked.unwrap_or("stable");
    let asked = asked.strip_prefix('v').unwrap_or(asked);
    if asked == "stable" {
        return Ok(choose_latest(find_newest_line(catalog)?, updated));
    }
    if let Ok(minor) = asked.parse::<Minor>() {
        return Ok(choose_latest(load_line(catalog, minor, asked)?, updated));
    }
    let Some(version) = find_release(catalog, asked)? else {
        return Err(refuse_version(catalog, asked)?);
    };
    let Some(minor) = Minor::from_release(&version) else {
        return Err(refuse_version(catalog, asked)?);
    };
    let line = load_line(catalog, minor, asked)?;
    if line.patches.contains(&version) {
        return Ok((line, version, Vec::new()));
    }
    // Lines list the releases that the catalog's sources name; a gap below the latest may still
    // be a release, a number above it is not known to be one.
    if version < line.latest && !version.is_prerelease() {
        let message = format!(
            "Kubernetes {version} is older than {} but not listed in {}",
            line.latest,
            catalog.file_label(&format!("kubernetes/lines/{minor}.json"))
        );
        let warning = Warning::new(Code::UNLISTED_RELEASE, version.to_string(), message);
        return Ok((line, version, vec![warning]));
    }
    let refusal = Finding::new(Code::KUBERNETES_UNKNOWN, format!("unknown Kubernetes release {version}: the latest known of {minor} is {}", line.latest), format!(
            "choose `--k8s {}`, or pin a newer release with `imagegen lock --k8s {minor} --update kubernetes`",
            line.latest
        )).with_subject("kubernetes").with_source(&line.source);
    Err(refuse_image(vec![refusal]).into())
}

/// The line's latest release, or a newer one that an update found.
fn choose_latest(
    line: Arc<KubernetesLine>,
    updated: Option<&Version>,
) -> (Arc<KubernetesLine>, Version, Vec<Warning>) {
    let newer = updated.filter(|version| {
        Minor::from_release(version) == Some(line.minor) && **version > line.latest
    });
    let Some(version) = newer.cloned() else {
        let latest = line.latest.clone();
        return (line, latest, Vec::new());
    };
    let message = format!(
        "Kubernetes {version} is newer than {}, the latest release of {} in the catalog: its flags and fields are checked against earlier releases",
        line.latest, line.minor
    );
    let warning = Warning::new(Code::NEWER_RELEASE, version.to_string(), message);
    (line, version, vec![warning])
}

fn find_newest_line(catalog: &Catalog) -> Result<Arc<KubernetesLine>> {
    match catalog.load_programs()?.surveyed.newest() {
        Some(minor) => Ok(catalog.load_kubernetes_line(minor)?),
        None => Err(refuse_version(catalog, "stable")?),
    }
}

/// The release of that name: one of Kubernetes, or one of a product whose programs the catalog has, as of EKS Distro.
fn find_release(catalog: &Catalog, asked: &str) -> Result<Option<Version>> {
    if let Ok(release) = asked.parse::<KubernetesRelease>() {
        return Ok(Some(release.version().clone()));
    }
    let is_product = ProductRelease::split(asked).is_some();
    let Some(version) = asked.parse::<Version>().ok().filter(|_| is_product) else {
        return Ok(None);
    };
    for group in &catalog.load_contents()?.groups {
        for part in group.alternatives.iter().flatten() {
            if !part.follows_kubernetes {
                continue;
            }
            let component = catalog.load_component(&part.component)?;
            if !component.pins.find_version(&version).is_empty() {
                return Ok(Some(version));
            }
        }
    }
    Ok(None)
}

fn load_line(catalog: &Catalog, minor: Minor, asked: &str) -> Result<Arc<KubernetesLine>> {
    match catalog.load_kubernetes_line(minor) {
        Ok(line) => Ok(line),
        Err(CatalogError::Unknown { .. }) => Err(refuse_version(catalog, asked)?),
        Err(error) => Err(error.into()),
    }
}

fn refuse_version(catalog: &Catalog, asked: &str) -> Result<Error> {
    let finding = match ProductRelease::split(asked) {
        Some(product) => refuse_product(asked, &product, &catalog.load_rules()?.owners),
        None => Finding::new(
            Code::KUBERNETES_UNKNOWN,
            format!("unknown Kubernetes version `{asked}`"),
            suggest_version(catalog, asked)?,
        )
        .with_source(catalog.file_label("kubernetes")),
    };
    Ok(refuse_image(vec![finding.with_subject("kubernetes")]).into())
}

/// Products number their releases after Kubernetes' own: `1.30.1+rke2r1` is one of RKE2.
fn refuse_product(asked: &str, product: &ProductRelease<'_>, owners: &[NodeOwner]) -> Finding {
    let ProductRelease { kubernetes, suffix } = product;
    let named = owners.iter().find(|owner| is_made_by(suffix, &owner.name));
    match named {
        Some(owner) => Finding::new(
            Code::KUBERNETES_PRODUCT,
            format!(
                "`{asked}` is a release of {}, not of Kubernetes: {}",
                owner.title, owner.reason
            ),
            format!(
                "{}; Kubernetes' own release is `--k8s {kubernetes}`",
                owner.instead
            ),
        )
        .with_source(&owner.source),
        None => Finding::new(
            Code::KUBERNETES_PRODUCT,
            format!(
                "`{asked}` is a release of a product that is built from Kubernetes {kubernetes}, not of Kubernetes"
            ),
            format!(
                "choose `--k8s {kubernetes}`; add `--join none` if the product installs its own kubelet on the clone"
            ),
        )
        .with_source("derived: the tags of Kubernetes have three numbers, and the mark of a prerelease at most"),
    }
}

/// Whether a suffix such as `rke2r1` or `eks-1` begins with the product's name, and not with a longer one.
fn is_made_by(suffix: &str, product: &str) -> bool {
    let Some(rest) = suffix.strip_prefix(product) else {
        return false;
    };
    let revision = rest.trim_start_matches('r');
    !revision.starts_with(|first: char| first.is_ascii_alphabetic())
}

fn suggest_version(catalog: &Catalog, asked: &str) -> Result<String> {
    let minors = catalog.kubernetes_minors();
    let names: Vec<String> = minors.iter().map(ToString::to_string).collect();
    // The nearest number is rarely the one that was meant.
    let is_number = asked.starts_with(|first: char| first.is_ascii_digit());
    let words = if is_number { &[] } else { names.as_slice() };
    let words = words.iter().map(String::as_str).chain(["stable"]);
    if let Some(near) = find_closest_name(asked, words) {
        return Ok(format!("did you mean `--k8s {near}`?"));
    }

    let (Some(first), Some(last)) = (minors.first(), minors.last()) else {
        return Ok("the catalog has no kubernetes/lines/*.json".to_owned());
    };
    let newest = catalog.load_programs()?.surveyed.newest().unwrap_or(*last);
    let example = &catalog.load_kubernetes_line(newest)?.latest;
    Ok(format!(
        "give a release such as `{example}`, a line from {first} to {last}, or `stable`"
    ))
}

/// A warning if the programs of the line were not surveyed: their command lines are not checked.
pub(super) fn check_survey(
    catalog: &Catalog,
    line: &KubernetesLine,
) -> Result<Option<Warning>, CatalogError> {
    let surveys = &catalog.load_programs()?.surveyed;
    if surveys.find(line.minor).is_some() {
        return Ok(None);
    }
    let newest = match surveys.find_nearest(line.minor) {
        Some(survey) => format!("the newest surveyed release is {}", survey.release),
        None => "no earlier line is surveyed".to_owned(),
    };
    let message = format!(
        "the programs of Kubernetes {} are not surveyed: flags, feature gates and configuration fields are \
             not checked; {newest}",
        line.minor
    );
    Ok(Some(Warning::new(
        Code::NOT_SURVEYED,
        line.minor.to_string(),
        message,
    )))
}
