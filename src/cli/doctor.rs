//! `imagegen doctor`.

use std::path::PathBuf;

use clap::Args;

use super::{LockUseArgs, NetworkArgs, SelectionArgs};

#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub lock: LockUseArgs,
    /// Path to your own Packer binary [default: the pinned version from the store].
    #[arg(long, value_name = "PATH", help_heading = "Bake")]
    pub packer: Option<PathBuf>,
    #[command(flatten)]
    pub network: NetworkArgs,
}
