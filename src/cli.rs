//! What a user types. Structs only: nothing is resolved here.

mod bundle;
mod cluster;
mod doctor;
mod join_data;
mod network;
mod scripts;
mod selection;
mod verify;

use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, Args, Parser, Subcommand};

use crate::diagnostic::ErrorClass;
use crate::model::choice::{Format, OnError};
use crate::model::text::escape_controls;
use crate::model::url::strip_secrets;

pub use cluster::{ClusterArgs, ClusterManifestsArgs, ConformanceArgs};
pub use doctor::DoctorArgs;
pub use join_data::JoinDataArgs;
pub use network::{NetworkArgs, OnlineArgs, PinArgs, StoreArgs, StoreWhat};
pub use scripts::{OwnScriptsArgs, ScriptsArgs, ScriptsWhat};
pub use selection::SelectionArgs;
use selection::{component, pair};
pub use verify::VerifyArgs;

pub use bundle::{BundleArgs, BundleWhat};

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

Exit codes: 0 ok, 1 internal, 2 command line, 3 invalid or missing value, 4 download, 5 verification,
6 rendering, 7 Packer, 8 checks of the machine, 130 interrupted."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,

    #[command(flatten)]
    pub global: Global,
}

/// Reads the command line. A wrong value is named without password, query and control characters.
///
/// # Errors
/// Help, version, or what clap says.
pub fn parse() -> Result<Cli, clap::Error> {
    Cli::try_parse().map_err(|mut error| {
        if let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) {
            let value = if value.contains("://") { strip_secrets(value) } else { value.clone() };
            let value = escape_controls(&value).into_owned();
            error.insert(ContextKind::InvalidValue, ContextValue::String(value));
        }
        error
    })
}

/// A value that a flag does not accept is like one in a file; everything else is a wrong command line. None for
/// help and version.
#[must_use]
pub fn classify_parse_error(error: &clap::Error) -> Option<ErrorClass> {
    let given = |kind| error.get(kind).is_some_and(|value| !value.to_string().is_empty());
    match error.kind() {
        ErrorKind::ValueValidation => Some(ErrorClass::Selection),
        ErrorKind::InvalidValue if given(ContextKind::InvalidValue) => Some(ErrorClass::Selection),
        _ => error.use_stderr().then_some(ErrorClass::Usage),
    }
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
  imagegen lock --target azure --k8s 1.36.4 && git add imagegen.lock.json
  imagegen lock --target azure --k8s 1.36 --update           the newest that fits
  imagegen lock --target azure --k8s 1.36 --update containerd")]
    Lock(LockArgs),
    /// Show what publishers have that is newer than the plan
    #[command(after_help = "Examples:
  imagegen outdated --target azure --k8s 1.36
  imagegen lock --target azure --k8s 1.36 --update kubernetes containerd")]
    Outdated(OnlineArgs),
    /// Download everything that an image holds into the store, and prove it
    #[command(after_help = "Examples:
  imagegen fetch --target azure --k8s 1.36.0
  imagegen fetch --locked --store /var/cache/imagegen")]
    Fetch(OnlineArgs),
    /// Verify any file, lockfile, workspace or bundle by every proof that is named
    #[command(after_help = "Examples:
  imagegen verify kubelet.exe                       what the file itself offers
  imagegen verify kubelet.exe --checksums kubelet.exe.sha256
  imagegen verify kubelet.exe --signature kubelet.exe.sig --key cosign.pub
  imagegen verify setup.msi --authenticode --publisher 'O=Cloudbase Solutions Srl'
  imagegen verify tools.zip --authenticode --member 'bin/*.exe'")]
    Verify(VerifyArgs),
    /// Say what a build on this machine would find or miss, without network
    #[command(after_help = "Example:
  imagegen doctor --target azure --k8s 1.36.4")]
    Doctor(DoctorArgs),
    /// Give out the guest's scripts to be read or signed, and sign them
    Scripts(ScriptsArgs),
    /// Look after the store of downloaded files
    Store(StoreArgs),
    /// Carry a build across an air gap: everything it needs in one checked zip
    Bundle(BundleArgs),
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
  imagegen pin kubelet 1.36.5 --manifests catalog --from publisher
  imagegen pin kubelet 1.36.5 --manifests catalog --from kubelet.exe --source 'dl.k8s.io, checked with cosign'")]
    Pin(PinArgs),
    /// Print the JSON schema of a file or of an output
    #[command(after_help = "Examples:
  imagegen schema                the names
  imagegen schema image-definition > imagegen.schema.json")]
    Schema(SchemaArgs),
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

#[derive(Debug, Args)]
pub struct BuildArgs {
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub lock: LockUseArgs,
    #[command(flatten)]
    pub scripts: OwnScriptsArgs,
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
    pub scripts: OwnScriptsArgs,
    #[command(flatten)]
    pub workspace: WorkspaceArgs,
}

#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub lock: LockUseArgs,
    #[command(flatten)]
    pub scripts: OwnScriptsArgs,

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

    /// Keep what proves each signer in this folder, for `verify LOCK --bundles DIR` without network:
    /// publishers' sigstore bundles and attestations, and one bundle of each detached signature with its
    /// certificate. Implies `--prove`.
    #[arg(long, value_name = "DIR")]
    pub bundles: Option<PathBuf>,

    /// Move to the newest releases that this Kubernetes line works with; of these components, or
    /// `kubernetes` [default: of everything that the selection leaves open].
    #[arg(long, value_name = "COMPONENT", num_args = 0..)]
    pub update: Option<Vec<String>>,

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
pub struct SchemaArgs {
    /// Which schema; without it, the names.
    pub name: Option<String>,
}
