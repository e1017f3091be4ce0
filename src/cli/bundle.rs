//! `imagegen bundle`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::model::value::ImageReference;

use super::{NetworkArgs, OwnScriptsArgs};

#[derive(Debug, Args)]
pub struct BundleArgs {
    #[command(subcommand)]
    pub what: BundleWhat,
}

#[derive(Debug, Subcommand)]
pub enum BundleWhat {
    /// Write a bundle: lock, evidence, artifacts, guest scripts and images in one zip
    #[command(after_help = "Example:
  imagegen lock --target azure --k8s 1.36.4 && imagegen bundle create --out node.zip")]
    Create {
        /// Bundle to write.
        #[arg(long, value_name = "FILE")]
        out: PathBuf,

        /// Lockfile.
        #[arg(long, value_name = "FILE", default_value = "imagegen.lock.json")]
        lock: PathBuf,

        /// Container image to carry besides the lock's own, with its digest. Repeatable.
        #[arg(long = "image", value_name = "NAME@DIGEST")]
        images: Vec<ImageReference>,

        #[command(flatten)]
        scripts: OwnScriptsArgs,

        #[command(flatten)]
        network: NetworkArgs,
    },
    /// Check every byte of a bundle against its index and its lock; opens no socket
    Verify {
        /// A bundle.
        file: PathBuf,
    },
    /// Check a bundle and put what it carries into a store, or below a web server; opens no socket
    #[command(after_help = "Examples:
  imagegen bundle extract node.zip --store store --lock imagegen.lock.json
  imagegen build --locked --offline --store store …

  imagegen bundle extract node.zip --as-mirror /srv/mirror
  imagegen build --delivery mirror --mirror https://mirror.example …")]
    Extract {
        /// A bundle.
        file: PathBuf,

        /// Store to fill [default: imagegen/store in the user's cache directory].
        #[arg(long, value_name = "DIR", env = "IMAGEGEN_STORE")]
        store: Option<PathBuf>,

        /// Instead of filling a store, lay artifacts, checksum files and signatures out below this folder, so
        /// that a web server that serves it answers what `--mirror URL` asks for.
        #[arg(long, value_name = "DIR")]
        as_mirror: Option<PathBuf>,

        /// Write the bundle's lock to this file.
        #[arg(long, value_name = "FILE")]
        lock: Option<PathBuf>,
    },
}
