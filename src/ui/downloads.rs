//! Progress of several downloads: a bar each and one for all on a terminal, else a line every few
//! seconds.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, MultiProgress, ProgressBar, ProgressStyle};

use crate::model::secret::mask_text;
use crate::model::text::escape_controls;

use super::{Printer, Verbosity};

/// All downloads of a run. Threads share it.
#[derive(Debug)]
pub struct Downloads {
    shown: Shown,
    files: usize,
    done: AtomicUsize,
    bytes: AtomicU64,
    /// Bytes in all, as far as sizes are known.
    total: u64,
}

#[derive(Debug)]
enum Shown {
    Silent,
    Bars { all: MultiProgress, overall: ProgressBar },
    Lines { last: Mutex<Instant> },
}

/// One download.
#[derive(Debug)]
pub struct Transfer<'a> {
    downloads: &'a Downloads,
    bar: Option<ProgressBar>,
    counted: u64,
}

const BETWEEN_LINES: Duration = Duration::from_secs(3);

impl Downloads {
    #[must_use]
    pub fn new(printer: &Printer, files: usize, total: u64) -> Self {
        let shown = if printer.verbosity == Verbosity::Quiet {
            Shown::Silent
        } else if printer.terminal {
            let all = MultiProgress::new();
            let overall = all.add(ProgressBar::new(total));
            overall.set_style(parse_style("{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}"));
            Shown::Bars { all, overall }
        } else {
            Shown::Lines { last: Mutex::new(Instant::now()) }
        };
        Self { shown, files, done: AtomicUsize::new(0), bytes: AtomicU64::new(0), total }
    }

    /// Nothing is shown.
    #[must_use]
    pub fn new_silent() -> Self {
        Self { shown: Shown::Silent, files: 0, done: AtomicUsize::new(0), bytes: AtomicU64::new(0), total: 0 }
    }

    #[must_use]
    pub fn start_transfer(&self, name: &str, size: Option<u64>) -> Transfer<'_> {
        let bar = match &self.shown {
            Shown::Bars { all, overall } => {
                let bar =
                    all.insert_before(overall, size.map_or_else(ProgressBar::no_length, ProgressBar::new));
                bar.set_style(parse_style("  {msg:32!} {bytes:>12} {bytes_per_sec}"));
                bar.set_message(escape_controls(name).into_owned());
                Some(bar)
            }
            _ => None,
        };
        Transfer { downloads: self, bar, counted: 0 }
    }

    /// Something worth a line.
    pub fn print_line(&self, text: &str) {
        match &self.shown {
            Shown::Silent => {}
            // A terminal that is gone shows nothing more.
            Shown::Bars { all, .. } => drop(all.println(escape_controls(&mask_text(text)))),
            Shown::Lines { .. } => Printer::print_line(text),
        }
    }

    pub fn finish(&self) {
        if let Shown::Bars { all, .. } = &self.shown {
            drop(all.clear());
        }
    }

    fn add_bytes(&self, bytes: u64) {
        let sum = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        match &self.shown {
            Shown::Silent => {}
            Shown::Bars { overall, .. } => {
                overall.set_length(self.total.max(sum));
                overall.set_position(sum);
            }
            Shown::Lines { last } => {
                let Ok(mut last) = last.try_lock() else { return };
                if last.elapsed() >= BETWEEN_LINES {
                    *last = Instant::now();
                    let done = self.done.load(Ordering::Relaxed);
                    let of = if self.total > sum {
                        format!(" of {}", HumanBytes(self.total))
                    } else {
                        String::new()
                    };
                    Printer::print_line(&format!(
                        "fetched {done} of {} files, {}{of}",
                        self.files,
                        HumanBytes(sum)
                    ));
                }
            }
        }
    }
}

fn parse_style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Transfer<'_> {
    pub fn add(&mut self, bytes: u64) {
        self.counted += bytes;
        self.downloads.add_bytes(bytes);
        if let Some(bar) = &self.bar {
            bar.inc(bytes);
        }
    }

    /// The file begins anew.
    pub fn restart(&mut self) {
        self.downloads.bytes.fetch_sub(self.counted, Ordering::Relaxed);
        self.counted = 0;
        if let Some(bar) = &self.bar {
            bar.set_position(0);
        }
    }

    pub fn finish_transfer(self) {
        self.downloads.done.fetch_add(1, Ordering::Relaxed);
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
