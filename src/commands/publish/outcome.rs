//! Ends of the verbs that publish: the result in lines, and the error that decides the exit code.

use std::fmt::Write as _;

use crate::diagnostic::{Error, Result};
use crate::model::publication::PublishStep;
use crate::publish::{CommandState, PublishOutput};
use crate::ui::Printer;

/// Returns the error of the step, or one for a build that was left out. The others are printed.
pub(super) fn end_step(
    taken: Result<()>,
    mut refused: Vec<Error>,
    printer: &Printer,
) -> Result<()> {
    let last = match taken {
        Ok(()) => refused.pop(),
        Err(error) => Some(error),
    };
    for error in &refused {
        printer.print_further_error(error);
    }
    last.map_or(Ok(()), Err)
}

pub(super) fn format_done(output: &PublishOutput) -> String {
    let done = match output.step {
        PublishStep::Promote => "promoted",
        PublishStep::Retire => "retired",
        PublishStep::Delete => "deleted",
    };
    let mut text = String::new();
    for image in output.images.iter().filter(|image| image.is_done()) {
        let last = image.commands.last().map(|command| command.state);
        let verb = match last {
            Some(CommandState::Already) => "already gone:",
            Some(CommandState::NotFound) => "not found:",
            _ => done,
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{verb} {} {}", image.image_version, image.image);
    }
    text
}
