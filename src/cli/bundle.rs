//! `imagegen bundle`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::base::value::ImageReference;
use crate::model::policy::Waiver;

use super::selection::parse_waiver;
use super::{NetworkArgs, OwnScriptsArgs, PolicyArgs};

#[derive(Debug, Args)]
pub struct BundleArgs {
    #[command(subcommand)]
    pub what: BundleWhat,
}

#[derive(Debug, Subcommand)]
pub enum BundleWhat {
    /// Write a bundle: lockfile, evidence, artifacts, guest scripts and container images in one zip
    #[command(after_help = "Example:
  imagegen lock --target host --k8s 1.36.4 && imagegen bundle create --out node.zip")]
    Create {
        /// Bundle to write.
        #[arg(long, value_name = "FILE")]
        out: PathBuf,

        /// Lockfile.
        #[arg(long, value_name = "FILE", default_value = "imagegen.lock.json")]
        lock: PathBuf,

        /// Container image to add to those of the lockfile, with its digest. Repeatable.
        #[arg(long = "image", value_name = "NAME@DIGEST")]
        images: Vec<ImageReference>,

        #[command(flatten)]
        scripts: OwnScriptsArgs,

        /// Accept a missing proof (`kubelet=cosign-keyless`); a policy can contain waivers, too. Repeatable.
        #[arg(long, value_name = "COMPONENT=PROOF", value_parser = parse_waiver, help_heading = "Trust")]
        waive: Vec<Waiver>,

        #[command(flatten)]
        policy: PolicyArgs,

        #[command(flatten)]
        network: NetworkArgs,
    },
    /// Verify every byte of a bundle against its index and its lockfile, without network
    Verify {
        /// Bundle to read.
        file: PathBuf,

        /// Reviewed lockfile; the lockfile of the bundle must be the same.
        #[arg(long, value_name = "FILE")]
        lock: Option<PathBuf>,

        #[command(flatten)]
        policy: PolicyArgs,
    },
    /// Verify a bundle and extract it into a store, or as a mirror, without network
    #[command(after_help = "Examples:
  imagegen bundle extract node.zip --store store --lock imagegen.lock.json
  imagegen build --locked --offline --store store …

  imagegen bundle extract node.zip --as-mirror /srv/mirror
  imagegen build --delivery mirror --mirror https://mirror.example …")]
    Extract {
        /// Bundle to read.
        file: PathBuf,

        /// Store to fill [default: imagegen/store in the user's cache directory].
        #[arg(long, value_name = "DIR", env = "IMAGEGEN_STORE")]
        store: Option<PathBuf>,

        /// Write artifacts, checksum files and signatures to this folder instead of a store: a web server that
        /// serves the folder is a mirror for `--mirror URL`.
        #[arg(long, value_name = "DIR")]
        as_mirror: Option<PathBuf>,

        /// Reviewed lockfile; the lockfile of the bundle must be the same.
        #[arg(long, value_name = "FILE")]
        lock: Option<PathBuf>,

        /// Write the bundle's lockfile to this file, for review.
        #[arg(long, value_name = "FILE", conflicts_with = "lock")]
        write_lock: Option<PathBuf>,

        #[command(flatten)]
        policy: PolicyArgs,
    },
}
