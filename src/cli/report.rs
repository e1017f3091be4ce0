//! Arguments of `imagegen report`.

use std::path::PathBuf;

use clap::Args;

use super::HistoryPlaceArgs;
use super::selection::accept_output_file;
use crate::io::fs::OutputFile;

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Workspace, folder of a record (`builds/VERSION`), `image.json`, lockfile or image definition.
    #[arg(value_name = "IMAGE", required_unless_present = "all")]
    pub image: Option<PathBuf>,

    /// One page of all images that have records.
    #[arg(long, conflicts_with = "image")]
    pub all: bool,

    /// Page to write [default: `report.html` beside the record; `report.html` in the working folder for `--all`].
    #[arg(long, value_name = "FILE", value_parser = accept_output_file())]
    pub out: Option<OutputFile>,

    /// Program with arguments that scans the bill of materials, such as `grype sbom:{}`; `{}` stands for its path, which
    /// is the last argument otherwise. Fails if the program does, after the page was written.
    #[arg(long, value_name = "COMMAND", conflicts_with = "all")]
    pub scan_command: Option<String>,

    #[command(flatten)]
    pub place: HistoryPlaceArgs,
}
