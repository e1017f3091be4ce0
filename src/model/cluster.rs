//! Needs of a cluster with Windows nodes: `manifests/cluster/index.json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kubernetes::{FlagRule, GateRule};
use super::step::When;
use crate::base::version::VersionRange;

/// `manifests/cluster/index.json`
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ClusterIndex {
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// In which API each kind stands, by version.
    pub apis: Vec<KindApi>,
    pub images: Vec<ClusterImage>,
    pub workloads: Workloads,
    /// Arguments of programs in the cluster's DaemonSets. `${…}` is filled in on the node.
    pub flags: Vec<FlagRule>,
    pub feature_gates: Vec<GateRule>,
    pub pipes: Pipes,
    /// Files in the order in which they are applied.
    pub files: Vec<ClusterFile>,
    pub checks: Vec<ConformanceCheck>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct KindApi {
    pub kind: String,
    pub api_version: String,
    pub kubernetes: VersionRange,
    pub source: String,
}

/// A container image of the manifests.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ClusterImage {
    pub name: String,
    /// A Tera expression over the facts; absent where nobody publishes one.
    pub reference: Option<String>,
    /// Whether nodes pull it for an agent, so that it is one of the image set `agents`.
    #[serde(default)]
    pub agent: bool,
    /// Where the agent runs.
    #[serde(default)]
    pub when: When,
    /// Builds of Windows for which it is published; empty where it runs on each.
    #[serde(default)]
    pub builds: Vec<u32>,
    pub source: String,
}

/// Images of the smoke workloads: expressions over `tag`, which a Windows release's images have.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Workloads {
    pub servercore: String,
    pub iis: String,
    /// Tag of these images where it is not the release's own.
    pub tags: BTreeMap<String, String>,
    pub source: String,
}

/// Names in the paths of pipes that give power over a node.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Pipes {
    pub names: Vec<String>,
    pub source: String,
}

/// A manifest: a Tera template of a whole file, in which every value is rendered as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ClusterFile {
    pub file: String,
    pub summary: String,
    #[serde(default, skip_serializing_if = "When::is_empty")]
    pub when: When,
    /// Of kube-proxy in a container: only where the HNS network of the pods has a name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub names_network: bool,
    /// Only where this was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
    /// Advice where it was asked for and cannot be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
    pub source: String,
}

/// Person or program that can run a check.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum Runner {
    /// On the Windows node, as administrator.
    Node,
    /// With `kubectl` and the rights of an administrator.
    Cluster,
    /// With Kubernetes' own test programs.
    Developer,
}

/// One entry of the test plan. Texts are Tera expressions over the facts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ConformanceCheck {
    pub id: String,
    pub title: String,
    pub who: Runner,
    #[serde(default)]
    pub when: When,
    /// As that of a [`ClusterFile`].
    #[serde(default)]
    pub names_network: bool,
    pub run: Vec<String>,
    pub expect: String,
    pub source: String,
}
