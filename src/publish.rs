//! Steps in the life of a baked image: tested on a clone, promoted, retired, deleted.
//!
//! The commands are data of the target (`publication.json`) and run the platform's own program with the user's own
//! sign-in. Nothing is touched that a record does not name: an id that has the form of no image of the target is
//! refused, and a build whose image is also that of a newer build is left alone.

mod by_hand;
mod choose;
mod clone;
mod clone_name;
mod clone_run;
mod clone_text;
mod fill;
mod filler;
mod run;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::publication::PublishStep;

pub use by_hand::{CommandedBuilds, ManualRequest, leave_out_manual};
pub use choose::{Retention, choose_old_builds, leave_out_done, list_named_builds, refuse_deleted};
pub use clone::{CloneCommands, CloneRequest, CloneRuns, CloneStep, list_clones};
pub use clone_run::{delete_clones, run_clones};
pub use clone_text::format_clones;
pub use fill::{FilledCommand, ImageCommands, PublishRequest, list_commands, load_publication};
pub use run::{PublishError, StepOutcome, format_script, run_commands};

/// Name of the schema of `promote` and `retire` with `--format json`.
pub const PUBLISH_SCHEMA: &str = "imagegen.dev/publish/v1";

/// `imagegen promote` and `imagegen retire` with `--format json`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublishOutput {
    pub schema: &'static str,
    pub step: PublishStep,
    pub images: Vec<PublishedBuild>,
}

/// Name of the schema of `test-clone` with `--format json`.
pub const CLONE_SCHEMA: &str = "imagegen.dev/clone-test/v1";

/// `imagegen test-clone` with `--format json`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloneOutput {
    pub schema: &'static str,
    pub clones: Vec<CloneRow>,
}

/// A machine that is made from an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloneRow {
    pub image_version: String,
    pub target: String,
    /// Place of the record, as `imagegen history` has it.
    pub place: String,
    /// Id of the image in the record.
    pub image: String,
    /// Name of the machine.
    pub clone: String,
    pub state: CloneState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CloneState {
    /// Without `--run`.
    Printed,
    /// The image passed, and the machine is deleted.
    Passed,
    /// With `--delete`.
    Deleted,
}

impl CloneOutput {
    pub fn new(clones: &[CloneCommands], state: CloneState) -> Self {
        let rows = clones.iter().map(|clone| CloneRow {
            image_version: clone.version.clone(),
            target: clone.target.clone(),
            place: clone.place.clone(),
            image: clone.id.clone(),
            clone: clone.clone.to_string(),
            state,
        });
        Self {
            schema: CLONE_SCHEMA,
            clones: rows.collect(),
        }
    }
}

/// An image, and its commands in their order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublishedBuild {
    pub image_version: String,
    pub target: String,
    /// Place of the record, as `imagegen history` has it.
    pub place: String,
    /// Id of the image in the record.
    pub image: String,
    pub commands: Vec<CommandRow>,
}

impl PublishedBuild {
    /// Whether no command failed.
    pub fn is_done(&self) -> bool {
        self.commands
            .iter()
            .all(|command| command.state != CommandState::Failed)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandRow {
    pub program: String,
    pub arguments: Vec<String>,
    /// Text that the output must have; otherwise the further commands of the image do not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expects: Option<String>,
    pub state: CommandState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CommandState {
    /// Without `--run`.
    Printed,
    Done,
    /// The platform said that nothing was left to do.
    Already,
    /// The platform knows no such image: it is gone, or it is that of another account or place.
    NotFound,
    /// The further commands of the image did not run.
    Failed,
}

impl PublishOutput {
    /// Commands that were not run.
    pub fn from_commands(step: PublishStep, images: &[ImageCommands<'_>]) -> Self {
        let rows = images.iter().map(|image| {
            let states = vec![CommandState::Printed; image.commands.len()];
            PublishedBuild::new(image, &states)
        });
        Self::new(step, rows.collect())
    }

    pub fn new(step: PublishStep, images: Vec<PublishedBuild>) -> Self {
        Self {
            schema: PUBLISH_SCHEMA,
            step,
            images,
        }
    }
}

impl PublishedBuild {
    fn new(image: &ImageCommands<'_>, states: &[CommandState]) -> Self {
        let mut commands = Vec::new();
        for (command, state) in image.commands.iter().zip(states) {
            commands.push(CommandRow {
                program: command.program.clone(),
                arguments: command.arguments.clone(),
                expects: command.expects.as_ref().map(|it| it.text.clone()),
                state: *state,
            });
        }
        Self {
            image_version: image.build.record.image_version.to_string(),
            target: image.build.record.target.clone(),
            place: image.build.place.clone(),
            image: image.id.clone(),
            commands,
        }
    }
}
