//! How an image is tested on a machine that is made from it: `testClone` of `publication.json`.

use std::fmt;
use std::str::FromStr;

use regex_lite::Regex;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::nonempty::NonEmpty;
use crate::base::pattern::compile_regex;
use crate::base::text::is_lowercase_or;

use super::publication::{
    ArgumentPart, COMMON_PLACEHOLDERS, KnownPlaceholders, ManualStep, PublishValue, SettledError,
    compile_pattern, split_argument,
};

/// Name of a machine that every platform takes: 3 to 15 lower-case letters, digits and `-`, a letter first. Windows
/// has no longer names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloneName(String);

impl CloneName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CloneName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for CloneName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let starts = text.starts_with(|first: char| first.is_ascii_lowercase());
        let has_length = (3..=15).contains(&text.len());
        if starts && has_length && is_lowercase_or(text, "-") && !text.ends_with('-') {
            return Ok(Self(text.to_owned()));
        }
        Err("expected 3 to 15 lower-case letters, digits and `-`, a letter first".to_owned())
    }
}

/// Placeholders of a clone beside [`COMMON_PLACEHOLDERS`].
pub const CLONE_PLACEHOLDERS: [&str; 4] = ["clone", "test", "testJson", "testEncoded"];

/// Placeholder of the token that the marks of one run have: 8 hexadecimal digits; nothing where the machines of every
/// run are deleted. A command that finds them takes it as the start of a mark.
pub const RUN: &str = "run";

/// Tag, label or note of what a recipe makes. The user chooses the name of a clone, and another machine may have it.
pub const MARK: &str = "imagegen-test-clone";

/// Placeholder of a random password, which an input alone may have.
pub const PASSWORD: &str = "password";

/// Name of the group of a verdict that is the exit code of the test.
pub const VERDICT_GROUP: &str = "code";

/// Commands that make a machine from an image, test and delete it, or the reason why there are none.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub enum CloneTest {
    Recipe(CloneRecipe),
    Hand(ManualStep),
}

/// The life of a clone.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct CloneRecipe {
    /// Values of the user that only these commands have in placeholders.
    #[serde(default)]
    pub values: Vec<PublishValue>,
    /// Take the name of the machine, where only one thing can have it. If the first command fails, such as because the
    /// name is taken, nothing is deleted; behind it, `delete` runs whatever happens.
    #[serde(default)]
    pub claim: Vec<CloneCommand>,
    /// Make the machine and ask for its verdict. Exactly one command has a `verdict`.
    pub test: NonEmpty<CloneCommand>,
    /// Delete the machine and what was made with it. They run whatever happened before, and by the name of the clone
    /// alone if `test` was interrupted. The first give what `test` made, one of them by the mark `imagegen-test-clone`
    /// with `{run}`, a tag, label or note: nothing else is deleted. `{run}` is 8 random hexadecimal digits, and empty
    /// where the machines of all runs of the name are deleted: a mark is found by its start.
    pub delete: NonEmpty<CloneCommand>,
    pub source: String,
}

/// A command in the life of a clone.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct CloneCommand {
    /// Arguments with the placeholders of the commands that promote an image, and `{clone}` (name of the machine, at
    /// most 15 characters), `{test}` (PowerShell script that tests the machine), `{testJson}` (the same as a JSON
    /// string), `{testEncoded}` (the same for `powershell.exe -EncodedCommand`), and values that earlier commands gave.
    pub arguments: Vec<String>,
    /// Groups of further arguments. A group is left out if the user does not give a value that it has.
    #[serde(default)]
    pub options: Vec<Vec<String>>,
    /// Lines of standard input, with placeholders. They alone may have `{password}`, a random password.
    #[serde(default)]
    pub input: Option<Vec<String>>,
    /// Form of the standard input for the program.
    #[serde(default)]
    pub input_form: InputForm,
    /// Placeholder of later commands that is read from the output. In `delete`, each value that the first such command
    /// gives is a machine, and the commands after it run for each. A command whose value is known is left out, and one
    /// that gives no value ends the deletion: there is nothing to delete. One that ends with an error of `already` gives
    /// no value, and the commands after it run.
    #[serde(default)]
    pub gives: Option<GivenValue>,
    /// Regular expression of the line of the output with the verdict. Its group `code` is the exit code of the test.
    /// The last such line counts.
    #[serde(default)]
    pub verdict: Option<String>,
    /// The command is run again until it succeeds and gives its value or verdict.
    #[serde(default)]
    pub patience: Option<Repetition>,
    /// Errors that say that nothing is left to do.
    #[serde(default)]
    pub already: Vec<SettledError>,
    pub source: String,
}

/// Form of a standard input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum InputForm {
    /// As the lines are.
    #[default]
    Text,
    /// The text in base64 without line ends.
    Base64,
}

/// A value that a line of the output is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct GivenValue {
    pub name: String,
    /// Regular expression of the whole line. It may have `{run}`.
    pub pattern: String,
}

impl GivenValue {
    /// The pattern with the token of a run.
    ///
    /// # Errors
    /// It is no regular expression.
    pub fn compile(&self, run: &str) -> Result<Regex, String> {
        compile_pattern(&self.pattern.replace(&format!("{{{RUN}}}"), run))
    }
}

/// How long a command is repeated.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Repetition {
    /// Seconds from the first run to the start of the last one.
    pub seconds: u64,
    /// Seconds between two runs.
    pub every: u64,
    /// Texts of errors that pass with time. Any other error ends the test.
    #[serde(default)]
    pub errors: Vec<String>,
}

impl CloneRecipe {
    /// `shared` are the values of the program, and `groups` those of the image's id.
    ///
    /// # Errors
    /// A pattern or a placeholder cannot be used, or there is not one verdict.
    pub fn check(&self, shared: &[PublishValue], groups: &[&str]) -> Result<(), String> {
        let verdicts = self.test.as_slice().iter();
        if verdicts.filter(|it| it.verdict.is_some()).count() != 1 {
            return Err("exactly one command of `test` has a `verdict`".to_owned());
        }
        for value in &self.values {
            value.check()?;
        }

        let known = KnownPlaceholders {
            values: shared.iter().chain(&self.values).collect(),
            names: [groups, &COMMON_PLACEHOLDERS, &CLONE_PLACEHOLDERS, &[RUN]].concat(),
        };
        let is_verdict = |command: &CloneCommand| command.verdict.is_some();
        if self.claim.iter().any(is_verdict) {
            return Err("a command of `claim` has no `verdict`".to_owned());
        }
        let made: Vec<&CloneCommand> = self.claim.iter().chain(self.test.as_slice()).collect();
        check_commands(&made, known.clone())?;
        if !made.iter().any(|command| command.has_mark()) {
            return Err(format!(
                "no command marks what it makes with `{MARK}` and `{{{RUN}}}`"
            ));
        }
        let delete: Vec<&CloneCommand> = self.delete.as_slice().iter().collect();
        if delete.iter().any(|command| is_verdict(command)) {
            return Err("a command of `delete` has no `verdict`".to_owned());
        }
        let mut finds = delete.iter().take_while(|command| command.gives.is_some());
        if !finds.any(|command| command.has_mark()) {
            return Err(format!(
                "the first commands of `delete` find by `{MARK}` and `{{{RUN}}}` what was made for the test, not by the name alone"
            ));
        }
        // The deletion may run alone, so it knows what its own commands give.
        check_commands(&delete, known)
    }

    /// Whether a command gives this value.
    pub fn gives(&self, name: &str) -> bool {
        let commands = self.claim.iter().chain(self.test.as_slice());
        let commands = commands.chain(self.delete.as_slice());
        let mut given = commands.filter_map(|command| command.gives.as_ref());
        given.any(|it| it.name == name)
    }
}

fn check_commands<'a>(
    commands: &[&'a CloneCommand],
    mut known: KnownPlaceholders<'a>,
) -> Result<(), String> {
    for command in commands {
        command.check(&known)?;
        if let Some(given) = &command.gives {
            known = known.with_name(&given.name);
        }
    }
    Ok(())
}

impl CloneCommand {
    /// Whether its question or its answer has the mark of the run.
    fn has_mark(&self) -> bool {
        let patterns = self.gives.iter().map(|given| &given.pattern);
        let mut texts = self.arguments.iter().chain(patterns);
        texts.any(|text| {
            let run = ArgumentPart::Placeholder(RUN);
            text.contains(MARK) && split_argument(text).contains(&run)
        })
    }

    fn check(&self, known: &KnownPlaceholders<'_>) -> Result<(), String> {
        let settled = self.already.iter().map(|settled| &settled.text);
        let texts = self.arguments.iter().chain(settled);
        for text in texts.chain(self.options.iter().flatten()) {
            known.check_text(text)?;
        }
        let in_input = known.with_name(PASSWORD);
        for line in self.input.iter().flatten() {
            in_input.check_text(line)?;
        }
        if let Some(given) = &self.gives {
            given.compile("")?;
        }

        let Some(verdict) = &self.verdict else {
            return Ok(());
        };
        let pattern = compile_verdict(verdict)?;
        if pattern
            .capture_names()
            .flatten()
            .any(|it| it == VERDICT_GROUP)
        {
            return Ok(());
        }
        Err(format!("`{verdict}` has no group `{VERDICT_GROUP}`"))
    }
}

/// A pattern within a line.
///
/// # Errors
/// It is no regular expression.
pub fn compile_verdict(pattern: &str) -> Result<Regex, String> {
    compile_regex(pattern).map_err(|error| format!("`{pattern}`: {error}"))
}
