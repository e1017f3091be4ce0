//! `imagegen scripts`, and the flag `--scripts` of a build.

use std::path::PathBuf;

use clap::{Args, Subcommand};

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
  imagegen build --scripts scripts --policy policy.json …")]
    Export {
        /// Folder to write; files that imagegen did not write, or that were changed, are never replaced.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
}
