//! The selection of an image.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser};

use crate::base::choice::{Delivery, HostAccess, Join, Runtime, UnknownName};
use crate::base::url::{HttpUrl, ProxyUrl, UrlError};
use crate::base::value::{HostPattern, NamedImage, NoProxy, Registry, ValueError};
use crate::base::version::Version;
use crate::io::fs::OutputFile;
use crate::model::definition::Updates;
use crate::model::evidence::ProofKind;
use crate::model::image_version::ImageVersion;
use crate::model::mirrors::{MirrorPrefix, complete_mirror};
use crate::model::policy::Waiver;

/// The selection of an image. Flags override the image definition.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Selection")]
pub struct SelectionArgs {
    /// Image definition, or a folder of them; `FILE#NAME` is one of several images [default: imagegen.json in the
    /// working folder, if it exists].
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Target of the build (`imagegen list targets`).
    #[arg(long)]
    pub target: Option<String>,

    /// Windows release (`imagegen list windows`) [default: the default release of the Kubernetes line].
    #[arg(long, value_name = "RELEASE")]
    pub windows: Option<String>,

    /// Kubernetes version: `1.20`, `1.20.0` or `stable` [default: stable].
    #[arg(long, value_name = "VERSION")]
    pub k8s: Option<String>,

    /// Container runtime: `containerd` or `docker`.
    #[arg(long)]
    pub runtime: Option<Runtime>,

    /// Pod network whose CNI plugin to install (`imagegen list networks`) [default: that of the catalog, which the plan names].
    #[arg(long, value_name = "NETWORK")]
    pub cni: Option<String>,

    /// How agents access the host: `hostprocess`, `wins` or `services`.
    #[arg(long, value_name = "ACCESS")]
    pub host_access: Option<HostAccess>,

    /// How far to prepare the image for a join: `kubeadm`, `templates` (with the tools that published templates call)
    /// or `none` (without kubelet and runtime) [default: kubeadm].
    #[arg(long, value_name = "JOIN")]
    pub join: Option<Join>,

    /// How artifacts reach the guest: download, media or mirror.
    #[arg(long)]
    pub delivery: Option<Delivery>,

    /// Version of a component instead of the default. Repeatable.
    #[arg(long, value_name = "NAME=VERSION", value_parser = parse_component)]
    pub component: Vec<(String, Version)>,

    /// Variable of the target; lists and maps are JSON. Set secrets in the environment. Repeatable.
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = parse_pair)]
    pub variables: Vec<(String, String)>,

    /// Version of the image, part of its name; not part of the lockfile [default: SOURCE_DATE_EPOCH, or the time of
    /// the build].
    #[arg(long, value_name = "VERSION")]
    pub image_version: Option<ImageVersion>,

    /// Container image to pull into the node image, by tag (`lock` records its digest) or by digest. Repeatable.
    #[arg(long = "image", value_name = "IMAGE")]
    pub images: Vec<NamedImage>,

    /// Set of container images: `agents` of the cluster's manifests, or `workloads` of its smoke test. Repeatable.
    #[arg(long = "images", value_name = "SET")]
    pub image_sets: Vec<String>,

    /// Optional feature of the node (`imagegen list features`). Repeatable.
    #[arg(long = "feature", value_name = "NAME")]
    pub features: Vec<String>,

    /// Windows updates to install: `none`, or a comma-separated list of updates (`KB5058411`) and categories
    /// (`SecurityUpdates`). Update files with digests can only be set in the image definition.
    #[arg(long, value_name = "LIST", value_parser = parse_updates)]
    pub updates: Option<Updates>,

    /// Mirror of a container registry; mirrors of a registry are used in the given order. Repeatable.
    #[arg(long = "registry-mirror", value_name = "REGISTRY=URL", value_parser = parse_registry_mirror)]
    pub registry_mirrors: Vec<(Registry, HttpUrl)>,

    /// HTTP proxy of the node.
    #[arg(long, value_name = "URL")]
    pub http_proxy: Option<ProxyUrl>,

    /// HTTPS proxy of the node.
    #[arg(long, value_name = "URL")]
    pub https_proxy: Option<ProxyUrl>,

    /// Comma-separated names and networks that the node accesses without a proxy.
    #[arg(long, value_name = "LIST")]
    pub no_proxy: Option<NoProxy>,

    /// Override the source or proofs of a component. Repeatable; FIELD is url, sha256, sha512, size, kind,
    /// checksums, publisher, roots or signature.{kind,url,key,identity,issuer}.
    #[arg(
        long = "override",
        value_name = "COMPONENT.FIELD=VALUE",
        help_heading = "Trust"
    )]
    pub override_fields: Vec<String>,

    /// JSON file with overrides by component or URL prefix.
    #[arg(long, value_name = "FILE", help_heading = "Trust")]
    pub overrides: Option<PathBuf>,

    #[command(flatten)]
    pub mirrors: MirrorArgs,

    #[command(flatten)]
    pub waivers: WaiverArgs,

    /// Host to which plain HTTP is allowed; loopback is always allowed. Repeatable.
    #[arg(long, value_name = "HOST", value_parser = parse_host, help_heading = "Trust")]
    pub allow_http: Vec<String>,

    /// Accept a release of Packer or of a plugin that is older than the catalog's floor (`packer`). Repeatable.
    #[arg(long, value_name = "NAME", help_heading = "Trust")]
    pub allow_old: Vec<String>,

    /// Policy for all artifacts (example: manifests/policy/regulated.json).
    #[arg(long, value_name = "FILE", help_heading = "Trust")]
    pub policy: Option<PathBuf>,
}

/// Where publishers' bytes come from. The lockfile keeps the publishers' addresses.
#[derive(Debug, Clone, Default, Args)]
pub struct MirrorArgs {
    /// Mirror: `URL` serves `https://HOST/PATH` at URL/HOST/PATH; `https://HOST/=URL` one host, `docker://REGISTRY/=URL`
    /// container images. The same pins apply; the lockfile does not change. Repeatable.
    #[arg(
        long,
        value_name = "[PREFIX=]URL",
        env = "IMAGEGEN_MIRROR",
        hide_env_values = true,
        value_delimiter = ',',
        value_parser = parse_mirror,
        help_heading = "Network"
    )]
    pub mirror: Vec<(MirrorPrefix, HttpUrl)>,
}

/// The policy of verbs without a selection.
#[derive(Debug, Default, Args)]
pub struct PolicyArgs {
    /// Policy to enforce (example: manifests/policy/regulated.json).
    #[arg(long, value_name = "FILE", help_heading = "Trust")]
    pub policy: Option<PathBuf>,

    /// Host to which plain HTTP is allowed; loopback is always allowed. Repeatable.
    #[arg(long, value_name = "HOST", value_parser = parse_host, help_heading = "Trust")]
    pub allow_http: Vec<String>,
}

/// A host as URLs name it.
pub(super) fn parse_host(text: &str) -> Result<String, String> {
    let host = text
        .parse::<HostPattern>()
        .ok()
        .filter(|host| !host.starts_with('*'));
    let message =
        "it is not a host: expected a name or an address without port, such as `mirror.example`";
    host.map(String::from).ok_or_else(|| message.to_owned())
}

#[derive(Debug, Default, Clone, Args)]
pub struct WaiverArgs {
    /// Accept that a declared proof is missing, or that an override drops it (`kubelet=cosign-keyless`); a policy can
    /// contain waivers, too. Repeatable.
    #[arg(
        long,
        value_name = "COMPONENT=PROOF",
        env = "IMAGEGEN_WAIVE",
        value_delimiter = ',',
        value_parser = parse_waiver,
        help_heading = "Trust"
    )]
    pub waive: Vec<Waiver>,
}

pub(super) fn parse_waiver(text: &str) -> Result<Waiver, String> {
    let (component, proof) = parse_pair(text)?;
    let known = || {
        ProofKind::ALL
            .iter()
            .copied()
            .filter(|kind| kind.is_waivable())
    };
    let proof = known().find(|kind| kind.as_str() == proof).ok_or_else(|| {
        let names: Vec<&str> = known().map(ProofKind::as_str).collect();
        format!(
            "name one of the proofs that can be missing: {}",
            names.join(", ")
        )
    })?;
    Ok(Waiver {
        component,
        proof,
        note: None,
    })
}

/// A path as clap takes it, which is not empty.
pub(super) fn accept_output_file() -> impl TypedValueParser<Value = OutputFile> {
    PathBufValueParser::new().map(OutputFile::from)
}

pub(super) fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE".to_owned()),
    }
}

pub(super) fn parse_component(text: &str) -> Result<(String, Version), String> {
    let (name, version) = parse_pair(text).map_err(|_| "write it as NAME=VERSION".to_owned())?;
    let version: Version = version.parse().map_err(|error| format!("{error}"))?;
    Ok((name, version))
}

/// `URL`, or `PREFIX=URL`: a path of a URL may have `=` in it.
pub(super) fn parse_mirror(text: &str) -> Result<(MirrorPrefix, HttpUrl), String> {
    if let Some(prefix) = text.strip_suffix('=')
        && prefix.parse::<MirrorPrefix>().is_ok()
    {
        return Err(format!("no URL follows `{prefix}=`"));
    }
    let split = text
        .find("=https://")
        .or_else(|| text.find("=http://"))
        .or_else(|| find_prefix_end(text));
    let (prefix, url) = match split {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => ("https://", text),
    };
    let prefix = prefix
        .parse()
        .map_err(|error: ValueError| error.to_string())?;
    let url: HttpUrl = url.parse().map_err(|error: UrlError| error.to_string())?;
    let url = complete_mirror(&url)?;
    Ok((prefix, url))
}

/// Where `=` follows a prefix, although no scheme follows it: `https://github.com/=mirror.example`.
fn find_prefix_end(text: &str) -> Option<usize> {
    let end = text.find("/=")? + 1;
    text[..end].parse::<MirrorPrefix>().ok().map(|_| end)
}

fn parse_registry_mirror(text: &str) -> Result<(Registry, HttpUrl), String> {
    let (registry, url) = parse_pair(text).map_err(|_| "write it as REGISTRY=URL".to_owned())?;
    let registry: Registry = registry
        .parse()
        .map_err(|error: ValueError| error.to_string())?;
    let url: HttpUrl = url.parse().map_err(|error: UrlError| error.to_string())?;
    Ok((registry, url))
}

fn parse_updates(text: &str) -> Result<Updates, String> {
    let mut updates = Updates::default();
    if text == "none" {
        return Ok(updates);
    }
    for word in text.split(',').map(str::trim) {
        if word
            .get(..2)
            .is_some_and(|start| start.eq_ignore_ascii_case("kb"))
        {
            updates.kbs.push(
                word.parse()
                    .map_err(|error: ValueError| error.to_string())?,
            );
        } else {
            updates.categories.push(
                word.parse()
                    .map_err(|error: UnknownName| error.to_string())?,
            );
        }
    }
    Ok(updates)
}
