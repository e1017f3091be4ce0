//! Arguments of `imagegen test-clone`, `imagegen promote` and `imagegen retire`.

use std::path::PathBuf;

use clap::Args;

use super::HistoryPlaceArgs;
use super::selection::parse_pair;
use crate::base::choice::KeepPer;
use crate::base::text::is_lowercase_or;
use crate::model::clone_test::CloneName;

/// Where the records are, and what is done with the commands.
#[derive(Debug, Args)]
pub struct PublishArgs {
    /// Value that commands of the target need, such as a project; the error about a missing value describes it.
    /// Repeatable.
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = parse_pair)]
    pub values: Vec<(String, String)>,

    /// Run the commands with the platform's program and its sign-in. Without it they are printed.
    #[arg(long)]
    pub run: bool,

    #[command(flatten)]
    pub place: HistoryPlaceArgs,
}

#[derive(Debug, Args)]
pub struct TestCloneArgs {
    /// Image version (`imagegen history`), or path of a workspace, of a record's folder or of an `image.json`.
    #[arg(value_name = "IMAGE", required = true)]
    pub images: Vec<String>,

    /// Id of one image, if a build has several, such as one in each region.
    #[arg(long, value_name = "ID")]
    pub image_id: Option<String>,

    /// Name of the machine, 3 to 15 lower-case letters, digits and `-` [default: a random one].
    #[arg(long, value_name = "NAME")]
    pub clone: Option<CloneName>,

    /// Delete the machine alone, which an earlier run left.
    #[arg(long, requires = "clone")]
    pub delete: bool,

    #[command(flatten)]
    pub publish: PublishArgs,
}

#[derive(Debug, Args)]
pub struct PromoteArgs {
    /// Image version (`imagegen history`), or path of a workspace, of a record's folder or of an `image.json`.
    #[arg(value_name = "IMAGE", required = true)]
    pub images: Vec<String>,

    /// Channel by which clusters find the image: the value of a tag, label or property.
    #[arg(long, value_name = "NAME", default_value = "stable", value_parser = parse_channel)]
    pub channel: String,

    #[command(flatten)]
    pub publish: PublishArgs,
}

#[derive(Debug, Args)]
pub struct RetireArgs {
    /// Image version (`imagegen history`), or path of a workspace, of a record's folder or of an `image.json`.
    #[arg(
        value_name = "IMAGE",
        required_unless_present_any = ["keep", "older_than"],
        conflicts_with_all = ["keep", "older_than", "per", "keep_current"]
    )]
    pub images: Vec<String>,

    /// Retire all builds but the newest of each group; with `--older-than`, those of them that are also old. Builds that
    /// failed, were retired or were deleted take no place.
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 0,
        hide_default_value = true
    )]
    pub keep: usize,

    /// Retire builds that finished more than so many days ago.
    #[arg(
        long,
        value_name = "DAYS",
        default_value_t = 0,
        hide_default_value = true
    )]
    pub older_than: u64,

    /// Group of builds of which `--keep` keeps the newest: `line` (name of the image, target, Windows release and
    /// Kubernetes line, in whatever workspace), or `workspace` (each line in each workspace for itself).
    #[arg(long, value_name = "GROUP", default_value = "workspace")]
    pub per: KeepPer,

    /// Also keep the newest build of each lockfile of `imagegen.json`: the definition may have gone back to an older one.
    #[arg(long)]
    pub keep_current: bool,

    /// Image definition, or a folder of them, whose lockfiles `--keep-current` means [default: imagegen.json in the
    /// working folder].
    #[arg(long, value_name = "FILE", requires = "keep_current")]
    pub config: Option<PathBuf>,

    /// Delete the images instead of marking them: machines that start from them later fail.
    #[arg(long)]
    pub delete: bool,

    #[command(flatten)]
    pub publish: PublishArgs,
}

/// A value that every platform takes in a tag or label.
fn parse_channel(text: &str) -> Result<String, String> {
    if is_lowercase_or(text, "-") && (1..=63).contains(&text.len()) {
        return Ok(text.to_owned());
    }
    Err("expected 1 to 63 lower-case letters, digits and `-`".to_owned())
}
