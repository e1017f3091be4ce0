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

    /// Work on the other images when one fails. This is the default.
    #[arg(long, help_heading = "Selection")]
    pub keep_going: bool,

    /// Begin no further image when one fails.
    #[arg(long, conflicts_with = "keep_going", help_heading = "Selection")]
    pub fail_fast: bool,
}

/// Images at once, for verbs without network.
#[derive(Debug, Clone, Default, Args)]
pub struct JobsArgs {
    /// Maximum number of images at once, 1 to 64 [default: one for each processor].
    #[arg(long, value_name = "N", value_parser = parse_jobs, help_heading = "Selection")]
    pub jobs: Option<usize>,
}

/// A number of things at once.
///
/// # Errors
/// It is none from 1 to 64.
pub(super) fn parse_jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(jobs @ 1..=64) => Ok(jobs),
        _ => Err("expected a number from 1 to 64".to_owned()),
    }
}
