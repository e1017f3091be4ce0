//! What a user types. Structs only: nothing is resolved here.

mod cluster;
mod join_data;

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand};

use crate::model::choice::{Cni, Delivery, Format, HostAccess, OnError, Runtime, UnknownName};
use crate::model::component::Confidence;
use crate::model::selection::Updates;
use crate::model::version::Version;

pub use cluster::{ClusterArgs, ClusterManifestsArgs, ConformanceArgs};
pub use join_data::JoinDataArgs;

/// Makes Windows node images for Kubernetes from a pinned, verified catalog.
#[derive(Debug, Parser)]
#[command(
    name = "imagegen",
    version,
    after_help = "Examples:
  imagegen plan --target azure --k8s 1.36          what an image would hold, and why
  imagegen build --target azure --k8s 1.20.0 --no-bake
                                                   write the workspace, start nothing
  imagegen build --target azure --k8s 1.36.4 --windows 2025 \\
      --var location=westeurope --var managed_image_resource_group_name=images
                                                   bake an image with Packer
  imagegen explain --network-plugin                why a flag, component, step or setting is as it is

Exit codes: 0 ok, 1 internal, 2 usage, 3 manifest, selection or lock, 4 fetch, 5 verification,
6 render, 7 packer, 8 checks failed, 130 interrupted."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,

    #[command(flatten)]
    pub global: Global,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output and catalog")]
pub struct Global {
    /// How results are printed: `text` or `json`.
    #[arg(long, global = true, default_value = "text", value_name = "FORMAT")]
    pub format: Format,

    /// Say only warnings and errors.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Say more.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,

    /// Read the catalog from this directory in the place of the built-in one.
    #[arg(long, global = true, value_name = "DIR")]
    pub manifests: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Bake an image: plan, lock, render, then Packer
    #[command(after_help = "Examples:
  imagegen build --target azure --k8s 1.20.0 --no-bake
  imagegen build --config image.json --locked --out out/node
  ARM_CLIENT_SECRET=… imagegen build --target azure --k8s 1.36.4 --var auth=client_secret …")]
    Build(BuildArgs),
    /// Write the workspace that `build` would run Packer in
    #[command(after_help = "Example:
  imagegen render --target azure --k8s 1.36.4 --out node && cd node && packer init . && packer build .")]
    Render(RenderArgs),
    /// Show what an image would hold, and why
    #[command(after_help = "Examples:
  imagegen plan --target azure --k8s 1.36
  imagegen plan --target azure --k8s 1.20.0 --state              the machine as it would be
  imagegen plan --target azure --k8s 1.20.0 --state --format json  the same for programs")]
    Plan(PlanArgs),
    /// Write the lockfile: every artifact with its digests
    #[command(after_help = "Example:
  imagegen lock --target azure --k8s 1.36.4 && git add imagegen.lock.json")]
    Lock(LockArgs),
    /// Download everything that an image holds into the store, and prove it
    #[command(after_help = "Examples:
  imagegen fetch --target azure --k8s 1.36.0
  imagegen fetch --locked --store /var/cache/imagegen")]
    Fetch(FetchArgs),
    /// Look after the store of downloaded files
    Store(StoreArgs),
    /// Explain a component, flag, gate, step, rule, variable or Windows setting
    #[command(after_help = "Examples:
  imagegen explain containerd --k8s 1.20.0
  imagegen explain --windows-priorityclass
  imagegen explain EnableCompartmentNamespace")]
    Explain(ExplainArgs),
    /// Write what a node must be told to join a cluster: JoinConfiguration and user-data
    #[command(after_help = "Examples:
  kubeadm token create > token
  imagegen join-data --k8s 1.36.4 --endpoint api.example.com:6443 --ca-cert ca.crt \\
      --token-file token --name win-1 --taint os=windows:NoSchedule
  JOIN_TOKEN=… imagegen join-data --k8s 1.20.0 --from cluster.json --token-env JOIN_TOKEN \\
      --as mime --out user-data")]
    JoinData(JoinDataArgs),
    /// Write what a cluster needs for Windows nodes: agents, runtime classes, policies, smoke workloads
    #[command(after_help = "Examples:
  imagegen cluster-manifests --k8s 1.36.4 --cni flannel-overlay --endpoint api.example.com:6443 \\
      --out cluster && kubectl apply --server-side -f cluster
  imagegen cluster-manifests --k8s 1.20.0 --cni flannel-hostgw --host-access wins \\
      --endpoint 10.0.0.4:6443 --node-subnet 10.0.0.0/24 > manifests.yaml")]
    ClusterManifests(ClusterManifestsArgs),
    /// Print a test plan for a cluster with Windows nodes
    Conformance(ConformanceArgs),
    /// List what the catalog knows
    List(ListArgs),
    /// Work on the catalog itself
    Catalog(CatalogArgs),
    /// Add a published digest to a catalog's component file
    #[command(after_help = "Example:
  imagegen catalog export --out catalog
  imagegen pin kubelet 1.36.5 --manifests catalog --from kubelet.exe --source 'dl.k8s.io, checked with cosign'")]
    Pin(PinArgs),
    /// Print the JSON schema of a file or of an output
    #[command(after_help = "Examples:
  imagegen schema                the names
  imagegen schema image-definition > imagegen.schema.json")]
    Schema(SchemaArgs),
}

/// What an image is to be. Flags win over the image definition.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Selection")]
pub struct SelectionArgs {
    /// Image definition; `imagegen.json` in the working folder where there is one.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Where the image is built (`imagegen list targets`).
    #[arg(long)]
    pub target: Option<String>,

    /// Windows release (`imagegen list windows`) [default: the newest that the Kubernetes version supports best].
    #[arg(long, value_name = "RELEASE")]
    pub windows: Option<String>,

    /// Kubernetes version: `1.20`, `1.20.0` or `stable` [default: stable].
    #[arg(long, value_name = "VERSION")]
    pub k8s: Option<String>,

    /// Container runtime: `containerd` or `docker`.
    #[arg(long)]
    pub runtime: Option<Runtime>,

    /// Pod network to carry programs for: none, flannel-hostgw, flannel-overlay, win-bridge,
    /// win-overlay, sdnbridge, sdnoverlay, azure-cni, calico, ovn-kubernetes, l3 [default: none].
    #[arg(long)]
    pub cni: Option<Cni>,

    /// How agents reach the host: `hostprocess`, `wins` or `services`.
    #[arg(long, value_name = "ACCESS")]
    pub host_access: Option<HostAccess>,

    /// How payloads reach the guest: download, media, upload or mirror.
    #[arg(long)]
    pub delivery: Option<Delivery>,

    /// Version of a component in the place of the default. Repeatable.
    #[arg(long, value_name = "NAME=VERSION", value_parser = component)]
    pub component: Vec<(String, Version)>,

    /// Variable of the target. Repeatable; lists and maps are JSON. Secrets come from the environment.
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = pair)]
    pub variables: Vec<(String, String)>,

    /// Container image to pull while baking, with its digest. Repeatable.
    #[arg(long = "image", value_name = "NAME@DIGEST")]
    pub images: Vec<String>,

    /// Optional feature (`imagegen list features`). Repeatable.
    #[arg(long = "feature", value_name = "NAME")]
    pub features: Vec<String>,

    /// Windows updates during the bake: `none`, or updates (`KB5058411`) and categories
    /// (`SecurityUpdates`), separated by commas. Files with digests stand in the image definition.
    #[arg(long, value_name = "LIST", value_parser = updates)]
    pub updates: Option<Updates>,

    /// Mirror of a registry. Repeatable; the first one of a registry is asked first.
    #[arg(long = "registry-mirror", value_name = "REGISTRY=URL", value_parser = pair)]
    pub mirrors: Vec<(String, String)>,

    /// HTTP proxy of the finished node.
    #[arg(long, value_name = "URL")]
    pub http_proxy: Option<String>,

    /// HTTPS proxy of the finished node.
    #[arg(long, value_name = "URL")]
    pub https_proxy: Option<String>,

    /// Names and networks that the finished node reaches without proxy.
    #[arg(long, value_name = "LIST")]
    pub no_proxy: Option<String>,

    /// Replace part of how a component is published. Repeatable; FIELD is url, sha256, sha512, size, kind,
    /// checksums, publisher, roots or signature.{kind,url,key,identity,issuer}.
    #[arg(long = "override", value_name = "COMPONENT.FIELD=VALUE", help_heading = "Trust")]
    pub override_fields: Vec<String>,

    /// The same as a file: component or URL prefix → fields.
    #[arg(long, value_name = "FILE", help_heading = "Trust")]
    pub overrides: Option<PathBuf>,

    /// Take `https://HOST/PATH` from URL/HOST/PATH: same bytes, same pins.
    #[arg(long, value_name = "URL", help_heading = "Trust")]
    pub mirror: Option<String>,

    /// What every artifact must satisfy (manifests/policy/regulated.json is an example).
    #[arg(long, value_name = "FILE", help_heading = "Trust")]
    pub policy: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Workspace")]
pub struct WorkspaceArgs {
    /// Directory of the workspace [default: imagegen-out/TARGET-WINDOWS-k8s-VERSION].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Replace the directory whatever it holds.
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Lock")]
pub struct LockUseArgs {
    /// Refuse to build without a lockfile that fits.
    #[arg(long, conflicts_with = "ignore_lock")]
    pub locked: bool,

    /// Lockfile [default: imagegen.lock.json beside the image definition].
    #[arg(long, value_name = "FILE")]
    pub lock: Option<PathBuf>,

    /// Do not read a lockfile.
    #[arg(long)]
    pub ignore_lock: bool,
}

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Network")]
pub struct NetworkArgs {
    /// Directory of downloaded files [default: imagegen/store in the user's cache directory].
    #[arg(long, value_name = "DIR", env = "IMAGEGEN_STORE")]
    pub store: Option<PathBuf>,

    /// Downloads at a time.
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub jobs: usize,

    /// Never open a socket: everything must be in the store.
    #[arg(long)]
    pub offline: bool,

    /// Host that may be asked over plain HTTP; loopback always may. Repeatable.
    #[arg(long, value_name = "HOST")]
    pub allow_http: Vec<String>,

    /// Proxy for downloads, in the place of what the environment says.
    #[arg(long, value_name = "URL")]
    pub proxy: Option<String>,

    /// Certificates in PEM that servers may be signed by, besides the system's. Repeatable.
    #[arg(long, value_name = "FILE")]
    pub ca_file: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub struct FetchArgs {
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub lock: LockUseArgs,
    #[command(flatten)]
    pub network: NetworkArgs,
}

#[derive(Debug, Args)]
pub struct StoreArgs {
    #[command(subcommand)]
    pub what: StoreWhat,

    /// Directory of downloaded files [default: imagegen/store in the user's cache directory].
    #[arg(long, value_name = "DIR", env = "IMAGEGEN_STORE", global = true)]
    pub store: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum StoreWhat {
    /// Hash every file, take out those that are not what their names say
    Verify,
    /// Remove files that were not used for a while, and leftovers of killed processes
    Gc {
        /// Days without use.
        #[arg(long, default_value_t = 30)]
        days: u32,
        /// Keep what this lockfile names. Repeatable.
        #[arg(long, value_name = "FILE")]
        lock: Vec<PathBuf>,
    },
    /// Print where the store is
    Path,
}

#[derive(Debug, Args)]
pub struct BuildArgs {
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub lock: LockUseArgs,
    #[command(flatten)]
    pub workspace: WorkspaceArgs,

    /// Write the workspace and stop: no network, no credentials, no Packer.
    #[arg(long, help_heading = "Bake")]
    pub no_bake: bool,

    /// A Packer of one's own, with plugins of one's own [default: the pinned ones, out of the store].
    #[arg(long, value_name = "PATH", help_heading = "Bake")]
    pub packer: Option<PathBuf>,

    /// What Packer does when the build fails: cleanup, abort or ask.
    #[arg(long, value_name = "WHAT", default_value = "cleanup", help_heading = "Bake")]
    pub on_error: OnError,

    #[command(flatten)]
    pub network: NetworkArgs,
}

#[derive(Debug, Args)]
pub struct RenderArgs {
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub lock: LockUseArgs,
    #[command(flatten)]
    pub workspace: WorkspaceArgs,
}

#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub lock: LockUseArgs,

    /// Show the predicted machine: services, files with access control and origin, registry, ports.
    #[arg(long)]
    pub state: bool,
}

#[derive(Debug, Args)]
pub struct LockArgs {
    #[command(flatten)]
    pub selection: SelectionArgs,

    /// Lockfile to write [default: imagegen.lock.json beside the image definition].
    #[arg(long, value_name = "FILE")]
    pub lock: Option<PathBuf>,

    /// Fetch and prove everything, also what the catalog pins, and record the evidence.
    #[arg(long)]
    pub prove: bool,

    #[command(flatten)]
    pub network: NetworkArgs,
}

#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// A component, a flag or gate of kubelet or kube-proxy, a step, a rule, a variable, a Windows setting.
    #[arg(allow_hyphen_values = true)]
    pub name: String,
    #[command(flatten)]
    pub selection: SelectionArgs,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(subcommand)]
    pub what: ListWhat,
}

#[derive(Debug, Subcommand)]
pub enum ListWhat {
    /// Where images can be built
    Targets,
    /// Kubernetes lines with their Windows releases and defaults
    Kubernetes,
    /// Windows releases
    Windows,
    /// Optional features of the node
    Features,
    /// Components; with a name, its versions and what pins them
    Components {
        /// A component.
        name: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct CatalogArgs {
    #[command(subcommand)]
    pub what: CatalogWhat,
}

#[derive(Debug, Subcommand)]
pub enum CatalogWhat {
    /// Find what a catalog gets wrong: shared or invented digests, dangling references, …
    Lint,
    /// Write the catalog to a folder, to change it and use it by `--manifests`
    Export {
        /// Folder to write.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// Replace the folder whatever it holds.
        #[arg(long)]
        force: bool,
    },
}

#[derive(Debug, Args)]
pub struct PinArgs {
    /// A component of the catalog.
    pub component: String,
    /// The version that the digest is of.
    pub version: Version,

    /// The file itself: SHA-256, SHA-512 and size are read off it.
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,

    /// SHA-256, in lower-case hexadecimal.
    #[arg(long, value_name = "HEX")]
    pub sha256: Option<String>,

    /// SHA-512, in lower-case hexadecimal.
    #[arg(long, value_name = "HEX")]
    pub sha512: Option<String>,

    /// Size in bytes.
    #[arg(long)]
    pub size: Option<u64>,

    /// Where the digest was found. Repeatable.
    #[arg(long, required = true)]
    pub source: Vec<String>,

    /// How well it is attested: low, medium, high or authoritative.
    #[arg(long, default_value = "medium", value_parser = confidence)]
    pub confidence: Confidence,

    /// Anything worth knowing.
    #[arg(long)]
    pub note: Option<String>,
}

#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Which schema; without it, the names.
    pub name: Option<String>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE".to_owned()),
    }
}

fn confidence(text: &str) -> Result<Confidence, String> {
    match serde_json::from_value(text.into()) {
        Ok(confidence) if confidence >= Confidence::Low => Ok(confidence),
        _ => Err("one of low, medium, high, authoritative".to_owned()),
    }
}

fn updates(text: &str) -> Result<Updates, String> {
    let mut updates = Updates::default();
    if text == "none" {
        return Ok(updates);
    }
    for word in text.split(',').map(str::trim) {
        if word.starts_with("KB") {
            updates.kbs.push(word.to_owned());
        } else {
            updates.categories.push(word.parse().map_err(|error: UnknownName| error.to_string())?);
        }
    }
    Ok(updates)
}

fn component(text: &str) -> Result<(String, Version), String> {
    let (name, version) = pair(text).map_err(|_| "write it as NAME=VERSION".to_owned())?;
    let version: Version = version.parse().map_err(|error| format!("{error}"))?;
    Ok((name, version))
}
