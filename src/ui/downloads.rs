//! Progress of several downloads: a line each and one for all on a terminal, else a line every few
//! seconds.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, MultiProgress, ProgressBar, ProgressStyle};

use crate::base::text::escape_controls;

use super::progress::print_progress;
use super::{LineSink, Printer, Verbosity};

/// All downloads of a run. Threads share it.
#[derive(Debug)]
pub struct Downloads {
    shown: ProgressView,
    verbose: bool,
    counts: Counts,
    start: Instant,
}

/// Files and bytes that came, and all of them.
#[derive(Debug, Default)]
struct Counts {
    files: usize,
    done: AtomicUsize,
    bytes: AtomicU64,
    /// Bytes of the files whose size is known.
    known: AtomicU64,
    /// Files whose size is not known yet: without them there is no total.
    unknown: AtomicUsize,
}

#[derive(Debug)]
enum ProgressView {
    Silent,
    Bars {
        all: MultiProgress,
        overall: ProgressBar,
    },
    Lines {
        last: Mutex<Instant>,
        lines: LineSink,
    },
}

/// One download.
#[derive(Debug)]
pub struct Transfer<'a> {
    downloads: &'a Downloads,
    bar: Option<ProgressBar>,
    name: String,
    counted: u64,
    size: Option<u64>,
}

const BETWEEN_LINES: Duration = Duration::from_secs(3);

impl Counts {
    fn new(sizes: &[Option<u64>]) -> Self {
        Self {
            files: sizes.len(),
            known: AtomicU64::new(sizes.iter().flatten().sum()),
            unknown: AtomicUsize::new(sizes.iter().filter(|size| size.is_none()).count()),
            ..Self::default()
        }
    }

    /// Bytes in all, once every size is known.
    fn total(&self) -> Option<u64> {
        (self.unknown.load(Ordering::Relaxed) == 0).then(|| self.known.load(Ordering::Relaxed))
    }

    /// The server says how large a file is.
    fn learn_size(&self, old: Option<u64>, size: u64) {
        match old {
            Some(old) => drop(self.known.fetch_sub(old, Ordering::Relaxed)),
            None => drop(self.unknown.fetch_sub(1, Ordering::Relaxed)),
        }
        self.known.fetch_add(size, Ordering::Relaxed);
    }

    fn format(&self, elapsed: Duration) -> String {
        let bytes = self.bytes.load(Ordering::Relaxed);
        let done = self.done.load(Ordering::Relaxed);
        let total = self
            .total()
            .map_or_else(String::new, |total| format!(" of {}", HumanBytes(total)));
        let speed = bytes.checked_div(elapsed.as_secs());
        let speed = speed.map_or_else(String::new, |speed| format!(", {}/s", HumanBytes(speed)));
        format!(
            "{done} of {} files, {}{total}{speed}",
            self.files,
            HumanBytes(bytes)
        )
    }
}

impl Downloads {
    /// `sizes` has an entry for each file: its size, as far as it is known.
    pub fn new(printer: &Printer, sizes: &[Option<u64>]) -> Self {
        let shown = if printer.verbosity == Verbosity::Quiet {
            ProgressView::Silent
        } else if printer.terminal {
            let all = MultiProgress::new();
            // `wide_msg` is cut at the end of the line, so a narrow terminal never wraps.
            let overall = all.add(ProgressBar::no_length());
            overall.set_style(parse_style("{wide_msg}"));
            ProgressView::Bars { all, overall }
        } else {
            ProgressView::Lines {
                last: Mutex::new(Instant::now()),
                lines: printer.line_sink(),
            }
        };
        let verbose = printer.verbosity == Verbosity::Verbose;
        Self {
            shown,
            verbose,
            counts: Counts::new(sizes),
            start: Instant::now(),
        }
    }

    /// Nothing is shown.
    pub fn new_silent() -> Self {
        let counts = Counts::default();
        Self {
            shown: ProgressView::Silent,
            verbose: false,
            counts,
            start: Instant::now(),
        }
    }

    /// A file that is there already.
    pub fn skip_file(&self, name: &str, size: Option<u64>) {
        self.counts.learn_size(size, 0);
        self.counts.done.fetch_add(1, Ordering::Relaxed);
        self.print_detail(&format!("{name}: in the store"));
    }

    #[must_use]
    pub fn start_transfer(&self, name: &str, size: Option<u64>) -> Transfer<'_> {
        let bar = match &self.shown {
            ProgressView::Bars { all, overall } => {
                let bar = all.insert_before(overall, ProgressBar::no_length());
                bar.set_style(parse_style("  {wide_msg}"));
                Some(bar)
            }
            _ => None,
        };
        Transfer {
            downloads: self,
            bar,
            name: escape_controls(name).into_owned(),
            counted: 0,
            size,
        }
    }

    /// Something worth a line.
    pub fn print_line(&self, text: &str) {
        match &self.shown {
            ProgressView::Silent => {}
            // A terminal that is gone shows nothing more.
            ProgressView::Bars { all, .. } => drop(all.println(escape_controls(text))),
            ProgressView::Lines { lines, .. } => print_progress(lines, text),
        }
    }

    /// A line that `-v` adds.
    pub fn print_detail(&self, text: &str) {
        if self.verbose {
            self.print_line(text);
        }
    }

    pub fn finish(&self) {
        if let ProgressView::Bars { all, .. } = &self.shown {
            drop(all.clear());
        }
    }

    fn add_bytes(&self, bytes: u64) {
        self.counts.bytes.fetch_add(bytes, Ordering::Relaxed);
        match &self.shown {
            ProgressView::Silent => {}
            ProgressView::Bars { overall, .. } => {
                overall.set_message(self.counts.format(self.start.elapsed()));
            }
            ProgressView::Lines { last, lines } => {
                let Ok(mut last) = last.try_lock() else {
                    return;
                };
                if last.elapsed() >= BETWEEN_LINES {
                    *last = Instant::now();
                    let counts = self.counts.format(self.start.elapsed());
                    print_progress(lines, &format!("fetched {counts}"));
                }
            }
        }
    }
}

fn parse_style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Transfer<'_> {
    /// The server says how large the file is.
    pub fn announce_size(&mut self, size: u64) {
        self.downloads
            .counts
            .learn_size(self.size.replace(size), size);
    }

    pub fn add(&mut self, bytes: u64) {
        self.counted += bytes;
        self.downloads.add_bytes(bytes);
        if let Some(bar) = &self.bar {
            let size = self
                .size
                .map_or_else(String::new, |size| format!(" of {}", HumanBytes(size)));
            bar.set_message(format!("{}: {}{size}", self.name, HumanBytes(self.counted)));
        }
    }

    /// The file begins anew.
    pub fn restart(&mut self) {
        self.downloads
            .counts
            .bytes
            .fetch_sub(self.counted, Ordering::Relaxed);
        self.counted = 0;
    }

    pub fn finish_transfer(self) {
        self.downloads.counts.done.fetch_add(1, Ordering::Relaxed);
        self.downloads.print_detail(&format!(
            "{}: downloaded, {}",
            self.name,
            HumanBytes(self.counted)
        ));
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_what_all_files_are_and_never_what_came() {
        let counts = Counts::new(&[Some(1 << 20), None]);
        assert_eq!(counts.total(), None);
        counts.bytes.fetch_add(3 << 20, Ordering::Relaxed);
        assert_eq!(counts.format(Duration::ZERO), "0 of 2 files, 3.00 MiB");
        counts.learn_size(None, 4 << 20);
        assert_eq!(
            counts.format(Duration::ZERO),
            "0 of 2 files, 3.00 MiB of 5.00 MiB"
        );
        // The server knows better, and a file of the store is no part of the download.
        counts.learn_size(Some(4 << 20), 8 << 20);
        assert_eq!(counts.total(), Some(9 << 20));
        counts.learn_size(Some(1 << 20), 0);
        assert_eq!(
            counts.format(Duration::from_secs(3)),
            "0 of 2 files, 3.00 MiB of 8.00 MiB, 1.00 MiB/s"
        );
    }
}
