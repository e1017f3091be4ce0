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

use crate::base::value::StepId;

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
            /// Properties of the resource by its type.
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

/// The section of a machine's listing that shows a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    Services,
    Directories,
    Files,
    Links,
    Packages,
    ContainerImages,
    Registry,
    Settings,
    Network,
    Accounts,
    /// Updates, tasks and settings of the system: shown with their properties as they are.
    System,
    Checks,
}

impl ResourceKind {
    /// Each type is shown somewhere.
    pub fn section(&self) -> Section {
        match self {
            Self::Service(_) => Section::Services,
            Self::Directory(_) => Section::Directories,
            Self::File(_) | Self::Artifact(_) | Self::Archive(_) => Section::Files,
            Self::Symlink(_) => Section::Links,
            Self::Msi(_) => Section::Packages,
            Self::ContainerImage(_) => Section::ContainerImages,
            Self::RegistryValue(_) => Section::Registry,
            Self::WindowsFeature(_)
            | Self::EnvironmentVariable(_)
            | Self::PathEntry(_)
            | Self::DefenderExclusion(_) => Section::Settings,
            Self::FirewallRule(_) | Self::PortRange(_) => Section::Network,
            Self::LocalUser(_) | Self::WinrmListener(_) | Self::WinrmSetting(_) => {
                Section::Accounts
            }
            Self::Hotfix(_)
            | Self::WindowsUpdate(_)
            | Self::WindowsCapability(_)
            | Self::ScheduledTask(_)
            | Self::HnsNetwork(_)
            | Self::PowerPlan(_)
            | Self::PageFile(_)
            | Self::Certificate(_)
            | Self::Script(_) => Section::System,
            Self::Assertion(_) | Self::Sysprep(_) => Section::Checks,
        }
    }
}

/// When a resource is applied. The order here is the order in the guest.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// Needs of the following phases and restarts.
    Bootstrap,
    /// Features and updates; a restart follows.
    Prepare,
    /// Everything else; a restart follows.
    Install,
    /// Nothing is set: assertions that need the restarted machine.
    Test,
    /// Takes away what the build needed, then generalises.
    Seal,
    /// At the first start of a clone, before its accounts and its join: what could not be taken
    /// away while the build spoke to the machine through it.
    Firstboot,
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
    /// Properties that others change on a node, with the reason why the node is right with either value; they are
    /// applied, and a difference after sealing is a note.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub volatile: BTreeMap<String, String>,
    /// The engine gives up on the resource after this many seconds.
    pub timeout_seconds: u32,
    #[serde(flatten)]
    pub kind: ResourceKind,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
