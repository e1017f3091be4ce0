//! Builds for which a platform has no commands: of several, they are left out with a warning or an error.

use std::collections::BTreeMap;

use crate::catalog::Trees;
use crate::diagnostic::{CodedError, Error, Result};
use crate::model::publication::{PublishProgram, PublishStep, PublishedBy, StepCommands};
use crate::records::HistoryEntry;
use crate::ui::Printer;

use super::fill::{find_image, load_publication, refuse_unpublished, split_ids};

/// A step that the user takes, and the values of `--var` by name.
#[derive(Debug, Clone, Copy)]
pub struct ManualRequest<'a> {
    pub step: PublishStep,
    pub values: &'a BTreeMap<String, String>,
}

/// Images of one target.
enum TargetSteps {
    Program(Box<PublishProgram>),
    /// They are published by hand.
    Hand(CodedError),
}

/// Builds whose images have commands for a step.
#[derive(Debug, Default)]
pub struct CommandedBuilds {
    pub builds: Vec<HistoryEntry>,
    /// An error for each build that is left out because its images cannot be named.
    pub refused: Vec<Error>,
}

/// The builds whose images have commands for the step. The user is told which are published by hand, and why. A record
/// with the id of no image of its target keeps no other from its step.
///
/// # Errors
/// A file of a target is malformed.
pub fn leave_out_manual(
    builds: Vec<HistoryEntry>,
    request: ManualRequest<'_>,
    trees: &Trees,
    printer: &Printer,
) -> Result<CommandedBuilds> {
    let mut targets: BTreeMap<String, TargetSteps> = BTreeMap::new();
    let mut left = CommandedBuilds::default();
    let mut manual: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for build in builds {
        let target = &build.record.target;
        if !targets.contains_key(target) {
            targets.insert(target.clone(), load_steps(trees, target)?);
        }
        match find_manual_step(&build, request, &targets[target]) {
            Ok(None) => left.builds.push(build),
            Err(error) => left.refused.push(error),
            Ok(Some(reason)) => {
                let key = (reason.message, reason.remedy.unwrap_or_default());
                let versions = manual.entry(key).or_default();
                versions.push(build.record.image_version.to_string());
            }
        }
    }

    for ((message, remedy), versions) in &manual {
        printer.print_warning(&format!("left out: {}; {message}", versions.join(", ")));
        printer.print_hint(remedy);
    }
    Ok(left)
}

fn load_steps(trees: &Trees, target: &str) -> Result<TargetSteps> {
    let publication = load_publication(trees, target)?;
    Ok(match publication.map(|publication| publication.by) {
        None => TargetSteps::Hand(refuse_unpublished(target)),
        Some(PublishedBy::Program(program)) => TargetSteps::Program(Box::new(program)),
        Some(PublishedBy::Hand(manual)) => {
            let message = format!("target {target}: {}", manual.reason);
            TargetSteps::Hand(CodedError::value(message, manual.remedy))
        }
    })
}

/// Why the user takes the step for an image of the build.
fn find_manual_step(
    build: &HistoryEntry,
    request: ManualRequest<'_>,
    steps: &TargetSteps,
) -> Result<Option<CodedError>> {
    let program = match steps {
        TargetSteps::Program(program) => program,
        TargetSteps::Hand(reason) => return Ok(Some(reason.clone())),
    };
    for artifact in &build.record.artifacts {
        for id in split_ids(program, &artifact.id) {
            let (image, _) = find_image(program, build, id, request.values)?;
            if let StepCommands::Hand(manual) = image.commands(request.step) {
                let message = format!("{} of {}: {}", request.step, image.title, manual.reason);
                return Ok(Some(CodedError::value(message, manual.remedy.clone())));
            }
        }
    }
    Ok(None)
}
