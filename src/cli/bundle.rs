//! `imagegen bundle`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::base::value::ImageReference;
use crate::io::fs::OutputFile;

use super::selection::{WaiverArgs, accept_output_file};
use super::{MirrorArgs, NetworkArgs, OwnScriptsArgs, PolicyArgs, ToolsArgs};

#[derive(Debug, Args)]
pub struct BundleArgs {
    #[command(subcommand)]
    pub what: BundleWhat,
}

#[derive(Debug, Subcommand)]
pub enum BundleWhat {
    /// Write a bundle: lockfile, evidence, artifacts, guest scripts and container images in one zip
    #[command(after_help = "Examples:
  imagegen lock --target host --k8s 1.36.4 && imagegen bundle create --out node.zip
  imagegen bundle create --out bake.zip --for linux/amd64")]
    Create(BundleCreateArgs),
    /// Verify every byte of a bundle against its index and its lockfile, without network
    Verify(BundleVerifyArgs),
    /// Verify a bundle and extract it into a store, or as a mirror, without network
    #[command(after_help = "Examples:
  imagegen bundle extract node.zip --store store --lock imagegen.lock.json
  imagegen build --locked --offline --store store …

  imagegen bundle extract node.zip --as-mirror /srv/mirror
  imagegen build --delivery mirror --mirror https://mirror.example …")]
    Extract(BundleExtractArgs),
}

/// Arguments of `bundle create`.
#[derive(Debug, Args)]
pub struct BundleCreateArgs {
    /// Bundle to write.
    #[arg(long, value_name = "FILE", value_parser = accept_output_file())]
    pub out: OutputFile,

    /// Lockfile.
    #[arg(long, value_name = "FILE", default_value = "imagegen.lock.json")]
    pub lock: PathBuf,

    /// Container image to add to those of the lockfile, with its digest. Repeatable.
    #[arg(long = "image", value_name = "NAME@DIGEST")]
    pub images: Vec<ImageReference>,

    #[command(flatten)]
    pub tools: ToolsArgs,

    #[command(flatten)]
    pub scripts: OwnScriptsArgs,

    #[command(flatten)]
    pub waivers: WaiverArgs,

    #[command(flatten)]
    pub policy: PolicyArgs,

    #[command(flatten)]
    pub mirrors: MirrorArgs,

    #[command(flatten)]
    pub network: NetworkArgs,
}

/// Arguments of `bundle verify`.
#[derive(Debug, Args)]
pub struct BundleVerifyArgs {
    /// Bundle to read.
    pub file: PathBuf,

    /// Reviewed lockfile; the lockfile of the bundle must be the same.
    #[arg(long, value_name = "FILE")]
    pub lock: Option<PathBuf>,

    /// Container image that the bundle may have beside those of the reviewed lockfile, with its digest. Repeatable.
    #[arg(long = "image", value_name = "NAME@DIGEST", requires = "lock")]
    pub images: Vec<ImageReference>,

    #[command(flatten)]
    pub policy: PolicyArgs,

    #[command(flatten)]
    pub mirrors: MirrorArgs,
}

/// Arguments of `bundle extract`.
#[derive(Debug, Args)]
pub struct BundleExtractArgs {
    /// Bundle to read.
    pub file: PathBuf,

    /// Store to fill [default: imagegen/store in the user's cache directory].
    #[arg(long, value_name = "DIR", env = "IMAGEGEN_STORE")]
    pub store: Option<PathBuf>,

    /// Write artifacts, checksum files and signatures to this folder instead of a store: a web server that
    /// serves the folder is a mirror for `--mirror URL`.
    #[arg(long, value_name = "DIR")]
    pub as_mirror: Option<PathBuf>,

    /// Reviewed lockfile; the lockfile of the bundle must be the same.
    #[arg(long, value_name = "FILE")]
    pub lock: Option<PathBuf>,

    /// Container image that the bundle may have beside those of the reviewed lockfile, with its digest. Repeatable.
    #[arg(long = "image", value_name = "NAME@DIGEST", requires = "lock")]
    pub images: Vec<ImageReference>,

    /// Write the bundle's lockfile to this file, for review.
    #[arg(long, value_name = "FILE", conflicts_with = "lock")]
    pub write_lock: Option<PathBuf>,

    #[command(flatten)]
    pub policy: PolicyArgs,

    #[command(flatten)]
    pub mirrors: MirrorArgs,
}
