//! Finds secrets in output and puts `<sensitive>` in their place.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aho_corasick::AhoCorasick;

use super::forms::{SHORTEST, add_forms};
use crate::base::text::is_alphanumeric_or;
use crate::base::url::find_secret_parts;

const MASK: &str = "<sensitive>";

static KNOWN: Mutex<KnownSecrets> = Mutex::new(KnownSecrets {
    forms: BTreeSet::new(),
    searcher: None,
});

struct KnownSecrets {
    forms: BTreeSet<String>,
    /// Made of the forms when the first text after a new secret is masked.
    searcher: Option<AhoCorasick>,
}

impl KnownSecrets {
    /// A thread that panicked while it masked leaves whole forms.
    fn lock() -> MutexGuard<'static, Self> {
        KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find_forms(&mut self, text: &str) -> Vec<Range<usize>> {
        if self.forms.is_empty() {
            return Vec::new();
        }
        let forms = &self.forms;
        let searcher = self.searcher.get_or_insert_with(|| {
            AhoCorasick::new(forms).expect("forms of secrets are less than 2 GiB")
        });
        let matches = searcher.find_overlapping_iter(text);
        matches.map(|found| found.range()).collect()
    }

    /// Whether the end of a text may be the beginning of a secret.
    fn is_open(&self, text: &str) -> bool {
        let mut beginnings = self.forms.iter().flat_map(|form| {
            let lengths = SHORTEST..form.len();
            lengths.filter_map(|length| form.get(..length))
        });
        beginnings.any(|beginning| text.ends_with(beginning))
    }
}

/// Masks a value in every output from now on.
pub(super) fn mask_value(value: &[u8]) {
    let mut known = KnownSecrets::lock();
    add_forms(value, &mut known.forms);
    known.searcher = None;
}

/// A text with `<sensitive>` in the place of secrets, users of URLs and signatures in their queries.
pub fn mask_text(text: &str) -> Cow<'_, str> {
    let mut ranges = find_secret_parts(text);
    ranges.extend(KnownSecrets::lock().find_forms(text));
    if ranges.is_empty() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(replace_ranges(text, ranges))
    }
}

/// Masks output that comes line by line. A console wraps long texts: a line whose end may be the beginning of a secret
/// is held back until the next line shows it.
#[derive(Debug, Default)]
pub struct Masker {
    /// The last characters that were shown, too few to tell a secret by.
    before: String,
    held: Vec<String>,
}

impl Masker {
    /// The lines that can be shown now.
    pub fn push_line(&mut self, line: &str) -> Vec<String> {
        self.held.push(line.to_owned());
        if KnownSecrets::lock().is_open(&self.join_lines()) {
            return Vec::new();
        }
        self.finish()
    }

    /// The lines that were held back.
    pub fn finish(&mut self) -> Vec<String> {
        let joined = self.join_lines();
        let found = KnownSecrets::lock().find_forms(&joined);
        let (mut shown, mut start) = (Vec::new(), self.before.len());
        for line in self.held.drain(..) {
            let name = name_length(&line);
            let end = start + line.len() - name;
            let mut ranges = find_secret_parts(&line);
            for form in &found {
                if form.start < end && form.end > start {
                    let (first, last) = (form.start.max(start), form.end.min(end));
                    ranges.push(name + first - start..name + last - start);
                }
            }
            shown.push(replace_ranges(&line, ranges));
            start = end;
        }
        let last = joined.char_indices().nth_back(SHORTEST - 2);
        joined[last.map_or(0, |(at, _)| at)..].clone_into(&mut self.before);
        shown
    }

    fn join_lines(&self) -> String {
        let lines = self.held.iter().map(|line| &line[name_length(line)..]);
        std::iter::once(self.before.as_str()).chain(lines).collect()
    }
}

/// `==> imagegen.builder.node: ` and `    imagegen.builder.node: `, which Packer puts before each line.
fn name_length(line: &str) -> usize {
    let rest = line.trim_start_matches(['=', '-', '>', ' ']);
    match rest.split_once(": ") {
        Some((name, text)) if name.contains('.') && is_alphanumeric_or(name, "._-") => {
            line.len() - text.len()
        }
        _ => 0,
    }
}

fn replace_ranges(text: &str, mut ranges: Vec<Range<usize>>) -> String {
    ranges.sort_by_key(|range| range.start);
    let (mut shown, mut at) = (String::new(), 0);
    for range in ranges {
        if range.start >= at {
            shown.push_str(&String::from_utf8_lossy(&text.as_bytes()[at..range.start]));
            shown.push_str(MASK);
        }
        at = at.max(range.end);
    }
    shown.push_str(&String::from_utf8_lossy(&text.as_bytes()[at..]));
    shown
}
