//! `imagegen promote` and `imagegen retire`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::base::shell::format_comment;
use crate::cli::{PromoteArgs, PublishArgs, RetireArgs};
use crate::diagnostic::Result;
use crate::io::clock::current_time;
use crate::model::publication::PublishStep;
use crate::publish::{
    CommandState, ImageCommands, PublishOutput, PublishRequest, Retention, choose_old_builds,
    list_commands, list_named_builds, run_commands,
};
use crate::records::{HistoryEntry, HistoryPlace, read_history};
use crate::selection::{Definitions, SourceFolders, read_sources};
use crate::ui::Printer;

pub(super) fn run_promote(
    args: &PromoteArgs,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<()> {
    let builds = list_named_builds(&args.images, &(&args.publish.place).into(), printer)?;
    let step = StepRun {
        step: PublishStep::Promote,
        channel: &args.channel,
        args: &args.publish,
    };
    step.take(&builds, sources, printer)
}

pub(super) fn run_retire(
    args: &RetireArgs,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<()> {
    let place = &HistoryPlace::from(&args.publish.place);
    let builds = if args.images.is_empty() {
        let history = read_history(&place.from, &place.network, printer)?;
        let retention = Retention {
            keep: args.keep,
            older_than: args.older_than,
            per: args.per,
            now: current_time(),
            current: if args.keep_current {
                Definitions::load(None)?.list_lock_digests()?
            } else {
                BTreeSet::new()
            },
        };
        choose_old_builds(&history, &retention, printer)
    } else {
        list_named_builds(&args.images, place, printer)?
    };
    let step = StepRun {
        step: if args.delete {
            PublishStep::Delete
        } else {
            PublishStep::Retire
        },
        channel: "retired",
        args: &args.publish,
    };
    step.take(&builds, sources, printer)
}

struct StepRun<'a> {
    step: PublishStep,
    channel: &'a str,
    args: &'a PublishArgs,
}

impl StepRun<'_> {
    /// Every command is made before the first one runs.
    fn take(
        &self,
        builds: &[HistoryEntry],
        sources: &SourceFolders,
        printer: &Printer,
    ) -> Result<()> {
        let trees = read_sources(sources, Definitions::load(None)?.images())?;
        let values: BTreeMap<String, String> = self.args.values.iter().cloned().collect();
        let request = PublishRequest {
            step: self.step,
            channel: self.channel,
            values: &values,
            now: current_time(),
        };
        let images = list_commands(builds, &request, &trees)?;
        if images.is_empty() {
            printer.print_note("no build is old enough; nothing is to be done");
        }
        if self.args.run {
            let output = PublishOutput::new(self.step, run_commands(&images, printer)?);
            return printer.print_summary(&output, || format_done(&output));
        }
        let output = PublishOutput::from_commands(self.step, &images);
        printer.print_result(&output, || format_script(&images))
    }
}

/// Lines for a shell, with a comment for each image.
fn format_script(images: &[ImageCommands]) -> String {
    let mut text = String::new();
    for image in images {
        let title = format!("{} {} {}", image.version, image.target, image.id);
        text.push_str(&format_comment(&title));
        text.push_str(&image.format_lines());
    }
    text
}

fn format_done(output: &PublishOutput) -> String {
    let done = match output.step {
        PublishStep::Promote => "promoted",
        PublishStep::Retire => "retired",
        PublishStep::Delete => "deleted",
    };
    let mut text = String::new();
    for image in &output.images {
        let last = image.commands.last().map(|command| command.state);
        let verb = match last {
            Some(CommandState::Already) => "already gone:",
            Some(CommandState::Done | CommandState::Printed) | None => done,
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{verb} {} {}", image.image_version, image.image);
    }
    text
}
