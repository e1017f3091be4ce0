//! The user's terminal. Results go to stdout, everything else to stderr.

mod downloads;
mod events;
mod progress;
mod sink;
mod turns;
mod warnings;
mod wrap;

use std::io::{self, IsTerminal as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::base::choice::Format;
use crate::base::json;
use crate::base::secret::mask_text;
use crate::base::text::{escape_controls, escape_json_controls};
use crate::diagnostic::{Error, ErrorReport, Result};

pub use downloads::{Downloads, Transfer};
pub use events::{
    EventKind, LineForm, OutputEvent, PipelineKind, QualityEntry, QualityLines, QualityLocation,
};
use events::{create_event, describe_quality, format_annotation, format_line};
pub use progress::{LineSink, Progress};
use sink::{KeptOutput, KeptPieces, Sink};
pub use turns::{Next, run_in_order};
pub use warnings::WarnedImages;
use warnings::{SaidLines, WarningRows};
pub use wrap::wrap_for_stdout;
use wrap::wrap_text;

/// Schema of the results of a verb for several images.
pub const IMAGES_SCHEMA: &str = "imagegen.dev/images/v1";

/// How much is said on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    Quiet,
    Normal,
    Verbose,
}

/// Decides in one place what is printed where.
#[derive(Debug)]
pub struct Printer {
    pub format: Format,
    pub verbosity: Verbosity,
    color: bool,
    terminal: bool,
    /// The system that runs this program and shows errors beside the changed lines.
    pipeline: Option<PipelineKind>,
    images: Mutex<ImageResults>,
    failures: Mutex<Vec<QualityEntry>>,
    /// Of all images of the run.
    said: Arc<Mutex<SaidLines>>,
    sink: Sink,
}

/// Lines of one of several images at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageLines {
    /// With the results, when it is the image's turn.
    InTurn,
    /// At once, with the name of the image: a bake takes an hour.
    AtOnce,
}

/// Results of a verb that works on several images.
#[derive(Debug, Default)]
struct ImageResults {
    /// The image whose result comes next, if there are several.
    current: Option<String>,
    /// Members of the JSON object that were written.
    written: usize,
    warnings: WarningRows,
}

impl Printer {
    /// `no_color` is the variable `NO_COLOR`, as the environment has it.
    pub fn new(
        format: Format,
        verbosity: Verbosity,
        no_color: bool,
        pipeline: Option<PipelineKind>,
    ) -> Self {
        let terminal = shows_progress() && format != Format::Json;
        Self {
            format,
            verbosity,
            color: terminal && !no_color,
            terminal,
            pipeline,
            images: Mutex::default(),
            failures: Mutex::default(),
            said: Arc::default(),
            sink: Sink::Direct,
        }
    }

    /// A printer for one of several images at once.
    #[must_use]
    pub fn split(&self, name: &str, lines: ImageLines) -> Self {
        let kept = KeptPieces::default();
        let results = ImageResults {
            current: Some(name.to_owned()),
            ..ImageResults::default()
        };
        Self {
            format: self.format,
            verbosity: self.verbosity,
            color: self.color,
            terminal: false,
            pipeline: self.pipeline.filter(|_| lines == ImageLines::InTurn),
            images: Mutex::new(results),
            failures: Mutex::default(),
            said: Arc::clone(&self.said),
            sink: match lines {
                ImageLines::InTurn => Sink::Kept(kept),
                // A line of JSON names its image itself.
                ImageLines::AtOnce if self.format == Format::Json => {
                    Sink::Prefixed(String::new(), kept)
                }
                ImageLines::AtOnce => Sink::Prefixed(format!("{name} | "), kept),
            },
        }
    }

    /// Prints what an image's printer kept.
    ///
    /// # Errors
    /// As [`Printer::print_result`].
    pub fn print_kept(&self, image: &Self) -> Result<()> {
        if let Ok(mut failures) = self.failures.lock() {
            failures.extend(image.take_failures());
        }
        for piece in image.sink.kept().map(KeptPieces::take).unwrap_or_default() {
            match piece {
                KeptOutput::Result(text) => self.sink.write_result(text)?,
                KeptOutput::Member(text) => self.write_member(&text)?,
                KeptOutput::Line(line) => self.sink.write_line(line),
                KeptOutput::Warning(warning) => {
                    self.note_warning(image.current_image().unwrap_or_default(), warning);
                }
            }
        }
        Ok(())
    }

    /// A result: one JSON value, or the text.
    ///
    /// # Errors
    /// stdout is closed for another reason than that its reader has read enough.
    pub fn print_result<T: Serialize>(
        &self,
        value: &T,
        text: impl FnOnce() -> String,
    ) -> Result<()> {
        let Some(image) = self.current_image() else {
            let text = mask_text(&self.format_result(value, text)).into_owned();
            return self.sink.write_result(text);
        };
        if self.format == Format::Json {
            // A member of the object of all images, four blanks further in.
            let text = self
                .format_result(value, String::new)
                .replace('\n', "\n    ");
            let name = serde_json::Value::String(image);
            return self.write_member(&mask_text(&format!("{name}: {}", text.trim_end())));
        }
        let text = || format!("# {image}\n{}\n", text());
        let text = mask_text(&self.format_result(value, text)).into_owned();
        self.sink.write_result(text)
    }

    /// A summary of work that was done: in text it is left out where the user wants to be told of trouble alone.
    ///
    /// # Errors
    /// As [`Printer::print_result`].
    pub fn print_summary<T: Serialize>(
        &self,
        value: &T,
        text: impl FnOnce() -> String,
    ) -> Result<()> {
        if self.verbosity == Verbosity::Quiet && self.format == Format::Text {
            return Ok(());
        }
        self.print_result(value, text)
    }

    fn write_member(&self, text: &str) -> Result<()> {
        if let Some(kept) = self.sink.kept() {
            kept.push(KeptOutput::Member(text.to_owned()));
            return Ok(());
        }
        let mut images = self.lock_images();
        let before = match images.written {
            0 => format!("{{\n  \"schema\": \"{IMAGES_SCHEMA}\",\n  \"images\": {{"),
            _ => ",".to_owned(),
        };
        images.written += 1;
        drop(images);
        self.sink.write_result(format!("{before}\n    {text}"))
    }

    /// Begins the output of this image. Of several images, a result has a title in text, and JSON is one object.
    pub fn start_image(&self, name: &str, several: bool) {
        self.lock_images().current = several.then(|| name.to_owned());
    }

    /// Prints the JSON results of several images as one object, and then the warnings about them.
    ///
    /// # Errors
    /// As [`Printer::print_result`].
    pub fn finish_images(&self) -> Result<()> {
        let mut images = self.lock_images();
        let ImageResults {
            current,
            written,
            warnings,
        } = std::mem::take(&mut *images);
        drop(images);
        let finished = match (current, self.format, written) {
            (Some(_), Format::Json, 0) => self.sink.write_result(format!(
                "{{\n  \"schema\": \"{IMAGES_SCHEMA}\",\n  \"images\": {{}}\n}}\n"
            )),
            (Some(_), Format::Json, _) => self.sink.write_result("\n  }\n}\n".to_owned()),
            _ => Ok(()),
        };
        self.say_warnings(warnings);
        finished
    }

    fn current_image(&self) -> Option<String> {
        self.lock_images().current.clone()
    }

    /// A thread that panicked while it printed leaves a value that is whole.
    fn lock_images(&self) -> MutexGuard<'_, ImageResults> {
        self.images.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_said(&self) -> MutexGuard<'_, SaidLines> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A result for reading: on a terminal its lines break at blanks.
    ///
    /// # Errors
    /// As [`Printer::print_result`].
    pub fn print_listing<T: Serialize>(
        &self,
        value: &T,
        text: impl FnOnce() -> String,
    ) -> Result<()> {
        let width = terminal_size::terminal_size_of(io::stdout()).and_then(find_width);
        self.print_result(value, || match width {
            Some(width) => wrap_text(&text(), width),
            None => text(),
        })
    }

    /// A result that is secret itself and that the user asked for.
    ///
    /// # Errors
    /// As [`Printer::print_result`].
    pub fn print_secret_result<T: Serialize>(
        &self,
        value: &T,
        text: impl FnOnce() -> String,
    ) -> Result<()> {
        self.sink.write_result(self.format_result(value, text))
    }

    fn format_result<T: Serialize>(&self, value: &T, text: impl FnOnce() -> String) -> String {
        let output = match self.format {
            Format::Json => json::format_json(value),
            Format::Text | Format::Markdown => text(),
        };
        match self.format {
            Format::Json => escape_json_controls(&output).into_owned(),
            Format::Text | Format::Markdown => escape_controls(&output).into_owned(),
        }
    }

    /// Something worth knowing that is no result.
    pub fn print_note(&self, text: &str) {
        if self.verbosity >= Verbosity::Normal {
            self.print_event(EventKind::Note, text);
        }
    }

    pub fn is_verbose(&self) -> bool {
        self.verbosity >= Verbosity::Verbose
    }

    /// A line that `-v` adds.
    pub fn print_detail(&self, text: &str) {
        if self.verbosity >= Verbosity::Verbose {
            self.print_event(EventKind::Detail, text);
        }
    }

    /// The command that follows this run, as the last line and unbroken: it is pasted.
    pub fn print_next(&self, command: &str) {
        if self.verbosity >= Verbosity::Normal && self.format != Format::Json {
            self.print_note("next:");
            let command = escape_controls(&mask_text(command)).into_owned();
            self.sink.write_line(command);
        }
    }

    /// A line of another program, as it is.
    pub fn print_foreign_line(&self, text: &str) {
        if self.verbosity >= Verbosity::Normal {
            self.print_event(EventKind::Foreign, text);
        }
    }

    pub fn print_hint(&self, text: &str) {
        self.print_event(EventKind::Hint, text);
    }

    /// An error with its remedies: text with hints, or one JSON object. In a pipeline an annotation comes first.
    pub fn print_error(&self, error: &Error) {
        self.print_further_error(error);
        if LineForm::from(self.format) == LineForm::Text {
            for remedy in error.remedies() {
                self.print_error_hint(&remedy);
            }
        }
    }

    /// The same without hints: one of many errors of a kind.
    pub fn print_further_error(&self, error: &Error) {
        let report = ErrorReport {
            image: self.current_image(),
            ..ErrorReport::from_error(error)
        };
        if let Some(pipeline) = self.pipeline {
            self.sink.write_line(format_annotation(pipeline, &report));
        }
        let mut failures = self.failures.lock();
        if let Ok(failures) = &mut failures {
            failures.push(describe_quality(&report));
        }
        match LineForm::from(self.format) {
            LineForm::Json => self.sink.write_line(format_line(&report)),
            LineForm::Text => {
                let image = report.name_image();
                print_labelled(
                    &self.sink,
                    &self.paint("31", "error: "),
                    &format!("{image}{error}"),
                );
            }
        }
    }

    /// The errors that were printed, for a Code Quality report.
    pub fn take_failures(&self) -> Vec<QualityEntry> {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut failures)
    }

    fn print_event(&self, kind: EventKind, text: &str) {
        if LineForm::from(self.format) == LineForm::Json {
            let event = create_event(kind, text, self.current_image());
            return self.sink.write_line(format_line(&event));
        }
        match kind {
            EventKind::Warning => print_labelled(&self.sink, &self.paint("33", "warning: "), text),
            EventKind::Hint => print_labelled(&self.sink, &self.paint("36", "hint: "), text),
            EventKind::Note | EventKind::Detail | EventKind::Progress | EventKind::Foreign => {
                print_labelled(&self.sink, "", text);
            }
        }
    }

    /// Color repeats what the words say.
    fn paint(&self, code: &str, text: &str) -> String {
        if self.color {
            format!("\u{1b}[1;{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    /// Progress of something long: in place on a terminal, else a line every few seconds.
    #[must_use]
    pub fn start_progress(&self) -> Progress {
        if self.verbosity == Verbosity::Quiet {
            return Progress::Silent;
        }
        if self.terminal {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(200));
            return Progress::InPlace(bar);
        }
        Progress::Lines {
            last: None,
            lines: self.line_sink(),
        }
    }

    fn line_sink(&self) -> LineSink {
        LineSink {
            form: self.format.into(),
            image: self.current_image(),
            sink: self.sink.clone(),
        }
    }
}

/// Whether stderr is a terminal on which progress can be shown in place. The library shows none, and prints no line
/// beside it, where `TERM` is not set or `dumb`.
fn shows_progress() -> bool {
    io::stderr().is_terminal() && !ProgressDrawTarget::stderr().is_hidden()
}

/// The text may quote a lockfile or a server: no control character and no secret of it reaches the terminal.
fn print_labelled(sink: &Sink, label: &str, text: &str) {
    let text = mask_text(text);
    let text = escape_controls(&text);
    let line = match terminal_size::terminal_size_of(io::stderr()).and_then(find_width) {
        Some(width) => {
            // The label's color takes no room.
            let plain = strip_color(label);
            wrap_text(&format!("{plain}{text}"), width).replacen(&plain, label, 1)
        }
        None => format!("{label}{text}"),
    };
    sink.write_line(line);
}

/// Columns for text; none where a terminal is too narrow to break lines in.
fn find_width((width, _): (terminal_size::Width, terminal_size::Height)) -> Option<usize> {
    Some(usize::from(width.0)).filter(|width| *width >= 20)
}

/// A label without the codes of its color.
fn strip_color(label: &str) -> String {
    let mut parts = label.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part.split_once('m').map_or("", |(_, rest)| rest)
    })
}
