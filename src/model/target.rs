//! Targets: where an image is built, as `packer/targets/<name>/target.json` describes it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::choice::Delivery;
use super::resource::WinrmTransport;
use super::version::Version;

/// `packer/packer.json`: what every target's workspace needs of Packer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PackerBase {
    #[serde(rename = "$schema", default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    pub version: Version,
    pub source: String,
    /// Variables that imagegen itself gives a value.
    pub variables: Vec<Variable>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Target {
    #[serde(rename = "$schema", default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Name of the folder.
    pub name: String,
    pub title: String,
    /// How Packer makes an image of it. Without, the target is a machine that is there already, and a
    /// build makes a bundle for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageTarget>,
    /// How payloads reach the guest, default first.
    pub delivery: Vec<Delivery>,
    /// Kinds of things a build makes.
    pub outputs: Vec<String>,
    pub selectors: Vec<Selector>,
    pub variables: Vec<Variable>,
    pub platform: Platform,
}

/// What only a target has whose images are baked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ImageTarget {
    /// Packer's source type.
    pub builder: String,
    pub plugin: Plugin,
    pub communicator: Communicator,
    pub guest: TargetGuest,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Plugin {
    pub name: String,
    pub address: String,
    pub version: Version,
    pub source: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Communicator {
    Winrm,
    Ssh,
}

/// A choice that decides which variables apply. Given like a variable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Selector {
    pub name: String,
    pub description: String,
    pub default: String,
    pub values: Vec<SelectorValue>,
    pub source: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SelectorValue {
    pub value: String,
    pub description: String,
    /// Which of the Windows release's source images it needs (`gen2`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_image: Option<String>,
    /// Values of other selectors that it needs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requires: BTreeMap<String, Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<PluginSupport>,
}

/// Plugin versions that are known to lack and to have something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PluginSupport {
    pub absent_in: Version,
    pub present_in: Version,
}

/// An input variable of the workspace.
#[expect(clippy::struct_excessive_bools, reason = "each is a key of its own in the file")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Variable {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: VariableType,
    pub description: String,
    /// Selector → values for which the variable applies.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub when: BTreeMap<String, Vec<String>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// Never written anywhere: comes from the environment alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sensitive: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// `sourceImage`: the Windows release's; `imageName`: made of target, Windows and Kubernetes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_from: Option<DefaultFrom>,
    /// Selector → values for which there is no default.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub default_unless: BTreeMap<String, Vec<String>>,
    /// Regular expression for texts and for the items of lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_of: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub integer: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_items: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_items: Option<usize>,
    /// Environment variables it may come from, besides `PKR_VAR_<name>`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<String>,
    /// Variables that must be given with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<PluginSupport>,
    /// Names the image that the build starts from: the lock records it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub base_image: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<String>,
    pub source: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum VariableType {
    #[serde(rename = "string")]
    String,
    #[serde(rename = "number")]
    Number,
    #[serde(rename = "bool")]
    Bool,
    #[serde(rename = "list(string)")]
    StringList,
    #[serde(rename = "map(string)")]
    StringMap,
}

impl VariableType {
    /// As Packer writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Bool => "bool",
            Self::StringList => "list(string)",
            Self::StringMap => "map(string)",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DefaultFrom {
    SourceImage,
    ImageName,
}

/// What the finished machine must know of its platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TargetGuest {
    pub metadata: Metadata,
    /// cloudbase-init's log on the serial console; empty for none.
    pub serial_port: String,
    pub rtc_utc: bool,
    /// Account that Packer works under.
    pub build_user: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winrm_transport: Option<WinrmTransport>,
    /// What Sysprep does at its end: `quit` or `shutdown`.
    pub finish: String,
    pub source: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Metadata {
    pub main: MetadataPhase,
    pub unattend: MetadataPhase,
}

/// Classes of cloudbase-init.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct MetadataPhase {
    pub services: Vec<String>,
    pub plugins: Vec<String>,
}

/// What the platform leaves on the machine before the build, and what must be so after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Platform {
    pub before: PlatformBefore,
    pub after: PlatformAfter,
    pub source: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PlatformBefore {
    #[serde(default)]
    pub listeners: Vec<Listener>,
    #[serde(default)]
    pub users: Vec<String>,
    #[serde(default)]
    pub services: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Listener {
    pub transport: WinrmTransport,
    pub port: u16,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PlatformAfter {
    #[serde(default)]
    pub absent: PlatformAbsent,
    #[serde(default)]
    pub running: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PlatformAbsent {
    #[serde(default)]
    pub listeners: Vec<Listener>,
    #[serde(default)]
    pub users: Vec<String>,
}

impl Target {
    /// What expressions of the guest's steps may name as `target`. Every name is always there.
    #[must_use]
    pub fn facts(&self) -> Value {
        let guest = self.image.as_ref().map(|image| &image.guest);
        let nothing = MetadataPhase { services: Vec::new(), plugins: Vec::new() };
        let metadata = guest.map_or_else(
            || Metadata { main: nothing.clone(), unattend: nothing.clone() },
            |guest| guest.metadata.clone(),
        );
        json!({
            "name": self.name,
            "image": self.image.is_some(),
            "metadata": metadata,
            "serialPort": guest.map_or("", |guest| &guest.serial_port),
            "rtcUtc": guest.is_some_and(|guest| guest.rtc_utc),
            "buildUser": guest.map_or("", |guest| &guest.build_user),
            "winrmTransport": guest.and_then(|guest| guest.winrm_transport),
            "finish": guest.map_or("", |guest| &guest.finish),
        })
    }

    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|variable| variable.name == name)
    }
}

impl Variable {
    /// Whether the variable applies under the chosen selectors.
    #[must_use]
    pub fn applies(&self, selectors: &BTreeMap<String, String>) -> bool {
        self.when.iter().all(|(name, values)| chosen(selectors, name, values))
    }

    /// Whether its default counts under the chosen selectors.
    #[must_use]
    pub fn has_default(&self, selectors: &BTreeMap<String, String>) -> bool {
        !self.default_unless.iter().any(|(name, values)| chosen(selectors, name, values))
    }

    /// Environment variables that may give it, Packer's own first.
    pub fn environment_names(&self) -> impl Iterator<Item = String> {
        std::iter::once(format!("PKR_VAR_{}", self.name)).chain(self.environment.iter().cloned())
    }
}

fn chosen(selectors: &BTreeMap<String, String>, name: &str, values: &[String]) -> bool {
    selectors.get(name).is_some_and(|value| values.contains(value))
}
