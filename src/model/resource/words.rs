//! The closed vocabularies of resource properties.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a thing is wanted on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Ensure {
    Present,
    Absent,
}

/// Like [`Ensure`], for directories, which may also be wanted without content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum EnsureDirectory {
    Present,
    Absent,
    Empty,
}

/// Like [`Ensure`], for accounts, some of which Windows does not let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum EnsureUser {
    Present,
    Disabled,
    Absent,
}

/// Arguments that somebody writes on the machine after it is made, as one line `VARIABLE="…"`.
///
/// While the file is there, its value stands behind the text of the plan: so the one comparison is
/// the check, the drift and the repair, before a join as after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ArgumentsFile {
    pub path: String,
    pub variable: String,
}

/// Digest algorithms that may pin bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PinAlgorithm {
    Sha256,
    Sha512,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ArchiveFormat {
    #[serde(rename = "zip")]
    Zip,
    #[serde(rename = "tar.gz")]
    TarGz,
}

/// One file taken out of an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ArchiveMember {
    /// Name inside the archive, exactly as listed there.
    pub member: String,
    /// Windows path of the file it becomes.
    pub path: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RegistryKind {
    String,
    ExpandString,
    DWord,
    QWord,
    MultiString,
    Binary,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StartType {
    Auto,
    /// Automatic, delayed.
    Delayed,
    /// On demand; `kubeadm join` starts the kubelet.
    Manual,
    Disabled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ServiceState {
    Running,
    Stopped,
}

/// What the service manager does after the n-th failure of a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FailureAction {
    pub action: FailureActionKind,
    pub delay_seconds: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FailureActionKind {
    None,
    Restart,
    Reboot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Direction {
    Inbound,
    Outbound,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FirewallAction {
    Allow,
    Block,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Protocol {
    #[serde(rename = "TCP")]
    Tcp,
    #[serde(rename = "UDP")]
    Udp,
    #[serde(rename = "ICMPv4")]
    Icmpv4,
    #[serde(rename = "ICMPv6")]
    Icmpv6,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PortRangeKind {
    Dynamic,
    Excluded,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExclusionKind {
    Path,
    Process,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WinrmTransport {
    #[serde(rename = "HTTP")]
    Http,
    #[serde(rename = "HTTPS")]
    Https,
}

/// What an assertion looks at. It can only hold or fail: there is nothing to set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AssertionCheck {
    /// `program` with `arguments` exits 0 and prints text that matches `pattern`.
    Command,
    /// `serviceName` is in `state`.
    Service,
    /// The build is `build` and the update revision at least `revision`.
    OsBuild,
}

/// What starts a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TaskTrigger {
    /// Nothing but a request.
    None,
    Startup,
    /// Each night at three.
    Daily,
}

/// A store of the machine's certificates, by the name that Windows gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum CertificateStore {
    /// Authorities whose word counts.
    Root,
    /// Authorities between those and a signer.
    #[serde(rename = "CA")]
    Authority,
    /// Signers whose scripts run under `AllSigned` without a question.
    TrustedPublisher,
}
