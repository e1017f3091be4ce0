//! The command line. Structs only: nothing is resolved here.

mod attest;
mod bundle;
mod cluster;
mod diff;
mod doctor;
mod global;
mod history;
mod images;
mod init;
mod join_data;
mod list;
mod network;
mod parse;
mod publish;
mod report;
mod road;
mod sbom;
mod scripts;
mod selection;
mod topics;
mod verify;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::base::choice::OnError;
use crate::base::text::is_alphanumeric_or;

pub use attest::AttestArgs;
pub use cluster::{ClusterArgs, ClusterManifestsArgs, ConformanceArgs};
pub use diff::DiffArgs;
pub use doctor::DoctorArgs;
pub use global::{Global, SourceArgs};
pub use history::{HistoryArgs, HistoryPlaceArgs, HistoryPruneArgs, HistoryShowArgs, HistoryWhat};
pub use images::{ImagesArgs, JobsArgs};
pub use init::{CompletionsArgs, InitArgs, ManArgs};
pub use join_data::JoinDataArgs;
pub use list::{ListArgs, ListWhat};
pub use network::{FetchArgs, NetworkArgs, OnlineArgs, PinArgs, StoreArgs, StoreWhat, ToolsArgs};
pub use parse::{classify_parse_error, parse_cli};
pub use publish::{PromoteArgs, PublishArgs, RetireArgs, TestCloneArgs};
pub use report::ReportArgs;
pub use road::GivenArguments;
pub use sbom::SbomArgs;
pub use scripts::{OwnScriptsArgs, ScriptsArgs, ScriptsWhat};
pub use selection::{MirrorArgs, PolicyArgs, SelectionArgs};
use selection::{parse_component, parse_pair};
pub use topics::{find_topic, list_topics};
pub use verify::VerifyArgs;

pub use bundle::{BundleArgs, BundleCreateArgs, BundleExtractArgs, BundleVerifyArgs, BundleWhat};

/// Build Windows node images for Kubernetes from a pinned, verified catalog.
#[derive(Debug, Parser)]
#[command(
    name = "imagegen",
    version,
    after_help = "Examples:
  imagegen plan --target host --k8s 1.36           show the components of an image, with reasons
  imagegen build --target host --k8s 1.20.0 --no-bake
                                                   write the workspace without starting Packer
  imagegen build --config image.json --locked      bake an image with Packer
  imagegen explain --network-plugin                explain a flag, component, step or setting

Topics of `imagegen help TOPIC`: air-gap, fleet, joining, own-content, trust.

Exit codes: 0 ok, 1 internal, 2 command line, 3 invalid or missing value, 4 download,
5 verification, 6 rendering, 7 Packer or a platform, 8 checks of the machine, 130 interrupted."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Verb,

    #[command(flatten)]
    pub global: Global,

    /// The arguments of the verb, from which the next command of the road is made.
    #[arg(skip)]
    pub given: Option<GivenArguments>,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Build an image: plan, lock, render, and run Packer
    #[command(after_help = "Examples:
  imagegen build --target host --k8s 1.20.0 --no-bake
  imagegen build --config image.json --locked --out out/node
  imagegen build --config image.json --ignore-lock --k8s 1.36.4 --windows 2025")]
    Build(BuildArgs),
    /// Write the Packer workspace without running Packer
    #[command(after_help = "Example:
  imagegen render --config image.json --out node && cd node && packer init . && packer build .")]
    Render(RenderArgs),
    /// Show the components of an image, with reasons
    #[command(after_help = "Examples:
  imagegen plan --target host --k8s 1.36
  imagegen plan --target host --k8s 1.20.0 --state               show the predicted machine
  imagegen plan --target host --k8s 1.20.0 --state --format json   print it as JSON")]
    Plan(PlanArgs),
    /// Write the lockfile: all artifacts with their digests
    #[command(after_help = "Examples:
  imagegen lock --target host --k8s 1.36.4 && git add imagegen.lock.json
  imagegen lock --target host --k8s 1.36 --update            update to compatible releases
  imagegen lock --target host --k8s 1.36 --update containerd")]
    Lock(LockArgs),
    /// Show what changed from one image to another (`--format markdown` for a pull request)
    #[command(after_help = "Examples:
  imagegen diff old.lock.json imagegen.lock.json
  imagegen diff imagegen.json --base origin/main --format markdown
  imagegen diff imagegen.lock.json --base HEAD~1 --only components --exit-code")]
    Diff(DiffArgs),
    /// Write a software bill of materials: CycloneDX or SPDX
    #[command(after_help = "Examples:
  imagegen sbom > image.cdx.json                   of imagegen.lock.json
  imagegen sbom imagegen-out/node/image.json --as spdx --out image.spdx.json
  imagegen sbom --out image.cdx.json --scan-command 'grype --fail-on high sbom:{}'")]
    Sbom(SbomArgs),
    /// Write signed statements about an image: provenance, bill of materials, checks
    #[command(after_help = "Examples:
  imagegen attest imagegen-out/node --key cosign.key.pem
  imagegen attest imagegen-out/node                print the commands that sign with cosign
  imagegen verify imagegen-out/node --key cosign.pub \\
      --attestation imagegen-out/node/attestations/provenance.sigstore.json")]
    Attest(AttestArgs),
    /// Write one HTML page about an image, or about all: proofs, checks, timeline, changes
    #[command(after_help = "Examples:
  imagegen report imagegen-out/node
  imagegen report --all --out images.html
  imagegen report --all --from https://ci.example.com/images/history.json")]
    Report(ReportArgs),
    /// List the builds of workspaces, show and prune their records
    #[command(after_help = "Examples:
  imagegen history
  imagegen history show 20261122-025441
  imagegen history --from https://ci.example.com/images/history.json
  imagegen history prune --keep 5 --dry-run")]
    History(HistoryArgs),
    /// Test a baked image on a machine that is made from it and deleted: print the commands of the platform, or run them
    #[command(after_help = "Examples:
  imagegen test-clone 20261122-025441 --var location=westeurope      print the commands
  imagegen test-clone imagegen-out/node --var location=westeurope --run
  imagegen test-clone imagegen-out/node --var location=westeurope --clone clone-1 --delete --run")]
    TestClone(TestCloneArgs),
    /// Let clusters use a baked image: print the commands of the platform, or run them
    #[command(after_help = "Examples:
  imagegen promote 20261122-025441                 print the commands
  imagegen promote imagegen-out/node/image.json --channel stable --run")]
    Promote(PromoteArgs),
    /// Take baked images out of use, or delete them: print the commands of the platform, or run them
    #[command(after_help = "Examples:
  imagegen retire 20261122-025441                  print the commands
  imagegen retire --keep 3 --older-than 30 --run   all but the newest three, if older than 30 days
  imagegen retire --keep 5 --older-than 90 --delete --run
  imagegen retire --keep 3 --per line --from https://ci.example.com/images/history.json")]
    Retire(RetireArgs),
    /// List releases that are newer than the plan
    #[command(after_help = "Examples:
  imagegen outdated --target host --k8s 1.36
  imagegen lock --target host --k8s 1.36 --update kubernetes containerd")]
    Outdated(OnlineArgs),
    /// Download and verify all artifacts of an image into the store
    #[command(after_help = "Examples:
  imagegen fetch --target host --k8s 1.36.0
  imagegen fetch --locked --store /var/cache/imagegen")]
    Fetch(FetchArgs),
    /// Verify a file, lockfile, workspace or bundle by the given proofs
    #[command(after_help = "Examples:
  imagegen verify kubelet.exe                       show the proofs in the file
  imagegen verify kubelet.exe --checksums kubelet.exe.sha256
  imagegen verify kubelet.exe --signature kubelet.exe.sig --key cosign.pub
  imagegen verify setup.msi --authenticode --publisher 'O=Cloudbase Solutions Srl'
  imagegen verify tools.zip --authenticode --member 'bin/*.exe'")]
    Verify(VerifyArgs),
    /// Check the prerequisites of a build on this machine, without network
    #[command(after_help = "Example:
  imagegen doctor --target host --k8s 1.36.4")]
    Doctor(DoctorArgs),
    /// Export and sign the guest scripts
    Scripts(ScriptsArgs),
    /// Manage the store of downloaded files
    Store(StoreArgs),
    /// Create, verify and extract bundles for air-gapped builds
    Bundle(BundleArgs),
    /// Explain any name that imagegen prints: component, flag, step, resource, rule, variable, setting
    #[command(after_help = "Examples:
  imagegen explain containerd --k8s 1.20.0
  imagegen explain --windows-priorityclass
  imagegen explain component-range                 a code of an error
  imagegen explain EnableCompartmentNamespace
  imagegen explain runtime=containerd              a value of `--runtime`, with its source")]
    Explain(ExplainArgs),
    /// Write the JoinConfiguration or user-data for a node
    #[command(after_help = "Examples:
  kubeadm token create > token
  imagegen join-data --k8s 1.36.4 --endpoint api.example.com:6443 --ca-cert ca.crt \\
      --token-file token --name win-1 --taint os=windows:NoSchedule
  JOIN_TOKEN=… imagegen join-data --k8s 1.20.0 --from cluster.json --token-env JOIN_TOKEN \\
      --as mime --out user-data")]
    JoinData(JoinDataArgs),
    /// Write the cluster manifests for Windows nodes: agents, runtime classes, policies, smoke workloads
    #[command(after_help = "Examples:
  imagegen cluster-manifests --k8s 1.36.4 --cni flannel-overlay --endpoint api.example.com:6443 \\
      --out cluster && kubectl apply --server-side -f cluster
  imagegen cluster-manifests --k8s 1.20.0 --cni flannel-hostgw --host-access wins \\
      --endpoint 10.0.0.4:6443 --node-subnet 10.0.0.0/24 > manifests.yaml")]
    ClusterManifests(ClusterManifestsArgs),
    /// Print a test plan for a cluster with Windows nodes
    Conformance(ConformanceArgs),
    /// List targets, Kubernetes lines, Windows releases, networks, features, variables, steps, rules and components
    List(ListArgs),
    /// Check and export the catalog
    Catalog(CatalogArgs),
    /// Add a published digest to a component file of your catalog
    #[command(after_help = "Examples:
  imagegen catalog export --out catalog
  imagegen pin kube-log-runner 1.36.4 --manifests catalog --from publisher
  imagegen pin kube-log-runner 1.36.4 --manifests catalog --from kube-log-runner.exe \\
      --source https://dl.k8s.io/v1.36.4/bin/windows/amd64/kube-log-runner.exe.sha256")]
    Pin(PinArgs),
    /// Write an image definition, after a few questions
    #[command(after_help = "Examples:
  imagegen init
  imagegen init --target host --k8s 1.36 --out node.json")]
    Init(InitArgs),
    /// Print the completions of a shell
    #[command(after_help = "Examples:
  imagegen completions bash > /etc/bash_completion.d/imagegen
  imagegen completions powershell >> $PROFILE")]
    Completions(CompletionsArgs),
    /// Write the manual pages
    #[command(after_help = "Example:
  imagegen man --out man && man man/imagegen-build.1")]
    Man(ManArgs),
    /// Print the JSON schema of a file or output
    #[command(after_help = "Examples:
  imagegen schema                list the schemas
  imagegen schema image-definition > imagegen.schema.json")]
    Schema(SchemaArgs),
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Workspace")]
pub struct WorkspaceArgs {
    /// Directory of the workspace [default: imagegen-out/NAME, with the name that `list images` prints, or
    /// imagegen-out/TARGET-WINDOWS-k8s-VERSION without a definition. For another target than the definition's:
    /// imagegen-out/NAME.TARGET of several images, and imagegen-out/TARGET-WINDOWS-k8s-VERSION of one].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Replace the result of a bake that has no record in `builds`; other files are never removed.
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Lock")]
pub struct LockUseArgs {
    /// Fail if the lockfile is missing or out of date.
    #[arg(long, conflicts_with = "ignore_lock")]
    pub locked: bool,

    /// Lockfile [default: beside the image definition, imagegen.lock.json for imagegen.json, or
    /// imagegen.TARGET.lock.json for another target than the definition's].
    #[arg(long, value_name = "FILE")]
    pub lock: Option<PathBuf>,

    /// Ignore the lockfile.
    #[arg(long)]
    pub ignore_lock: bool,
}

/// A name that the bake does not set itself.
fn parse_passed_name(text: &str) -> Result<String, String> {
    if text.is_empty() || !is_alphanumeric_or(text, "_") {
        return Err("expected the name of an environment variable".to_owned());
    }
    let upper = text.to_ascii_uppercase();
    let set = ["HOME", "USERPROFILE", "PATH", "TMPDIR", "TMP", "TEMP"];
    if set.contains(&&*upper) || upper.starts_with("PACKER_") || upper.starts_with("PKR_VAR_") {
        return Err("imagegen sets this variable itself".to_owned());
    }
    Ok(text.to_owned())
}

#[derive(Debug, Clone, Args)]
pub struct BuildArgs {
    #[command(flatten)]
    pub images: ImagesArgs,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub lock: LockUseArgs,
    #[command(flatten)]
    pub scripts: OwnScriptsArgs,
    #[command(flatten)]
    pub workspace: WorkspaceArgs,

    /// Write the workspace without running Packer; needs no network or credentials.
    #[arg(long, help_heading = "Bake")]
    pub no_bake: bool,

    /// Path to your own Packer binary, which uses your own plugins [default: the pinned versions from the store].
    #[arg(long, value_name = "PATH", help_heading = "Bake")]
    pub packer: Option<PathBuf>,

    /// Folder for the private folder in which Packer runs, with room for the disk of the image [default: in the store].
    #[arg(long, value_name = "DIR", help_heading = "Bake")]
    pub work: Option<PathBuf>,

    /// Environment variable to pass on to Packer, besides those that the target names. Repeatable.
    #[arg(long, value_name = "NAME", value_parser = parse_passed_name, help_heading = "Bake")]
    pub pass_env: Vec<String>,

    /// Action of Packer if the build fails: cleanup, abort or ask.
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "cleanup",
        help_heading = "Bake"
    )]
    pub on_error: OnError,

    #[command(flatten)]
    pub network: NetworkArgs,
}

#[derive(Debug, Clone, Args)]
pub struct RenderArgs {
    #[command(flatten)]
    pub images: ImagesArgs,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub lock: LockUseArgs,
    #[command(flatten)]
    pub scripts: OwnScriptsArgs,
    #[command(flatten)]
    pub workspace: WorkspaceArgs,
    #[command(flatten)]
    pub jobs: JobsArgs,
}

#[derive(Debug, Clone, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub images: ImagesArgs,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub lock: LockUseArgs,
    #[command(flatten)]
    pub scripts: OwnScriptsArgs,

    /// Show the predicted machine: services, files with access control and origin, registry values, ports.
    #[arg(long)]
    pub state: bool,

    #[command(flatten)]
    pub jobs: JobsArgs,
}

#[derive(Debug, Clone, Args)]
pub struct LockArgs {
    #[command(flatten)]
    pub images: ImagesArgs,
    #[command(flatten)]
    pub selection: SelectionArgs,

    /// Lockfile to write [default: beside the image definition, imagegen.lock.json for imagegen.json, or
    /// imagegen.TARGET.lock.json if that is of another target].
    #[arg(long, value_name = "FILE")]
    pub lock: Option<PathBuf>,

    /// Download and verify all artifacts, including those pinned by the catalog, and record the evidence.
    #[arg(long)]
    pub prove: bool,

    /// Store the signers' proofs in this folder, for `verify LOCK --proofs DIR` without network: sigstore bundles and
    /// attestations of publishers, each detached signature with its certificate as one sigstore bundle, signatures by
    /// key, and signed checksum files. Implies `--prove`.
    #[arg(long, alias = "bundles", value_name = "DIR")]
    pub proofs: Option<PathBuf>,

    /// Update these components, or `kubernetes`, to the newest compatible releases [default: everything that the
    /// selection does not fix].
    #[arg(long, value_name = "COMPONENT", num_args = 0..)]
    pub update: Option<Vec<String>>,

    #[command(flatten)]
    pub network: NetworkArgs,
}

#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Name of a component, feature, variable, step, resource, rule, code of an error, Windows setting, flag of
    /// imagegen, or flag, gate or field of a Kubernetes program; `NAME=VALUE` explains a value of it.
    #[arg(allow_hyphen_values = true)]
    pub name: String,
    #[command(flatten)]
    pub selection: SelectionArgs,
}

#[derive(Debug, Args)]
pub struct CatalogArgs {
    #[command(subcommand)]
    pub what: CatalogWhat,
}

#[derive(Debug, Subcommand)]
pub enum CatalogWhat {
    /// Check the catalog for errors, such as shared or invented digests and dangling references
    Lint,
    /// Write the catalog to a folder, to edit it and use it with `--manifests`
    Export {
        /// Folder to write.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Name of a schema [default: list the names].
    pub name: Option<String>,
}
