//! Finds secrets in lines of output and puts `<sensitive>` in their place.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::PoisonError;

use super::KNOWN;
use super::forms::{SHORTEST, list_forms};
use super::view::{BytePlace, View, count_bytes, list_views};
use crate::base::url::find_secret_parts;

const MASK: &str = "<sensitive>";

/// Forms of secrets by their first bytes.
#[derive(Debug)]
pub(super) struct KnownSecrets(BTreeMap<[u8; SHORTEST], BTreeSet<Vec<u8>>>);

impl KnownSecrets {
    pub(super) const fn new() -> Self {
        Self(BTreeMap::new())
    }

    pub(super) fn add(&mut self, value: &[u8]) {
        for form in list_forms(value) {
            if let Some(first) = form.first_chunk::<SHORTEST>() {
                self.0.entry(*first).or_default().insert(form);
            }
        }
    }
}

/// Masks output that comes line by line. A secret may lie in several lines: a line whose end may be the beginning
/// of one is held back until the next line shows it.
#[derive(Debug, Default)]
pub struct Masker {
    /// The last lines that were given out, for a secret of which a few characters stand there.
    before: Vec<String>,
    held: Vec<String>,
}

/// Bytes of output that may hold the first characters of a secret, escaped.
const CONTEXT: usize = 32;

impl Masker {
    /// The lines that can be shown now.
    pub fn push_line(&mut self, line: &str) -> Vec<String> {
        self.held.push(line.to_owned());
        self.release(false)
    }

    /// The text that was held back.
    pub fn finish(&mut self) -> Vec<String> {
        self.release(true)
    }

    fn release(&mut self, all: bool) -> Vec<String> {
        let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
        let mut lines: Vec<&str> = Vec::new();
        lines.extend(self.before.iter().map(String::as_str));
        lines.extend(self.held.iter().map(String::as_str));
        let found = find_secrets(&lines, &known);
        let old = self.before.len();
        let open = found.open.filter(|_| !all).map(|line| line.max(old) - old);
        let count = open.unwrap_or(self.held.len());
        let shown = lines.iter().zip(&found.masked).skip(old).take(count);
        let shown = shown
            .map(|(line, ranges)| mask_ranges(line, ranges))
            .collect();
        self.before.extend(self.held.drain(..count));
        let first = first_context_line(&self.before);
        self.before.drain(..first);
        shown
    }
}

/// The first of the last lines that have enough characters between them.
fn first_context_line(lines: &[String]) -> usize {
    let mut size = 0;
    let mut first = 0;
    for (at, line) in lines.iter().enumerate().rev() {
        size += count_bytes(line);
        if size >= CONTEXT {
            first = at;
            break;
        }
    }
    first.max(lines.len().saturating_sub(CONTEXT))
}

/// A text with `<sensitive>` in the place of secrets, users of URLs and signatures in their queries.
pub fn mask_text(text: &str) -> Cow<'_, str> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    if known.0.is_empty() {
        let lines = text.split_inclusive('\n');
        return lines
            .map(|line| mask_ranges(line, &find_secret_parts(line)))
            .collect();
    }
    drop(known);

    let mut masker = Masker::default();
    let mut lines: Vec<String> = text
        .split('\n')
        .flat_map(|line| masker.push_line(line))
        .collect();
    lines.extend(masker.finish());
    Cow::Owned(lines.join("\n"))
}

struct SecretMatch {
    /// For each line the bytes to mask.
    masked: Vec<Vec<Range<usize>>>,
    /// The first line that ends in what may be the beginning of a secret.
    open: Option<usize>,
}

fn find_secrets(lines: &[&str], known: &KnownSecrets) -> SecretMatch {
    let mut found = SecretMatch {
        masked: lines.iter().map(|line| find_secret_parts(line)).collect(),
        open: None,
    };
    if known.0.is_empty() {
        return found;
    }
    for view in list_views(lines) {
        search_view(&view, known, &mut found);
    }
    found
}

fn search_view(view: &View, known: &KnownSecrets, found: &mut SecretMatch) {
    for (at, first) in view.bytes.windows(SHORTEST).enumerate() {
        let Some(forms) = first
            .try_into()
            .ok()
            .and_then(|first: [u8; SHORTEST]| known.0.get(&first))
        else {
            continue;
        };
        let rest = &view.bytes[at..];
        for form in forms {
            if rest.starts_with(form) {
                mark_places(&view.places[at..at + form.len()], &mut found.masked);
            } else if form.starts_with(rest) {
                let line = view.places[at].line;
                found.open = Some(found.open.map_or(line, |open| open.min(line)));
            }
        }
    }
}

fn mark_places(places: &[BytePlace], masked: &mut [Vec<Range<usize>>]) {
    for of_line in places.chunk_by(|one, other| one.line == other.line) {
        let (Some(first), Some(last)) = (of_line.first(), of_line.last()) else {
            continue;
        };
        masked[first.line].push(first.start..last.end);
    }
}

fn mask_ranges(line: &str, ranges: &[Range<usize>]) -> String {
    let mut ranges = ranges.to_vec();
    ranges.sort_by_key(|range| range.start);
    let (mut text, mut at) = (String::new(), 0);
    for range in ranges {
        if range.start >= at {
            text.push_str(&String::from_utf8_lossy(&line.as_bytes()[at..range.start]));
            text.push_str(MASK);
        }
        at = at.max(range.end);
    }
    text.push_str(&String::from_utf8_lossy(&line.as_bytes()[at..]));
    text
}
