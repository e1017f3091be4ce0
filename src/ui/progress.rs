//! Progress of something long.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;

use super::events::{EventKind, LineForm, create_event, format_line};
use super::print_labelled;
use super::sink::Sink;
use crate::base::secret::mask_text;
use crate::base::text::escape_controls;

/// See [`super::Printer::start_progress`].
#[derive(Debug)]
pub enum Progress {
    Silent,
    InPlace(ProgressBar),
    Lines {
        last: Option<Instant>,
        lines: LineSink,
    },
}

/// Place and form of lines that say what is happening.
#[derive(Debug, Clone)]
pub struct LineSink {
    pub(super) form: LineForm,
    /// The image that they are about, if there are several.
    pub(super) image: Option<String>,
    pub(super) sink: Sink,
}

impl Progress {
    /// Shows the present step.
    pub fn show_status(&mut self, text: &str) {
        match self {
            Self::Silent => {}
            Self::InPlace(bar) => bar.set_message(escape_controls(&mask_text(text)).into_owned()),
            Self::Lines { last, lines } => {
                let now = Instant::now();
                if last.is_none_or(|last| now.duration_since(last) >= Duration::from_secs(3)) {
                    print_progress(lines, text);
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
            Self::Lines { lines, .. } => print_progress(lines, text),
        }
    }

    pub fn finish(self) {
        if let Self::InPlace(bar) = self {
            bar.finish_and_clear();
        }
    }
}

/// A line about what is happening now.
pub(super) fn print_progress(lines: &LineSink, text: &str) {
    match lines.form {
        LineForm::Json => {
            let event = create_event(EventKind::Progress, text, lines.image.clone());
            lines.sink.write_line(format_line(&event));
        }
        LineForm::Text => print_labelled(&lines.sink, "", text),
    }
}
