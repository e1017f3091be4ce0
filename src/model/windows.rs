//! Windows releases: builds, image rules, minimum updates, settings.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::support::EndOfSupport;
use crate::base::text::is_digits;
use crate::base::version::VersionRange;
use crate::windows::resource::RegistryData;
use crate::windows::value::KbId;

/// `manifests/windows/<release>.json`
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct WindowsRelease {
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// `2019`
    pub release: String,
    pub title: String,
    pub build: u32,
    /// CPE 2.3 name with the placeholder `{version}` (`10.0.20348.2966`), under which its vulnerabilities are published.
    pub cpe: Option<String>,
    pub channel: Channel,
    pub end_of_support: Option<EndOfSupport>,
    /// Kubernetes releases that support this Windows release.
    #[serde(default)]
    pub kubernetes: Vec<KubernetesSupport>,
    /// Tag suffix of container images made for this release (`ltsc2022`, `1809`).
    pub container_tag: String,
    /// Builds whose process-isolated images run here, its own first.
    pub runs_images_of: Vec<u32>,
    /// Whether answers of services may go straight to the client, at every update level.
    #[serde(default)]
    pub dsr: bool,
    pub minimum_updates: Vec<MinimumUpdate>,
    /// Updates that registry settings name by their month.
    pub updates: Option<MonthlyUpdates>,
    pub registry: Vec<RegistrySetting>,
    /// Installation media of the evaluation edition.
    #[serde(default)]
    pub evaluation_media: Vec<EvaluationMedium>,
    pub source: String,
}

/// Installation media whose Windows expires, and whose images must not be published.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct EvaluationMedium {
    pub sha256: String,
    /// Day of this knowledge, as `2026-11-22`.
    pub day: String,
    pub source: String,
}

/// Kubernetes releases that support a Windows release.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct KubernetesSupport {
    pub versions: VersionRange,
    /// Whether it is the default of these Kubernetes lines.
    #[serde(default)]
    pub default: bool,
    pub source: String,
}

/// The fields of a Windows release that say which Kubernetes lines support it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WindowsSupport {
    pub release: String,
    pub build: u32,
    pub channel: Channel,
    #[serde(default)]
    pub kubernetes: Vec<KubernetesSupport>,
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// Long-term servicing.
    Ltsc,
    /// Semi-annual or annual: ends quickly, never a default.
    Channel,
}

/// An update level below which something is known not to work.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct MinimumUpdate {
    /// Need that the update serves: `overlay`, `pods`, `dsr`, `gmsa`, `images`, `hns`, …
    pub need: String,
    /// Update build revision.
    pub revision: Option<u32>,
    /// `KB4489899`
    pub kb: Option<KbId>,
    /// Revision of the update that broke it; older levels work. Absent where it never worked before.
    pub since: Option<u32>,
    /// Updates from that one on, up to the one that mends it.
    #[serde(default)]
    pub broken_by: Vec<KbId>,
    pub source: String,
}

impl MinimumUpdate {
    /// Whether it does not work at this revision.
    pub fn is_broken_at(&self, revision: u32) -> bool {
        let first = self.since.unwrap_or(0);
        self.revision
            .is_some_and(|fixed| (first..fixed).contains(&revision))
    }
}

/// The monthly updates of a release.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct MonthlyUpdates {
    /// Month and week (`2023-04B`) → number of the article (`KB5025230`).
    pub months: BTreeMap<String, KbId>,
    pub source: String,
}

/// A registry value that nodes of this release want.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RegistrySetting {
    pub key: String,
    pub name: String,
    #[serde(flatten)]
    pub data: RegistryData,
    /// Month of the update that reads it (`2023-04B`).
    pub since: Option<String>,
    /// Purpose, as far as its source says so.
    pub purpose: Option<String>,
    pub source: String,
    /// Where projects disagree: who, and what they set.
    pub conflict: Option<String>,
}

impl WindowsRelease {
    /// The update that reads a setting: its article, or its month where the article is not known.
    pub fn find_update<'a>(&'a self, setting: &'a RegistrySetting) -> Option<&'a str> {
        let month = setting.since.as_deref()?;
        let article = self
            .updates
            .as_ref()
            .and_then(|updates| updates.months.get(month));
        Some(article.map_or(month, KbId::as_str))
    }

    /// A setting's name with the update that reads it: `KB5025230-HnsAclUpdateChange`; `fix` stands before a value
    /// that has a number for a name.
    pub fn name_setting(&self, setting: &RegistrySetting) -> String {
        let is_number = is_digits(&setting.name);
        let kind = is_number.then_some("fix");
        let parts = self
            .find_update(setting)
            .into_iter()
            .chain(kind)
            .chain([setting.name.as_str()]);
        parts.collect::<Vec<_>>().join("-")
    }
}
