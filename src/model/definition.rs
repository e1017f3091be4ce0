//! The user's wishes: flags over an image definition, before anything is resolved.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::containerd::{ContainerdOptions, RegistryHosts};
use super::image_version::ImageVersion;
use super::images::Images;
use super::matrix::Matrix;
use super::mirrors::Mirrors;
use super::overrides::{Overrides, merge_overrides};
use crate::base::choice::{DefenderPart, Delivery, HostAccess, Join, Runtime, UpdateCategory};
use crate::base::no_proxy::ProxyExceptions;
use crate::base::url::{HttpUrl, ProxyUrl, strip_value};
use crate::base::value::{
    Cidr, DnsName, FileName, Ipv4Address, NamedImage, NoProxy, Registry, Sha256, VolumePlugin,
};
use crate::base::version::Version;
use crate::windows::value::KbId;

/// `imagegen.json`, and equally what the flags say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(example = serde_json::json!({"target": "host"}))]
#[serde(expecting = "an object such as `{\"target\": \"host\"}`")]
pub struct ImageDefinition {
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Comments: a text, or one for each field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
    /// Name of a target.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"host")]
    pub target: Option<String>,
    /// `2022`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"2022")]
    pub windows: Option<String>,
    /// `1.36`, `1.36.4` or `stable`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"1.36.4")]
    pub kubernetes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
    /// Name of a pod network (`imagegen list networks`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"flannel-overlay")]
    pub cni: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_access: Option<HostAccess>,
    /// How far the image is prepared for a join; `kubeadm` where nothing says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub join: Option<Join>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updates: Option<Updates>,
    /// FlexVolume plugins, `vendor~driver` → its files.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(example = serde_json::json!({"microsoft.com~smb.cmd": [{"file": "smb.cmd", "url": "https://…", "sha256": "…"}]}))]
    pub volume_plugins: BTreeMap<VolumePlugin, Vec<PluginFile>>,
    /// Optional features (`imagegen list features`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = ["gmsa"])]
    pub features: Vec<String>,
    /// The cluster's network, as far as it is known already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// Registry (`docker.io`) → URLs of its mirrors, the first one asked first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(example = serde_json::json!({"docker.io": ["https://mirror.example.com"]}))]
    pub mirrors: BTreeMap<Registry, Vec<HttpUrl>>,
    /// Registry → how containerd asks it, where a list of mirrors does not say enough.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(example = serde_json::json!({"registry.example:5000": {"server": {"url": "https://registry.example:5000", "ca": "registry-ca.pem"}}}))]
    pub registries: BTreeMap<Registry, RegistryHosts>,
    /// Settings of containerd beside those that a node needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!({"logLevel": "debug"}))]
    pub containerd: Option<ContainerdOptions>,
    /// Container images to pull while baking, by tag (`imagegen lock` records the digest) or by digest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = ["mcr.microsoft.com/windows/nanoserver:ltsc2022"])]
    pub container_images: Vec<NamedImage>,
    /// Sets of container images: `agents` are those of `cluster-manifests`, `workloads` those of its smoke test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = ["agents"])]
    pub image_sets: Vec<String>,
    /// Images that share the rest of the definition: name → what differs. A list has `containerImages`.
    #[serde(default, skip_serializing_if = "Images::is_empty")]
    #[schemars(example = serde_json::json!({"node-2022": {"windows": "2022"}}))]
    pub images: Images,
    /// Images for every combination of some values; `images` changes the one of a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!({"windows": ["2022", "2025"], "kubernetes": ["1.35", "1.36"]}))]
    pub matrix: Option<Matrix>,
    /// Folders of your own steps and their files, relative to the definition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = ["steps"])]
    pub steps: Vec<String>,
    /// Folders of your own targets, relative to the definition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = ["targets"])]
    pub targets: Vec<String>,
    /// Folders of your own component files, relative to the definition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = ["components"])]
    pub component_files: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
    /// Component → version, in the place of the default.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(example = serde_json::json!({"containerd": "2.3.4"}))]
    pub components: BTreeMap<String, Version>,
    /// The target's variables. Secrets do not belong here: they come from the environment.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        serialize_with = "strip_variables"
    )]
    #[schemars(example = serde_json::json!({"location": "westeurope"}))]
    pub variables: BTreeMap<String, Value>,
    /// Version of the image, part of its name; no part of the lock. Without it, the time of the build.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_version: Option<ImageVersion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packer: Option<PackerChoice>,
    /// Component or URL prefix → what a provider puts in its place.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(example = serde_json::json!({"kubelet": {"url": "https://…", "sha256": "…"}}))]
    pub overrides: Overrides,
    /// Where the operator takes the publishers' bytes from: by flags, environment and settings. Never part of a file.
    #[serde(skip)]
    pub download_mirrors: Mirrors,
}

/// Comments in a definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "a text, or an object with a text for each field"
)]
pub enum Note {
    Text(String),
    Fields(BTreeMap<String, String>),
}

/// Proxies of the finished node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[serde(expecting = "an object such as `{\"http\": \"http://proxy.example:3128\"}`")]
pub struct Proxy {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<ProxyUrl>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub https: Option<ProxyUrl>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_proxy: Option<NoProxy>,
}

impl Proxy {
    /// Whether the node's programs ask a proxy for this host and port.
    pub fn is_asked_for(&self, host: &str, port: u16) -> bool {
        let exceptions = self.no_proxy.as_deref().unwrap_or_default();
        let has_proxy = self.http.is_some() || self.https.is_some();
        has_proxy && !ProxyExceptions::parse_list(exceptions).contains(host, Some(port))
    }
}

/// kubeadm's network of services, where nobody chose another one.
pub const SERVICE_NETWORK: &str = "10.96.0.0/12";

/// The cluster's network, where it is known before the node joins. What is left out is filled in
/// at join.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[serde(expecting = "an object such as `{\"pods\": \"10.244.0.0/16\"}`")]
pub struct Network {
    /// Addresses of all pods, such as `10.244.0.0/16`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<Cidr>,
    /// Addresses of all services, such as `10.96.0.0/12`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<Cidr>,
    /// Addresses of all nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Cidr>,
    /// The cluster's DNS service, such as `10.96.0.10`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns: Option<Ipv4Address>,
    /// Such as `cluster.local`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<DnsName>,
}

/// Windows updates during the bake. With none of the lists, the source image as it is published.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[serde(expecting = "an object such as `{\"kbs\": [\"KB5058411\"]}`")]
pub struct Updates {
    /// Packages of the Microsoft Update Catalog by URL and digest, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<UpdateFile>,
    /// Files that bring Microsoft Defender up to date.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defender: Vec<DefenderFile>,
    /// Searched for with Windows Update: `KB5058411`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kbs: Vec<KbId>,
    /// Searched for with Windows Update: every update of these categories.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<UpdateCategory>,
    /// Updates of the categories that are left out, beside those that are known to fail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<KbId>,
}

/// An update as a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[serde(
    expecting = "an object such as `{\"kb\": \"KB5058411\", \"url\": \"https://…\", \"sha256\": \"…\"}`"
)]
pub struct UpdateFile {
    /// `KB5058411`
    pub kb: KbId,
    /// Of a `.msu` file.
    pub url: HttpUrl,
    pub sha256: Sha256,
}

/// A program that updates Microsoft Defender: its publisher replaces the bytes at the URL several times a day, so the
/// user keeps a copy and states its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[serde(
    expecting = "an object such as `{\"part\": \"signatures\", \"version\": \"1.421.12.0\", \"url\": \"https://…\", \"sha256\": \"…\"}`"
)]
pub struct DefenderFile {
    pub part: DefenderPart,
    /// At least this version is installed afterwards: `1.421.12.0`.
    pub version: Version,
    /// Of the user's copy of `mpam-fe.exe` or `updateplatform.exe`.
    pub url: HttpUrl,
    pub sha256: Sha256,
}

/// A file of a volume plugin: a provider's own, so its digest is the provider's to state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[serde(
    expecting = "an object such as `{\"file\": \"smb.cmd\", \"url\": \"https://…\", \"sha256\": \"…\"}`"
)]
pub struct PluginFile {
    /// `smb.cmd`
    pub file: FileName,
    pub url: HttpUrl,
    pub sha256: Sha256,
}

/// A file that the image definition names with its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserFile<'a> {
    /// As messages name it.
    pub name: String,
    pub url: &'a HttpUrl,
    pub sha256: &'a Sha256,
}

/// Another Packer or other plugins than the catalog pins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[serde(expecting = "an object such as `{\"version\": \"1.12.0\"}`")]
pub struct PackerChoice {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Plugin → version (`"NAME": "1.4.5"`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub plugins: BTreeMap<String, Version>,
}

impl ImageDefinition {
    /// Files beside the catalog's: updates, those of Defender, and those of volume plugins.
    pub fn user_files(&self) -> impl Iterator<Item = UserFile<'_>> {
        let updates = self.updates.iter().flat_map(|updates| &updates.files);
        let updates = updates.map(|file| (file.kb.to_string(), &file.url, &file.sha256));
        let defender = self.updates.iter().flat_map(|updates| &updates.defender);
        let defender = defender.map(|file| {
            let name = format!("Defender {} {}", file.part, file.version);
            (name, &file.url, &file.sha256)
        });
        let plugins = self.volume_plugins.iter().flat_map(|(plugin, files)| {
            files
                .iter()
                .map(move |file| (format!("{plugin}/{}", file.file), &file.url, &file.sha256))
        });
        updates
            .chain(defender)
            .chain(plugins)
            .map(|(name, url, sha256)| UserFile { name, url, sha256 })
    }

    /// How containerd asks each registry of `mirrors` and `registries`.
    pub fn list_registries(&self) -> BTreeMap<Registry, RegistryHosts> {
        let mirrors = self.mirrors.iter();
        let mut registries: BTreeMap<Registry, RegistryHosts> = mirrors
            .map(|(registry, urls)| (registry.clone(), RegistryHosts::from_mirrors(urls)))
            .collect();
        registries.extend(self.registries.clone());
        registries
    }

    /// The addresses that nodes ask for the images of each registry, beside the registry itself.
    pub fn list_registry_urls(&self) -> BTreeMap<Registry, Vec<HttpUrl>> {
        let registries = self.list_registries().into_iter();
        registries
            .map(|(registry, known)| {
                let urls = known.list_hosts().map(|host| host.url.clone());
                (registry, urls.collect())
            })
            .collect()
    }

    /// `self` where it says something, else `base`; lists and maps of both, `self` last and winning.
    #[must_use]
    pub fn merge_over(self, base: Self) -> Self {
        let packer = match (self.packer, base.packer) {
            (Some(mine), Some(theirs)) => Some(PackerChoice {
                version: mine.version.or(theirs.version),
                plugins: merge_maps(theirs.plugins, mine.plugins),
            }),
            (mine, theirs) => mine.or(theirs),
        };
        let containers = [base.container_images, base.images.into_containers()];
        let own_containers = [self.container_images, self.images.into_containers()];
        Self {
            schema: None,
            note: None,
            target: self.target.or(base.target),
            windows: self.windows.or(base.windows),
            kubernetes: self.kubernetes.or(base.kubernetes),
            runtime: self.runtime.or(base.runtime),
            cni: self.cni.or(base.cni),
            host_access: self.host_access.or(base.host_access),
            join: self.join.or(base.join),
            delivery: self.delivery.or(base.delivery),
            updates: self.updates.or(base.updates),
            volume_plugins: merge_maps(base.volume_plugins, self.volume_plugins),
            features: join_lists(base.features, self.features),
            network: self.network.or(base.network),
            mirrors: merge_maps(base.mirrors, self.mirrors),
            registries: merge_maps(base.registries, self.registries),
            containerd: self.containerd.or(base.containerd),
            container_images: containers
                .into_iter()
                .chain(own_containers)
                .flatten()
                .collect(),
            image_sets: join_lists(base.image_sets, self.image_sets),
            images: Images::default(),
            matrix: None,
            steps: [base.steps, self.steps].concat(),
            targets: [base.targets, self.targets].concat(),
            component_files: [base.component_files, self.component_files].concat(),
            proxy: self.proxy.or(base.proxy),
            components: merge_maps(base.components, self.components),
            variables: merge_maps(base.variables, self.variables),
            image_version: self.image_version.or(base.image_version),
            packer,
            overrides: merge_overrides(base.overrides, self.overrides),
            download_mirrors: self.download_mirrors.merge_over(base.download_mirrors),
        }
    }
}

/// Signed URLs of installation media are written without their query, like every other URL.
fn strip_variables<S: Serializer>(
    variables: &BTreeMap<String, Value>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(
        variables
            .iter()
            .map(|(name, value)| (name, strip_value(value))),
    )
}

fn join_lists(mut base: Vec<String>, more: Vec<String>) -> Vec<String> {
    base.extend(more);
    base.sort();
    base.dedup();
    base
}

fn merge_maps<K: Ord, V>(mut base: BTreeMap<K, V>, over: BTreeMap<K, V>) -> BTreeMap<K, V> {
    base.extend(over);
    base
}
