//! Programs of the building machine that a bake starts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::variable::{Variable, are_selected};
use crate::base::nonempty::NonEmpty;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NeededProgram {
    /// Its names; one of them is enough.
    pub names: NonEmpty<String>,
    /// The variable whose value takes the place of the names.
    #[serde(default)]
    pub variable: Option<String>,
    /// Selector → values for which it is needed.
    #[serde(default)]
    pub when: BTreeMap<String, Vec<String>>,
    /// It is needed where the workspace declares one of these variables; where none is named, always.
    #[serde(default)]
    pub declared: Vec<String>,
    /// The builder starts it when the machine runs already: a bake is refused without it. Of others Packer tells at once,
    /// and a warning does.
    #[serde(default)]
    pub late: bool,
    /// Goes on after "which".
    pub purpose: String,
    pub source: String,
}

impl NeededProgram {
    /// Whether a bake needs it with these values of selectors and these variables of the workspace.
    pub fn applies(&self, selectors: &BTreeMap<String, String>, declared: &[&Variable]) -> bool {
        let mut declared = declared.iter().map(|variable| &variable.name);
        are_selected(selectors, &self.when)
            && (self.declared.is_empty() || declared.any(|name| self.declared.contains(name)))
    }
}
