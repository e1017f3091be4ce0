//! The resource types of a guest plan: one fact about the finished machine each.
//!
//! The fields of a type here are the parameters of `Get-<type>Resource` and
//! `Set-<type>Resource` in `provisioners/resources/<type>.ps1`; a test compares them.
//! Each type defines its identity and its effect on a machine ([`ResourceType`]); the guest engine applies it.

mod access;
mod artifact;
mod assertion;
mod desired;
mod directory;
mod effect;
mod feature;
mod file;
mod identity;
mod image;
mod network;
mod registry;
mod service;
mod system;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::signing::Signer;
use super::step::Phase;
use super::value::{HostPattern, StepId};

pub use access::*;
pub use artifact::*;
pub use assertion::*;
pub use desired::*;
pub use directory::*;
pub use effect::*;
pub use feature::*;
pub use file::*;
pub use identity::*;
pub use image::*;
pub use network::*;
pub use registry::*;
pub use service::*;
pub use system::*;

/// The closed set of resource types: the enum, and the way from it to a type and back.
macro_rules! resource_kinds {
    ($($name:ident),+ $(,)?) => {
        /// A resource type with its properties. Absent options are not compared.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "type", content = "properties", rename_all = "camelCase")]
        pub enum ResourceKind {
            $($name($name),)+
        }

        impl ResourceKind {
            /// What the type says about the resource.
            pub fn properties(&self) -> &dyn ResourceType {
                match self {
                    $(Self::$name(it) => it,)+
                }
            }
        }

        $(
            impl<'a> TryFrom<&'a ResourceKind> for &'a $name {
                type Error = ();

                fn try_from(kind: &'a ResourceKind) -> Result<Self, ()> {
                    if let ResourceKind::$name(it) = kind { Ok(it) } else { Err(()) }
                }
            }
        )+
    };
}

resource_kinds! {
    Directory, File, Symlink, Artifact, Archive, Msi, RegistryValue, EnvironmentVariable, PathEntry, Service,
    WindowsFeature, FirewallRule, PortRange, DefenderExclusion, WinrmListener, WinrmSetting, LocalUser,
    ContainerImage, Assertion, Sysprep, Hotfix, WindowsUpdate, WindowsCapability, ScheduledTask, HnsNetwork,
    PowerPlan, PageFile, Certificate, Script,
}

desired::ensured! {
    File: FileContent, Symlink: LinkTarget, RegistryValue: RegistryContent,
    EnvironmentVariable: EnvironmentValue, Service: ServiceSettings, FirewallRule: FirewallSettings,
    HnsNetwork: HnsSettings, ScheduledTask: TaskSettings,
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
    /// Only while the image is built; a later resource must remove it.
    Build,
}

/// A resource with every value concrete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// `<step>/<what>`, unique in a plan.
    pub name: String,
    pub step: StepId,
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
    /// If there are any, the engine runs under `AllSigned` alone, and one of them signed each script.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signers: Vec<Signer>,
    /// `allowedHosts` of the policy: downloads and their redirects ask no other host. None where every host may be
    /// asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_hosts: Option<Vec<HostPattern>>,
    pub resources: Vec<Resource>,
}
