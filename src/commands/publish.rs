//! `imagegen promote` and `imagegen retire`.
//!
//! Their commands run with the user's sign-in, so they come from built-in targets and `--targets` alone: the definition of
//! the working folder may be anybody's pull request.

mod inputs;
mod outcome;

use std::collections::BTreeMap;

use crate::catalog::Trees;
use crate::cli::{PromoteArgs, RetireArgs};
use crate::diagnostic::Result;
use crate::io::clock::current_time;
use crate::model::publication::PublishStep;
use crate::publish::{
    CommandedBuilds, ManualRequest, PublishOutput, PublishRequest, Retention, choose_old_builds,
    format_script, leave_out_done, leave_out_manual, list_commands, list_named_builds,
    refuse_deleted, run_commands,
};
use crate::records::{HistoryEntry, HistoryPlace, read_history};
use crate::selection::{SourceFolders, read_sources};
use crate::ui::Printer;

use inputs::list_current_locks;
use outcome::{end_step, format_done};

pub(super) use inputs::collect_values;

pub(super) fn run_promote(
    args: &PromoteArgs,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<()> {
    let builds = list_named_builds(&args.images, &(&args.publish.place).into(), printer)?;
    refuse_deleted(&builds)?;
    let trees = read_sources(sources, &[])?;
    let step = StepRun {
        step: PublishStep::Promote,
        channel: &args.channel,
        values: &collect_values(&args.publish.values)?,
        run: args.publish.run,
    };
    step.take(&builds, &trees, printer)
}

pub(super) fn run_retire(
    args: &RetireArgs,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<()> {
    let place = &HistoryPlace::from(&args.publish.place);
    let trees = read_sources(sources, &[])?;
    let values = &collect_values(&args.publish.values)?;
    let step = if args.delete {
        PublishStep::Delete
    } else {
        PublishStep::Retire
    };
    let CommandedBuilds { builds, refused } = if args.images.is_empty() {
        let history = read_history(&place.from, &place.network, printer)?;
        let retention = Retention {
            step,
            keep: args.keep,
            older_than: args.older_than,
            per: args.per,
            now: current_time(),
            current: list_current_locks(args, printer)?,
        };
        let builds = choose_old_builds(&history, &retention, printer);
        if builds.is_empty() {
            let reason = match history.builds.as_slice() {
                [] => "no build is recorded".to_owned(),
                _ => retention.explain_none(),
            };
            printer.print_note(&format!("{reason}; nothing is to be done"));
        }
        leave_out_manual(builds, ManualRequest { step, values }, &trees, printer)?
    } else {
        let named = list_named_builds(&args.images, place, printer)?;
        CommandedBuilds {
            builds: leave_out_done(named, step, printer),
            refused: Vec::new(),
        }
    };
    let step = StepRun {
        step,
        channel: "retired",
        values,
        run: args.publish.run,
    };
    end_step(step.take(&builds, &trees, printer), refused, printer)
}

struct StepRun<'a> {
    step: PublishStep,
    channel: &'a str,
    values: &'a BTreeMap<String, String>,
    /// Whether the commands run.
    run: bool,
}

impl StepRun<'_> {
    /// Every command is made before the first one runs.
    fn take(&self, builds: &[HistoryEntry], trees: &Trees, printer: &Printer) -> Result<()> {
        let request = PublishRequest {
            step: self.step,
            channel: self.channel,
            values: self.values,
            now: current_time(),
        };
        let images = list_commands(builds, &request, trees)?;
        if self.run {
            let outcome = run_commands(&images, &request, printer)?;
            let output = PublishOutput::new(self.step, outcome.images);
            // What is done is told also where an error follows.
            printer.print_summary(&output, || format_done(&output))?;
            return outcome.error.map_or(Ok(()), |error| Err(error.into()));
        }
        let output = PublishOutput::from_commands(self.step, &images);
        printer.print_result(&output, || format_script(&images))
    }
}
