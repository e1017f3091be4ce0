//! Parts of a selection beside its choices: optional features, files, mirrors, versions of Packer.

use crate::catalog::{Catalog, CatalogError};
use crate::diagnostic::{Finding, Result};
use crate::model::feature::Feature;
use crate::model::names::format_suggestion;
use crate::model::selection::ImageDefinition;
use crate::model::situation::Situation;

/// The selected features, in the order of the catalog.
pub(super) fn choose_features(
    catalog: &Catalog,
    situation: &Situation,
    refusals: &mut Vec<Finding>,
) -> Result<Vec<Feature>> {
    let known = catalog.load_features()?;
    for name in &situation.features {
        if !known.iter().any(|feature| feature.name == *name) {
            let suggestion = format_suggestion(name, known.iter().map(|feature| feature.name.as_str()));
            return Err(CatalogError::Unknown { what: "feature", name: name.clone(), suggestion }.into());
        }
    }
    let asked = known.into_iter().filter(|feature| situation.features.contains(&feature.name));
    Ok(asked
        .inspect(|feature| {
            if !situation.holds(&feature.when) {
                refusals.push(
                    Finding::new(
                        "feature-unsupported",
                        format!(
                            "the feature {} does not work with this selection: {}",
                            feature.name, feature.reason
                        ),
                        format!("remove `--feature {}`", feature.name),
                    )
                    .with_subject(&feature.name)
                    .with_source(&feature.source),
                );
            }
        })
        .collect())
}

/// Files that the guest downloads by itself: an update is a package of its own.
pub(super) fn check_downloads(selection: &ImageDefinition, refusals: &mut Vec<Finding>) {
    let updates = selection.updates.iter().flat_map(|updates| &updates.files);
    for file in updates.filter(|file| !file.url.file_name().to_lowercase().ends_with(".msu")) {
        refusals.push(
            Finding::new(
                "update-file",
                format!("the file of {} is not an update package: {}", file.kb, file.url),
                "give the URL of a `.msu` file",
            )
            .with_subject("updates")
            .with_source("https://support.microsoft.com/kb/934307"),
        );
    }
    for (plugin, files) in &selection.volume_plugins {
        if files.is_empty() {
            refusals.push(
                Finding::new(
                    "volume-plugin",
                    format!("the volume plugin {plugin} has no files"),
                    "add `{\"file\": \"smb.cmd\", \"url\": \"https://…\", \"sha256\": \"…\"}`",
                )
                .with_subject(plugin.as_str())
                .with_source("derived: the kubelet runs the files as SYSTEM"),
            );
        }
    }
    for (registry, _) in selection.mirrors.iter().filter(|(_, urls)| urls.is_empty()) {
        refusals.push(
            Finding::new(
                "mirror",
                format!("the registry {registry} has no mirror"),
                format!("write `\"{registry}\": [\"https://mirror.example\"]`, or remove it"),
            )
            .with_subject("mirrors")
            .with_source("https://github.com/containerd/containerd/blob/main/docs/hosts.md"),
        );
    }
}

/// Packer and its plugins are fetched: a version that no release holds has no address.
pub(super) fn check_packer_versions(
    catalog: &Catalog,
    selection: &ImageDefinition,
    refusals: &mut Vec<Finding>,
) -> Result<()> {
    let Some(choice) = &selection.packer else { return Ok(()) };
    let packer = choice.version.iter().map(|version| ("packer".to_owned(), version));
    let plugins = choice.plugins.iter().map(|(name, version)| (format!("packer-plugin-{name}"), version));
    let names = catalog.component_names();
    for (name, version) in packer.chain(plugins).filter(|(name, _)| names.contains(name)) {
        let component = catalog.load_component(&name)?;
        if !component.releases.iter().any(|release| release.versions.contains(version)) {
            let ranges: Vec<&str> =
                component.releases.iter().map(|release| release.versions.as_str()).collect();
            refusals.push(
                Finding::new(
                    "packer-version",
                    format!("the catalog has no release {version} of {name}"),
                    format!("choose a version in {}", ranges.join(" or ")),
                )
                .with_subject(&name)
                .with_source(format!("manifests/components/{name}.json")),
            );
        }
    }
    Ok(())
}
