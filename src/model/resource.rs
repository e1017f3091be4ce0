//! The resource types of a guest plan: one fact about the finished machine each.
//!
//! The fields of a type here are the parameters of `Get-<type>Resource` and
//! `Set-<type>Resource` in `provisioners/resources/<type>.ps1`; a test compares them.
//! Nothing here knows how a fact is brought about: that is the guest engine's work.

mod system;
mod words;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::signing::Signer;
use super::step::Phase;

pub use system::*;
pub use words::*;

/// A resource type with its properties. Absent options are not compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "properties", rename_all = "camelCase")]
pub enum ResourceKind {
    Directory(Directory),
    File(File),
    Symlink(Symlink),
    Artifact(Artifact),
    Archive(Archive),
    Msi(Msi),
    RegistryValue(RegistryValue),
    EnvironmentVariable(EnvironmentVariable),
    PathEntry(PathEntry),
    Service(Service),
    WindowsFeature(WindowsFeature),
    FirewallRule(FirewallRule),
    PortRange(PortRange),
    DefenderExclusion(DefenderExclusion),
    WinrmListener(WinrmListener),
    WinrmSetting(WinrmSetting),
    LocalUser(LocalUser),
    ContainerImage(ContainerImage),
    Assertion(Assertion),
    Sysprep(Sysprep),
    Hotfix(Hotfix),
    WindowsUpdate(WindowsUpdate),
    WindowsCapability(WindowsCapability),
    ScheduledTask(ScheduledTask),
    HnsNetwork(HnsNetwork),
    PowerPlan(PowerPlan),
    PageFile(PageFile),
    Certificate(Certificate),
    Script(Script),
}

/// A directory, optionally with its whole access control.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Directory {
    pub path: String,
    pub ensure: EnsureDirectory,
    /// Owner, group and DACL as Windows prints them back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sddl: Option<String>,
}

/// A text file: UTF-8 without byte order mark, line ends as given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct File {
    pub path: String,
    pub ensure: Ensure,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Of the content's bytes; computed, never written by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sddl: Option<String>,
}

/// A symbolic link to a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Symlink {
    pub path: String,
    pub ensure: Ensure,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// A pinned file that is used as it was published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Artifact {
    pub path: String,
    pub url: String,
    pub algorithm: PinAlgorithm,
    /// Lower-case hexadecimal.
    pub digest: String,
}

/// Files out of a pinned archive. The archive itself is kept in `cache` during the build only:
/// the engine remembers, by the archive's digest, what each member was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Archive {
    pub url: String,
    pub algorithm: PinAlgorithm,
    pub digest: String,
    pub format: ArchiveFormat,
    /// Path of the downloaded archive.
    pub cache: String,
    pub members: Vec<ArchiveMember>,
}

/// A pinned Windows Installer package, known as installed by a file that it creates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Msi {
    pub url: String,
    pub algorithm: PinAlgorithm,
    pub digest: String,
    pub cache: String,
    pub creates: String,
    /// `NAME=value` properties and switches after `/i PACKAGE /qn /norestart`.
    pub arguments: Vec<String>,
}

/// A registry value. `data` is text, a number, or a list of texts, as `kind` wants it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RegistryValue {
    /// `HKLM:\…`
    pub key: String,
    pub value_name: String,
    pub ensure: Ensure,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<RegistryKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<RegistryData>,
    /// More of a command line that stands in `data`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_file: Option<ArgumentsFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RegistryData {
    Number(u64),
    Text(String),
    List(Vec<String>),
}

/// A machine-wide environment variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct EnvironmentVariable {
    pub variable: String,
    pub ensure: Ensure,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// One directory on the machine's PATH.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PathEntry {
    pub entry: String,
    pub ensure: Ensure,
}

/// A Windows service. Without `program` it tunes one that is there already.
///
/// In the guest plan `program` and `arguments` are joined to `commandLine`, quoted as
/// `CommandLineToArgvW` reads it back, because that is what Windows stores and compares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Service {
    pub service_name: String,
    pub ensure: Ensure,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// More arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_file: Option<ArgumentsFile>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_type: Option<StartType>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<Vec<String>>,
    /// After how many seconds without failure the count of failures starts again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_reset_seconds: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_actions: Option<Vec<FailureAction>>,
    /// `NAME=value`, seen by this service alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<ServiceState>,
}

/// A role or feature of Windows Server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct WindowsFeature {
    pub feature: String,
    pub installed: bool,
}

/// A rule of the Windows firewall, for all profiles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FirewallRule {
    pub rule_name: String,
    pub ensure: Ensure,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<FirewallAction>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// Ports or ranges (`30000-32767`); none for ICMP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_port: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_port: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_address: Option<Vec<String>>,
    /// The kind of message; all without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icmp_type: Option<u8>,
}

/// The dynamic port range of a protocol, or a range that is excluded from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PortRange {
    pub kind: PortRangeKind,
    /// TCP or UDP.
    pub protocol: Protocol,
    pub start: u16,
    pub count: u16,
}

/// Something that Microsoft Defender leaves alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct DefenderExclusion {
    pub kind: ExclusionKind,
    pub value: String,
    pub ensure: Ensure,
}

/// A listener of Windows Remote Management.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct WinrmListener {
    pub transport: WinrmTransport,
    pub ensure: Ensure,
}

/// A value below `WSMan:\localhost`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct WinrmSetting {
    /// Such as `Service\Auth\Basic`.
    pub setting: String,
    pub value: String,
}

/// A local account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LocalUser {
    pub user_name: String,
    pub ensure: EnsureUser,
}

/// A container image in containerd's store, pulled by digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ContainerImage {
    /// `registry/name@sha256:…`; a tag may stand before the digest.
    pub reference: String,
    /// Path of `ctr.exe`.
    pub program: String,
    pub namespace: String,
}

/// Something that must hold. There is no way to set it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Assertion {
    pub check: AssertionCheck,
    pub holds: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<ServiceState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
}

/// The generalised system. Set runs Sysprep and waits, within the resource's time limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Sysprep {
    /// `IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE`
    pub image_state: String,
    /// Answer file of the next boot.
    pub unattend: String,
    /// `quit` or `shutdown`: what Sysprep does at its end.
    pub finish: String,
}

/// How long a resource holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// For the node's life: compared on a clone and on a node, restored by a reset, applied by an upgrade.
    #[default]
    Node,
    /// In the sealed image; a clone, the platform or a join may change it later.
    Image,
    /// Only while the image is built; a later resource must take it back.
    Build,
}

/// A resource with every value concrete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// `<step>/<what>`, unique in a plan.
    pub name: String,
    pub step: String,
    pub phase: Phase,
    #[serde(default, skip_serializing_if = "is_default")]
    pub scope: Scope,
    /// Properties that others change on a node; they are applied, and not compared after sealing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volatile: Vec<String>,
    /// The engine gives up on the resource after this many seconds.
    pub timeout_seconds: u32,
    #[serde(flatten)]
    pub kind: ResourceKind,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A list of resources that one engine applies, with the digests of its scripts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct GuestPlan {
    pub schema: String,
    pub target: String,
    pub windows: String,
    pub kubernetes: String,
    /// Path below the payload → SHA-256 of its bytes.
    pub scripts: BTreeMap<String, String>,
    /// Where there are some, the engine runs under `AllSigned` alone, and each script is signed by one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signers: Vec<Signer>,
    pub resources: Vec<Resource>,
}

/// Whether this is a digest as we write it: so many hexadecimal digits, in lower case.
#[must_use]
pub fn is_digest(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
