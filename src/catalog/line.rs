//! A Kubernetes line, put together from the tables of the catalog.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::base::version::Version;
use crate::model::kubernetes::{ApiVersion, KubernetesLine, LineFile, Sourced, Support};
use crate::model::line::Minor;
use crate::model::windows::WindowsSupport;

/// None where no pause image is known for the line, or the line has no patch release.
pub(super) fn assemble_line(
    file: &LineFile,
    support: &Support,
    windows: &[Arc<WindowsSupport>],
) -> Option<KubernetesLine> {
    let minor = file.minor;
    let patches: Vec<Version> = file.patches.iter().map(|it| it.version().clone()).collect();
    Some(KubernetesLine {
        minor,
        latest: patches.last()?.clone(),
        windows: list_supported_windows(&patches, windows),
        patches,
        runtimes: support
            .runtimes
            .iter()
            .filter(|entry| entry.kubernetes.contains(minor))
            .cloned()
            .collect(),
        host_access: support
            .host_access
            .iter()
            .filter(|entry| entry.kubernetes.contains(minor))
            .cloned()
            .collect(),
        cri: list_api_versions(&support.cri, minor),
        pause: support
            .pause
            .iter()
            .find(|entry| entry.kubernetes.contains(minor))?
            .clone(),
        pause_images: support.pause_images.clone(),
        kubeadm_api: list_api_versions(&support.kubeadm_api, minor),
        end_of_support: file.end_of_support.clone(),
        source: file.source.clone(),
    })
}

fn list_api_versions(entries: &[ApiVersion], minor: Minor) -> Vec<String> {
    entries
        .iter()
        .filter(|entry| entry.kubernetes.contains(minor))
        .map(|entry| entry.api.clone())
        .collect()
}

/// The releases that some patch release supports: the default first, then long-term releases, then
/// newer builds.
fn list_supported_windows(
    patches: &[Version],
    releases: &[Arc<WindowsSupport>],
) -> Vec<Sourced<String>> {
    let mut found = Vec::new();
    for release in releases {
        let mut entries = release.kubernetes.iter();
        let supported =
            entries.find(|entry| patches.iter().any(|patch| entry.versions.contains(patch)));
        let Some(entry) = supported else {
            continue;
        };
        let holds_for_all = patches.iter().all(|patch| entry.versions.contains(patch));
        let rank = (
            Reverse(entry.default),
            release.channel,
            Reverse(release.build),
            &release.release,
        );
        let value = Sourced {
            value: release.release.clone(),
            source: entry.source.clone(),
            versions: (!holds_for_all).then(|| entry.versions.clone()),
        };
        found.push((rank, value));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found.into_iter().map(|(_, value)| value).collect()
}
