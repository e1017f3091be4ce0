//! Kubernetes lines: what each minor version ships, demands and refuses on Windows.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::version::{Version, VersionRange};

/// `manifests/kubernetes/<minor>.json`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct KubernetesLine {
    #[serde(rename = "$schema", default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// `1.20`
    pub minor: String,
    /// Patch releases that are known, ascending.
    pub patches: Vec<Version>,
    /// What `--k8s <minor>` means.
    pub latest: Version,
    /// Supported Windows releases (`manifests/windows/<name>.json`), best first.
    pub windows: Vec<Sourced<String>>,
    /// Container runtimes, default first.
    pub runtimes: Vec<RuntimeChoice>,
    /// Ways for workloads to reach the host, default first.
    pub host_access: Vec<HostAccessChoice>,
    /// CRI API versions that the kubelet speaks.
    pub cri: Vec<String>,
    pub pause: Pause,
    /// Default version and allowed range of every component that depends on this line.
    pub components: BTreeMap<String, ComponentChoice>,
    /// API versions of kubeadm's configuration, newest last.
    pub kubeadm_api: Vec<String>,
    pub kubelet_config_map: String,
    /// Flaws of the Windows kubelet, with the first release of this line that is free of them.
    pub security_floor: Vec<SecurityFix>,
    /// Flags and feature gates that the Windows programs of this line say they know.
    pub programs: BTreeMap<String, Program>,
    /// Fields of the configuration files' types.
    pub configuration: BTreeMap<String, Vec<String>>,
    pub source: String,
}

/// A value with the place it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Sourced<T> {
    pub value: T,
    pub source: String,
    /// Patch releases it holds for, where not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<VersionRange>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RuntimeChoice {
    /// `containerd` or `docker`; a component of the same name.
    pub name: String,
    pub reason: String,
    pub source: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct HostAccessChoice {
    /// `hostprocess`, `wins` or `services`.
    pub name: String,
    /// Feature gate that must be set for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    /// Containerd versions that can do it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub containerd: Option<VersionRange>,
    pub reason: String,
    pub source: String,
}

/// The sandbox image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Pause {
    /// What kubeadm of this line names.
    pub kubeadm_default: String,
    /// What images of this line use on each Windows release, where it is not `default`.
    pub default: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub windows: BTreeMap<String, String>,
    pub source: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ComponentChoice {
    pub default: Version,
    pub allowed: VersionRange,
    /// Why this default.
    pub reason: String,
    pub source: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SecurityFix {
    /// `CVE-2023-3676`
    pub cve: String,
    /// First release of this line without the flaw; none where the line never got the fix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<Version>,
    /// First release of any line without the flaw.
    pub first_fixed: Version,
    pub source: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Program {
    /// Release whose program was asked.
    pub version: Version,
    pub flags: Vec<String>,
    /// Gates that its help lists. Gates of earlier lines may be accepted still.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feature_gates: Vec<String>,
}

/// `manifests/kubernetes/flags.json`: with which flags and gates the baked services start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FlagTable {
    #[serde(rename = "$schema", default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    pub flags: Vec<FlagRule>,
    pub feature_gates: Vec<GateRule>,
}

/// A flag that is given where its conditions hold, in the order of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FlagRule {
    /// `kubelet` or `kube-proxy`.
    pub program: String,
    /// With its leading dashes.
    pub flag: String,
    /// Versions of the program that get it.
    pub versions: VersionRange,
    #[serde(default, skip_serializing_if = "super::step::When::is_empty")]
    pub when: super::step::When,
    /// A Tera expression over the facts; absent for a flag without value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    pub reason: String,
    pub source: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct GateRule {
    pub program: String,
    pub gate: String,
    pub versions: VersionRange,
    #[serde(default, skip_serializing_if = "super::step::When::is_empty")]
    pub when: super::step::When,
    pub value: bool,
    pub reason: String,
    pub source: String,
}
