//! `imagegen list`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::HistoryPlaceArgs;

#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(subcommand)]
    pub what: ListWhat,
}

#[derive(Debug, Subcommand)]
pub enum ListWhat {
    /// Targets of a build
    Targets,
    /// Kubernetes lines with their Windows releases and defaults
    Kubernetes,
    /// Windows releases
    Windows,
    /// Pod networks (`--cni`)
    Networks,
    /// Optional features of the node
    Features,
    /// Variables of the targets
    Variables,
    /// Steps that make the machine, in their order
    Steps,
    /// Images of a definition or of a folder of definitions: the matrix of a pipeline
    Images {
        /// Image definition, or a folder of them [default: imagegen.json in the working folder].
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,

        /// Only images whose lockfile no record of a build names (`--from`), or that have none. Where images share a
        /// lockfile, the record must also have the name of the image.
        #[arg(long)]
        unbuilt: bool,

        #[command(flatten)]
        place: HistoryPlaceArgs,
    },
    /// Rules: combinations that are refused, rules of the machine model, codes of errors and warnings
    Rules,
    /// Components; with a name, the versions and pins of the component
    Components {
        /// Name of a component.
        name: Option<String>,
    },
}
