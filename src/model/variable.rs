//! Inputs of a target: selectors decide which variables apply.

use std::collections::BTreeMap;

/// With this begins what Packer's plugins replace in every text of their configuration, whoever set it.
pub const PACKER_TEMPLATE: &str = "{{";

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::choice::words;
use crate::base::names::format_suggestion;
use crate::base::pattern::matches_regex;
use crate::base::version::Version;

/// The variable that asks for an image of evaluation media.
pub const EVALUATION: &str = "evaluation";

/// A choice that decides which variables apply. Given like a variable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Selector {
    pub name: String,
    pub description: String,
    pub default: String,
    /// Decides only how, where or under which name an image is built: no part of the lock.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub build_time: bool,
    pub values: Vec<SelectorValue>,
    /// Layers that may give the value.
    #[serde(default, skip_serializing_if = "SetBy::is_operator")]
    pub set_by: SetBy,
    /// Environment variables that the builder reads by itself. Packer gets only those that the chosen value names,
    /// so that what happens to be set decides nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<String>,
    pub source: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SelectorValue {
    pub value: String,
    pub description: String,
    /// Which variant of the Windows release's source images it needs (`gen2`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_image: Option<String>,
    /// Packer's source type in the place of the target's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub builder: Option<String>,
    /// A further file that is made of the image's disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub convert: Option<Conversion>,
    /// The image is files below the target's output folder, whatever the target's output is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_folder: Option<String>,
    /// Values of other selectors that it needs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requires: BTreeMap<String, Vec<String>>,
    /// Of the selector's environment variables, those that Packer gets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<String>,
    /// Files and folders of the user's home that the builder reads. It sees an empty home but for these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub home: Vec<String>,
    /// Environment variables that Packer gets with these values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<PluginSupport>,
}

/// A program that makes a file of another format of the image's disk: `PROGRAM ARGUMENTS… DISK FILE`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Conversion {
    pub program: String,
    pub arguments: Vec<String>,
    /// Of the file, which has the name of the disk otherwise.
    pub extension: String,
    pub source: String,
}

/// A metadata service of cloudbase-init that does not work with a variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ExcludedService {
    /// Its class, as the target lists it.
    pub service: String,
    /// Why it does not work.
    pub reason: String,
    /// The remedy, as an imperative.
    pub instead: String,
}

/// Plugin versions that are known to lack and to have something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PluginSupport {
    pub absent_in: Version,
    pub present_in: Version,
}

/// Values that cannot work, whatever else holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RefusedValues {
    /// Regular expression for them.
    pub pattern: String,
    /// Why they do not work, and what to choose instead.
    pub reason: String,
    pub source: String,
}

/// Layers that may give a variable or a selector: the operator by a flag or the environment, or an image definition
/// and a lockfile, too. A definition comes with anybody's pull request, so the reason says why its value sends no
/// secret elsewhere, opens no machine and names no file of the building machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SetBy {
    #[default]
    Operator,
    /// The reason.
    Definition(String),
}

impl SetBy {
    pub fn is_operator(&self) -> bool {
        *self == Self::Operator
    }
}

/// An input variable of the workspace.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a key of its own in the file"
)]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Variable {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: VariableType,
    pub description: String,
    /// Selector → values for which the variable applies.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub when: BTreeMap<String, Vec<String>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// Decides only how, where or under which name an image is built: no part of the lock, and the environment may
    /// set it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub build_time: bool,
    /// Never written anywhere: comes from the environment alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sensitive: bool,
    /// Layers that may give the value.
    #[serde(default, skip_serializing_if = "SetBy::is_operator")]
    pub set_by: SetBy,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// `windowsRelease`: `windows.json` of the target; `imageName`: Windows, Kubernetes and the image's version;
    /// `imageNameLabel`: the same in lower-case letters, digits and `-`; `imageVersion`: three numbers;
    /// `bootMedium`: the path of the verified file, known when the image is built; `artifactFolder`: the folder of
    /// the verified artifacts, known then too, and declared with delivery by media alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_from: Option<DefaultFrom>,
    /// Selector → values for which there is no default.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub default_unless: BTreeMap<String, Vec<String>>,
    /// Regular expression for texts and for the items of lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_of: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub integer: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_items: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_items: Option<usize>,
    /// Environment variables it may come from, besides `PKR_VAR_<name>`; for build-time variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<RefusedValues>,
    /// Variables that must be given with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
    /// A metadata service of cloudbase-init that finds nothing where the variable is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excludes_service: Option<ExcludedService>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<PluginSupport>,
    /// Decides what is locked, and is no variable of Packer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lock_only: bool,
    /// Values that let the platform choose the base image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floating: Option<Floating>,
    /// The variable with the SHA-256 of the file that this URL names, for a file that the platform downloads by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Names the image that the build starts from: the lock records it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub base_image: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<String>,
    pub source: String,
}

/// Values by which the platform chooses the base image anew in each build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Floating {
    /// Regular expression for such values; a variable without value is the empty text.
    pub pattern: String,
    /// Command of the platform's own tools that lists fixed values; `{NAME}` is the value of a variable.
    pub list: String,
    /// The variable that fixes the image, if it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    pub source: String,
}

words!(
    VariableType {
        String = "string",
        Number = "number",
        Bool = "bool",
        StringList = "list(string)",
        StringMap = "map(string)",
    }
);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DefaultFrom {
    WindowsRelease,
    ImageName,
    ImageNameLabel,
    ImageVersion,
    BootMedium,
    /// The folder with the verified artifacts, for delivery by media.
    ArtifactFolder,
}

impl DefaultFrom {
    /// Whether the default is another one in each build.
    pub fn names_image(self) -> bool {
        matches!(
            self,
            Self::ImageName | Self::ImageNameLabel | Self::ImageVersion
        )
    }
}

impl Variable {
    /// Whether the variable applies under the chosen selectors.
    pub fn applies(&self, selectors: &BTreeMap<String, String>) -> bool {
        are_selected(selectors, &self.when)
    }

    /// Whether its default counts under the chosen selectors.
    pub fn has_default(&self, selectors: &BTreeMap<String, String>) -> bool {
        !self
            .default_unless
            .iter()
            .any(|(name, values)| is_selected(selectors, name, values))
    }

    /// Why the text is not its value, by the list and the pattern of the descriptor.
    pub fn find_fault(&self, text: &str) -> Option<String> {
        if let Some(allowed) = &self.one_of
            && !allowed.iter().any(|value| value == text)
        {
            let suggestion = format_suggestion(text, allowed.iter().map(String::as_str));
            return Some(format!("is `{text}`: {suggestion}"));
        }
        if let Some(refused) = &self.refused
            && matches_regex(&refused.pattern, text)
        {
            return Some(format!("is `{text}`: {}", refused.reason));
        }
        let pattern = self.pattern.as_ref()?;
        let fault = format!("is `{text}`, which does not match {pattern}");
        (!matches_regex(pattern, text)).then_some(fault)
    }

    /// Its meaning, and an example if the descriptor has one.
    pub fn describe(&self) -> String {
        let description = self.description.trim_end_matches('.');
        match &self.example {
            Some(example) => format!("{description}, such as `{example}`"),
            None => description.to_owned(),
        }
    }

    /// Packer's own environment variable for it.
    pub fn packer_name(&self) -> String {
        packer_name(&self.name)
    }

    /// Environment variables that may give it, Packer's own first. None for what the lock records.
    pub fn environment_names(&self) -> impl Iterator<Item = String> {
        let names = std::iter::once(self.packer_name()).chain(self.environment.iter().cloned());
        names.filter(|_| self.build_time)
    }
}

impl Selector {
    pub fn find_value(&self, name: &str) -> Option<&SelectorValue> {
        self.values.iter().find(|value| value.value == name)
    }

    /// The environment variable that may give it; the lock records the others.
    pub fn packer_name(&self) -> String {
        packer_name(&self.name)
    }
}

fn packer_name(name: &str) -> String {
    format!("PKR_VAR_{name}")
}

/// Whether each of these selectors has one of its values.
pub fn are_selected(
    selectors: &BTreeMap<String, String>,
    when: &BTreeMap<String, Vec<String>>,
) -> bool {
    when.iter()
        .all(|(name, values)| is_selected(selectors, name, values))
}

fn is_selected(selectors: &BTreeMap<String, String>, name: &str, values: &[String]) -> bool {
    selectors
        .get(name)
        .is_some_and(|value| values.contains(value))
}
