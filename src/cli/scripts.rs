//! `imagegen scripts`, and the flag `--scripts` of a build.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::base::url::HttpUrl;

use super::PolicyArgs;

#[derive(Debug, Clone, Default, Args)]
pub struct OwnScriptsArgs {
    /// Folder of guest scripts (`imagegen scripts export`): the original scripts, signed or unsigned, or modified
    /// scripts whose digest is given by `--override scripts/PATH.sha256=HEX`.
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
    /// Write all guest scripts and a list of their digests to a folder
    #[command(after_help = "Examples:
  imagegen scripts export --out scripts
  imagegen scripts sign scripts --key signer.key --certificate signer.pem
  imagegen build --scripts scripts --policy policy.json …")]
    Export {
        /// Folder to write; files that imagegen did not write, or that were changed, are never replaced.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Sign all scripts of a folder with `osslsigncode`
    Sign(SignArgs),
}

#[derive(Debug, Args)]
pub struct SignArgs {
    /// Folder written by `imagegen scripts export`.
    pub folder: PathBuf,
    /// Private key of the signer in PEM.
    #[arg(long, value_name = "FILE")]
    pub key: PathBuf,
    /// Certificate of the signer in PEM, followed by its intermediate certificates.
    #[arg(long, value_name = "FILE")]
    pub certificate: PathBuf,
    /// Environment variable with the passphrase of the key.
    #[arg(long, value_name = "NAME")]
    pub passphrase_env: Option<String>,
    /// Timestamp server (RFC 3161); timestamped signatures stay valid after the certificate expires.
    #[arg(long, value_name = "URL")]
    pub timestamp: Option<HttpUrl>,
    /// Root certificates in PEM for signer and timestamp, in addition to the catalog's.
    #[arg(long, value_name = "FILE")]
    pub root: Option<PathBuf>,
    /// Path in the folder of a script that differs from imagegen's and that you have reviewed. Repeatable.
    #[arg(long, value_name = "PATH")]
    pub changed: Vec<String>,
    #[command(flatten)]
    pub policy: PolicyArgs,
}
