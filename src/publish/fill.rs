//! Commands of a publication, with values in the place of placeholders.

use std::collections::BTreeMap;

use regex_lite::Captures;

use crate::base::names::format_suggestion;
use crate::catalog::Trees;
use crate::diagnostic::{InputError, Result};
use crate::model::publication::{
    ArgumentPart, ManualStep, Publication, PublishCommand, PublishProgram, PublishStep,
    PublishValue, PublishedBy, PublishedImage, StepCommands, compile_pattern, split_argument,
};
use crate::records::{HistoryEntry, format_time};

/// A step, and the values that its commands have beside those of the record.
#[derive(Debug, Clone, Copy)]
pub struct PublishRequest<'a> {
    pub step: PublishStep,
    /// Name by which clusters find the image.
    pub channel: &'a str,
    /// Values of `--var` by name.
    pub values: &'a BTreeMap<String, String>,
    /// Seconds since 1970.
    pub now: u64,
}

/// The commands for one image of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageCommands {
    pub version: String,
    pub target: String,
    pub place: String,
    /// Id of the image, as the platform has it.
    pub id: String,
    /// URL that says how to install the program.
    pub install: String,
    pub commands: Vec<FilledCommand>,
}

/// A command without placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilledCommand {
    pub program: String,
    pub arguments: Vec<String>,
    /// Texts of errors that say that nothing is left to do, each with the doubt that remains.
    pub already: Vec<(String, Option<String>)>,
}

/// The commands of a step for every image that the builds name.
///
/// # Errors
/// A target has no command for the step, an id has the form of no image of its target, or a value is missing, unknown
/// or has the wrong form.
pub fn list_commands(
    builds: &[HistoryEntry],
    request: &PublishRequest<'_>,
    trees: &Trees,
) -> Result<Vec<ImageCommands>> {
    let programs = load_programs(builds, request, trees)?;
    let mut images = Vec::new();
    for build in builds {
        let target = &build.record.target;
        let program = &programs[target.as_str()];
        for artifact in &build.record.artifacts {
            for id in split_ids(program, &artifact.id) {
                images.push(ImageCommands {
                    version: build.record.image_version.clone(),
                    target: target.clone(),
                    place: build.place.clone(),
                    id: id.to_owned(),
                    install: program.install.clone(),
                    commands: fill_commands(program, build, id, request)?,
                });
            }
        }
    }
    if !programs.is_empty() {
        refuse_unknown_values(request.values, &programs)?;
    }
    Ok(images)
}

/// The program of each target that the builds name, once, with the user's values checked.
fn load_programs<'a>(
    builds: &'a [HistoryEntry],
    request: &PublishRequest<'_>,
    trees: &Trees,
) -> Result<BTreeMap<&'a str, PublishProgram>> {
    let mut programs = BTreeMap::new();
    for build in builds {
        let target = build.record.target.as_str();
        if !programs.contains_key(target) {
            let program = load_program(trees, target)?;
            check_values(&program, request.values)?;
            programs.insert(target, program);
        }
    }
    Ok(programs)
}

fn split_ids<'a>(program: &PublishProgram, id: &'a str) -> Vec<&'a str> {
    match &program.separator {
        Some(separator) => id.split(separator.as_str()).collect(),
        None => vec![id],
    }
}

/// The file of a target; none where it has none.
///
/// # Errors
/// The file is malformed, or a pattern or placeholder in it cannot be used.
pub fn load_publication(trees: &Trees, target: &str) -> Result<Option<Publication>> {
    let path = format!("targets/{target}/publication.json");
    let Some(publication) = trees.packer.read_json::<Publication>(&path)? else {
        return Ok(None);
    };
    if let PublishedBy::Program(program) = &publication.by {
        let label = trees.packer.file_label(&path);
        program.check().map_err(|message| {
            let remedy = "correct the file; `packer/README.md` describes it";
            InputError::new(format!("{label}: {message}"), remedy)
        })?;
    }
    Ok(Some(publication))
}

fn load_program(trees: &Trees, target: &str) -> Result<PublishProgram> {
    let Some(publication) = load_publication(trees, target)? else {
        let message = format!("the target {target} does not say how its images are published");
        let remedy =
            "add `publication.json` to the folder of the target, or use the platform's own tools";
        return Err(InputError::new(message, remedy).into());
    };
    match publication.by {
        PublishedBy::Program(program) => Ok(program),
        PublishedBy::Hand(manual) => Err(refuse_manual(&format!("target {target}"), &manual)),
    }
}

fn refuse_manual(subject: &str, manual: &ManualStep) -> crate::diagnostic::Error {
    let message = format!("{subject}: {}", manual.reason);
    InputError::new(message, manual.remedy.clone()).into()
}

fn check_values(program: &PublishProgram, values: &BTreeMap<String, String>) -> Result<()> {
    for value in &program.values {
        let Some(given) = values.get(&value.name) else {
            continue;
        };
        let pattern = compile_pattern(&value.pattern)
            .map_err(|message| InputError::new(message, "correct publication.json"))?;
        for entry in list_entries(value, given) {
            if !pattern.is_match(entry) {
                let message = format!("--var {}: `{entry}` is not valid", value.name);
                let remedy = format!("{}; the form is `{}`", value.description, value.pattern);
                return Err(InputError::new(message, remedy).into());
            }
        }
    }
    Ok(())
}

fn list_entries<'a>(value: &PublishValue, given: &'a str) -> Vec<&'a str> {
    if value.list {
        given.split(',').collect()
    } else {
        vec![given]
    }
}

fn refuse_unknown_values(
    values: &BTreeMap<String, String>,
    programs: &BTreeMap<&str, PublishProgram>,
) -> Result<()> {
    let declared = programs.values().flat_map(|program| &program.values);
    let known: Vec<&str> = declared.map(|value| value.name.as_str()).collect();
    let Some(name) = values.keys().find(|name| !known.contains(&name.as_str())) else {
        return Ok(());
    };
    let message = format!("--var {name}: no command has such a value");
    let remedy = if known.is_empty() {
        "leave it out".to_owned()
    } else {
        format_suggestion(name, known)
    };
    Err(InputError::new(message, remedy).into())
}

fn fill_commands(
    program: &PublishProgram,
    build: &HistoryEntry,
    id: &str,
    request: &PublishRequest<'_>,
) -> Result<Vec<FilledCommand>> {
    let (image, groups) = find_image(program, &build.record.target, id)?;
    let commands = match image.commands(request.step) {
        StepCommands::Commands(commands) => commands.as_slice(),
        StepCommands::Hand(manual) => {
            let subject = format!("{} of {} {id}", request.step, image.title);
            return Err(refuse_manual(&subject, manual));
        }
    };
    let values = Filler {
        program,
        request,
        id,
        version: &build.record.image_version,
        groups: &groups,
        soon: format_time(request.now.saturating_add(60 * 60)).unwrap_or_default(),
    };
    let mut filled = Vec::new();
    for command in commands {
        if !values.is_left_out(command) {
            filled.push(values.fill_command(command)?);
        }
    }
    Ok(filled)
}

fn find_image<'a, 'b>(
    program: &'a PublishProgram,
    target: &str,
    id: &'b str,
) -> Result<(&'a PublishedImage, Captures<'b>)> {
    for image in program.images.as_slice() {
        let found = compile_pattern(&image.id)
            .map_err(|message| InputError::new(message, "correct publication.json"))?
            .captures(id);
        if let Some(groups) = found {
            return Ok((image, groups));
        }
    }
    let message = format!("`{id}` has the form of no image of the target {target}");
    let remedy = "use the record that the build wrote, unchanged";
    Err(InputError::new(message, remedy).into())
}

/// Values of placeholders for one image.
struct Filler<'a> {
    program: &'a PublishProgram,
    request: &'a PublishRequest<'a>,
    id: &'a str,
    version: &'a str,
    groups: &'a Captures<'a>,
    /// RFC 3339.
    soon: String,
}

impl Filler<'_> {
    /// Whether a command has an optional value that the user does not give.
    fn is_left_out(&self, command: &PublishCommand) -> bool {
        let parts = command
            .arguments
            .iter()
            .flat_map(|argument| split_argument(argument));
        for part in parts {
            let ArgumentPart::Placeholder(name) = part else {
                continue;
            };
            let value = self.find_declared(name);
            if value.is_some_and(|it| it.optional && !self.request.values.contains_key(&it.name)) {
                return true;
            }
        }
        false
    }

    fn fill_command(&self, command: &PublishCommand) -> Result<FilledCommand> {
        let mut arguments = Vec::new();
        for argument in &command.arguments {
            arguments.extend(self.fill_argument(argument)?);
        }
        let mut already = Vec::new();
        for settled in &command.already {
            already.push((self.fill_text(&settled.text)?, settled.doubt.clone()));
        }
        Ok(FilledCommand {
            program: self.program.name.clone(),
            arguments,
            already,
        })
    }

    /// One argument; for a list one for each entry.
    fn fill_argument(&self, argument: &str) -> Result<Vec<String>> {
        if let [ArgumentPart::Placeholder(name)] = split_argument(argument)[..]
            && let Some(value) = self.find_declared(name)
        {
            let entries = list_entries(value, self.find_value(name)?);
            return Ok(entries.into_iter().map(str::to_owned).collect());
        }
        Ok(vec![self.fill_text(argument)?])
    }

    /// A value is never read again: braces in it stay.
    fn fill_text(&self, text: &str) -> Result<String> {
        let mut filled = String::new();
        for part in split_argument(text) {
            filled.push_str(match part {
                ArgumentPart::Text(text) => text,
                ArgumentPart::Placeholder(name) => self.find_value(name)?,
            });
        }
        Ok(filled)
    }

    fn find_declared(&self, name: &str) -> Option<&PublishValue> {
        self.program.values.iter().find(|it| it.name == name)
    }

    fn find_value(&self, name: &str) -> Result<&str> {
        if let Some(value) = self.find_declared(name) {
            let given = self.request.values.get(name).map(String::as_str);
            return given.ok_or_else(|| {
                let message = format!("the commands need `{name}`: {}", value.description);
                InputError::new(message, format!("add `--var {name}=…`")).into()
            });
        }
        let common = match name {
            "id" => Some(self.id),
            "channel" => Some(self.request.channel),
            "version" => Some(self.version),
            "inAnHour" => Some(self.soon.as_str()),
            _ => None,
        };
        let found = common.or_else(|| self.groups.name(name).map(|it| it.as_str()));
        found.ok_or_else(|| {
            let message = format!("publication.json: `{{{name}}}` is no placeholder");
            InputError::new(message, "correct the file").into()
        })
    }
}
