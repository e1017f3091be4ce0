//! How a platform's images are promoted and retired: `packer/targets/<name>/publication.json`.

use regex_lite::Regex;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::choice::words;
use crate::base::nonempty::NonEmpty;
use crate::base::pattern::compile_regex;
use crate::base::text::is_alphanumeric_or;

use super::clone_test::CloneTest;

words! {
    /// Step in the life of an image that was baked.
    PublishStep {
        /// Clusters may use the image.
        Promote = "promote",
        /// New nodes no longer use the image; it stays.
        Retire = "retire",
        /// The image is removed.
        Delete = "delete",
    }
}

/// `packer/targets/<name>/publication.json`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Publication {
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    pub by: PublishedBy,
}

/// Way in which the steps are taken: by a program of the platform, or by hand.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub enum PublishedBy {
    Program(PublishProgram),
    Hand(ManualPublication),
}

/// Images of a platform without commands.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ManualPublication {
    /// Why images are promoted and retired by hand.
    pub reason: String,
    /// Next step of the user, as an imperative.
    pub remedy: String,
    pub source: String,
    /// How an image is tested.
    #[serde(default)]
    pub test_clone: Option<ManualStep>,
}

/// A step for which no command is known.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ManualStep {
    pub reason: String,
    /// Next step of the user, as an imperative.
    pub remedy: String,
    pub source: String,
}

/// The platform's own program, and its commands by form of the image's id.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PublishProgram {
    /// Name of the program on the PATH.
    pub name: String,
    /// URL that says how to install it.
    pub install: String,
    /// Separator of the ids in one artifact of `image.json`, such as those of several regions.
    #[serde(default)]
    pub separator: Option<String>,
    /// Values of the user that commands have in placeholders.
    #[serde(default)]
    pub values: Vec<PublishValue>,
    /// The first whose pattern matches an id has its commands.
    pub images: NonEmpty<PublishedImage>,
    pub source: String,
}

/// A value that the user gives with `--var`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PublishValue {
    pub name: String,
    pub description: String,
    /// Regular expression of the whole value; of each entry of a list.
    pub pattern: String,
    /// Several, separated by commas: each is an argument of its own.
    #[serde(default)]
    pub list: bool,
    /// A command with this value is left out if the user does not give it.
    #[serde(default)]
    pub optional: bool,
    /// Value if the user gives none.
    #[serde(default)]
    pub default: Option<String>,
}

/// Images whose ids have one form.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PublishedImage {
    /// Regular expression of the whole id. Its named groups are placeholders of the commands.
    pub id: String,
    /// Name of this kind of image in messages.
    pub title: String,
    /// Name of the value that says where the image is. Images of several kinds may have ids of one form: then the user
    /// gives the value of one kind.
    #[serde(default)]
    pub place: Option<String>,
    pub source: String,
    pub promote: StepCommands,
    pub retire: StepCommands,
    pub delete: StepCommands,
    /// How the image is tested on a machine that is made from it.
    #[serde(default)]
    pub test_clone: Option<CloneTest>,
}

/// Commands of a step, or the reason why there are none.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub enum StepCommands {
    Commands(NonEmpty<PublishCommand>),
    Hand(ManualStep),
}

/// A command whose second run changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PublishCommand {
    /// Arguments with placeholders: `{id}`, `{channel}`, `{version}` (the image version), `{lock}` (SHA-256 of the
    /// lock, which the image has as its tag `imagegen-lock`), `{inAnHour}` (RFC 3339), the names of `values`, and the
    /// named groups of the id's pattern.
    pub arguments: Vec<String>,
    /// The further commands of the image run only if the output has this.
    #[serde(default)]
    pub expects: Option<ExpectedOutput>,
    /// Errors that say that nothing is left to do.
    #[serde(default)]
    pub already: Vec<SettledError>,
    pub source: String,
}

/// Text that a line of the output has.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ExpectedOutput {
    /// With placeholders.
    pub text: String,
    /// Cause of an output without the text, for the error.
    pub otherwise: String,
    /// The platform answers with nothing if the image is gone; then nothing is left to do.
    #[serde(default)]
    pub nothing_if_gone: bool,
}

/// Text of an error that counts as success, with placeholders.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SettledError {
    pub text: String,
    /// Another cause of the same text, which the user is warned of.
    #[serde(default)]
    pub doubt: Option<String>,
}

impl PublishedImage {
    pub fn commands(&self, step: PublishStep) -> &StepCommands {
        match step {
            PublishStep::Promote => &self.promote,
            PublishStep::Retire => &self.retire,
            PublishStep::Delete => &self.delete,
        }
    }
}

impl PublishValue {
    /// # Errors
    /// The pattern cannot be used, or the default does not match it.
    pub fn check(&self) -> Result<(), String> {
        let pattern = compile_pattern(&self.pattern)?;
        match &self.default {
            Some(default) if !pattern.is_match(default) => {
                Err(format!("the default of `{}` is not valid", self.name))
            }
            _ => Ok(()),
        }
    }
}

impl PublishProgram {
    /// # Errors
    /// A pattern or a placeholder cannot be used.
    pub fn check(&self) -> Result<(), String> {
        for value in &self.values {
            value.check()?;
        }
        for image in self.images.as_slice() {
            let pattern = compile_pattern(&image.id)?;
            let groups: Vec<&str> = pattern.capture_names().flatten().collect();
            let known = KnownPlaceholders {
                values: self.values.iter().collect(),
                names: [&*groups, &COMMON_PLACEHOLDERS].concat(),
            };
            if let Some(place) = &image.place {
                self.check_place(place)?;
            }
            for step in PublishStep::ALL {
                let StepCommands::Commands(commands) = image.commands(*step) else {
                    continue;
                };
                for command in commands.as_slice() {
                    for text in command.list_texts() {
                        known.check_text(text)?;
                    }
                }
            }
            if let Some(CloneTest::Recipe(recipe)) = &image.test_clone {
                recipe.check(&self.values, &groups)?;
            }
        }
        Ok(())
    }

    /// The user gives the place itself, so no default chooses the kind of an image.
    fn check_place(&self, place: &str) -> Result<(), String> {
        let value = self.values.iter().find(|value| value.name == place);
        match value {
            Some(value) if value.default.is_none() && !value.list => Ok(()),
            Some(_) => Err(format!(
                "`{place}` is the place of an image, so it has no default and is no list"
            )),
            None => Err(format!("the place `{place}` is none of the `values`")),
        }
    }
}

impl PublishCommand {
    /// Texts with placeholders.
    fn list_texts(&self) -> impl Iterator<Item = &String> {
        let settled = self.already.iter().map(|settled| &settled.text);
        let expected = self.expects.iter().map(|expected| &expected.text);
        self.arguments.iter().chain(settled).chain(expected)
    }
}

/// A pattern of a whole text.
///
/// # Errors
/// It is no regular expression.
pub fn compile_pattern(pattern: &str) -> Result<Regex, String> {
    compile_regex(&format!("^(?:{pattern})$")).map_err(|error| format!("`{pattern}`: {error}"))
}

/// Placeholders that every command may have.
pub const COMMON_PLACEHOLDERS: [&str; 5] = ["id", "channel", "version", "lock", "inAnHour"];

/// A part of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentPart<'a> {
    Text(&'a str),
    Placeholder(&'a str),
}

/// Text and placeholders (`{name}`) of an argument. A brace around anything but a name is text, as in JSON.
pub fn split_argument(argument: &str) -> Vec<ArgumentPart<'_>> {
    let mut parts = Vec::new();
    let mut text = 0;
    let mut at = 0;
    while let Some(open) = argument[at..].find('{').map(|found| at + found) {
        at = open + 1;
        let Some(length) = argument[at..].find('}') else {
            break;
        };
        let name = &argument[at..at + length];
        if name.is_empty() || !is_alphanumeric_or(name, "_") {
            continue;
        }
        if text < open {
            parts.push(ArgumentPart::Text(&argument[text..open]));
        }
        parts.push(ArgumentPart::Placeholder(name));
        at += length + 1;
        text = at;
    }
    if text < argument.len() {
        parts.push(ArgumentPart::Text(&argument[text..]));
    }
    parts
}

/// Names that a placeholder may have.
#[derive(Clone)]
pub(super) struct KnownPlaceholders<'a> {
    pub values: Vec<&'a PublishValue>,
    pub names: Vec<&'a str>,
}

impl<'a> KnownPlaceholders<'a> {
    pub(super) fn with_name(&self, name: &'a str) -> Self {
        let mut known = self.clone();
        known.names.push(name);
        known
    }

    /// # Errors
    /// A placeholder is unknown, or a list is not an argument of its own.
    pub(super) fn check_text(&self, text: &str) -> Result<(), String> {
        let parts = split_argument(text);
        for part in &parts {
            let ArgumentPart::Placeholder(name) = *part else {
                continue;
            };
            let value = self.values.iter().find(|value| value.name == name);
            if value.is_some_and(|value| value.list) && parts.len() > 1 {
                return Err(format!(
                    "`{{{name}}}` is a list, so it is an argument of its own"
                ));
            }
            if value.is_none() && !self.names.contains(&name) {
                return Err(format!("`{{{name}}}` is no placeholder"));
            }
        }
        Ok(())
    }
}
