//! Settings of containerd in a definition: parts of its configuration file, and how it asks registries.

use std::collections::BTreeMap;
use std::num::NonZeroU8;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::base::choice::{LogLevel, RegistryCapability};
use crate::base::toml::{FragmentError, TomlFragment};
use crate::base::url::HttpUrl;
use crate::base::value::{DialTimeout, HeaderName, HeaderValue, LoopbackAddress};
use crate::base::version::Version;

/// Settings of containerd. What is left out keeps containerd's default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[serde(expecting = "an object such as `{\"logLevel\": \"debug\"}`")]
pub struct ContainerdOptions {
    /// Least level of its log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_level: Option<LogLevel>,
    /// Layers of one image that are downloaded at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrent_downloads: Option<NonZeroU8>,
    /// Removes the compressed layers of an image when it is unpacked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub discard_unpacked_layers: bool,
    /// Where it serves its metrics, which need no authentication: `127.0.0.1:1338`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics_address: Option<LoopbackAddress>,
    /// Further keys of its configuration file: files beside the definition, such as `containerd.toml`, or their text.
    /// Each begins with its `version`; those of the version that the image's containerd reads are merged by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = ["containerd.toml"])]
    pub fragments: Vec<ConfigFragment>,
}

/// A part of containerd's configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum ConfigFragment {
    /// Path of a file from the folder of the definition. Reading the definition replaces it by the file's text.
    File(String),
    Text(TomlFragment),
}

impl TryFrom<String> for ConfigFragment {
    type Error = FragmentError;

    fn try_from(text: String) -> Result<Self, FragmentError> {
        if text.contains(['\n', '=']) {
            text.parse().map(Self::Text)
        } else {
            Ok(Self::File(text))
        }
    }
}

impl From<ConfigFragment> for String {
    fn from(fragment: ConfigFragment) -> Self {
        match fragment {
            ConfigFragment::File(path) => path,
            ConfigFragment::Text(text) => text.as_str().to_owned(),
        }
    }
}

/// How containerd asks a registry: the content of its `hosts.toml`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[serde(expecting = "an object such as `{\"hosts\": [{\"url\": \"https://mirror.example\"}]}`")]
pub struct RegistryHosts {
    /// Asked last; the registry itself where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<RegistryHost>,
    /// Asked before it, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<RegistryHost>,
}

/// A host that is asked for the images of a registry. Credentials are no part of it: the kubelet brings them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[serde(expecting = "an object such as `{\"url\": \"https://mirror.example\"}`")]
pub struct RegistryHost {
    pub url: HttpUrl,
    /// Acts that it is trusted with: `resolve` turns tags into digests.
    #[serde(default = "pull_and_resolve")]
    pub capabilities: Vec<RegistryCapability>,
    /// Certificates of the authorities that its own is from: PEM, or the name of a file beside the definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"registry-ca.pem")]
    pub ca: Option<String>,
    /// Takes every certificate: whoever is on the way can answer. The operator allows it by `--allow-http HOST`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip_verify: bool,
    /// The URL has the path of the interface: no `/v2` follows it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub override_path: bool,
    /// Longest time that a connection may take, such as `5s`; containerd 2.1 and newer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dial_timeout: Option<DialTimeout>,
    /// Headers of each request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(example = serde_json::json!({"X-Meta-Team": "windows-nodes"}))]
    pub headers: BTreeMap<HeaderName, HeaderValue>,
    /// Refused, with the reason.
    #[serde(default, skip_serializing, deserialize_with = "refuse_client")]
    #[schemars(skip)]
    pub client: (),
}

/// A client certificate comes with a private key.
fn refuse_client<'de, D: Deserializer<'de>>(_: D) -> Result<(), D::Error> {
    Err(D::Error::custom(
        "a client certificate has a private key, which every user of the image could read: write `client` into the \
         node's own `hosts.toml` after it has joined, or let the kubelet bring credentials",
    ))
}

fn pull_and_resolve() -> Vec<RegistryCapability> {
    vec![RegistryCapability::Pull, RegistryCapability::Resolve]
}

impl RegistryHosts {
    /// Mirrors that are asked in this order, and the registry itself.
    pub fn from_mirrors(urls: &[HttpUrl]) -> Self {
        let hosts = urls.iter().map(|url| RegistryHost {
            url: url.clone(),
            capabilities: pull_and_resolve(),
            ca: None,
            skip_verify: false,
            override_path: false,
            dial_timeout: None,
            headers: BTreeMap::new(),
            client: (),
        });
        Self {
            server: None,
            hosts: hosts.collect(),
        }
    }

    /// Every host, the server last.
    pub fn list_hosts(&self) -> impl Iterator<Item = &RegistryHost> {
        self.hosts.iter().chain(&self.server)
    }
}

impl ContainerdOptions {
    /// The fragments of one version of the configuration file, in their order.
    pub fn list_fragments(&self, version: i64) -> impl Iterator<Item = &TomlFragment> {
        let texts = self.fragments.iter().filter_map(|fragment| match fragment {
            ConfigFragment::Text(text) => Some(text),
            ConfigFragment::File(_) => None,
        });
        texts.filter(move |text| text.version() == version)
    }
}

/// Version of the configuration file that a containerd reads without converting it: 3 since 2.0, 4 since 2.3.
/// Source: <https://github.com/containerd/containerd/blob/main/docs/cri/config.md>.
pub fn config_version(containerd: &Version) -> i64 {
    if *containerd >= Version::from_literal("2.3.0") {
        4
    } else if *containerd >= Version::from_literal("2.0.0") {
        3
    } else {
        2
    }
}
