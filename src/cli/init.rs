//! `imagegen init`, `imagegen completions` and `imagegen man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use super::selection::{accept_output_file, parse_pair};
use crate::base::choice::HostAccess;
use crate::io::fs::OutputFile;

#[derive(Debug, Args)]
pub struct InitArgs {
    /// Target of the build (`imagegen list targets`).
    #[arg(long)]
    pub target: Option<String>,

    /// Kubernetes version: `1.20`, `1.20.0` or `stable`.
    #[arg(long, value_name = "VERSION")]
    pub k8s: Option<String>,

    /// Windows release (`imagegen list windows`).
    #[arg(long, value_name = "RELEASE")]
    pub windows: Option<String>,

    /// Pod network (`imagegen list networks`).
    #[arg(long, value_name = "NETWORK")]
    pub cni: Option<String>,

    /// How agents access the host: `hostprocess`, `wins` or `services`.
    #[arg(long, value_name = "ACCESS")]
    pub host_access: Option<HostAccess>,

    /// Value of a variable of the target (`imagegen list variables`). Repeatable. A terminal asks for those that a build
    /// needs.
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = parse_pair)]
    pub variables: Vec<(String, String)>,

    /// Image definition to write; an existing file is never replaced.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "imagegen.json",
        value_parser = accept_output_file(),
        help_heading = "Output"
    )]
    pub out: OutputFile,
}

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell of the completions.
    pub shell: Shell,
}

#[derive(Debug, Args)]
pub struct ManArgs {
    /// Folder to write, a page for each verb.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,

    /// Replace the folder; files that imagegen did not write, or that were changed, are never replaced.
    #[arg(long)]
    pub force: bool,
}
