//! Entries of `imagegen list`, as JSON.

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::version::Version;
use crate::model::line::Minor;
use crate::model::step::When;
use crate::model::support::Day;
use crate::model::target::{Output, Plugin};
use crate::model::target_record::{CheckStage, TargetCheck};
use crate::model::variable::{Selector, Variable};
use crate::model::windows::Channel;
use crate::windows::resource::Phase;

/// `list targets`
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetRow<'a> {
    pub name: &'a str,
    pub title: &'a str,
    /// Source types of Packer; none where no image is baked.
    pub builders: &'a [&'a str],
    pub plugins: Option<&'a [Plugin]>,
    pub output: Option<&'a Output>,
    /// Windows releases.
    pub windows: Vec<&'a String>,
    /// The strongest check of the target.
    pub stage: Option<CheckStage>,
    pub checks: &'a [TargetCheck],
}

/// `list kubernetes`
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubernetesRow<'a> {
    pub minor: Minor,
    /// The release that `--k8s MINOR` means.
    pub latest: &'a Version,
    /// Known releases, ascending.
    pub patches: &'a [Version],
    /// Windows releases, default first.
    pub windows: &'a [&'a str],
    /// Container runtimes, default first.
    pub runtimes: &'a [&'a str],
    /// Ways to reach the host, default first.
    pub host_access: &'a [&'a str],
    /// The default version of containerd.
    pub containerd: Option<&'a Version>,
    /// Release whose programs were asked for their flags; none where no release was.
    pub surveyed: Option<&'a Version>,
    /// The last day of its support.
    pub supported_until: Option<&'a Day>,
}

/// `list windows`
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WindowsRow<'a> {
    pub release: &'a str,
    pub title: &'a str,
    pub build: u32,
    pub channel: Channel,
    /// The last day of its support.
    pub supported_until: Option<&'a Day>,
    /// Tag suffix of container images made for this release.
    pub container_tag: &'a str,
}

/// `list variables`: a choice of the target, or a variable.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VariableRow<'a> {
    pub target: &'a str,
    pub name: &'a str,
    #[serde(flatten)]
    pub input: TargetInput<'a>,
}

/// Kind of an input of a target, with its description.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TargetInput<'a> {
    Selector(&'a Selector),
    Variable(&'a Variable),
}

/// `list steps`
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepRow<'a> {
    pub name: &'a str,
    pub phase: Phase,
    pub summary: &'a str,
    /// Path of the step file.
    pub file: &'a str,
    pub when: &'a When,
    /// How many resources the file has, before they are repeated and filtered.
    pub resources: usize,
}

/// `list images`: the selection of an image, for a pipeline that builds it by itself.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageRow<'a> {
    pub name: &'a str,
    /// Value for `--config`: `FILE`, or `FILE#NAME`.
    pub config: String,
    pub target: Option<&'a str>,
    pub windows: Option<&'a str>,
    pub kubernetes: Option<&'a str>,
    /// Path of the lockfile.
    pub lock: String,
    /// Path of the workspace.
    pub workspace: String,
}

/// `list rules`: a rule of the catalog or of the machine model, or a code of an error or warning.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleRow<'a> {
    pub name: &'a str,
    pub kind: &'a str,
    pub text: &'a str,
}

/// `list components`
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentRow<'a> {
    pub name: &'a str,
    pub summary: &'a str,
    pub license: &'a str,
    /// Number of versions with a usable pin.
    pub pinned: usize,
    pub newest_pinned: Option<&'a Version>,
}
