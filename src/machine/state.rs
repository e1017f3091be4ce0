//! A Windows machine, as far as a guest plan describes it: plain data, complete enough
//! that another program can build the machine from it alone.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::platform::Platform;
use crate::windows::paths;
use crate::windows::resource::{
    Direction, Ensured, Identity, Protocol, Resource, ResourceKind, Scope, Service, Sysprep,
};
use crate::windows::value::Ports;

/// The name of the format, and its version.
pub const SCHEMA: &str = "imagegen.dev/machine/v2";

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Machine {
    pub schema: String,
    pub target: String,
    pub windows: String,
    pub build: u32,
    /// Parts of the machine that the platform brings.
    #[serde(default)]
    pub platform: Platform,
    /// How often the machine restarts while it is made.
    pub restarts: u32,
    /// Each thing that a resource put on the machine, took away or compared, as the last resource left it.
    /// An archive's member and a downloaded file are things of their own.
    #[serde(serialize_with = "write_list", deserialize_with = "read_list")]
    #[schemars(with = "Vec<PlacedResource>")]
    pub resources: BTreeMap<Identity, PlacedResource>,
    /// Directories added to the machine's PATH, in this order.
    pub path: Vec<String>,
    /// Ports that programs of the machine use, with the rule that allows them.
    pub ports: Vec<Port>,
}

/// A thing on a machine, and the resource that put it there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlacedResource {
    #[serde(flatten)]
    pub kind: ResourceKind,
    pub origin: ResourceOrigin,
    /// The resource of the image whose thing a resource of the build changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<ResourceOrigin>,
}

/// Which resource of the plan made something, and its step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ResourceOrigin {
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

impl From<&Resource> for ResourceOrigin {
    fn from(resource: &Resource) -> Self {
        let (name, step) = (resource.name.clone(), resource.step.to_string());
        Self {
            resource: name,
            step,
            scope: resource.scope,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Port {
    pub port: Ports,
    pub protocol: Protocol,
    pub direction: Direction,
    pub program: String,
    /// The firewall rule that allows it; none where Windows needs none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

/// A thing that is on the machine, with its settings.
#[derive(Debug)]
pub struct PresentResource<'a, T: Ensured> {
    pub it: &'a T,
    pub settings: &'a T::Settings,
    pub origin: &'a ResourceOrigin,
}

/// A file on the machine. Its content is known where the plan gives it.
#[derive(Debug)]
pub struct PresentFile<'a> {
    pub path: &'a str,
    pub content: Option<&'a str>,
    pub origin: &'a ResourceOrigin,
}

impl Machine {
    /// The resources of one type, those that are absent among them.
    pub fn resources_of<'a, T: 'a>(&'a self) -> impl Iterator<Item = (&'a T, &'a ResourceOrigin)>
    where
        &'a T: TryFrom<&'a ResourceKind>,
    {
        self.resources
            .values()
            .filter_map(|placed| Some(((&placed.kind).try_into().ok()?, &placed.origin)))
    }

    /// The things of one type that are on the machine.
    pub fn present_resources<'a, T: Ensured + 'a>(
        &'a self,
    ) -> impl Iterator<Item = PresentResource<'a, T>>
    where
        &'a T: TryFrom<&'a ResourceKind>,
    {
        self.resources_of::<T>().filter_map(|(it, origin)| {
            Some(PresentResource {
                it,
                settings: it.desired().present()?,
                origin,
            })
        })
    }

    /// The service of that name.
    pub fn find_service(&self, name: &str) -> Option<PresentResource<'_, Service>> {
        self.present_resources::<Service>()
            .find(|service| service.it.service_name.eq_ignore_ascii_case(name))
    }

    /// Every file, whether its content, an artifact, an archive or an installer made it.
    pub fn present_files(&self) -> impl Iterator<Item = PresentFile<'_>> {
        self.resources.values().filter_map(|placed| {
            let content = match &placed.kind {
                ResourceKind::File(it) => it.content(),
                _ => None,
            };
            Some(PresentFile {
                path: placed.kind.properties().file()?,
                content,
                origin: &placed.origin,
            })
        })
    }

    /// The resource that brings the file of that name.
    pub fn find_file(&self, name: &str) -> Option<&ResourceOrigin> {
        self.present_files()
            .find(|file| paths::file_name(file.path).eq_ignore_ascii_case(name))
            .map(|file| file.origin)
    }

    /// The resource that brings the service or file of that name.
    pub fn find_program(&self, name: &str) -> Option<&ResourceOrigin> {
        if let Some(service) = self.find_service(name) {
            return Some(service.origin);
        }
        self.find_file(name)
    }

    /// The file or folder at a path.
    pub fn find_at_path(&self, path: &str) -> Option<&ResourceKind> {
        self.resources
            .get(&Identity::from_path(&[], path))
            .map(|placed| &placed.kind)
    }

    /// Whether Sysprep has generalized it.
    pub fn is_sealed(&self) -> bool {
        self.resources_of::<Sysprep>().next().is_some()
    }
}

fn write_list<S: Serializer>(
    map: &BTreeMap<Identity, PlacedResource>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(map.values())
}

fn read_list<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<Identity, PlacedResource>, D::Error> {
    let list = Vec::<PlacedResource>::deserialize(deserializer)?;
    Ok(list
        .into_iter()
        .map(|placed| (placed.kind.properties().identity(), placed))
        .collect())
}
