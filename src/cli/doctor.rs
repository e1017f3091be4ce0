//! What a build would find.

use std::path::PathBuf;

use clap::Args;

use super::{LockUseArgs, NetworkArgs, SelectionArgs};

#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub lock: LockUseArgs,
    /// A Packer of one's own [default: the pinned one, out of the store].
    #[arg(long, value_name = "PATH", help_heading = "Bake")]
    pub packer: Option<PathBuf>,
    #[command(flatten)]
    pub network: NetworkArgs,
}
