//! Completion of values in the user's shell: names of the catalog, of the definition and of the chosen target.
//!
//! The shell starts the program with [`VARIABLE`] in its environment and the words of the line. Errors give no
//! candidates: a line that is being written is seldom valid.

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::ValueHint;
use clap::{Arg, ArgMatches, Command, CommandFactory as _, FromArgMatches as _};
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use clap_complete::env::CompleteEnv;
use serde_json::Value;

use crate::base::choice::{
    Delivery, DiffPart, Format, HostAccess, Join, KeepPer, OnError, Runtime, SbomFormat,
};
use crate::catalog::Trees;
use crate::cli::{Cli, SourceArgs, find_topic, list_topics};
use crate::diagnostic::Result;
use crate::records::{ImageRecord, list_local_builds};
use crate::resolve::{BuildHost, IMAGE_SETS};
use crate::schemas::list_schemas;
use crate::selection::{Definitions, SourceFolders, read_sources, read_target_sources};
use crate::view::list::{self, Rows};

/// Environment variable that names the shell to complete for.
pub const VARIABLE: &str = "IMAGEGEN_COMPLETE";

/// Answers the shell if it asked for completions; false if the program was started for something else.
///
/// # Errors
/// The shell is unknown, or standard output is closed.
pub fn answer_shell() -> Result<bool, clap::Error> {
    let folder = env::current_dir().ok();
    CompleteEnv::with_factory(build_command)
        .var(VARIABLE)
        .try_complete(env::args_os(), folder.as_deref())
}

/// The command line with a completer at every flag whose values are known.
fn build_command() -> Command {
    add_topics(add_completers(Cli::command()))
}

/// `help` with its topics beside the verbs, of which clap knows alone.
fn add_topics(command: Command) -> Command {
    let mut help = copy_names(&command, "help");
    for topic in list_topics() {
        let text = find_topic(&topic).unwrap_or_default();
        let title = text.lines().next().unwrap_or_default();
        let about = title.trim_start_matches("# ").to_owned();
        help = help.subcommand(Command::new(topic).about(about));
    }
    command.disable_help_subcommand(true).subcommand(help)
}

/// The verbs below a command without their arguments.
fn copy_names(command: &Command, name: &str) -> Command {
    let about = command.get_about().cloned().unwrap_or_default();
    let bare = Command::new(name.to_owned()).about(about);
    command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
        .fold(bare.disable_help_subcommand(true), |bare, below| {
            bare.subcommand(copy_names(below, below.get_name()))
        })
}

fn add_completers(command: Command) -> Command {
    let verb = command.get_name().to_owned();
    command
        .mut_args(|arg| add_completer(&verb, arg))
        .mut_subcommands(add_completers)
}

fn add_completer(verb: &str, arg: Arg) -> Arg {
    let list: fn(&Line) -> Option<Vec<CompletionCandidate>> = match (verb, arg.get_id().as_str()) {
        (_, "target") => list_targets,
        (_, "k8s") => list_kubernetes,
        (_, "windows") => list_windows,
        (_, "cni") => list_networks,
        (_, "features") => list_features,
        (_, "component" | "override_fields" | "waive") | ("components", "name") => list_components,
        (_, "update") => list_updatable,
        (_, "variables") => list_settings,
        (_, "names") => list_image_names,
        ("explain", "name") => list_explained,
        ("schema", "name") => list_schema_names,
        ("promote" | "retire" | "test-clone", "images") => list_images_made,
        ("show", "version") => list_builds,
        (_, "format") => |_| Some(list_words(Format::ALL)),
        (_, "runtime") => |_| Some(list_words(Runtime::ALL)),
        (_, "delivery") => |_| Some(list_words(Delivery::ALL)),
        (_, "join") => |_| Some(list_words(Join::ALL)),
        ("sbom", "form") => |_| Some(list_words(SbomFormat::ALL)),
        (_, "only") => |_| Some(list_words(DiffPart::ALL)),
        (_, "image_sets") => |_| Some(list_words(IMAGE_SETS)),
        (_, "machines") => |_| Some(list_machines()),
        (_, "per") => |_| Some(list_words(KeepPer::ALL)),
        (_, "on_error") => |_| Some(list_words(OnError::ALL)),
        (_, "host_access") => |_| Some(list_words(HostAccess::ALL)),
        _ => return hint_path(arg),
    };
    // A component is only the first half of the value.
    let suffix = match arg.get_id().as_str() {
        "component" | "waive" => "=",
        "override_fields" => ".",
        _ => "",
    };
    // Builds are named by the path of their record, too.
    let is_path = matches!(
        (verb, arg.get_id().as_str()),
        ("promote" | "retire" | "test-clone", "images") | ("show", "version")
    );
    arg.add(ArgValueCompleter::new(move |word: &OsStr| {
        let line = Line::read();
        let found = line.and_then(|line| list(&line)).unwrap_or_default();
        let kept = keep_matching(found, suffix, word);
        if kept.is_empty() && is_path {
            return PathCompleter::any().complete(word);
        }
        kept
    }))
}

/// Files go where files are wanted; clap's derive macro says so of no type.
fn hint_path(arg: Arg) -> Arg {
    let is_path =
        arg.get_value_parser().type_id() == clap::builder::ValueParser::path_buf().type_id();
    if !is_path || arg.get_value_hint() != ValueHint::Unknown {
        return arg;
    }

    let names = arg.get_value_names().unwrap_or_default();
    if names.iter().any(|name| name == "DIR") {
        return arg.value_hint(ValueHint::DirPath);
    }
    arg.value_hint(ValueHint::AnyPath)
}

fn keep_matching(
    candidates: Vec<CompletionCandidate>,
    suffix: &str,
    word: &OsStr,
) -> Vec<CompletionCandidate> {
    let Some(word) = word.to_str() else {
        return Vec::new();
    };
    let mut kept = Vec::new();
    for candidate in candidates {
        let Some(value) = candidate.get_value().to_str() else {
            continue;
        };
        let value = format!("{value}{suffix}");
        if value.starts_with(word) {
            kept.push(CompletionCandidate::new(value).help(candidate.get_help().cloned()));
        }
    }
    kept
}

/// The line that is being written, as far as it can be parsed.
struct Line {
    matches: ArgMatches,
}

impl Line {
    fn read() -> Option<Self> {
        let words: Vec<OsString> = env::args_os()
            .skip_while(|word| word != "--")
            .skip(1)
            .collect();
        let command = Cli::command().ignore_errors(true);
        let matches = command.try_get_matches_from(words).ok()?;
        Some(Self { matches })
    }

    /// The last verb's flags: `catalog export` has those of `export`.
    fn innermost(&self) -> &ArgMatches {
        let mut matches = &self.matches;
        while let Some((_, inner)) = matches.subcommand() {
            matches = inner;
        }
        matches
    }

    fn text(&self, id: &str) -> Option<String> {
        self.innermost().try_get_one::<String>(id).ok()?.cloned()
    }

    fn definitions(&self) -> Option<Definitions> {
        let config = self.innermost().try_get_one::<PathBuf>("config");
        Definitions::load(config.ok().flatten().map(PathBuf::as_path)).ok()
    }

    fn trees(&self) -> Option<Trees> {
        let sources = SourceArgs::from_arg_matches(self.innermost()).unwrap_or_default();
        let sources = SourceFolders::from(&sources);
        let definitions = self.definitions()?;
        let images = definitions.images();
        // Steps of two images may exclude each other.
        let trees = read_sources(&sources, images);
        trees
            .or_else(|_| read_target_sources(&sources, images))
            .ok()
    }

    /// The target of the flag, or of the definition's only one.
    fn target(&self) -> Option<String> {
        if let Some(target) = self.text("target") {
            return Some(target);
        }
        let definitions = self.definitions()?;
        let targets: BTreeSet<String> = definitions
            .images()
            .iter()
            .filter_map(|image| image.definition.target.clone())
            .collect();
        let mut targets = targets.into_iter();
        targets.next().filter(|_| targets.next().is_none())
    }

    /// The entries of a listing, each with the texts at two keys: the value and what it means.
    fn list(
        &self,
        list: fn(&Trees) -> Result<Rows>,
        value: &str,
        help: &str,
    ) -> Option<Vec<CompletionCandidate>> {
        let rows = list(&self.trees()?).ok()?;
        let mut found = Vec::new();
        for (row, _) in &rows {
            let Some(text) = row[value].as_str() else {
                continue;
            };
            found.push(describe(text, row[help].as_str()));
        }
        Some(found)
    }
}

fn describe(value: &str, help: Option<&str>) -> CompletionCandidate {
    CompletionCandidate::new(value).help(help.map(|text| text.to_owned().into()))
}

fn list_words(words: impl IntoIterator<Item = impl ToString>) -> Vec<CompletionCandidate> {
    let words = words.into_iter();
    words
        .map(|word| describe(&word.to_string(), None))
        .collect()
}

/// Machines that bake, as `--for` takes them.
fn list_machines() -> Vec<CompletionCandidate> {
    let mut found = list_words(["this", "none"]);
    found.extend(list_words(BuildHost::ALL));
    found
}

fn list_targets(line: &Line) -> Option<Vec<CompletionCandidate>> {
    line.list(list::list_targets, "name", "title")
}

fn list_windows(line: &Line) -> Option<Vec<CompletionCandidate>> {
    line.list(list::list_windows, "release", "title")
}

fn list_networks(line: &Line) -> Option<Vec<CompletionCandidate>> {
    line.list(list::list_networks, "name", "title")
}

fn list_features(line: &Line) -> Option<Vec<CompletionCandidate>> {
    line.list(list::list_features, "name", "summary")
}

fn list_components(line: &Line) -> Option<Vec<CompletionCandidate>> {
    line.list(list::list_components, "name", "summary")
}

/// Names that `lock --update` takes beside components.
fn list_updatable(line: &Line) -> Option<Vec<CompletionCandidate>> {
    let mut found = list_components(line)?;
    found.push(describe("kubernetes", Some("every program of Kubernetes")));
    Some(found)
}

/// The lines, `stable`, and the releases of each line.
fn list_kubernetes(line: &Line) -> Option<Vec<CompletionCandidate>> {
    let rows = list::list_kubernetes(&line.trees()?).ok()?;
    let mut found = vec![describe("stable", None)];
    for (row, _) in &rows {
        found.extend(row["minor"].as_str().map(|minor| describe(minor, None)));
        for patch in row["patches"].as_array().into_iter().flatten() {
            found.extend(patch.as_str().map(|patch| describe(patch, None)));
        }
    }
    Some(found)
}

/// `NAME=` for each variable and choice of the target, and `NAME=VALUE` where the values are known.
fn list_settings(line: &Line) -> Option<Vec<CompletionCandidate>> {
    let target = line.target();
    let rows = list::list_variables(&line.trees()?).ok()?;
    let mut found = Vec::new();
    for (row, _) in &rows {
        if target.is_some() && row["target"].as_str() != target.as_deref() {
            continue;
        }
        add_setting(row, &mut found);
    }
    Some(found)
}

fn add_setting(row: &Value, found: &mut Vec<CompletionCandidate>) {
    let Some(name) = row["name"].as_str() else {
        return;
    };
    let setting = row.get("selector").unwrap_or(&row["variable"]);
    // A secret does not belong on a command line.
    if setting["sensitive"].as_bool() == Some(true) {
        return;
    }

    found.push(describe(
        &format!("{name}="),
        setting["description"].as_str(),
    ));
    for value in setting["values"].as_array().into_iter().flatten() {
        if let Some(text) = value["value"].as_str() {
            found.push(describe(
                &format!("{name}={text}"),
                value["description"].as_str(),
            ));
        }
    }
    for value in setting["oneOf"].as_array().into_iter().flatten() {
        if let Some(text) = value.as_str() {
            found.push(describe(&format!("{name}={text}"), None));
        }
    }
    if setting["type"].as_str() == Some("bool") {
        found.push(describe(&format!("{name}=true"), None));
        found.push(describe(&format!("{name}=false"), None));
    }
}

fn list_image_names(line: &Line) -> Option<Vec<CompletionCandidate>> {
    let definitions = line.definitions()?;
    let names = definitions.images().iter().map(|image| &image.name);
    Some(list_words(names))
}

/// Versions of recorded builds that made an image.
fn list_images_made(line: &Line) -> Option<Vec<CompletionCandidate>> {
    list_versions(line, ImageRecord::has_image)
}

/// Versions of recorded builds, failed ones too.
fn list_builds(line: &Line) -> Option<Vec<CompletionCandidate>> {
    list_versions(line, |_| true)
}

/// Versions of recorded builds, the newest first. No record of a URL is downloaded for it.
fn list_versions(
    line: &Line,
    is_listed: fn(&ImageRecord) -> bool,
) -> Option<Vec<CompletionCandidate>> {
    let given = line.innermost().try_get_many::<String>("from").ok()?;
    let folders: Vec<String> = given.into_iter().flatten().cloned().collect();
    let mut found = Vec::new();
    for entry in list_local_builds(&folders) {
        let record = &entry.record;
        if !is_listed(record) {
            continue;
        }
        let (target, windows, release) = (&record.target, &record.windows, &record.kubernetes);
        let help = format!("{target}, Windows {windows}, Kubernetes {release}");
        found.push(describe(&record.image_version, Some(&help)));
    }
    Some(found)
}

/// Names that `explain` is most often asked for.
fn list_explained(line: &Line) -> Option<Vec<CompletionCandidate>> {
    let mut found = list_components(line)?;
    found.extend(list_features(line)?);
    found.extend(line.list(list::list_steps, "name", "summary")?);
    found.extend(line.list(list::list_rules, "name", "text")?);
    found.extend(list_settings(line)?);

    // Targets share variables.
    let mut seen = BTreeSet::new();
    found.retain(|it| seen.insert(it.get_value().to_owned()));
    Some(found)
}

fn list_schema_names(line: &Line) -> Option<Vec<CompletionCandidate>> {
    let schemas = list_schemas(&line.trees()?).ok()?;
    Some(list_words(schemas.iter().map(|(name, _)| name)))
}
