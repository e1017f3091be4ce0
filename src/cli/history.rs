//! Arguments of `imagegen history`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::NetworkArgs;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct HistoryArgs {
    #[command(subcommand)]
    pub what: Option<HistoryWhat>,

    #[command(flatten)]
    pub place: HistoryPlaceArgs,
}

/// Where records lie.
#[derive(Debug, Clone, Args)]
pub struct HistoryPlaceArgs {
    /// Folder with records at any depth, or URL of a record or of the output of `history --format json` that a
    /// pipeline published. Repeatable [default: imagegen-out].
    #[arg(long, value_name = "DIR|URL")]
    pub from: Vec<String>,

    #[command(flatten)]
    pub network: NetworkArgs,
}

#[derive(Debug, Subcommand)]
pub enum HistoryWhat {
    /// Show the record of a build
    Show(HistoryShowArgs),
    /// Remove old records, with the files of their images and everything else in their folders
    Prune(HistoryPruneArgs),
}

#[derive(Debug, Args)]
pub struct HistoryShowArgs {
    /// Image version, or path of the folder of a record.
    #[arg(value_name = "VERSION")]
    pub version: String,

    #[command(flatten)]
    pub place: HistoryPlaceArgs,
}

#[derive(Debug, Args)]
pub struct HistoryPruneArgs {
    /// How many records of each workspace stay: the newest of those with an image, and as many of those that failed, that
    /// were retired and that were deleted. The newest with an image and that of the image in the workspace always stay.
    /// An image in a cloud stays, and `retire` no longer knows it.
    #[arg(long, value_name = "NUMBER")]
    pub keep: usize,

    /// Folder with workspaces [default: imagegen-out].
    #[arg(long, value_name = "DIR")]
    pub from: Option<PathBuf>,

    /// List what would be removed.
    #[arg(long)]
    pub dry_run: bool,
}
