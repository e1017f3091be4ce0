//! What a Windows machine is, as far as a guest plan can say: plain data, complete enough
//! that another program can build the machine from it alone.
//!
//! Paths are written with backslashes and without a trailing one. Lists are sorted, except
//! where their order matters on the machine (`path`, arguments, failure actions).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::resource::{
    ArgumentsFile, Assertion, Direction, ExclusionKind, FailureAction, FirewallAction, PinAlgorithm,
    PortRangeKind, Protocol, RegistryData, RegistryKind, Scope, ServiceState, StartType, WinrmTransport,
};

/// The name of the format, and its version.
pub const SCHEMA: &str = "imagegen.dev/machine/v1";

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Machine {
    pub schema: String,
    pub target: String,
    pub windows: String,
    pub build: u32,
    /// How often the machine restarts while it is made.
    pub restarts: u32,
    /// Whether Sysprep has generalised it.
    pub sealed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sysprep: Option<Sysprep>,
    pub services: Vec<Service>,
    pub files: Vec<File>,
    pub directories: Vec<Directory>,
    pub links: Vec<Link>,
    pub registry: Vec<RegistryValue>,
    pub features: Vec<Feature>,
    pub environment: Vec<Variable>,
    /// What is added to the machine's PATH, in this order.
    pub path: Vec<PathEntry>,
    pub firewall: Vec<FirewallRule>,
    pub port_ranges: Vec<PortRange>,
    /// Ports that programs of the machine use, with the rule that lets them.
    pub ports: Vec<Port>,
    pub defender: Vec<Exclusion>,
    pub users: Vec<User>,
    pub winrm: Winrm,
    pub packages: Vec<Package>,
    pub images: Vec<Image>,
    /// What resource types without a list of their own want: updates, tasks, power and the like.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<Thing>,
    /// What must hold on the finished machine.
    pub assertions: Vec<Asserted>,
    /// What is not on the machine, because the plan takes it away or forbids it.
    pub absent: Vec<Absent>,
}

/// Which resource of the plan made something, and in which step it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Origin {
    pub resource: String,
    pub step: String,
    /// `build` for what must not be in the finished image.
    #[serde(default, skip_serializing_if = "is_node")]
    pub scope: Scope,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_node(scope: &Scope) -> bool {
    *scope == Scope::Node
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Sysprep {
    pub image_state: String,
    pub unattend: String,
    pub finish: String,
    pub origin: Origin,
}

/// A service. One without `program` is part of Windows or of a package and only tuned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Service {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// Stand behind the others while the file is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_file: Option<ArgumentsFile>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_type: Option<StartType>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_reset_seconds: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failure_actions: Vec<FailureAction>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<ServiceState>,
    /// The account it runs as; unknown for services that are only tuned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    pub origin: Origin,
}

/// A file: its text, or the artifact it comes from, or (with neither) made by a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct File {
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Artifact>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sddl: Option<String>,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Artifact {
    pub url: String,
    pub algorithm: PinAlgorithm,
    /// Of the artifact, not of the member.
    pub digest: String,
    /// The file is this member of the artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Directory {
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sddl: Option<String>,
    /// The nearest directory above that has its own access control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherits_from: Option<String>,
    /// Whether everything in it is taken away.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub emptied: bool,
    pub origin: Origin,
}

/// A symbolic link to a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Link {
    pub path: String,
    pub target: String,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RegistryValue {
    pub key: String,
    pub name: String,
    pub kind: RegistryKind,
    pub data: RegistryData,
    /// Stand behind the data while the file is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_file: Option<ArgumentsFile>,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Feature {
    pub name: String,
    pub installed: bool,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Variable {
    pub name: String,
    pub value: String,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PathEntry {
    pub entry: String,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FirewallRule {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    pub direction: Direction,
    pub action: FirewallAction,
    /// Any protocol, where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub local_ports: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remote_ports: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remote_addresses: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icmp_type: Option<u8>,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PortRange {
    pub kind: PortRangeKind,
    pub protocol: Protocol,
    pub start: u16,
    pub count: u16,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Port {
    pub port: String,
    pub protocol: Protocol,
    pub direction: Direction,
    pub program: String,
    /// The firewall rule that allows it; none where Windows does without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Exclusion {
    pub kind: ExclusionKind,
    pub value: String,
    pub origin: Origin,
}

/// A local account of the build that is still there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct User {
    pub name: String,
    pub enabled: bool,
    pub origin: Origin,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Winrm {
    pub listeners: Vec<Listener>,
    pub settings: Vec<Setting>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Listener {
    pub transport: WinrmTransport,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Setting {
    pub name: String,
    pub value: String,
    pub origin: Origin,
}

/// A Windows Installer package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Package {
    pub creates: String,
    pub artifact: Artifact,
    pub arguments: Vec<String>,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Image {
    pub reference: String,
    pub namespace: String,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Asserted {
    /// The resource's.
    pub name: String,
    pub assertion: Assertion,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Absent {
    /// The resource type.
    pub kind: String,
    pub name: String,
    pub origin: Origin,
}

/// Something of Windows with the properties that the plan wants of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Thing {
    /// The resource type.
    pub kind: String,
    pub name: String,
    pub properties: Map<String, Value>,
    pub origin: Origin,
}
