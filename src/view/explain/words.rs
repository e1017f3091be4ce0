//! Words that the program itself prints: codes, proofs, verdicts, phases.

use std::collections::BTreeMap;

use super::NameIndex;

use crate::base::code::TABLES;
use crate::base::json::parse_foreign;

const NAMES: &str = include_str!("../names.json");

type Sections = BTreeMap<String, BTreeMap<String, String>>;

/// Kind → name → meaning, without codes.
///
/// # Panics
/// Never: the file is part of the program, and a test reads it.
pub fn read_words() -> Sections {
    parse_foreign(NAMES.as_bytes()).expect("src/view/names.json has texts in two levels")
}

impl NameIndex {
    pub(super) fn add_words(&mut self) {
        for (kind, names) in read_words() {
            for (name, meaning) in names {
                self.add_word(find_kind(&kind), &name, meaning);
            }
        }
        for table in TABLES {
            for (code, meaning) in table.rows {
                self.add_word(table.kind, code.as_str(), (*meaning).to_owned());
            }
        }
    }

    fn add_word(&mut self, kind: &'static str, name: &str, meaning: String) {
        self.add(kind, name, vec![meaning], "derived: defined by imagegen");
    }
}

/// The section's title as an explanation holds it.
fn find_kind(title: &str) -> &'static str {
    const KINDS: &[&str] = &[
        "class of errors",
        "proof",
        "verdict",
        "confidence",
        "delivery",
        "join",
        "phase",
        "scope",
        "doctor check",
    ];
    KINDS.iter().find(|kind| **kind == title).unwrap_or(&"word")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_have_their_kinds_and_names_their_order() {
        let raw: serde_json::Value = parse_foreign(NAMES.as_bytes()).expect("JSON");
        for (kind, names) in raw.as_object().expect("sections") {
            assert_ne!(find_kind(kind), "word", "{kind}");
            for (name, meaning) in names.as_object().expect("names") {
                let meaning = meaning.as_str().expect("text");
                assert!(
                    meaning.ends_with('.') && meaning.len() < 160,
                    "{name}: {meaning}"
                );
            }
        }
    }
}
