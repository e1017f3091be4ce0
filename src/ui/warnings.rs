//! Warnings of a run for several images: equal ones are said once, with the images that they are for.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EventKind, LineForm, Printer, events};
use crate::diagnostic::Error;

/// Names of images that stand beside a warning; the others are counted.
const MOST_NAMES: usize = 5;

/// A warning about an image, and remedies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ImageWarning {
    text: String,
    hints: Vec<String>,
}

impl ImageWarning {
    /// Equal for images that have the same warning: the lockfile that it names has the name of its image.
    fn make_key(&self, image: &str) -> String {
        let text = format!("{}\n{}", self.text, self.hints.join("\n"));
        text.replace(&format!("{image}.lock.json"), "\0.lock.json")
    }
}

/// Images that have one warning, in the order of the definitions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct WarnedImages {
    /// All of them.
    pub count: usize,
    /// The first of them.
    pub first: Vec<String>,
}

#[derive(Debug)]
struct WarningRow {
    warning: ImageWarning,
    images: WarnedImages,
    /// The last image: it may have the warning twice.
    last: String,
}

/// Each warning of a run once, in the order in which the images have them.
#[derive(Debug, Default)]
pub(super) struct WarningRows {
    rows: Vec<WarningRow>,
    places: BTreeMap<String, usize>,
}

impl WarningRows {
    fn add(&mut self, image: String, warning: ImageWarning) {
        let key = warning.make_key(&image);
        let place = *self.places.entry(key).or_insert(self.rows.len());
        let Some(row) = self.rows.get_mut(place) else {
            let first = vec![image.clone()];
            return self.rows.push(WarningRow {
                warning,
                images: WarnedImages { count: 1, first },
                last: image,
            });
        };
        if row.last == image {
            return;
        }
        row.images.count += 1;
        if row.images.first.len() < MOST_NAMES {
            row.images.first.push(image.clone());
        }
        row.last = image;
    }
}

/// Lines of a run that were said already.
#[derive(Debug, Default)]
pub(super) struct SaidLines {
    /// Whether warnings are said when they come, too.
    warns_at_once: bool,
    lines: BTreeSet<String>,
}

impl Printer {
    /// For work that takes hours: a warning is also said at once, for the first image that has it.
    pub fn warn_at_once(&self) {
        self.lock_said().warns_at_once = true;
    }

    /// Warnings are said even when quiet: whoever does not want them redirects stderr.
    pub fn print_warning(&self, text: &str) {
        self.print_warning_with(text, Vec::new());
    }

    /// A warning of an error that does not end the run, with the remedies of the error.
    pub fn warn_of_error(&self, context: &str, error: &Error) {
        self.print_warning_with(&format!("{context}: {error}"), error.remedies());
    }

    fn print_warning_with(&self, text: &str, hints: Vec<String>) {
        let text = text.to_owned();
        let warning = ImageWarning { text, hints };
        let Some(image) = self.current_image() else {
            return self.say_warning(&warning, "", None, None);
        };
        let mut said = self.lock_said();
        let is_said = said.warns_at_once && said.lines.insert(warning.make_key(&image));
        drop(said);
        if is_said {
            // Lines of images at once begin with the name.
            let names = match self.sink.kept() {
                Some(_) => String::new(),
                None => format!("{image}: "),
            };
            self.say_warning(&warning, &names, Some(&image), None);
        }
        match self.sink.kept() {
            Some(kept) => kept.push(super::KeptOutput::Warning(warning)),
            None => self.note_warning(image, warning),
        }
    }

    /// Keeps a warning of an image until the end of the run.
    pub(super) fn note_warning(&self, image: String, warning: ImageWarning) {
        self.lock_images().warnings.add(image, warning);
    }

    /// Says each warning of the images once.
    pub(super) fn say_warnings(&self, warnings: WarningRows) {
        let at_once = self.lock_said().warns_at_once;
        for row in warnings.rows {
            let WarnedImages { count, first } = &row.images;
            let names = match count {
                1 if at_once => continue,
                _ if *count == first.len() => format!("{}: ", first.join(", ")),
                _ => format!("{count} images, such as {}: ", first[0]),
            };
            let (image, images) = match count {
                1 => (Some(row.last.as_str()), None),
                _ => (None, Some(&row.images)),
            };
            self.say_warning(&row.warning, &names, image, images);
        }
    }

    /// `names` is the beginning of the text, and the images are those of the event.
    fn say_warning(
        &self,
        warning: &ImageWarning,
        names: &str,
        image: Option<&str>,
        images: Option<&WarnedImages>,
    ) {
        let lines = warning.hints.iter().map(|hint| (EventKind::Hint, hint));
        for (kind, text) in std::iter::once((EventKind::Warning, &warning.text)).chain(lines) {
            if LineForm::from(self.format) == LineForm::Json {
                let mut event = events::create_event(kind, text, image.map(str::to_owned));
                event.images = images.cloned();
                self.sink.write_line(events::format_line(&event));
            } else if kind == EventKind::Warning {
                self.print_event(kind, &format!("{names}{text}"));
            } else {
                self.print_event(kind, text);
            }
        }
    }

    /// A hint about one of many errors: the same is said once for all images.
    pub(super) fn print_error_hint(&self, hint: &str) {
        if self.current_image().is_none() || self.lock_said().lines.insert(hint.to_owned()) {
            self.print_hint(hint);
        }
    }
}
