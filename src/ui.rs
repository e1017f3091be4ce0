//! The user's terminal. Results go to stdout, everything else to stderr.

mod downloads;
mod events;
mod wrap;

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::base::choice::Format;
use crate::base::json;
use crate::base::secret::mask_text;
use crate::base::text::{escape_controls, escape_json_controls};
use crate::diagnostic::{Error, ErrorReport, InternalError, Result};

pub use downloads::{Downloads, Transfer};
pub use events::{
    EVENT_SCHEMA, EventKind, LineForm, OutputEvent, PipelineKind, QualityEntry, QualityLines,
    QualityLocation,
};
use events::{describe_quality, format_annotation, format_event, format_line};
use wrap::wrap_text;

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
}

/// Results of a verb that works on several images.
#[derive(Debug, Default)]
struct ImageResults {
    /// The image whose result comes next, if there are several.
    current: Option<String>,
    /// JSON results by image.
    values: Map<String, Value>,
}

impl Printer {
    /// `no_color` is the variable `NO_COLOR`, as the environment has it.
    pub fn new(
        format: Format,
        verbosity: Verbosity,
        no_color: bool,
        pipeline: Option<PipelineKind>,
    ) -> Self {
        let terminal = io::stderr().is_terminal() && format != Format::Json;
        Self {
            format,
            verbosity,
            color: terminal && !no_color,
            terminal,
            pipeline,
            images: Mutex::default(),
            failures: Mutex::default(),
        }
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
            return Self::write_result(&mask_text(&self.format_result(value, text)));
        };
        match self.format {
            Format::Json => {
                let value = serde_json::to_value(value).unwrap_or_default();
                self.lock_images().values.insert(image, value);
                Ok(())
            }
            Format::Text | Format::Markdown => {
                let section = self.format_result(value, || format!("# {image}\n{}\n", text()));
                Self::write_result(&mask_text(&section))
            }
        }
    }

    /// Begins the output of this image. Of several images, a result has a title in text, and JSON is one object.
    pub fn start_image(&self, name: &str, several: bool) {
        self.lock_images().current = several.then(|| name.to_owned());
    }

    /// Prints the JSON results of several images as one object.
    ///
    /// # Errors
    /// As [`Printer::print_result`].
    pub fn finish_images(&self) -> Result<()> {
        let Some(_) = self.lock_images().current.take() else {
            return Ok(());
        };
        match self.format {
            Format::Json => {
                let values = std::mem::take(&mut self.lock_images().values);
                self.print_result(&values, String::new)
            }
            Format::Text | Format::Markdown => Ok(()),
        }
    }

    fn current_image(&self) -> Option<String> {
        self.lock_images().current.clone()
    }

    /// A thread that panicked while it printed leaves a value that is whole.
    fn lock_images(&self) -> MutexGuard<'_, ImageResults> {
        self.images.lock().unwrap_or_else(PoisonError::into_inner)
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
        Self::write_result(&self.format_result(value, text))
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

    fn write_result(output: &str) -> Result<()> {
        match io::stdout().lock().write_all(output.as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(InternalError(format!("writing to stdout: {error}")).into())
            }
            _ => Ok(()),
        }
    }

    /// Something worth knowing that is no result.
    pub fn print_note(&self, text: &str) {
        if self.verbosity >= Verbosity::Normal {
            self.print_event(EventKind::Note, text);
        }
    }

    #[must_use]
    pub fn is_verbose(&self) -> bool {
        self.verbosity >= Verbosity::Verbose
    }

    /// A line that `-v` adds.
    pub fn print_detail(&self, text: &str) {
        if self.verbosity >= Verbosity::Verbose {
            self.print_event(EventKind::Detail, text);
        }
    }

    /// A line of another program, as it is.
    pub fn print_foreign_line(&self, text: &str) {
        if self.verbosity >= Verbosity::Normal {
            self.print_event(EventKind::Foreign, text);
        }
    }

    /// Warnings are said even when quiet: whoever does not want them redirects stderr.
    pub fn print_warning(&self, text: &str) {
        self.print_event(EventKind::Warning, text);
    }

    pub fn print_hint(&self, text: &str) {
        self.print_event(EventKind::Hint, text);
    }

    /// An error with its remedies: text with hints, or one JSON object. In a pipeline an annotation comes first.
    pub fn print_error(&self, error: &Error) {
        self.print_further_error(error);
        if LineForm::from(self.format) == LineForm::Text {
            for remedy in error.remedies() {
                self.print_hint(&remedy);
            }
        }
    }

    /// The same without hints: one of many errors of a kind.
    pub fn print_further_error(&self, error: &Error) {
        let report = ErrorReport::from_error(error);
        if let Some(pipeline) = self.pipeline {
            write_line(&format_annotation(pipeline, &report));
        }
        let mut failures = self.failures.lock();
        if let Ok(failures) = &mut failures {
            failures.push(describe_quality(&report));
        }
        match LineForm::from(self.format) {
            LineForm::Json => write_line(&format_line(&report)),
            LineForm::Text => {
                let image = self.current_image();
                let image = image.map_or_else(String::new, |image| format!("{image}: "));
                Self::print_labelled(&self.paint("31", "error: "), &format!("{image}{error}"));
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
            return write_line(&format_event(kind, text, self.current_image()));
        }
        match kind {
            EventKind::Warning => Self::print_labelled(&self.paint("33", "warning: "), text),
            EventKind::Hint => Self::print_labelled(&self.paint("36", "hint: "), text),
            EventKind::Note | EventKind::Detail | EventKind::Progress | EventKind::Foreign => {
                Self::print_labelled("", text);
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

    /// The text may quote a lockfile or a server: no control character and no secret of it reaches the terminal.
    fn print_labelled(label: &str, text: &str) {
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
        write_line(&line);
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
            form: self.format.into(),
        }
    }
}

/// A closed stderr cannot be reported.
fn write_line(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// A line about what is happening now.
fn print_progress(form: LineForm, text: &str) {
    match form {
        LineForm::Json => write_line(&format_event(EventKind::Progress, text, None)),
        LineForm::Text => Printer::print_labelled("", text),
    }
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

/// See [`Printer::start_progress`].
#[derive(Debug)]
pub enum Progress {
    Silent,
    InPlace(ProgressBar),
    Lines {
        last: Option<Instant>,
        form: LineForm,
    },
}

impl Progress {
    /// Shows the present step.
    pub fn show_status(&mut self, text: &str) {
        match self {
            Self::Silent => {}
            Self::InPlace(bar) => bar.set_message(escape_controls(&mask_text(text)).into_owned()),
            Self::Lines { last, form } => {
                let now = Instant::now();
                if last.is_none_or(|last| now.duration_since(last) >= Duration::from_secs(3)) {
                    print_progress(*form, text);
                    *last = Some(now);
                }
            }
        }
    }

    /// A milestone: stays on the screen.
    pub fn show_milestone(&mut self, text: &str) {
        match self {
            Self::Silent => {}
            Self::InPlace(bar) => bar.println(escape_controls(&mask_text(text))),
            Self::Lines { form, .. } => print_progress(*form, text),
        }
    }

    pub fn finish(self) {
        if let Self::InPlace(bar) = self {
            bar.finish_and_clear();
        }
    }
}
