//! The life of a clone: made, tested, and deleted whatever happened.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::base::secret::Secret;
use crate::base::text::indent_lines;
use crate::io::exec::{self, ExecError, InterruptWatch, OnInterrupt, Printed, Run, Stream};
use crate::model::clone_test::VERDICT_GROUP;
use crate::ui::Printer;

use super::clone::split_deletion;
use super::clone_name::create_password;
use super::run::{find_settled, format_command, list_last_lines, require_program};
use super::{CloneCommands, CloneStep, PublishError};

/// Makes, tests and deletes a clone of every image. The first that does not pass ends the verb.
///
/// # Errors
/// A program is not installed; then nothing is run. Or the name is taken, a command failed, the user interrupted, the
/// image did not pass, or a machine is left.
pub fn run_clones(clones: &[CloneCommands], printer: &Printer) -> Result<(), PublishError> {
    refuse_absent_programs(clones)?;
    for clone in clones {
        let mut life = Life::start(clone, printer)?;
        let claimed = life.run_claim();
        if claimed.is_err() && !life.made_something {
            return claimed;
        }
        let tested = claimed.and_then(|()| life.run_test());
        let deleted = life.run_delete();
        if let Err(error) = deleted {
            return Err(leave_clone(clone, &error, tested.err()));
        }
        tested?;
    }
    Ok(())
}

/// Deletes the clones alone, which an earlier run left.
///
/// # Errors
/// A program is not installed, or a machine is left.
pub fn delete_clones(clones: &[CloneCommands], printer: &Printer) -> Result<(), PublishError> {
    refuse_absent_programs(clones)?;
    for clone in clones {
        let deleted = Life::start(clone, printer)?.run_delete();
        deleted.map_err(|error| leave_clone(clone, &error, None))?;
    }
    Ok(())
}

fn refuse_absent_programs(clones: &[CloneCommands]) -> Result<(), PublishError> {
    for clone in clones {
        require_program(&clone.program, &clone.install)?;
    }
    Ok(())
}

fn leave_clone(
    clone: &CloneCommands,
    error: &PublishError,
    before: Option<PublishError>,
) -> PublishError {
    PublishError::CloneLeft {
        clone: clone.clone.clone(),
        reason: error.to_string(),
        failed_test: matches!(before, Some(PublishError::NotPassed { .. })),
        before: before.map(|it| format!("before that: {it}\n")),
    }
}

/// A clone with what its commands gave so far.
struct Life<'a> {
    clone: &'a CloneCommands,
    given: BTreeMap<String, String>,
    /// Every value of the last command that gave any.
    found: Vec<String>,
    /// Without its name nothing is made, and what has the name is another run's. A claim may end after it made a part of
    /// what it takes, such as a group: the deletion finds by its mark what this run made.
    made_something: bool,
    password: Secret,
    interrupts: InterruptWatch,
    printer: &'a Printer,
}

/// Part of the life of a clone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LifePart {
    Claim,
    Test,
    Delete,
}

impl LifePart {
    /// The first interrupt ends a test. It ends no deletion, and no claim: after half of one, nothing says whose the
    /// name is.
    fn on_interrupt(self) -> OnInterrupt {
        match self {
            Self::Test => OnInterrupt::Pass,
            Self::Claim | Self::Delete => OnInterrupt::Finish,
        }
    }

    /// Number of interrupts that end it.
    fn most_interrupts(self) -> usize {
        match self.on_interrupt() {
            OnInterrupt::Pass => 1,
            OnInterrupt::Finish => 2,
        }
    }
}

/// End of one run of a command.
enum StepEnd {
    Done,
    /// The platform said that nothing is left to do.
    Settled,
    /// The command failed, or its output lacks the value or verdict.
    NotYet(String),
}

/// Lines of a command, by stream.
struct CloneLines {
    stdout: Vec<String>,
    all: Vec<String>,
    is_settled: bool,
}

impl CloneLines {
    fn new(printed: Printed) -> Self {
        let lines = printed.lines.iter();
        let own = lines.filter(|(stream, _)| *stream == Stream::Stdout);
        Self {
            stdout: own.map(|(_, line)| line.clone()).collect(),
            all: printed.into_lines(),
            is_settled: false,
        }
    }
}

impl<'a> Life<'a> {
    fn start(clone: &'a CloneCommands, printer: &'a Printer) -> Result<Self, PublishError> {
        let failed = |source| ExecError {
            program: PathBuf::from(&clone.program),
            source,
        };
        Ok(Self {
            clone,
            given: BTreeMap::new(),
            found: Vec::new(),
            made_something: false,
            password: create_password().map_err(failed)?,
            interrupts: InterruptWatch::start().map_err(failed)?,
            printer,
        })
    }

    fn run_claim(&mut self) -> Result<(), PublishError> {
        self.wait(Duration::ZERO, LifePart::Test)?;
        for step in &self.clone.claim {
            if let StepEnd::NotYet(failure) = self.repeat_step(step, LifePart::Claim)? {
                return Err(PublishError::NotClaimed {
                    clone: self.clone.clone.clone(),
                    reason: failure,
                });
            }
            self.made_something = true;
        }
        Ok(())
    }

    fn run_test(&mut self) -> Result<(), PublishError> {
        for step in &self.clone.test {
            if let StepEnd::NotYet(failure) = self.repeat_step(step, LifePart::Test)? {
                return Err(PublishError::CloneCommand(failure));
            }
        }
        Ok(())
    }

    /// An interrupt ends the test, but not the deletion.
    fn run_delete(&mut self) -> Result<(), PublishError> {
        self.printer
            .print_note(&format!("deleting {}", self.clone.clone));
        self.interrupts = InterruptWatch::start().map_err(|source| ExecError {
            program: PathBuf::from(&self.clone.program),
            source,
        })?;
        let steps = &self.clone.delete;
        let deletion = split_deletion(steps).filter(|it| !self.given.contains_key(it.name));
        let Some(deletion) = deletion else {
            return self.delete_machine(steps);
        };

        self.found.clear();
        self.delete_machine(deletion.before)?;
        self.find_machines(deletion.find)?;
        // Several runs of the same name may have left a machine each. One that stays does not spare the others.
        let mut ended = Ok(());
        for machine in std::mem::take(&mut self.found) {
            self.given = BTreeMap::from([(deletion.name.to_owned(), machine)]);
            let deleted = self.delete_machine(deletion.after);
            ended = ended.and(deleted);
        }
        ended
    }

    fn find_machines(&mut self, find: &'a CloneStep) -> Result<(), PublishError> {
        if let StepEnd::NotYet(failure) = self.repeat_step(find, LifePart::Delete)? {
            return Err(PublishError::CloneCommand(failure));
        }
        if self.found.is_empty() {
            let clone = &self.clone.clone;
            self.printer
                .print_note(&format!("there is no machine {clone}"));
        }
        Ok(())
    }

    /// A step that gives no value ends the deletion, unless what it asks for is gone.
    fn delete_machine(&mut self, steps: &'a [CloneStep]) -> Result<(), PublishError> {
        let clone = &self.clone.clone;
        for step in steps {
            if let Some((name, _)) = &step.gives
                && self.given.contains_key(name)
            {
                continue;
            }
            match self.repeat_step(step, LifePart::Delete)? {
                StepEnd::Done => {}
                StepEnd::Settled => continue,
                StepEnd::NotYet(failure) => return Err(PublishError::CloneCommand(failure)),
            }
            if let Some((name, _)) = &step.gives
                && !self.given.contains_key(name)
            {
                self.printer
                    .print_note(&format!("there is no machine {clone}"));
                return Ok(());
            }
        }
        Ok(())
    }

    /// Runs a command until it is done, as long as its patience lasts.
    fn repeat_step(
        &mut self,
        step: &'a CloneStep,
        part: LifePart,
    ) -> Result<StepEnd, PublishError> {
        let start = Instant::now();
        loop {
            self.wait(Duration::ZERO, part)?;
            let output = self.run_once(step, part.on_interrupt())?;
            let (ended, passes) = match output {
                Ok(output) => (self.read_output(step, &output)?, true),
                Err((failure, passes)) => (StepEnd::NotYet(failure), passes),
            };
            let StepEnd::NotYet(failure) = ended else {
                return Ok(ended);
            };

            let every = step.patience.as_ref().filter(|patience| {
                passes && start.elapsed() < Duration::from_secs(patience.seconds)
            });
            let Some(patience) = every else {
                // A deletion that finds no machine has nothing to do.
                let finds = passes && step.gives.is_some() && part == LifePart::Delete;
                return Ok(if finds {
                    StepEnd::Done
                } else {
                    StepEnd::NotYet(failure)
                });
            };
            self.wait(Duration::from_secs(patience.every), part)?;
        }
    }

    fn wait(&mut self, time: Duration, part: LifePart) -> Result<(), PublishError> {
        if self.interrupts.wait(time) >= part.most_interrupts() {
            return Err(PublishError::Interrupted);
        }
        Ok(())
    }

    /// The output of a command that succeeded. Else the message, and whether the error passes with time.
    fn run_once(
        &mut self,
        step: &CloneStep,
        on_interrupt: OnInterrupt,
    ) -> Result<Result<CloneLines, (String, bool)>, PublishError> {
        let mut arguments = Vec::new();
        for argument in &step.arguments {
            arguments.push(argument.resolve(&self.given));
        }
        let line = format_command(&self.clone.program, &arguments);
        self.printer.print_note(&line);
        let input = step.input.as_ref();
        let program = exec::resolve_program(Path::new(&self.clone.program));
        let run = Run {
            input: input.map(|it| it.resolve(&self.given, &self.password)),
            on_interrupt,
            ..Run::new(program, &arguments)
        };
        let printed = exec::collect_lines(&run, |line| self.printer.print_foreign_line(line))?;
        let outcome = printed.outcome;
        let mut output = CloneLines::new(printed);
        if outcome.interrupted && (on_interrupt == OnInterrupt::Pass || !outcome.success) {
            return Err(PublishError::Interrupted);
        }
        output.is_settled =
            !outcome.success && find_settled(&step.already, &output.all, self.printer).is_some();
        if outcome.success || output.is_settled {
            return Ok(Ok(output));
        }

        let patience = step.patience.as_ref();
        let mut passing = patience.into_iter().flat_map(|patience| &patience.errors);
        let passes = passing.any(|text| output.all.iter().any(|line| line.contains(text)));
        let last = indent_lines(list_last_lines(&output.all));
        Ok(Err((format!("`{line}` failed{last}"), passes)))
    }

    /// Keeps the value of a command, and judges its verdict.
    fn read_output(
        &mut self,
        step: &CloneStep,
        output: &CloneLines,
    ) -> Result<StepEnd, PublishError> {
        if output.is_settled {
            return Ok(StepEnd::Settled);
        }
        if let Some((name, pattern)) = &step.gives {
            let lines = output.stdout.iter().map(|line| line.trim());
            let values = lines.filter(|line| pattern.is_match(line));
            self.found = values.map(str::to_owned).collect();
            let Some(value) = self.found.first() else {
                let last = indent_lines(list_last_lines(&output.all));
                return Ok(StepEnd::NotYet(format!(
                    "no line of the output is `{pattern}`{last}"
                )));
            };
            self.given.insert(name.clone(), value.clone());
        }
        let Some(pattern) = &step.verdict else {
            return Ok(StepEnd::Done);
        };
        let lines = output.stdout.iter();
        let verdicts = lines.filter_map(|line| pattern.captures(line));
        let Some(verdict) = verdicts.last() else {
            let message = format!("no line of the output has the verdict, `{pattern}`");
            let last = indent_lines(list_last_lines(&output.all));
            return Ok(StepEnd::NotYet(format!("{message}{last}")));
        };
        match verdict.name(VERDICT_GROUP).map(|code| code.as_str()) {
            Some("0") => Ok(StepEnd::Done),
            code => Err(PublishError::NotPassed {
                image: self.clone.id.clone(),
                code: code.unwrap_or_default().to_owned(),
                lines: list_last_lines(&output.stdout).to_vec(),
            }),
        }
    }
}
