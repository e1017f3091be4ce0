//! `imagegen scripts`, and where a build takes the guest's scripts from.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::model::url::HttpUrl;

#[derive(Debug, Default, Args)]
pub struct OwnScriptsArgs {
    /// Take the guest's scripts from this folder (`imagegen scripts export`): the program's own with a
    /// signature or without, or others that `--override scripts/PATH.sha256=HEX` names.
    #[arg(long, value_name = "DIR", help_heading = "Trust")]
    pub scripts: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ScriptsArgs {
    #[command(subcommand)]
    pub what: ScriptsWhat,
}

#[derive(Debug, Subcommand)]
pub enum ScriptsWhat {
    /// Write every script that PowerShell loads in a guest, with a list of digests
    #[command(after_help = "Example:
  imagegen scripts export --out scripts
  imagegen scripts sign scripts --key signer.key --certificate signer.pem
  imagegen build --scripts scripts --policy policy.json …")]
    Export {
        /// Folder to write.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// Replace the folder whatever it holds.
        #[arg(long)]
        force: bool,
    },
    /// Sign the scripts of such a folder by the program `osslsigncode`, all or none
    Sign {
        /// Folder of `imagegen scripts export`.
        folder: PathBuf,
        /// The signer's private key in PEM.
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// The signer's certificate in PEM, then the authorities between it and its root.
        #[arg(long, value_name = "FILE")]
        certificate: PathBuf,
        /// Environment variable that holds the key's passphrase.
        #[arg(long, value_name = "NAME")]
        passphrase_env: Option<String>,
        /// Server for timestamps (RFC 3161): with one a signature outlives its certificate.
        #[arg(long, value_name = "URL")]
        timestamp: Option<HttpUrl>,
        /// Roots in PEM of certificate and timestamp, besides the catalog's.
        #[arg(long, value_name = "FILE")]
        root: Option<PathBuf>,
    },
}
