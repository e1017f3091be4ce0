//! Commands of a publication, with values in the place of placeholders.

use std::collections::BTreeMap;

use regex_lite::Captures;

use crate::catalog::Trees;
use crate::diagnostic::{CodedError, Error, Result};
use crate::model::publication::{
    ExpectedOutput, ManualStep, Publication, PublishCommand, PublishProgram, PublishStep,
    PublishedBy, PublishedImage, StepCommands, compile_pattern,
};
use crate::records::{HistoryEntry, format_time};

use super::filler::{Filler, check_groups, check_values};

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
#[derive(Debug, Clone, PartialEq)]
pub struct ImageCommands<'a> {
    pub build: &'a HistoryEntry,
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
    /// The further commands run only if the output has this text.
    pub expects: Option<ExpectedOutput>,
    /// Texts of errors that say that nothing is left to do, each with the doubt that remains.
    pub already: Vec<(String, Option<String>)>,
}

/// The commands of a step for every image that the builds name.
///
/// # Errors
/// A target has no command for the step, an id has the form of no image of its target, or a value is missing, unknown
/// or has the wrong form.
pub fn list_commands<'a>(
    builds: &'a [HistoryEntry],
    request: &PublishRequest<'_>,
    trees: &Trees,
) -> Result<Vec<ImageCommands<'a>>> {
    let programs = load_programs(builds, |target| load_program(trees, target))?;
    let mut images = Vec::new();
    for build in builds {
        let target = &build.record.target;
        let program = &programs[target.as_str()];
        for artifact in &build.record.artifacts {
            for id in split_ids(program, &artifact.id) {
                images.push(ImageCommands {
                    build,
                    id: id.to_owned(),
                    install: program.install.clone(),
                    commands: fill_commands(program, build, id, request)?,
                });
            }
        }
    }
    if !programs.is_empty() {
        let declared = programs.values().flat_map(|program| &program.values);
        check_values(&declared.collect::<Vec<_>>(), request.values)?;
    }
    Ok(images)
}

/// The program of each target that the builds name, once.
pub(super) fn load_programs(
    builds: &[HistoryEntry],
    load: impl Fn(&str) -> Result<PublishProgram>,
) -> Result<BTreeMap<&str, PublishProgram>> {
    let mut programs = BTreeMap::new();
    for build in builds {
        let target = build.record.target.as_str();
        if !programs.contains_key(target) {
            programs.insert(target, load(target)?);
        }
    }
    Ok(programs)
}

pub(super) fn split_ids<'a>(program: &PublishProgram, id: &'a str) -> Vec<&'a str> {
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
            Error::value(format!("{label}: {message}"), remedy)
        })?;
    }
    Ok(Some(publication))
}

fn load_program(trees: &Trees, target: &str) -> Result<PublishProgram> {
    let Some(publication) = load_publication(trees, target)? else {
        return Err(refuse_unpublished(target).into());
    };
    match publication.by {
        PublishedBy::Program(program) => Ok(program),
        PublishedBy::Hand(manual) => {
            let message = format!("target {target}: {}", manual.reason);
            Err(Error::value(message, manual.remedy))
        }
    }
}

pub(super) fn refuse_unpublished(target: &str) -> CodedError {
    let message = format!("the target {target} does not say how its images are published");
    let remedy = "add `publication.json` to the folder of the target, and name its parent by `--targets` (a definition \
                  does not choose what runs), or use the platform's own tools";
    CodedError::value(message, remedy)
}

pub(super) fn refuse_manual(subject: &str, manual: &ManualStep) -> Error {
    let message = format!("{subject}: {}", manual.reason);
    Error::value(message, manual.remedy.clone())
}

fn fill_commands(
    program: &PublishProgram,
    build: &HistoryEntry,
    id: &str,
    request: &PublishRequest<'_>,
) -> Result<Vec<FilledCommand>> {
    let (image, groups) = find_image(program, build, id, request.values)?;
    let commands = match image.commands(request.step) {
        StepCommands::Commands(commands) => commands.as_slice(),
        StepCommands::Hand(manual) => {
            let subject = format!("{} of {} {id}", request.step, image.title);
            return Err(refuse_manual(&subject, manual));
        }
    };
    let mut common = list_common_values(build, id, request.now);
    common.insert("channel", request.channel.to_owned());
    let values = Filler {
        declared: program.values.iter().collect(),
        values: request.values,
        common,
        groups: &groups,
    };
    let mut filled = Vec::new();
    for command in commands {
        if !values.is_left_out(&command.arguments) {
            filled.push(fill_command(program, command, &values)?);
        }
    }
    Ok(filled)
}

fn fill_command(
    program: &PublishProgram,
    command: &PublishCommand,
    values: &Filler<'_>,
) -> Result<FilledCommand> {
    let mut arguments = Vec::new();
    for argument in &command.arguments {
        arguments.extend(values.fill_argument(argument)?);
    }
    Ok(FilledCommand {
        program: program.name.clone(),
        arguments,
        expects: values.fill_expected(command.expects.as_ref())?,
        already: values.fill_settled(&command.already)?,
    })
}

/// Values that every command may have.
pub(super) fn list_common_values(
    build: &HistoryEntry,
    id: &str,
    now: u64,
) -> BTreeMap<&'static str, String> {
    let soon = format_time(now.saturating_add(60 * 60)).unwrap_or_default();
    BTreeMap::from([
        ("id", id.to_owned()),
        ("version", build.record.image_version.to_string()),
        ("lock", build.record.lock.clone()),
        ("inAnHour", soon),
    ])
}

/// The kind of an image, and the groups of its id.
///
/// # Errors
/// The id has the form of no image; or it is that of images in several places, and the user does not give one of them.
pub(super) fn find_image<'a, 'b>(
    program: &'a PublishProgram,
    build: &HistoryEntry,
    id: &'b str,
    values: &BTreeMap<String, String>,
) -> Result<(&'a PublishedImage, Captures<'b>)> {
    let mut placed = Vec::new();
    for image in program.images.as_slice() {
        let pattern = compile_pattern(&image.id)
            .map_err(|message| Error::value(message, "correct publication.json"))?;
        let found = pattern.captures(id);
        if let Some(groups) = &found {
            check_groups(&pattern, groups).map_err(|error| error.with_context(&build.place))?;
        }
        match (found, &image.place) {
            (None, _) => {}
            (Some(groups), None) => return Ok((image, groups)),
            (Some(groups), Some(place)) => placed.push((image, place, groups)),
        }
    }
    if placed.is_empty() {
        // One of thousands, perhaps.
        let (place, target) = (&build.place, &build.record.target);
        let message = format!("{place}: `{id}` has the form of no image of the target {target}");
        let remedy = "use the record that the build wrote, unchanged";
        return Err(Error::value(message, remedy));
    }

    let kinds: Vec<_> = placed.iter().map(|it| (it.0, it.1.as_str())).collect();
    placed.retain(|(_, place, _)| values.contains_key(*place));
    match placed.pop() {
        Some((image, _, groups)) if placed.is_empty() => Ok((image, groups)),
        _ => Err(refuse_place(id, &kinds)),
    }
}

/// The error for an image whose place is not known; each kind comes with the name of its place.
fn refuse_place(id: &str, kinds: &[(&PublishedImage, &str)]) -> crate::diagnostic::Error {
    let titles = kinds.iter().map(|(image, _)| image.title.as_str());
    let titles: Vec<&str> = titles.collect();
    let places = kinds.iter().map(|(_, place)| format!("`--var {place}=…`"));
    let places: Vec<String> = places.collect();
    let message = format!(
        "`{id}` is the name of {}, and the record does not say where it is",
        titles.join(" or ")
    );
    let remedy = format!("give one place: {}", places.join(" or "));
    Error::value(message, remedy)
}
