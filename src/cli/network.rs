//! Downloads, their store, and what they pin.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::model::component::Confidence;
use crate::model::url::{HttpUrl, ProxyUrl};
use crate::model::value::{Sha256, Sha512};
use crate::model::version::Version;

use super::{LockUseArgs, SelectionArgs};

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
    pub proxy: Option<ProxyUrl>,

    /// Certificates in PEM that servers may be signed by, besides the system's. Repeatable.
    #[arg(long, value_name = "FILE")]
    pub ca_file: Vec<PathBuf>,
}

/// What is asked of publishers for a plan.
#[derive(Debug, Args)]
pub struct OnlineArgs {
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
    /// Copy files into the store, such as installation media
    Add {
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
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
pub struct PinArgs {
    /// A component of the catalog.
    pub component: String,
    /// The version that the digest is of.
    pub version: Version,

    /// The file itself, or a URL of it: SHA-256, SHA-512 and size are read off it. `publisher` fetches it
    /// from where the catalog says, and takes nothing that its publisher does not prove.
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

    /// Where the digest was found. Repeatable.
    #[arg(long, required_unless_present = "from")]
    pub source: Vec<String>,

    /// How well it is attested: low, medium, high or authoritative [default: authoritative from the
    /// publisher, else medium].
    #[arg(long, value_parser = confidence)]
    pub confidence: Option<Confidence>,

    /// Anything worth knowing.
    #[arg(long)]
    pub note: Option<String>,

    /// Take `https://HOST/PATH` from URL/HOST/PATH.
    #[arg(long, value_name = "URL")]
    pub mirror: Option<HttpUrl>,

    #[command(flatten)]
    pub network: NetworkArgs,
}

fn confidence(text: &str) -> Result<Confidence, String> {
    match serde_json::from_value(text.into()) {
        Ok(confidence) if confidence >= Confidence::Low => Ok(confidence),
        _ => Err("one of low, medium, high, authoritative".to_owned()),
    }
}
