//! Commands of a platform's program: as text for a shell, or run.

use std::path::Path;

use crate::base::code::Code;
use crate::base::shell::{format_comment, quote_argument};
use crate::base::text::indent_lines;
use crate::diagnostic::Classify;
use crate::io::exec::{self, ExecError, Run};
use crate::model::clone_test::CloneName;
use crate::model::publication::PublishStep;
use crate::records::{HistoryEntry, Retirement, RetirementState, format_time, keep_retirement};
use crate::ui::Printer;

use super::{CommandState, FilledCommand, ImageCommands, PublishRequest, PublishedBuild};

/// Lines of a failed command that its error repeats.
const LAST_LINES: usize = 12;

const NEVER_PROMOTE: &str = "do not promote the image; `imagegen help joining` lists the logs";

#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    #[error("`{program}` is not installed, so nothing was run")]
    NoProgram { program: String, install: String },
    #[error("{}", .0.join("\n"))]
    Failed(Vec<String>),
    /// Nothing is left.
    #[error("the name {clone} could not be taken: {reason}")]
    NotClaimed { clone: CloneName, reason: String },
    #[error("{0}")]
    CloneCommand(String),
    #[error("the clone of {image} does not pass: its test ended with {code}{}", indent_lines(.lines))]
    NotPassed {
        image: String,
        /// Exit code of the test.
        code: String,
        /// Last lines of the test.
        lines: Vec<String>,
    },
    #[error("{}the machine {clone} may still be there: {reason}", .before.as_deref().unwrap_or_default())]
    CloneLeft {
        clone: CloneName,
        reason: String,
        /// The error before the deletion, as a line.
        before: Option<String>,
        /// The image did not pass, which is worse.
        failed_test: bool,
    },
    #[error("interrupted")]
    Interrupted,
    #[error(transparent)]
    Exec(#[from] ExecError),
}

impl Classify for PublishError {
    fn remedies(&self) -> Vec<String> {
        match self {
            Self::NoProgram { install, .. } => vec![format!(
                "install it ({install}), or leave out `--run` and run the printed commands elsewhere"
            )],
            Self::Failed(_) => vec![
                "correct the cause, such as the sign-in, and run the same again: what is done is not done twice"
                    .to_owned(),
            ],
            Self::NotClaimed { .. } => vec![
                "no machine was made, and nothing of another run is deleted; if the name is taken, give another `--clone`, or delete what an earlier run of that name left with `--delete`"
                    .to_owned(),
            ],
            Self::CloneCommand(_) => {
                vec!["correct the cause, and run the same again: the machine is deleted".to_owned()]
            }
            Self::NotPassed { .. } => vec![NEVER_PROMOTE.to_owned()],
            Self::CloneLeft {
                clone, failed_test, ..
            } => {
                let mut remedies = vec![format!(
                    "run the same with `--clone {clone} --delete`, or delete the machine yourself"
                )];
                if *failed_test {
                    remedies.push(NEVER_PROMOTE.to_owned());
                }
                remedies
            }
            Self::Interrupted | Self::Exec(_) => Vec::new(),
        }
    }

    fn code(&self) -> Code {
        match self {
            Self::NoProgram { .. } => Code::PLATFORM_PROGRAM_MISSING,
            Self::NotPassed { .. }
            | Self::CloneLeft {
                failed_test: true, ..
            } => Code::CLONE_NOT_PASSED,
            Self::Failed(_)
            | Self::NotClaimed { .. }
            | Self::CloneCommand(_)
            | Self::CloneLeft { .. } => Code::PLATFORM_FAILED,
            Self::Interrupted => Code::INTERRUPTED,
            Self::Exec(error) => error.code(),
        }
    }
}

impl FilledCommand {
    /// The command as a POSIX shell reads it.
    pub fn format_line(&self) -> String {
        format_command(&self.program, &self.arguments)
    }

    /// The command with the test of its output, as a POSIX shell reads it.
    fn format_judged_line(&self) -> String {
        let mut line = self.format_line();
        if let Some(expected) = &self.expects {
            line.push_str(" | grep -qF -- ");
            line.push_str(&quote_argument(&expected.text));
        }
        line
    }
}

impl ImageCommands<'_> {
    /// The commands for a shell, one a line. After one whose output is tested, each depends on the one before it.
    fn format_lines(&self) -> String {
        let mut lines = String::new();
        let mut depends = false;
        for (at, command) in self.commands.iter().enumerate() {
            depends |= command.expects.is_some();
            lines.push_str(&command.format_judged_line());
            if depends && at + 1 < self.commands.len() {
                lines.push_str(" &&");
            }
            lines.push('\n');
        }
        lines
    }
}

/// Lines for a shell, with a comment for each image.
pub fn format_script(images: &[ImageCommands<'_>]) -> String {
    let mut text = String::new();
    for image in images {
        let record = &image.build.record;
        let (version, target) = (&record.image_version, &record.target);
        text.push_str(&format_comment(&format!("{version} {target} {}", image.id)));
        text.push_str(&image.format_lines());
    }
    text
}

pub(super) fn format_command(program: &str, arguments: &[String]) -> String {
    let mut line = program.to_owned();
    for argument in arguments {
        line.push(' ');
        line.push_str(&quote_argument(argument));
    }
    line
}

/// Refuses a program that is not installed.
pub(super) fn require_program(program: &str, install: &str) -> Result<(), PublishError> {
    if exec::can_find(Path::new(program)) {
        return Ok(());
    }
    Err(PublishError::NoProgram {
        program: program.to_owned(),
        install: install.to_owned(),
    })
}

/// Images whose commands ran, and why others are left.
#[derive(Debug, Default)]
pub struct StepOutcome {
    pub images: Vec<PublishedBuild>,
    pub error: Option<PublishError>,
}

/// Runs the commands of every image, and keeps beside each record what became of its images. If a command fails, the
/// further commands of its image are left out, and the other images follow.
///
/// # Errors
/// A program is not installed; then nothing is run.
pub fn run_commands(
    images: &[ImageCommands<'_>],
    request: &PublishRequest<'_>,
    printer: &Printer,
) -> Result<StepOutcome, PublishError> {
    for image in images {
        for command in &image.commands {
            require_program(&command.program, &image.install)?;
        }
    }

    let mut outcome = StepOutcome::default();
    let mut failures = Vec::new();
    for images in images.chunk_by(|one, other| std::ptr::eq(one.build, other.build)) {
        let before = failures.len();
        // Whoever is signed in elsewhere finds no image, and it is still there.
        let mut is_known = true;
        for image in images {
            match run_image(image, &mut failures, printer) {
                Ok(states) => {
                    is_known &= !states.contains(&CommandState::NotFound);
                    outcome.images.push(PublishedBuild::new(image, &states));
                }
                Err(error) => {
                    outcome.error = Some(error);
                    return Ok(outcome);
                }
            }
        }
        if is_known && failures.len() == before {
            failures.extend(keep_state(images[0].build, request, printer));
        }
    }
    if !failures.is_empty() {
        outcome.error = Some(PublishError::Failed(failures));
    }
    Ok(outcome)
}

/// The states of the commands of an image that ran. The message of one that failed is added to `failures`.
fn run_image(
    image: &ImageCommands<'_>,
    failures: &mut Vec<String>,
    printer: &Printer,
) -> Result<Vec<CommandState>, PublishError> {
    let mut states = Vec::new();
    for command in &image.commands {
        printer.print_note(&command.format_line());
        match run_command(command, printer)? {
            Ok(state) => states.push(state),
            Err(failure) => {
                states.push(CommandState::Failed);
                failures.push(failure);
                break;
            }
        }
    }
    Ok(states)
}

/// Keeps what became of the images of a build beside its record. Returns the message of a file that cannot be written.
fn keep_state(
    build: &HistoryEntry,
    request: &PublishRequest<'_>,
    printer: &Printer,
) -> Option<String> {
    let state = match request.step {
        PublishStep::Promote => None,
        PublishStep::Retire => Some(RetirementState::Retired),
        PublishStep::Delete => Some(RetirementState::Deleted),
    };
    if state.is_none() && build.retirement.is_none() {
        return None;
    }
    let at = format_time(request.now).unwrap_or_default();
    let retirement = state.map(|state| Retirement { state, at });
    let version = &build.record.image_version;
    match keep_retirement(build, retirement) {
        Ok(true) => None,
        Ok(false) => {
            printer.print_warning(&format!(
                "a later `retire --keep` does not know what was done to {version}: its record is no `image.json` in a folder \
                 of this machine; give that folder by `--from`"
            ));
            None
        }
        Err(error) => Some(format!(
            "the commands for {version} ran, and this cannot be kept beside its record: {error}"
        )),
    }
}

fn run_command(
    command: &FilledCommand,
    printer: &Printer,
) -> Result<Result<CommandState, String>, PublishError> {
    let program = exec::resolve_program(Path::new(&command.program));
    let run = Run::new(program, &command.arguments);
    let output = exec::collect_lines(&run, |line| printer.print_foreign_line(line))?;
    let outcome = output.outcome;
    let lines = output.into_lines();
    if outcome.interrupted {
        return Err(PublishError::Interrupted);
    }
    if outcome.success {
        return Ok(judge_output(command, &lines));
    }

    if let Some(state) = find_settled(&command.already, &lines, printer) {
        return Ok(Ok(state));
    }
    Ok(Err(format!(
        "`{}` failed{}",
        command.format_line(),
        indent_lines(list_last_lines(&lines))
    )))
}

/// The state of a command that succeeded, or the message for an output that is not the expected one.
fn judge_output(command: &FilledCommand, lines: &[String]) -> Result<CommandState, String> {
    let Some(expected) = &command.expects else {
        return Ok(CommandState::Done);
    };
    if lines.iter().any(|line| line.contains(&expected.text)) {
        return Ok(CommandState::Done);
    }

    let is_empty = lines.iter().all(|line| line.trim().is_empty());
    if expected.nothing_if_gone && is_empty {
        return Ok(CommandState::Already);
    }
    Err(format!(
        "the output of `{}` has no `{}`: {}",
        command.format_line(),
        expected.text,
        expected.otherwise
    ))
}

pub(super) fn list_last_lines(lines: &[String]) -> &[String] {
    &lines[lines.len().saturating_sub(LAST_LINES)..]
}

/// The state of a command whose error says that nothing is left to do; the user is told so.
pub(super) fn find_settled(
    already: &[(String, Option<String>)],
    lines: &[String],
    printer: &Printer,
) -> Option<CommandState> {
    for (text, doubt) in already {
        if !lines.iter().any(|line| line.contains(text)) {
            continue;
        }
        if let Some(doubt) = doubt {
            printer.print_warning(&format!("{text}: {doubt}"));
            return Some(CommandState::NotFound);
        }
        printer.print_note(&format!("nothing left to do: {text}"));
        return Some(CommandState::Already);
    }
    None
}
