//! A verb for several images: which of them failed.

use crate::base::code::Code;
use crate::diagnostic::{Classify, ErrorClass};

/// Failures that a summary names; the lines before it name all.
const MOST_SHOWN: usize = 20;

/// Images whose verb failed.
#[derive(Debug, Default, thiserror::Error)]
#[error("{}{}", self.format_counts(), self.format_failures())]
pub struct SeveralFailed {
    /// Name and reason of the first.
    shown: Vec<(String, String)>,
    /// All that failed.
    failed: usize,
    count: usize,
    /// Images that failed or succeeded.
    ended: usize,
    /// The worst one.
    class: Option<ErrorClass>,
}

/// How bad a failure is: what no other input would mend comes first, then what says something of the bytes and of the
/// machine.
fn rank_class(class: ErrorClass) -> u8 {
    match class {
        ErrorClass::Interrupted => 8,
        ErrorClass::Internal => 7,
        ErrorClass::Verification => 6,
        ErrorClass::Checks => 5,
        ErrorClass::Packer => 4,
        ErrorClass::Render => 3,
        ErrorClass::Fetch => 2,
        ErrorClass::Selection => 1,
        ErrorClass::Usage => 0,
    }
}

/// A reason in one line: of a list, its title and the first entry.
fn shorten_reason(reason: &str) -> String {
    let mut lines = reason.lines();
    let title = lines.next().unwrap_or_default();
    let entry = lines.next().map(str::trim_start);
    let Some(entry) = entry.filter(|_| title.ends_with(':')) else {
        return title.to_owned();
    };
    let more = if lines.next().is_some() {
        "; and more"
    } else {
        ""
    };
    format!("{title} {entry}{more}")
}

impl SeveralFailed {
    fn format_failures(&self) -> String {
        let mut lines = Vec::new();
        for (name, reason) in &self.shown {
            lines.push(format!("\n  {name}: {reason}"));
        }
        let more = self.failed - self.shown.len();
        if more > 0 {
            lines.push(format!("\n  and {more} more"));
        }
        lines.concat()
    }

    /// `1 of 4 images failed, 2 were not begun:`
    fn format_counts(&self) -> String {
        let (failed, count) = (self.failed, self.count);
        match count.saturating_sub(self.ended) {
            0 => format!("{failed} of {count} images failed:"),
            1 => format!("{failed} of {count} images failed, 1 was not begun:"),
            others => format!("{failed} of {count} images failed, {others} were not begun:"),
        }
    }

    /// Counts an image whose verb ended, in whatever way.
    pub fn count_ended(&mut self) {
        self.ended += 1;
    }

    pub fn add(&mut self, name: &str, reason: &str, class: ErrorClass) {
        self.failed += 1;
        if self.shown.len() < MOST_SHOWN {
            self.shown.push((name.to_owned(), shorten_reason(reason)));
        }
        let worst = self
            .class
            .filter(|known| rank_class(*known) >= rank_class(class));
        self.class = Some(worst.unwrap_or(class));
    }

    /// # Errors
    /// An image failed.
    pub fn into_result(self, count: usize) -> std::result::Result<(), Self> {
        if self.failed == 0 {
            Ok(())
        } else {
            Err(Self { count, ..self })
        }
    }
}

impl Classify for SeveralFailed {
    fn class(&self) -> ErrorClass {
        self.class.unwrap_or(ErrorClass::Internal)
    }

    fn code(&self) -> Code {
        Code::SEVERAL_FAILED
    }
}
