//! Flags of downloads and the store, and `imagegen store` and `imagegen pin`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};

use crate::base::url::ProxyUrl;
use crate::base::value::{Sha256, Sha512, ValueError};
use crate::base::version::Version;
use crate::model::component::Confidence;
use crate::model::policy::HeaderGrant;
use crate::resolve::{BuildHost, UnknownHost};

use super::images::parse_jobs;
use super::selection::parse_host;
use super::{ImagesArgs, LockUseArgs, MirrorArgs, SelectionArgs};

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Network")]
pub struct NetworkArgs {
    /// Directory of downloaded files [default: imagegen/store in the user's cache directory].
    #[arg(long, value_name = "DIR", env = "IMAGEGEN_STORE")]
    pub store: Option<PathBuf>,

    /// Maximum number of downloads, and of images, at once, 1 to 64 [default: 8 downloads; one image for each
    /// processor, one bake].
    #[arg(long, value_name = "N", value_parser = parse_jobs)]
    pub jobs: Option<usize>,

    /// Disable network access; all files must be in the store.
    #[arg(long)]
    pub offline: bool,

    /// Proxy for downloads, instead of the proxy of the environment.
    #[arg(long, value_name = "URL")]
    pub proxy: Option<ProxyUrl>,

    /// CA certificates in PEM to trust in addition to those of the system. Repeatable.
    #[arg(long, value_name = "FILE")]
    pub ca_file: Vec<PathBuf>,

    /// Environment variable that overrides may send to this host as an HTTP header (`headers`). Repeatable.
    #[arg(long, value_name = "NAME=HOST", value_parser = parse_grant)]
    pub allow_header_env: Vec<HeaderGrant>,
}

fn parse_grant(text: &str) -> Result<HeaderGrant, String> {
    match text.split_once('=') {
        Some((name, host)) if !name.is_empty() => {
            let host = host
                .parse()
                .map_err(|error: ValueError| error.to_string())?;
            Ok(HeaderGrant {
                environment: name.to_owned(),
                hosts: vec![host],
            })
        }
        _ => Err("write it as NAME=HOST, with the host that receives the value".to_owned()),
    }
}

/// Flags of verbs that download for a plan.
#[derive(Debug, Clone, Args)]
pub struct OnlineArgs {
    #[command(flatten)]
    pub images: ImagesArgs,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub lock: LockUseArgs,
    #[command(flatten)]
    pub network: NetworkArgs,
}

/// Flags of `imagegen fetch`.
#[derive(Debug, Clone, Args)]
pub struct FetchArgs {
    #[command(flatten)]
    pub online: OnlineArgs,
    #[command(flatten)]
    pub tools: ToolsArgs,
}

/// Programs of the machines that bake.
#[derive(Debug, Clone, Args)]
pub struct ToolsArgs {
    /// Machine that bakes: Packer and the target's plugins are included for `this` one, `linux/amd64`, `linux/arm64`,
    /// `darwin/amd64`, `darwin/arm64` or `windows/amd64`, or for `none`. Repeatable.
    #[arg(
        long = "for",
        value_name = "OS/ARCH",
        env = "IMAGEGEN_FOR",
        hide_env_values = true,
        value_delimiter = ',',
        default_value = "this"
    )]
    machines: Vec<BakeMachine>,
}

impl ToolsArgs {
    /// The machines that bake.
    pub fn list_hosts(&self) -> BTreeSet<BuildHost> {
        self.machines.iter().filter_map(|it| it.0).collect()
    }
}

/// A value of `--for`; `none` has no machine.
#[derive(Debug, Clone, Copy)]
struct BakeMachine(Option<BuildHost>);

impl FromStr for BakeMachine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = match text {
            "none" => return Ok(Self(None)),
            "this" => BuildHost::host().to_string(),
            name => name.to_owned(),
        };
        let known = name.parse().map(|host| Self(Some(host)));
        known.map_err(|error: UnknownHost| format!("{error}, `this` or `none`"))
    }
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
    /// Copy files into the store, such as installation media
    Add {
        /// Files to copy.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Verify the digest of every file and remove damaged files
    Verify,
    /// Remove unused files and leftovers of killed processes
    Gc {
        /// Remove files that were not used for this many days.
        #[arg(long, default_value_t = 30)]
        days: u32,
        /// Keep the files of this lockfile. Repeatable.
        #[arg(long, value_name = "FILE")]
        lock: Vec<PathBuf>,
    },
    /// Print the path of the store
    Path,
}

#[derive(Debug, Args)]
pub struct PinArgs {
    /// Name of a component in the catalog.
    pub component: String,
    /// Version of the component.
    pub version: Version,

    /// File or URL from which to compute SHA-256, SHA-512 and size. `publisher` downloads the file from the
    /// catalog's URL and requires a proof of its publisher.
    #[arg(long, value_name = "FILE")]
    pub from: Option<String>,

    /// SHA-256, in lower-case hexadecimal.
    #[arg(long, value_name = "HEX")]
    pub sha256: Option<Sha256>,

    /// SHA-512, in lower-case hexadecimal.
    #[arg(long, value_name = "HEX")]
    pub sha512: Option<Sha512>,

    /// Size in bytes.
    #[arg(long)]
    pub size: Option<u64>,

    /// Source of the digest. Repeatable.
    #[arg(long, required_unless_present = "from")]
    pub source: Vec<String>,

    /// Confidence in the digest: low, medium, high or authoritative [default: authoritative with
    /// `--from publisher`, otherwise medium].
    #[arg(long, value_parser = parse_confidence)]
    pub confidence: Option<Confidence>,

    /// Note to store with the digest.
    #[arg(long)]
    pub note: Option<String>,

    #[command(flatten)]
    pub mirrors: MirrorArgs,

    /// Host to which plain HTTP is allowed; loopback is always allowed. Repeatable.
    #[arg(long, value_name = "HOST", value_parser = parse_host, help_heading = "Network")]
    pub allow_http: Vec<String>,

    #[command(flatten)]
    pub network: NetworkArgs,
}

fn parse_confidence(text: &str) -> Result<Confidence, String> {
    match serde_json::from_value(text.into()) {
        Ok(confidence) if confidence >= Confidence::Low => Ok(confidence),
        _ => Err("one of low, medium, high, authoritative".to_owned()),
    }
}
