//! Steps: ordered groups of resources, as written in `provisioners/steps/*.json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::{Map, Value};

use crate::base::value::StepId;
use crate::base::version::VersionRange;
use crate::windows::resource::{Phase, Scope, WinrmTransport};

/// A step file.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Step {
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// File name without number and suffix.
    pub id: StepId,
    pub summary: String,
    pub phase: Phase,
    #[serde(default)]
    pub when: When,
    pub resources: Vec<StepResource>,
}

/// A resource before its values are rendered.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct StepResource {
    /// Unique in its step; a Tera expression where `each` is given.
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub phase: Option<Phase>,
    #[serde(default)]
    pub when: When,
    /// Repeats the resource over a list of the facts, named by its path (`kubernetes.files`);
    /// each turn's value is `item`.
    pub each: Option<String>,
    /// `image` in phase `seal`, otherwise `node`, where it is not given.
    pub scope: Option<Scope>,
    /// Properties that others change on a node, such as `startType`, each with the reason why the node is right with
    /// either value.
    #[serde(default)]
    pub volatile: BTreeMap<String, String>,
    /// Applied once more at the first start of a clone, because the set-up of the clone may have changed it.
    #[serde(default)]
    pub firstboot: bool,
    /// After so many seconds the engine gives up. PowerShell counts them as a signed number of 32 bits.
    #[serde(default, deserialize_with = "read_seconds")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub timeout_seconds: Option<u32>,
    /// Where the fact comes from.
    pub source: String,
    /// Values are literal JSON. A string that holds `{{ … }}` is a Tera expression over the facts
    /// (`imagegen explain facts`);
    /// the object `{"fact": "path"}` is replaced by that fact, whatever its type;
    /// the object `{"template": "name"}` by the rendered file `provisioners/templates/<name>`.
    pub properties: Map<String, Value>,
}

fn read_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let seconds = Option::<u32>::deserialize(deserializer)?;
    if seconds.is_some_and(|seconds| !(1..=i32::MAX.unsigned_abs()).contains(&seconds)) {
        let message = "expected seconds from 1 to 2147483647, such as 1800";
        return Err(de::Error::custom(message));
    }
    Ok(seconds)
}

/// All given conditions must hold. An empty list never holds; an absent one always does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct When {
    /// Targets, or, with a leading `!`, all but one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Vec<String>>,
    /// Whether the target's builds make images; false stands for machines that are there already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windows: Option<Vec<String>>,
    /// A version range such as `>=1.24.0, <1.28.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<VersionRange>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Vec<String>>,
    /// A version range of the chosen runtime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_version: Option<VersionRange>,
    /// Pod networks, or, with a leading `!`, all but one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cni: Option<Vec<String>>,
    /// Whether the pod network is an overlay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlay: Option<bool>,
    /// Whether answers of services may go straight to the client (`dsr` of the Windows release).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dsr: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_access: Option<Vec<String>>,
    /// How far the image is prepared for a join, or, with a leading `!`, all but one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub join: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Vec<String>>,
    /// How Packer reaches the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub winrm: Option<WinrmTransport>,
    /// An optional feature that was (or, with a leading `!`, was not) asked for; of `a|b`, one is enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feature: Option<Vec<String>>,
    /// A component that is (or, with a leading `!`, is not) part of the plan; of `a|b`, one is enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub component: Option<Vec<String>>,
}

impl When {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
