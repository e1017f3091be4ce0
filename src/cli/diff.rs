//! Arguments of `imagegen diff`.

use std::path::PathBuf;

use clap::Args;

use crate::base::choice::DiffPart;

#[derive(Debug, Args)]
pub struct DiffArgs {
    /// Image definition, lockfile, workspace, `image.json` or guest plan; `FILE#NAME` is one of several images.
    #[arg(value_name = "A")]
    pub from: PathBuf,

    /// The other image to compare.
    #[arg(value_name = "B", required_unless_present = "base")]
    pub to: Option<PathBuf>,

    /// Compare A with itself in this commit, branch or tag of its git repository.
    #[arg(long, value_name = "REF", conflicts_with = "to")]
    pub base: Option<String>,

    /// Part to compare: components, machine or build. Repeatable [default: all].
    #[arg(long, value_name = "PART")]
    pub only: Vec<DiffPart>,

    /// Exit with code 1 if there is a difference.
    #[arg(long)]
    pub exit_code: bool,
}
