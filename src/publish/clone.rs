//! Commands that test an image on a machine that is made from it, with values in the place of placeholders.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use regex_lite::Regex;

use crate::base::secret::Secret;
use crate::catalog::Trees;
use crate::diagnostic::{Error, Result};
use crate::model::clone_test::{
    CloneCommand, CloneName, CloneRecipe, CloneTest, InputForm, PASSWORD, RUN, Repetition,
    compile_verdict,
};
use crate::model::publication::{ArgumentPart, PublishProgram, PublishedBy, split_argument};
use crate::records::HistoryEntry;

use super::clone_name::{create_name, create_token};
use super::fill::{
    find_image, list_common_values, load_programs, load_publication, refuse_manual, split_ids,
};
use super::filler::{Filler, check_argument, check_values};

/// PowerShell script that runs on the clone, below `packer`.
const SCRIPT: &str = "shared/test-clone.ps1";

/// The images that are cloned, and the name of the machine.
#[derive(Debug, Clone)]
pub struct CloneRequest<'a> {
    /// Values of `--var` by name.
    pub values: &'a BTreeMap<String, String>,
    /// Name of the only clone. Without it each has a random one.
    pub name: Option<&'a CloneName>,
    /// Id of the only image of several that a build has.
    pub image: Option<&'a str>,
    pub runs: CloneRuns,
    /// Seconds since 1970.
    pub now: u64,
}

/// Runs of a name whose machines the commands find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloneRuns {
    /// A new one, which finds its own machine alone.
    New,
    /// All: what earlier ones left is deleted.
    All,
}

/// The life of one clone.
#[derive(Debug, Clone)]
pub struct CloneCommands {
    pub version: String,
    pub target: String,
    pub place: String,
    /// Id of the image, as the platform has it.
    pub id: String,
    pub clone: CloneName,
    pub program: String,
    /// URL that says how to install the program.
    pub install: String,
    /// Take the name of the clone.
    pub claim: Vec<CloneStep>,
    pub test: Vec<CloneStep>,
    pub delete: Vec<CloneStep>,
}

/// A command whose placeholders are filled but for those that earlier commands give.
#[derive(Debug, Clone)]
pub struct CloneStep {
    pub arguments: Vec<CloneText>,
    pub input: Option<CloneInput>,
    /// Placeholder of later commands, and the pattern of its line.
    pub gives: Option<(String, Regex)>,
    /// Pattern of the line with the verdict.
    pub verdict: Option<Regex>,
    pub patience: Option<Repetition>,
    /// Texts of errors that say that nothing is left to do, each with the doubt that remains.
    pub already: Vec<(String, Option<String>)>,
}

/// The steps of a deletion, by the one that finds the machines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deletion<'a> {
    pub before: &'a [CloneStep],
    pub find: &'a CloneStep,
    /// Placeholder of a machine.
    pub name: &'a str,
    pub pattern: &'a Regex,
    /// For each machine.
    pub after: &'a [CloneStep],
}

/// None if no step finds the machines.
pub(super) fn split_deletion(steps: &[CloneStep]) -> Option<Deletion<'_>> {
    for (at, find) in steps.iter().enumerate() {
        if let Some((name, pattern)) = &find.gives {
            return Some(Deletion {
                before: &steps[..at],
                find,
                name,
                pattern,
                after: &steps[at + 1..],
            });
        }
    }
    None
}

/// Standard input of a command.
#[derive(Debug, Clone)]
pub struct CloneInput {
    pub text: CloneText,
    pub form: InputForm,
}

impl CloneInput {
    /// The bytes for the program.
    pub fn resolve(&self, given: &BTreeMap<String, String>, password: &Secret) -> Secret {
        let text = self.text.resolve_secret(given, password);
        match self.form {
            InputForm::Text => text,
            InputForm::Base64 => Secret::from_parts(STANDARD.encode(text.reveal()).into_bytes()),
        }
    }
}

/// Text with values that are known later.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CloneText(pub Vec<ClonePart>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClonePart {
    Text(String),
    /// A value that an earlier command gives.
    Given(String),
    /// The random password of the machine.
    Password,
}

impl CloneText {
    /// Texts side by side are one part.
    fn push(&mut self, part: ClonePart) {
        match (self.0.last_mut(), part) {
            (Some(ClonePart::Text(last)), ClonePart::Text(text)) => last.push_str(&text),
            (_, part) => self.0.push(part),
        }
    }

    /// The text with the values that commands gave. An argument has no password.
    pub fn resolve(&self, given: &BTreeMap<String, String>) -> String {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                ClonePart::Text(part) => text.push_str(part),
                ClonePart::Given(name) => text.push_str(given.get(name).map_or("", String::as_str)),
                ClonePart::Password => {}
            }
        }
        text
    }

    /// The text with the password.
    pub fn resolve_secret(&self, given: &BTreeMap<String, String>, password: &Secret) -> Secret {
        let mut bytes = Vec::new();
        for part in &self.0 {
            bytes.extend_from_slice(match part {
                ClonePart::Text(part) => part.as_bytes(),
                ClonePart::Given(name) => given.get(name).map_or(b"", |value| value.as_bytes()),
                ClonePart::Password => password.reveal(),
            });
        }
        Secret::from_parts(bytes)
    }
}

/// The commands for a clone of every image that the builds name.
///
/// # Errors
/// A target has no recipe, an id has the form of no image of its target, or a value is missing, unknown or has the
/// wrong form; or a name is given for several clones.
pub fn list_clones(
    builds: &[HistoryEntry],
    request: &CloneRequest<'_>,
    trees: &Trees,
) -> Result<Vec<CloneCommands>> {
    let programs = load_programs(builds, |target| load_recipes(trees, target))?;
    let script = read_script(trees)?;
    let mut clones = Vec::new();
    for build in builds {
        let program = &programs[build.record.target.as_str()];
        for artifact in &build.record.artifacts {
            for id in split_ids(program, &artifact.id) {
                if request.image.is_none_or(|image| image == id) {
                    clones.push(fill_clone(program, build, id, request, &script)?);
                }
            }
        }
    }

    match (request.image, request.name, clones.len()) {
        (Some(image), _, 0) => {
            let message = format!("the record does not name the image {image}");
            Err(Error::value(
                message,
                "`imagegen history show` prints the ids",
            ))
        }
        (_, Some(_), 2..) => {
            let message = format!("{} clones cannot have one name", clones.len());
            Err(Error::value(message, "choose an image with `--image-id`"))
        }
        _ => Ok(clones),
    }
}

fn load_recipes(trees: &Trees, target: &str) -> Result<PublishProgram> {
    let subject = format!("target {target}");
    match load_publication(trees, target)?.map(|publication| publication.by) {
        Some(PublishedBy::Program(program)) => Ok(program),
        Some(PublishedBy::Hand(manual)) => match &manual.test_clone {
            Some(step) => Err(refuse_manual(&subject, step)),
            None => Err(refuse_target(&subject)),
        },
        None => Err(refuse_target(&subject)),
    }
}

fn refuse_target(subject: &str) -> crate::diagnostic::Error {
    let message = format!("{subject}: no recipe for a test of its images is known");
    let remedy = "add `testClone` to the `publication.json` of the target, and name the folder of the target by `--targets` (a \
                  definition does not choose what runs), or make a machine from the image yourself";
    Error::value(message, remedy)
}

fn fill_clone(
    program: &PublishProgram,
    build: &HistoryEntry,
    id: &str,
    request: &CloneRequest<'_>,
    script: &str,
) -> Result<CloneCommands> {
    let target = &build.record.target;
    let (image, groups) = find_image(program, build, id, request.values)?;
    let subject = format!("{} {id}", image.title);
    let recipe = match &image.test_clone {
        Some(CloneTest::Recipe(recipe)) => recipe,
        Some(CloneTest::Hand(manual)) => return Err(refuse_manual(&subject, manual)),
        None => return Err(refuse_target(&subject)),
    };
    let declared: Vec<_> = program.values.iter().chain(&recipe.values).collect();
    check_values(&declared, request.values)?;

    let clone = match request.name {
        Some(name) => name.clone(),
        None => create_name()?,
    };
    let mut common = list_common_values(build, id, request.now);
    let run = match request.runs {
        CloneRuns::New => create_token()?,
        CloneRuns::All => String::new(),
    };
    common.insert(RUN, run);
    common.insert("channel", "test".to_owned());
    common.insert("clone", clone.as_str().to_owned());
    common.insert("testJson", serde_json::Value::from(script).to_string());
    common.insert("testEncoded", encode_command(script));
    common.insert("test", script.to_owned());
    let values = Filler {
        declared,
        values: request.values,
        common,
        groups: &groups,
    };
    Ok(CloneCommands {
        version: build.record.image_version.to_string(),
        target: target.clone(),
        place: build.place.clone(),
        id: id.to_owned(),
        clone,
        program: program.name.clone(),
        install: program.install.clone(),
        claim: fill_steps(&recipe.claim, recipe, &values)?,
        test: fill_steps(recipe.test.as_slice(), recipe, &values)?,
        delete: fill_steps(recipe.delete.as_slice(), recipe, &values)?,
    })
}

/// The script for `powershell.exe -EncodedCommand`: UTF-16LE in base64.
/// <https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_powershell_exe>
fn encode_command(script: &str) -> String {
    let units = script.encode_utf16();
    let bytes: Vec<u8> = units.flat_map(u16::to_le_bytes).collect();
    STANDARD.encode(bytes)
}

/// The script without its comments, with the folders of the node.
fn read_script(trees: &Trees) -> Result<String> {
    let file = trees.packer.get(SCRIPT).map(String::from_utf8_lossy);
    let Some(text) = file else {
        let message = format!("{}: there is no such file", trees.packer.file_label(SCRIPT));
        return Err(Error::value(message, "restore the file"));
    };
    let paths = trees.read_paths()?;
    let mut script = String::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        for part in split_argument(line) {
            script.push_str(match part {
                ArgumentPart::Text(text) => text,
                ArgumentPart::Placeholder(name) => paths[name].as_str().unwrap_or_default(),
            });
        }
        script.push('\n');
    }
    Ok(script)
}

fn fill_steps(
    commands: &[CloneCommand],
    recipe: &CloneRecipe,
    values: &Filler<'_>,
) -> Result<Vec<CloneStep>> {
    let mut steps = Vec::new();
    for command in commands {
        if !values.is_left_out(&command.arguments) {
            steps.push(fill_step(command, recipe, values)?);
        }
    }
    Ok(steps)
}

fn fill_step(
    command: &CloneCommand,
    recipe: &CloneRecipe,
    values: &Filler<'_>,
) -> Result<CloneStep> {
    let options = command.options.iter();
    let chosen = options.filter(|group| !values.is_left_out(group));
    let mut arguments = Vec::new();
    for argument in command.arguments.iter().chain(chosen.flatten()) {
        if let Some(entries) = values.find_list(argument)? {
            let texts = entries.into_iter().map(ClonePart::Text);
            arguments.extend(texts.map(|part| CloneText(vec![part])));
        } else {
            let filled = fill_text(argument, recipe, values)?;
            if let Some(ClonePart::Text(text)) = filled.0.first() {
                check_argument(argument, text)?;
            }
            arguments.push(filled);
        }
    }

    let refuse = |message| Error::value(message, "correct publication.json");
    let gives = match &command.gives {
        Some(given) => {
            let pattern = given.compile(values.find_value(RUN)?).map_err(refuse)?;
            Some((given.name.clone(), pattern))
        }
        None => None,
    };
    let verdict = command.verdict.as_deref().map(compile_verdict);
    let input = match &command.input {
        Some(lines) => Some(CloneInput {
            text: fill_text(&lines.join("\n"), recipe, values)?,
            form: command.input_form,
        }),
        None => None,
    };
    Ok(CloneStep {
        arguments,
        input,
        gives,
        verdict: verdict.transpose().map_err(refuse)?,
        patience: command.patience.clone(),
        already: values.fill_settled(&command.already)?,
    })
}

fn fill_text(text: &str, recipe: &CloneRecipe, values: &Filler<'_>) -> Result<CloneText> {
    let mut filled = CloneText::default();
    for part in split_argument(text) {
        filled.push(match part {
            ArgumentPart::Text(text) => ClonePart::Text(text.to_owned()),
            ArgumentPart::Placeholder(PASSWORD) => ClonePart::Password,
            ArgumentPart::Placeholder(name) if recipe.gives(name) => {
                ClonePart::Given(name.to_owned())
            }
            ArgumentPart::Placeholder(name) => ClonePart::Text(values.find_value(name)?.to_owned()),
        });
    }
    Ok(filled)
}
