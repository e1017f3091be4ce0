//! Which Kubernetes release a user means, and what is known to be wrong with it.

use std::sync::Arc;

use crate::base::code::Code;
use crate::base::names::find_closest_name;
use crate::base::version::Version;
use crate::catalog::{Catalog, CatalogError};
use crate::diagnostic::{Error, Finding, Result};
use crate::model::kubernetes::KubernetesLine;
use crate::model::line::Minor;
use crate::model::plan::Warning;

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
    let Some(version) = asked
        .parse::<Version>()
        .ok()
        .filter(|version| version.numbers().len() >= 2)
    else {
        return Err(refuse_version(catalog, asked));
    };
    let Some(minor) = Minor::from_release(&version) else {
        return Err(refuse_version(catalog, asked));
    };
    let line = match catalog.load_kubernetes_line(minor) {
        Ok(line) => line,
        Err(CatalogError::Unknown { .. }) => return Err(refuse_version(catalog, asked)),
        Err(error) => return Err(error.into()),
    };
    if asked == minor.to_string() {
        return Ok(choose_latest(line, updated));
    }
    if line.patches.contains(&version) {
        return Ok((line, version, Vec::new()));
    }
    // Lines list the releases that the catalog's sources name; a gap below the latest may still
    // be a release, a number above it is not known to be one.
    if version < line.latest && !version.is_prerelease() && version.numbers().len() == 3 {
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
        None => Err(refuse_version(catalog, "stable")),
    }
}

fn refuse_version(catalog: &Catalog, asked: &str) -> Error {
    let minors: Vec<String> = catalog
        .kubernetes_minors()
        .iter()
        .map(ToString::to_string)
        .collect();
    // The nearest number is rarely the one that was meant.
    let is_number = asked.starts_with(|first: char| first.is_ascii_digit());
    let names = if is_number { &[] } else { minors.as_slice() };
    let near = find_closest_name(asked, names.iter().map(String::as_str).chain(["stable"]));
    let instead = match (near, minors.first(), minors.last()) {
        (Some(near), ..) => format!("did you mean `--k8s {near}`?"),
        (None, Some(first), Some(last)) => {
            format!("give a release such as `1.36.4`, a line from {first} to {last}, or `stable`")
        }
        _ => "the catalog has no kubernetes/lines/*.json".to_owned(),
    };
    let refusal = Finding::new(
        Code::KUBERNETES_UNKNOWN,
        format!("unknown Kubernetes version `{asked}`"),
        instead,
    )
    .with_subject("kubernetes")
    .with_source(catalog.file_label("kubernetes"));
    refuse_image(vec![refusal]).into()
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
