//! Packer's steps: each is a process whose lines go to the log whole and to the terminal condensed.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::base::choice::OnError;
use crate::base::secret::Masker;
use crate::io::exec::{self, Inherited, OnInterrupt, Outcome, Run};
use crate::io::{clock, fs};
use crate::ui::Printer;

use super::{BakeError, Environment, Leftovers, Timeline, condense_line};

/// The step that makes something on the platform.
pub(super) const BUILD: &str = "build";

/// Words of builders about machines, disks and keys that they cannot remove, and about a plugin that is gone.
const LEFTOVER_WORDS: &[&str] = &[
    "manually",
    "may still be around",
    "error cleaning up",
    "error deleting",
    "error destroying",
    "error terminating",
    "failed to delete",
    "failed to destroy",
    "connection is shut down",
    "unexpected eof",
];

fn tells_of_leftovers(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    LEFTOVER_WORDS.iter().any(|words| line.contains(words))
}

/// Seconds since the start of the run.
fn count_seconds(started: u64) -> f64 {
    let elapsed = clock::current_millis().saturating_sub(started);
    std::time::Duration::from_millis(elapsed).as_secs_f64()
}

pub(super) struct PackerRun<'a> {
    pub program: PathBuf,
    pub folder: PathBuf,
    pub environment: Environment,
    pub on_error: OnError,
    pub log: fs::Log,
    /// Where the log is when the bake has ended.
    pub log_path: PathBuf,
    /// Start of the run, in milliseconds since 1970.
    pub started: u64,
    pub timeline: &'a mut Timeline,
    pub printer: &'a Printer,
}

impl PackerRun<'_> {
    pub(super) fn run_step(&mut self, step: &str, arguments: &[&str]) -> Result<(), BakeError> {
        self.printer.print_note(&format!("packer {step}"));
        let run = Run {
            program: self.program.clone(),
            arguments: std::iter::once(step)
                .chain(arguments.iter().copied())
                .map(OsString::from)
                .collect(),
            folder: self.folder.clone(),
            environment: self.environment.clone(),
            inherited: Inherited::Nothing,
            interactive: self.on_error == OnError::Ask,
            input: None,
            on_interrupt: OnInterrupt::Pass,
        };
        let mut progress = self.printer.start_progress();
        let mut last: Vec<String> = Vec::new();
        let mut leftovers = Leftovers::None;
        let mut maskers: [Masker; 2] = Default::default();
        let (started, begin) = (self.started, count_seconds(self.started));
        let mut show = |line: String| {
            self.log.write_line(&line);
            self.timeline.add_line(&line, count_seconds(started));
            match condense_line(&line) {
                Some(text) => progress.show_milestone(&text),
                None => progress.show_status(line.trim()),
            }
            if tells_of_leftovers(&line) {
                leftovers = Leftovers::Told;
            }
            if !line.trim().is_empty() {
                last.push(line);
                if last.len() > 12 {
                    last.remove(0);
                }
            }
        };
        let outcome = exec::run_program(&run, |stream, line| {
            maskers[stream as usize]
                .push_line(line)
                .into_iter()
                .for_each(&mut show);
        });
        maskers.iter_mut().flat_map(Masker::finish).for_each(show);
        progress.finish();
        self.timeline.add_step(step, begin, count_seconds(started));
        self.check_outcome(step, outcome?, last, leftovers)
    }

    fn check_outcome(
        &self,
        step: &str,
        outcome: Outcome,
        last: Vec<String>,
        leftovers: Leftovers,
    ) -> Result<(), BakeError> {
        let step = step.to_owned();
        match outcome {
            Outcome {
                interrupted: true,
                code,
                ..
            } => Err(BakeError::Interrupted {
                left: match code {
                    _ if step != BUILD => Leftovers::None,
                    None => Leftovers::Killed,
                    Some(_) if self.on_error == OnError::Abort => Leftovers::Kept,
                    Some(_) => leftovers,
                },
                log: self.log_path.clone(),
            }),
            Outcome { success: true, .. } => Ok(()),
            Outcome {
                code: Some(code), ..
            } => Err(BakeError::Failed {
                step,
                code,
                last,
                log: self.log_path.clone(),
            }),
            Outcome { code: None, .. } => Err(BakeError::Killed { step, last }),
        }
    }
}
