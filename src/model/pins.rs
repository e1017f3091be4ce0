//! The pins of a component: published digests, in a file of their own.

use memchr::memmem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::component::Pin;
use crate::base::json::{format_items, parse_embedded};
use crate::base::value::ComponentName;
use crate::base::version::Version;

/// `manifests/pins/<name>.json`: one pin a line, by version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PinFile {
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Component that the digests are of: the file's name without suffix.
    pub component: ComponentName,
    /// Every published digest that is known, including those that only tell drift.
    pub pins: Vec<Pin>,
}

impl PinFile {
    /// The file as it is written: one pin a line.
    pub fn format(&self) -> String {
        format_items(self, "pins")
    }
}

/// The pins of a component. Those of the program stay text until one is asked for: a component has some hundred, and
/// an image uses one.
#[derive(Debug, Clone, PartialEq)]
pub enum PinList {
    /// Text of a [`PinFile`] that the program carries. A test holds that it has one pin a line, the version first.
    BuiltIn(&'static str),
    Loaded(Vec<Pin>),
}

impl PinList {
    /// Every pin, in the order of the file.
    pub fn list(&self) -> Vec<Pin> {
        match self {
            Self::BuiltIn(text) => list_lines(text).map(parse_line).collect(),
            Self::Loaded(pins) => pins.clone(),
        }
    }

    /// The pins of a version.
    pub fn find_version(&self, version: &Version) -> Vec<Pin> {
        let mut pins = self.parse_lines(&format!("{{\"version\": \"{version}\","));
        pins.retain(|pin| pin.version == *version);
        pins
    }

    /// The pins with a digest, in lower-case hexadecimal.
    pub fn find_digest(&self, digest: &str) -> Vec<Pin> {
        let mut pins = self.parse_lines(digest);
        pins.retain(|pin| pin.digest.as_str() == digest);
        pins
    }

    /// The pins of lines that have a text; of a list that was parsed already, all.
    fn parse_lines(&self, part: &str) -> Vec<Pin> {
        match self {
            Self::BuiltIn(text) => {
                let places = memmem::find_iter(text.as_bytes(), part);
                let lines = places.map(|at| find_line(text, at));
                lines.flat_map(list_lines).map(parse_line).collect()
            }
            Self::Loaded(pins) => pins.clone(),
        }
    }
}

/// The line around a place of a text.
fn find_line(text: &'static str, at: usize) -> &'static str {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    &text[start..end]
}

/// The JSON of each pin.
fn list_lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines()
        .map(|line| line.trim_matches([' ', ',']))
        .filter(|line| line.starts_with("{\""))
}

/// # Panics
/// Never: a test parses every pin that the program carries.
fn parse_line(line: &str) -> Pin {
    parse_embedded(line).expect("the program's own pins are well-formed")
}
