//! Verbs that work on several images of a definition.

use clap::Args;

#[derive(Debug, Clone, Default, Args)]
pub struct ImagesArgs {
    /// Images of a definition that has several (`imagegen list images`).
    #[arg(value_name = "IMAGE")]
    pub names: Vec<String>,

    /// All images of the definition.
    #[arg(long, conflicts_with = "names", help_heading = "Selection")]
    pub all: bool,
}
