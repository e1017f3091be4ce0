//! What a user asks for beside the choices: optional features, updates, mirrors, the network.

use crate::catalog::{Catalog, CatalogError};
use crate::diagnostic::Finding;
use crate::model::choice::Runtime;
use crate::model::feature::Feature;
use crate::model::names::did_you_mean;
use crate::model::resource::is_digest;
use crate::model::selection::ImageDefinition;
use crate::model::situation::Situation;

use super::refusal::ResolveError;

/// The features that were asked for, in the order of the catalog.
pub(super) fn features(
    catalog: &Catalog,
    situation: &Situation,
    refusals: &mut Vec<Finding>,
) -> Result<Vec<Feature>, ResolveError> {
    let known = catalog.features()?;
    for name in &situation.features {
        if !known.iter().any(|feature| feature.name == *name) {
            let suggestion = did_you_mean(name, known.iter().map(|feature| feature.name.as_str()));
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
                        format!("the feature {} cannot be had here: {}", feature.name, feature.reason),
                        format!("leave out `--feature {}`", feature.name),
                    )
                    .with_subject(&feature.name)
                    .with_source(&feature.source),
                );
            }
        })
        .collect())
}

/// Images are pulled by containerd's own client.
pub(super) fn images(selection: &ImageDefinition, runtime: Runtime, refusals: &mut Vec<Finding>) {
    if runtime == Runtime::Docker && !selection.images.is_empty() {
        refusals.push(
            Finding::new(
                "image-runtime",
                "images are pulled into containerd's store alone, and this image has Docker",
                "leave out `--image`, or choose `--runtime containerd`",
            )
            .with_subject("images")
            .with_source("windows-node-spec F3, F4"),
        );
    }
}

/// The forms of updates, mirrors and networks.
pub(super) fn check(selection: &ImageDefinition, refusals: &mut Vec<Finding>) {
    let updates = selection.updates.clone().unwrap_or_default();
    for kb in updates.kbs.iter().chain(updates.files.iter().map(|file| &file.kb)) {
        let digits = kb.strip_prefix("KB").unwrap_or_default();
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            let remedy = "write it as `KB5058411`".to_owned();
            refusals.push(
                Finding::new("update-kb", format!("`{kb}` is no update"), remedy)
                    .with_subject("updates")
                    .with_source("windows-node-spec B3"),
            );
        }
    }
    for file in &updates.files {
        if !is_digest(&file.sha256, 64)
            || !file.url.starts_with("https://")
            || !file.url.to_lowercase().ends_with(".msu")
        {
            refusals.push(
                Finding::new(
                    "update-file",
                    format!("the file of {} is not pinned: {}", file.kb, file.url),
                    "give the `https` URL of a `.msu` file and its SHA-256 in lower case".to_owned(),
                )
                .with_subject("updates")
                .with_source("windows-node-spec B3"),
            );
        }
    }
    volume_plugins(selection, refusals);
    for (registry, urls) in &selection.mirrors {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':' | b'_');
        let url = |url: &String| {
            let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
            rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(['"', '\'', '\\', ' ', '@', '\n']))
        };
        if registry.is_empty() || !registry.bytes().all(plain) || urls.is_empty() || !urls.iter().all(url) {
            refusals.push(
                Finding::new(
                    "mirror",
                    format!("`{registry}` with mirrors {} is no registry with mirrors", urls.join(", ")),
                    "write it as `docker.io=https://mirror.example`, without credentials".to_owned(),
                )
                .with_subject("mirrors")
                .with_source("windows-node-spec F1"),
            );
        }
    }
    let proxy = selection.proxy.clone().unwrap_or_default();
    for value in [&proxy.http, &proxy.https, &proxy.no_proxy] {
        if value.contains(['"', '\'', '`', '$', '\n', '\r']) {
            let remedy = "write such characters as percent and digits".to_owned();
            let reason = "a proxy holds a character that no URL has".to_owned();
            refusals.push(
                Finding::new("proxy", reason, remedy)
                    .with_subject("proxy")
                    .with_source("windows-node-spec phase L"),
            );
        }
    }
    let network = selection.network.clone().unwrap_or_default();
    let values = [&network.pods, &network.services, &network.nodes, &network.dns, &network.domain];
    for value in values.into_iter().filter(|value| value.contains(['"', '\\', '@', '\n'])) {
        let remedy = "write addresses as `10.96.0.0/12` and names as `cluster.local`".to_owned();
        let reason = format!("`{value}` is no part of a network");
        refusals.push(
            Finding::new("network", reason, remedy)
                .with_subject("network")
                .with_source("windows-node-spec 2.2"),
        );
    }
}

/// Plugins become folders and files, which the kubelet runs as SYSTEM.
fn volume_plugins(selection: &ImageDefinition, refusals: &mut Vec<Finding>) {
    const SOURCE: &str = "windows-node-spec H6";
    let plain = |text: &str| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        !text.is_empty() && !text.starts_with('.') && !text.ends_with('.') && text.bytes().all(known)
    };
    for (plugin, files) in &selection.volume_plugins {
        let named = plugin.split_once('~').is_some_and(|(vendor, driver)| plain(vendor) && plain(driver));
        if !named || files.is_empty() {
            refusals.push(
                Finding::new(
                    "volume-plugin",
                    format!("`{plugin}` is no volume plugin with files"),
                    "name it as the kubelet looks for it, `microsoft.com~smb.cmd`, with at least one file",
                )
                .with_subject(plugin)
                .with_source(SOURCE),
            );
        }
        for file in files
            .iter()
            .filter(|it| !plain(&it.file) || !is_digest(&it.sha256, 64) || !it.url.starts_with("https://"))
        {
            refusals.push(
                Finding::new(
                    "volume-plugin",
                    format!("the file {} of {plugin} is not pinned: {}", file.file, file.url),
                    "give a plain file name, an `https` URL and the SHA-256 in lower case",
                )
                .with_subject(plugin)
                .with_source(SOURCE),
            );
        }
    }
}
