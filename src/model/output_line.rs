//! Lines of Packer's output that say something about the image.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::pattern::compile_regex;

/// A line of Packer's output.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct OutputLine {
    /// A regular expression without look-around; its first group is the value.
    pub pattern: String,
    pub source: String,
}

impl OutputLine {
    /// The value in the first line that matches. A test compiles every pattern of the program.
    pub fn find_value(&self, output: &str) -> Option<String> {
        let pattern = compile_regex(&self.pattern).ok()?;
        let found = output.lines().find_map(|line| pattern.captures(line))?;
        Some(found.get(1)?.as_str().to_owned())
    }
}
