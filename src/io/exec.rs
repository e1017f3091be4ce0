//! Child processes: lines as they come, and interrupts handed on so that the child can clean up.

#![expect(
    clippy::disallowed_methods,
    reason = "the one owner of process spawning"
)]

use super::interrupt::watch_interrupts;
use super::signals::{self, Forwarding, SignalSet, forward_signals};
use crate::base::interrupt::is_requested;
use crate::base::secret::Secret;
use crate::diagnostic::classify;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::thread;
use std::time::Duration;

/// Longest line of a program that is read as one; the rest follows as further lines.
const LONGEST_LINE: u64 = 16 << 10;
/// Lines that wait to be shown: a program that prints more waits, too.
const MOST_WAITING: usize = 256;

/// Held by who writes a program, and alone by who starts one.
static STARTS: RwLock<()> = RwLock::new(());

/// Programs that run, watches that wait, and those of them that ended by an interrupt: this process ends after them.
static INTERRUPTIBLE: AtomicUsize = AtomicUsize::new(0);

/// Whether a program that runs, or who waits for one, takes interrupts or took one.
pub fn handles_interrupts() -> bool {
    INTERRUPTIBLE.load(Ordering::SeqCst) > 0
}

/// Part of the environment of this process that a child gets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Inherited {
    #[default]
    Everything,
    Nothing,
}

/// Reaction to an interrupt of the user while a program runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnInterrupt {
    /// The first is passed to the child, the second kills it.
    #[default]
    Pass,
    /// The child does not hear of the first: it cleans up already. The second kills it.
    Finish,
}

/// A program to run.
#[derive(Debug, Clone, Default)]
pub struct Run {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    pub folder: PathBuf,
    /// Part of the environment of this process that the child gets, under `environment`.
    pub inherited: Inherited,
    pub environment: BTreeMap<String, OsString>,
    /// The child may ask questions on the terminal.
    pub interactive: bool,
    /// Standard input of the child: a secret has no better way.
    pub input: Option<Secret>,
    pub on_interrupt: OnInterrupt,
}

impl Run {
    /// A program in the current folder, with the environment of this process.
    pub fn new(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            folder: PathBuf::from("."),
            ..Self::default()
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("starting {}: {source}", .program.display())]
pub struct ExecError {
    pub program: PathBuf,
    pub source: io::Error,
}

classify!(ExecError => PROGRAM_NOT_STARTED);

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    pub success: bool,
    /// Exit code, or none where a signal ended it.
    pub code: Option<i32>,
    /// The user interrupted it.
    pub interrupted: bool,
}

/// Where a program wrote a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// A program that ended, with the lines of its output in their order.
#[derive(Debug)]
pub struct Printed {
    pub outcome: Outcome,
    pub lines: Vec<(Stream, String)>,
}

impl Printed {
    /// Lines of one stream, each with its end.
    pub fn join_stream(&self, stream: Stream) -> String {
        let lines = self.lines.iter().filter(|(from, _)| *from == stream);
        lines.map(|(_, line)| format!("{line}\n")).collect()
    }

    /// Lines of both streams.
    pub fn into_lines(self) -> Vec<String> {
        self.lines.into_iter().map(|(_, line)| line).collect()
    }
}

enum Event {
    Line(Stream, String),
    Closed,
    Interrupt,
}

/// Runs a program to its end, giving every line of its output to `on_line`.
///
/// The first interrupt is passed to the child, which then cleans up, unless `on_interrupt` says otherwise; the second
/// kills it. After one that came before the start, the child is not started.
///
/// # Errors
/// The program cannot be started.
pub fn run_program(run: &Run, mut on_line: impl FnMut(Stream, &str)) -> Result<Outcome, ExecError> {
    let failed = |source| ExecError {
        program: run.program.clone(),
        source,
    };
    let (sender, events) = mpsc::sync_channel(MOST_WAITING);
    let signals = forward_interrupts(&sender).map_err(failed)?;
    INTERRUPTIBLE.fetch_add(1, Ordering::SeqCst);
    let ended = wait_program(run, (sender, events), &mut on_line);
    signals.close();
    if !ended.as_ref().is_ok_and(|outcome| outcome.interrupted) {
        INTERRUPTIBLE.fetch_sub(1, Ordering::SeqCst);
    }
    ended.map_err(failed)
}

/// Runs a program to its end and keeps its output; `on_line` gets every line as it comes.
///
/// # Errors
/// The program cannot be started.
pub fn collect_lines(run: &Run, mut on_line: impl FnMut(&str)) -> Result<Printed, ExecError> {
    let mut lines = Vec::new();
    let outcome = run_program(run, |stream, line| {
        on_line(line);
        lines.push((stream, line.to_owned()));
    })?;
    Ok(Printed { outcome, lines })
}

fn wait_program(
    run: &Run,
    (sender, events): (SyncSender<Event>, Receiver<Event>),
    on_line: &mut dyn FnMut(Stream, &str),
) -> io::Result<Outcome> {
    if is_requested() && run.on_interrupt == OnInterrupt::Pass {
        return Ok(Outcome {
            success: false,
            code: None,
            interrupted: true,
        });
    }
    let mut child = spawn_child(run)?;
    if let (Some(bytes), Some(mut pipe)) = (&run.input, child.stdin.take()) {
        // A child that did not want it says so by its end.
        let _ = pipe.write_all(bytes.reveal());
    }
    let mut open = 0;
    open += read_lines(Stream::Stdout, child.stdout.take(), &sender);
    open += read_lines(Stream::Stderr, child.stderr.take(), &sender);
    drop(sender);
    let mut interrupts = 0_u32;
    while open > 0 {
        match events.recv() {
            Ok(Event::Line(stream, line)) => on_line(stream, &line),
            Ok(Event::Closed) => open -= 1,
            Ok(Event::Interrupt) => {
                interrupts += 1;
                if interrupts > 1 || run.on_interrupt == OnInterrupt::Pass {
                    signals::pass_interrupt(&mut child, interrupts, run.interactive);
                }
            }
            Err(_) => break,
        }
    }
    let status = child.wait()?;
    Ok(exit_outcome(status, interrupts > 0))
}

/// Sends an event for each interrupt. Those that come when nobody receives any more are handled as before the first
/// program.
fn forward_interrupts(sender: &SyncSender<Event>) -> io::Result<Forwarding> {
    watch_interrupts();
    let sender = sender.clone();
    forward_signals(SignalSet::EndOrHangUp, move || {
        sender.send(Event::Interrupt).is_ok()
    })
}

/// Interrupts of the user from now on, also while no program runs: without it they end this process there.
#[derive(Debug)]
pub struct InterruptWatch {
    events: Receiver<Event>,
    signals: Forwarding,
    count: usize,
}

impl InterruptWatch {
    /// # Errors
    /// The system refuses to hand the signals over.
    pub fn start() -> io::Result<Self> {
        let (sender, events) = mpsc::sync_channel(MOST_WAITING);
        let signals = forward_interrupts(&sender)?;
        INTERRUPTIBLE.fetch_add(1, Ordering::SeqCst);
        Ok(Self {
            events,
            signals,
            count: 0,
        })
    }

    /// Waits until the time is over or an interrupt comes. The number of interrupts since the start.
    pub fn wait(&mut self, time: Duration) -> usize {
        if self.events.recv_timeout(time).is_ok() {
            self.count += 1;
        }
        self.count
    }
}

impl Drop for InterruptWatch {
    fn drop(&mut self) {
        self.signals.close();
        if self.count == 0 {
            INTERRUPTIBLE.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

fn exit_outcome(status: ExitStatus, interrupted: bool) -> Outcome {
    Outcome {
        success: status.success(),
        code: status.code(),
        interrupted,
    }
}

fn spawn_child(run: &Run) -> io::Result<Child> {
    let mut command = Command::new(&run.program);
    if run.inherited == Inherited::Nothing {
        command.env_clear();
    }
    command
        .args(&run.arguments)
        .current_dir(&run.folder)
        .envs(&run.environment)
        .stdin(match (&run.input, run.interactive) {
            (Some(_), _) => Stdio::piped(),
            (None, true) => Stdio::inherit(),
            (None, false) => Stdio::null(),
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    #[cfg(unix)]
    if !run.interactive {
        // A group of its own: the terminal's interrupt reaches us alone, and the child once.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
    }
    // The child is another program when this returns.
    let _nobody_writes = STARTS.write().unwrap_or_else(PoisonError::into_inner);
    command.spawn()
}

/// No program is started as long as the value lives. Any number of threads may hold one.
pub(super) fn hold_starts() -> RwLockReadGuard<'static, ()> {
    STARTS.read().unwrap_or_else(PoisonError::into_inner)
}

fn read_lines(
    stream: Stream,
    pipe: Option<impl Read + Send + 'static>,
    sender: &SyncSender<Event>,
) -> u32 {
    let Some(pipe) = pipe else { return 0 };
    let sender = sender.clone();
    thread::spawn(move || {
        let mut reader = BufReader::new(pipe);
        let mut line = Vec::new();
        while reader
            .by_ref()
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line)
            .is_ok_and(|read| read > 0)
        {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            line.clear();
            if sender.send(Event::Line(stream, text)).is_err() {
                return;
            }
        }
        // The receiver may be gone already; then nobody waits for the end.
        let _ = sender.send(Event::Closed);
    });
    1
}

/// Ends of names that `PATHEXT` has on a new Windows and this program can start. Windows starts no file without one:
/// beside `tool.cmd` may lie `tool`, a script for other systems.
#[cfg(windows)]
const ENDS: &[&str] = &[".com", ".exe", ".bat", ".cmd"];
#[cfg(not(windows))]
const ENDS: &[&str] = &["", ".exe"];

/// Looks a program up as a shell does.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    find_program_in(std::env::split_paths(&paths), name, ENDS)
}

fn find_program_in(
    folders: impl Iterator<Item = PathBuf>,
    name: &str,
    ends: &[&str],
) -> Option<PathBuf> {
    let has_end = ends
        .iter()
        .any(|end| !end.is_empty() && name.to_ascii_lowercase().ends_with(end));
    let ends = if has_end { &[""] } else { ends };
    folders
        .flat_map(|folder| {
            ends.iter()
                .map(move |end| folder.join(format!("{name}{end}")))
        })
        .find(|path| is_program(path))
}

/// The file of a program: a bare name is looked up as a shell does.
pub fn resolve_program(program: &Path) -> PathBuf {
    let bare = program.components().count() == 1 && !program.is_absolute();
    let found = program.to_str().filter(|_| bare).and_then(find_program);
    found.unwrap_or_else(|| program.to_owned())
}

/// Whether a program can be started under this name.
pub fn can_find(program: &Path) -> bool {
    is_program(&resolve_program(program))
}

/// Whether the path is a file that may be run.
#[cfg(unix)]
pub fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Whether the path is a file.
#[cfg(not(unix))]
pub fn is_program(path: &Path) -> bool {
    path.is_file()
}

#[cfg(all(test, unix))]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;
    use crate::io::fs::{FileError, write_program_with};

    fn write_and_start(folder: &Path, number: usize) -> Result<Outcome, ExecError> {
        let program = folder.join(format!("program-{number}"));
        // Of some size: what is written at once leaves others no time to start.
        let script = format!("#!/bin/sh\n{}", "#\n".repeat(1 << 20));
        let written = write_program_with::<FileError>(&program, |file| {
            file.write_all(script.as_bytes()).unwrap();
            Ok(())
        });
        written.unwrap();
        let run = Run {
            program,
            folder: folder.to_owned(),
            ..Run::default()
        };
        run_program(&run, |_, _| {})
    }

    /// A platform's program for Windows lies beside one for other systems.
    #[test]
    fn a_program_of_windows_has_an_end() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["tool", "tool.cmd", "packer.exe"] {
            let program = folder.path().join(name);
            write_program_with::<FileError>(&program, |_| Ok(())).unwrap();
        }
        let find = |name: &str, ends: &[&str]| {
            let folders = [folder.path().join("none"), folder.path().to_owned()];
            let found = find_program_in(folders.into_iter(), name, ends)?;
            Some(found.file_name().unwrap().to_str().unwrap().to_owned())
        };
        let windows = &[".com", ".exe", ".bat", ".cmd"];
        assert_eq!(find("tool", windows).as_deref(), Some("tool.cmd"));
        assert_eq!(find("packer", windows).as_deref(), Some("packer.exe"));
        assert_eq!(find("packer.exe", windows).as_deref(), Some("packer.exe"));
        assert_eq!(find("TOOL.CMD", windows), None);
        assert_eq!(find("tool", &["", ".exe"]).as_deref(), Some("tool"));
        assert_eq!(find("packer", &["", ".exe"]).as_deref(), Some("packer.exe"));
    }

    #[test]
    fn starts_programs_while_others_are_written() {
        let folder = tempfile::tempdir().unwrap();
        for round in 0..8 {
            thread::scope(|scope| {
                for number in 0..8 {
                    let folder = folder.path();
                    scope.spawn(move || {
                        let outcome = write_and_start(folder, round * 8 + number).unwrap();
                        assert!(outcome.success);
                    });
                }
            });
        }
    }
}
