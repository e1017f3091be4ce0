//! Pod networks: `manifests/networks/<name>.json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cluster::ClusterFile;
use super::step::When;
use crate::base::value::ComponentName;

/// A pod network: what a node holds for it, and what the cluster is told of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PodNetwork {
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Name for users, and of the file.
    pub name: String,
    pub title: String,
    /// Whether pods are reached through an encapsulating network.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overlay: bool,
    /// Groups of `contents.json`, or components that stand alone.
    pub components: Vec<ComponentName>,
    /// The program that makes the network on the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<NetworkAgent>,
    /// Name of the network in Windows' Host Networking Service (HNS).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hns_network: Option<String>,
    #[serde(default)]
    pub node: NodeSide,
    #[serde(default)]
    pub cluster: ClusterSide,
    pub source: String,
}

/// The program that makes a pod network on each node, and its container of the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NetworkAgent {
    pub component: ComponentName,
    /// Service account of its pods on Windows.
    pub account: String,
    /// Folder and file name of the program below `C:\\k`, from where `wins` runs it.
    pub folder: String,
    pub program: String,
}

/// The node's side of a join.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NodeSide {
    /// The file of the image that the join completes; absent where an agent writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<String>,
    /// Where the join completes it.
    #[serde(default, skip_serializing_if = "When::is_empty")]
    pub when: When,
    /// The bridge that the join makes, because no agent does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bridge: Option<String>,
    /// The HNS endpoint whose address kube-proxy takes as its source; of an overlay without one, the join
    /// takes an address of the node's pod network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_endpoint: Option<String>,
}

/// Facts that the cluster's manifests depend on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ClusterSide {
    /// By host access, how kube-proxy gets a source address: `host-local`, or an HNS endpoint's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub source_vip: BTreeMap<String, String>,
    /// Whether the network needs the API server's address even where no agent runs as a container.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub endpoint: bool,
    /// Whether the networks of the nodes must be known, so that traffic to them is not translated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub node_subnet: bool,
    /// CNI configurations of the manifests, as paths below `cluster/`. The first whose conditions hold counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub configurations: Vec<CniConfiguration>,
    /// Facts about the cluster that a user of the manifests must know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<NetworkNote>,
    /// Traffic that the network between the nodes must let through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passage: Option<NetworkNote>,
    /// Manifests that only this network needs, besides those of `cluster/index.json`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ClusterFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct CniConfiguration {
    pub file: String,
    #[serde(default, skip_serializing_if = "When::is_empty")]
    pub when: When,
    pub source: String,
}

/// A sentence for the terminal, as an expression over the facts of the manifests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NetworkNote {
    pub text: String,
    pub source: String,
}
