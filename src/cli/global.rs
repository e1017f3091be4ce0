//! Flags of every verb. Each has an environment variable.

use std::path::PathBuf;

use clap::builder::FalseyValueParser;
use clap::{ArgAction, Args};

use crate::base::choice::Format;

#[derive(Debug, Args)]
#[command(next_help_heading = "Output and catalog")]
pub struct Global {
    /// Output format: `text` or `json`.
    #[arg(
        long,
        global = true,
        default_value = "text",
        value_name = "FORMAT",
        env = "IMAGEGEN_FORMAT",
        hide_env_values = true
    )]
    pub format: Format,

    /// Print only warnings and errors.
    #[arg(
        short, long, global = true, conflicts_with = "verbose", env = "IMAGEGEN_QUIET", hide_env_values = true,
        value_parser = FalseyValueParser::new()
    )]
    pub quiet: bool,

    /// Increase verbosity.
    #[arg(
        short, long, global = true, action = ArgAction::Count, env = "IMAGEGEN_VERBOSE", hide_env_values = true
    )]
    pub verbose: u8,

    #[command(flatten)]
    pub sources: SourceArgs,
}

/// Files in the place of built-in ones, and beside them.
#[derive(Debug, Clone, Default, Args)]
pub struct SourceArgs {
    /// Read the catalog from this directory instead of the built-in catalog.
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "IMAGEGEN_MANIFESTS",
        hide_env_values = true
    )]
    pub manifests: Option<PathBuf>,

    /// Directory of your own targets, one folder each; a folder with the name of a built-in target replaces it.
    /// Repeatable.
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "IMAGEGEN_TARGETS",
        hide_env_values = true
    )]
    pub targets: Vec<PathBuf>,

    /// Directory of your own steps: files `NNN-ID.json`, the files that they name, and the folder `templates`; a step
    /// with the id of a built-in step replaces it. Repeatable.
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "IMAGEGEN_STEPS",
        hide_env_values = true
    )]
    pub steps: Vec<PathBuf>,

    /// Directory of your own component files `NAME.json`, beside those of the catalog. Repeatable.
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "IMAGEGEN_COMPONENT_FILES",
        hide_env_values = true
    )]
    pub component_files: Vec<PathBuf>,
}
