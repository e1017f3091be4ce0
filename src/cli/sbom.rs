//! Arguments of `imagegen sbom`.

use std::path::PathBuf;

use clap::Args;

use super::selection::accept_output_file;
use crate::base::choice::SbomFormat;
use crate::io::fs::OutputFile;

#[derive(Debug, Args)]
pub struct SbomArgs {
    /// Lockfile, workspace, `image.json` or image definition.
    #[arg(value_name = "IMAGE", default_value = "imagegen.lock.json")]
    pub image: PathBuf,

    /// Format of the bill: `cyclonedx` (1.6) or `spdx` (2.3).
    #[arg(long = "as", value_name = "FORMAT", default_value = "cyclonedx")]
    pub form: SbomFormat,

    /// File to write [default: stdout].
    #[arg(long, value_name = "FILE", value_parser = accept_output_file())]
    pub out: Option<OutputFile>,

    /// Program with arguments that scans the bill, such as `grype sbom:{}`; `{}` stands for its path, which is the last
    /// argument otherwise. Fails if the program does.
    #[arg(long, value_name = "COMMAND")]
    pub scan_command: Option<String>,
}
