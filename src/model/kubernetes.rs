//! Kubernetes lines: what each minor version ships, supports and refuses on Windows.
//!
//! A fact that holds for several lines is written once, with the range of lines for which it holds.
//! `KubernetesLine` is the view of one line, computed from those tables.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::gates::{GateNeeds, KnownGates, sets_gate};
use super::kubernetes_release::KubernetesRelease;
use super::line::{LineRange, Minor};
use super::step::When;
use super::support::EndOfSupport;
use super::value_form::{FlagCompanion, FlagForm};
use crate::base::nonempty::NonEmpty;
use crate::base::text::last_segment;
use crate::base::value::Sha256;
use crate::base::version::{Version, VersionRange};

/// `manifests/kubernetes/lines/<minor>.json`: what is a line's own.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LineFile {
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// `1.20`
    pub minor: Minor,
    /// Known patch releases, ascending. `--k8s <minor>` means the last one.
    pub patches: Vec<KubernetesRelease>,
    pub end_of_support: Option<EndOfSupport>,
    pub source: String,
}

/// `manifests/kubernetes/support.json`: facts that hold for ranges of lines.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Support {
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// Container runtimes. The first entry that holds for a line is its default.
    pub runtimes: Vec<NamedChoice>,
    /// Ways for workloads to reach the host. The first entry that holds for a line is its default.
    pub host_access: Vec<NamedChoice>,
    /// Pod networks of nodes for which none is chosen. Of the entries whose conditions hold, the last one counts.
    pub networks: NonEmpty<DefaultNetwork>,
    /// CRI API versions that the kubelet speaks.
    pub cri: Vec<ApiVersion>,
    /// API versions of kubeadm's configuration, newest last.
    pub kubeadm_api: Vec<ApiVersion>,
    /// API versions of Cluster API's kubeadm provider, in which `join-data --as capi` writes a template. The first entry
    /// is the default.
    #[serde(default)]
    pub cluster_api: Vec<ClusterApi>,
    pub pause: Vec<Pause>,
    pub pause_images: PauseImages,
    /// Statements of a pause image's publisher. An image that is not listed is not pulled in advance.
    #[serde(default)]
    pub pause_digests: Vec<PauseDigest>,
}

/// The pause images that hold Windows, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PauseImages {
    pub images: Vec<PauseImage>,
    pub source: String,
}

/// A pause image, and the builds of Windows for which it holds an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PauseImage {
    /// `registry.k8s.io/pause:3.9`
    pub image: String,
    pub builds: Vec<u32>,
}

impl PauseImages {
    /// The oldest image that holds one of these builds.
    pub fn find_oldest(&self, builds: &[u32]) -> Option<&PauseImage> {
        self.images.iter().find(|image| image.holds_any(builds))
    }

    /// Whether the image of that tag, of whatever registry, holds one of these builds.
    pub fn holds(&self, image: &str, builds: &[u32]) -> bool {
        let tag = select_tag(image);
        self.images
            .iter()
            .any(|known| select_tag(&known.image) == tag && known.holds_any(builds))
    }
}

impl PauseImage {
    fn holds_any(&self, builds: &[u32]) -> bool {
        self.builds.iter().any(|build| builds.contains(build))
    }
}

/// `pause:3.9` of `registry.k8s.io/pause:3.9`
fn select_tag(image: &str) -> &str {
    last_segment(image)
}

/// The manifest of a pause image, which lists the image of each platform.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PauseDigest {
    /// `registry.k8s.io/pause:3.9`
    pub image: String,
    pub sha256: Sha256,
    pub source: String,
}

/// A container runtime, or a way to reach the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NamedChoice {
    pub kubernetes: LineRange,
    /// `containerd` or `docker`, a component of the same name; `hostprocess`, `wins` or `services`.
    pub name: String,
    pub reason: String,
    pub source: String,
}

/// The pod network where nobody chooses one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct DefaultNetwork {
    /// `manifests/networks/<name>.json`
    pub name: String,
    #[serde(default)]
    pub when: When,
    pub reason: String,
    pub source: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ApiVersion {
    pub kubernetes: LineRange,
    /// `v1beta3`
    pub api: String,
    pub source: String,
}

/// An API version of Cluster API's kubeadm provider, whatever the Kubernetes line.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ClusterApi {
    /// `v1beta2`
    pub api: String,
    /// Whether `kubeletExtraArgs` is a list of names and values, and not a map.
    pub argument_list: bool,
    pub reason: String,
    pub source: String,
}

/// The sandbox image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Pause {
    pub kubernetes: LineRange,
    /// The image that kubeadm of these lines names.
    pub kubeadm: String,
    /// The image that nodes of these lines get, on each Windows release whose build it holds.
    /// Other releases get the oldest image of `pauseImages` that holds a build they run.
    pub image: String,
    pub source: String,
}

/// A Kubernetes line with everything that holds for it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KubernetesLine {
    /// `1.20`
    pub minor: Minor,
    /// Known patch releases, ascending.
    pub patches: Vec<Version>,
    /// The release that `--k8s <minor>` means.
    pub latest: Version,
    /// Supported Windows releases (`manifests/windows/<name>.json`), default first.
    pub windows: Vec<Sourced<String>>,
    /// Container runtimes, default first.
    pub runtimes: Vec<NamedChoice>,
    /// Ways for workloads to reach the host, default first.
    pub host_access: Vec<NamedChoice>,
    /// CRI API versions that the kubelet speaks.
    pub cri: Vec<String>,
    pub pause: Pause,
    pub pause_images: PauseImages,
    /// API versions of kubeadm's configuration, newest last.
    pub kubeadm_api: Vec<String>,
    pub end_of_support: Option<EndOfSupport>,
    pub source: String,
}

/// A value with the place it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sourced<T> {
    pub value: T,
    pub source: String,
    /// Patch releases for which it holds, where not for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versions: Option<VersionRange>,
}

/// Default version and allowed range of a component on a range of Kubernetes lines.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ComponentChoice {
    pub kubernetes: LineRange,
    pub default: Version,
    pub allowed: VersionRange,
    /// Why this default.
    pub reason: String,
    pub source: String,
}

/// `manifests/kubernetes/programs.json`: flags, feature gates and configuration fields of the
/// Windows programs, each written once with the lines that have it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ProgramTable {
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    pub source: String,
    pub surveyed: Surveys,
    /// `kubelet`, `kube-proxy`, `kubeadm join`, …
    pub flags: BTreeMap<String, Vec<NameRange>>,
    pub feature_gates: Vec<GateList>,
    /// Fields of the configuration files' types.
    pub configuration: BTreeMap<String, Vec<NameRange>>,
}

/// Lines whose programs were asked. Nothing is known of the programs of other lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Surveys(pub Vec<Survey>);

impl Surveys {
    /// The release that was asked for a line.
    pub fn find(&self, minor: Minor) -> Option<&Survey> {
        self.0.iter().find(|survey| survey.minor == minor)
    }

    /// The newest surveyed line that is not newer than `minor`.
    pub fn find_nearest(&self, minor: Minor) -> Option<&Survey> {
        self.0
            .iter()
            .filter(|survey| survey.minor <= minor)
            .max_by_key(|survey| survey.minor)
    }

    pub fn newest(&self) -> Option<Minor> {
        self.0.iter().map(|survey| survey.minor).max()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Survey {
    pub minor: Minor,
    /// Release whose programs were asked.
    pub release: Version,
}

/// Feature gates that the same programs accept, those that their help hides (GA and deprecated ones) too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct GateList {
    pub programs: Vec<String>,
    pub gates: Vec<NameRange>,
    /// Gates with which the programs of these lines start as `true` alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locked_on: Vec<NameRange>,
    /// The same as `false`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locked_off: Vec<NameRange>,
}

/// Names and the lines that have them. A name that vanishes and comes back is in several ranges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NameRange {
    /// First line that has them; the first surveyed line stands for all before it.
    pub since: Minor,
    /// Last line that has them; absent while the newest surveyed line has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Minor>,
    pub names: Vec<String>,
}

impl NameRange {
    pub fn holds(&self, minor: Minor) -> bool {
        self.since <= minor && self.until.is_none_or(|until| minor <= until)
    }

    pub fn has_name(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }
}

impl ProgramTable {
    /// The lists of feature gates of a program.
    pub fn list_gate_lists(&self, program: &str) -> impl Iterator<Item = &GateList> {
        let lists = self.feature_gates.iter();
        lists.filter(move |list| list.programs.iter().any(|name| name == program))
    }

    /// The flags of a program, whatever the line.
    pub fn list_flags(&self, program: &str) -> impl Iterator<Item = &NameRange> {
        self.flags.get(program).into_iter().flatten()
    }

    /// The feature gates of a program, whatever the line.
    pub fn list_gates(&self, program: &str) -> impl Iterator<Item = &NameRange> {
        self.list_gate_lists(program).flat_map(|list| &list.gates)
    }

    /// The feature gates that a program of a line accepts.
    fn collect_gates(&self, program: &str, minor: Minor) -> KnownGates {
        let mut known = KnownGates::new();
        for list in self.list_gate_lists(program) {
            let ranges = [
                (&list.gates, None),
                (&list.locked_on, Some(true)),
                (&list.locked_off, Some(false)),
            ];
            for (ranges, lock) in ranges {
                for range in ranges.iter().filter(|range| range.holds(minor)) {
                    known.extend(range.names.iter().map(|name| (name.clone(), lock)));
                }
            }
        }
        known
    }

    /// The programs of a surveyed line; empty for other lines.
    pub fn list_programs(&self, minor: Minor) -> BTreeMap<String, Program> {
        let survey = self.surveyed.find(minor);
        survey.map_or_else(BTreeMap::new, |survey| self.collect_programs(survey, minor))
    }

    /// The programs of a line as a survey tells, of the line itself or of one before it: without what later lines are
    /// known to have lost.
    pub fn collect_programs(&self, survey: &Survey, minor: Minor) -> BTreeMap<String, Program> {
        let mut programs = BTreeMap::new();
        for (name, flags) in &self.flags {
            let program = Program {
                version: survey.release.clone(),
                flags: collect_names(flags.iter().filter(|flags| flags.holds(minor))),
                feature_gates: self.collect_gates(name, minor),
            };
            programs.insert(name.clone(), program);
        }
        programs
    }
}

fn collect_names<'a>(ranges: impl Iterator<Item = &'a NameRange>) -> Vec<String> {
    let mut names: Vec<&str> = ranges
        .flat_map(|range| &range.names)
        .map(String::as_str)
        .collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(str::to_owned).collect()
}

/// A Windows program of one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Program {
    /// Release whose program was asked.
    pub version: Version,
    pub flags: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: KnownGates,
}

/// `manifests/kubernetes/flags.json`: with which flags and gates the baked services start.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FlagTable {
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    pub flags: Vec<FlagRule>,
    pub feature_gates: Vec<GateRule>,
    /// Flags of the kubelet that the input file of a join may give; others are the operator's.
    #[serde(default)]
    pub join_flags: Vec<JoinFlags>,
    /// Flags of the kubelet, by the form in which it reads their values.
    #[serde(default)]
    pub flag_forms: Vec<FlagForm>,
    /// Flags of the kubelet that take some values only.
    #[serde(default)]
    pub flag_values: Vec<FlagValues>,
    /// Flags of the kubelet that rest on another one.
    #[serde(default)]
    pub flag_companions: Vec<FlagCompanion>,
    /// Feature gates of the kubelet that rest on each other.
    #[serde(default)]
    pub gate_needs: Vec<GateNeeds>,
}

/// The part of a [`FlagTable`] that an image needs: rules about joins, more than half of its text, are left unread.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BakedFlags {
    pub flags: Vec<FlagRule>,
    pub feature_gates: Vec<GateRule>,
}

/// The values that the kubelets of these versions take; `--help` does not say so.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FlagValues {
    /// Without leading dashes.
    pub flag: String,
    pub versions: VersionRange,
    pub values: Vec<String>,
    /// A feature gate with its value, beside which the kubelet takes other values.
    pub unless_gate: Option<String>,
    /// The end of a kubelet with another value.
    pub reason: String,
    pub instead: String,
    pub source: String,
}

impl FlagValues {
    /// Whether a kubelet of this version takes no such argument, beside these feature gates.
    pub fn refuses(&self, version: &Version, (flag, value): (&str, &str), gates: &str) -> bool {
        let gate = self.unless_gate.as_deref();
        self.flag == flag
            && self.versions.contains(version)
            && !self.values.iter().any(|known| known == value)
            && !gate.is_some_and(|gate| sets_gate(gates, gate))
    }
}

/// Flags that neither open the kubelet nor name a file or a program of the node.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct JoinFlags {
    /// Without leading dashes; `*` at the end stands for any rest.
    pub names: Vec<String>,
    pub reason: String,
    pub source: String,
}

/// A flag that is given where its conditions hold, in the order of the table.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FlagRule {
    /// `kubelet` or `kube-proxy`.
    pub program: String,
    /// With its leading dashes.
    pub flag: String,
    /// Versions of the program that get it.
    pub versions: VersionRange,
    #[serde(default)]
    pub when: super::step::When,
    /// A Tera expression over the facts; absent for a flag without value.
    pub value: Option<String>,
    pub reason: String,
    pub source: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct GateRule {
    pub program: String,
    pub gate: String,
    pub versions: VersionRange,
    #[serde(default)]
    pub when: super::step::When,
    pub value: bool,
    pub reason: String,
    pub source: String,
}
