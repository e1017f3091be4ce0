//! Questions of the machine's model to every resource type, and effects of a resource on a machine.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{
    Artifact, Certificate, DefenderExclusion, DirectoryState, Ensure, EnsureUser, Identity,
    PathEntry, ResourceKind, WinrmListener,
};

/// A resource type's answers about its own resources.
pub trait ResourceType {
    /// The thing that the resource is about.
    fn identity(&self) -> Identity;

    /// Every path that the resource names.
    fn paths(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Owner, group and DACL, and the kind of object that has them.
    fn descriptor(&self) -> Option<(&str, SecuredObject)> {
        None
    }

    /// The program that the engine runs to apply the resource, or that the resource starts.
    fn program(&self) -> Option<&str> {
        None
    }

    /// The path of the file that the resource creates.
    fn file(&self) -> Option<&str> {
        None
    }

    /// Identity of the file's bytes, if the plan decides them.
    fn bytes(&self) -> Option<String> {
        None
    }

    /// Artifact that the engine downloads for the resource and keeps until the machine is sealed.
    fn download(&self) -> Option<Artifact> {
        None
    }

    /// The resources that it consists of, where it makes more than one thing.
    fn parts(&self) -> Option<Vec<ResourceKind>> {
        None
    }

    /// Whether missing directories above its path are created.
    fn creates_parents(&self) -> bool {
        false
    }
}

/// An object with a security descriptor. A file's entries have no inheritance flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecuredObject {
    Directory,
    File,
}

/// One thing that a resource puts on a machine, or takes from it.
#[derive(Debug, Clone)]
pub struct Effect<'a> {
    pub kind: Cow<'a, ResourceKind>,
    pub creates_parents: bool,
    /// Downloads stay in the cache while the machine is built, whatever the resource's own scope.
    pub is_download: bool,
}

impl ResourceKind {
    /// Whether the resource removes its thing.
    pub fn is_absent(&self) -> bool {
        match self {
            Self::Directory(it) => matches!(it.state, DirectoryState::Absent {}),
            Self::File(it) => it.desired.is_absent(),
            Self::Symlink(it) => it.desired.is_absent(),
            Self::RegistryValue(it) => it.desired.is_absent(),
            Self::EnvironmentVariable(it) => it.desired.is_absent(),
            Self::Service(it) => it.desired.is_absent(),
            Self::FirewallRule(it) => it.desired.is_absent(),
            Self::HnsNetwork(it) => it.desired.is_absent(),
            Self::ScheduledTask(it) => it.desired.is_absent(),
            Self::LocalUser(it) => it.ensure == EnsureUser::Absent,
            Self::PathEntry(PathEntry { ensure, .. })
            | Self::DefenderExclusion(DefenderExclusion { ensure, .. })
            | Self::WinrmListener(WinrmListener { ensure, .. })
            | Self::Certificate(Certificate { ensure, .. }) => *ensure == Ensure::Absent,
            Self::Artifact(_)
            | Self::Archive(_)
            | Self::Msi(_)
            | Self::WindowsFeature(_)
            | Self::PortRange(_)
            | Self::WinrmSetting(_)
            | Self::ContainerImage(_)
            | Self::Assertion(_)
            | Self::Sysprep(_)
            | Self::Hotfix(_)
            | Self::WindowsUpdate(_)
            | Self::WindowsCapability(_)
            | Self::PowerPlan(_)
            | Self::PageFile(_)
            | Self::Script(_) => false,
        }
    }

    /// Effects of the resource on the machine, in order.
    pub fn effects(&self) -> Vec<Effect<'_>> {
        let properties = self.properties();
        let creates_parents = properties.creates_parents();
        let mut effects = Vec::new();
        if let Some(artifact) = properties.download() {
            effects.push(Effect {
                kind: Cow::Owned(Self::Artifact(artifact)),
                creates_parents: true,
                is_download: true,
            });
        }

        let kinds = match properties.parts() {
            Some(parts) => parts.into_iter().map(Cow::Owned).collect(),
            None => vec![Cow::Borrowed(self)],
        };
        for kind in kinds {
            effects.push(Effect {
                kind,
                creates_parents,
                is_download: false,
            });
        }
        effects
    }

    /// The type's name in JSON.
    ///
    /// # Panics
    /// Never: a resource is plain data.
    pub fn to_json(&self) -> (String, Map<String, Value>) {
        let json = serde_json::to_value(self).expect("a resource is plain data");
        let name = json["type"].as_str().unwrap_or_default().to_owned();
        let properties = json["properties"].as_object().cloned().unwrap_or_default();
        (name, properties)
    }

    /// The properties without those that make up the identity.
    pub fn facts(&self) -> Map<String, Value> {
        let (_, mut facts) = self.to_json();
        for name in self.properties().identity().properties() {
            facts.shift_remove(*name);
        }
        facts
    }

    /// This resource applied to a thing that an earlier one left in the given state.
    #[must_use]
    pub fn merge_over(&self, earlier: &Self) -> Self {
        match (self, earlier) {
            (Self::Directory(it), Self::Directory(earlier)) => {
                Self::Directory(it.merge_over(earlier))
            }
            (Self::Service(it), Self::Service(earlier)) => Self::Service(it.merge_over(earlier)),
            _ => self.clone(),
        }
    }
}
