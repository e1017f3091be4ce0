//! `imagegen help TOPIC`: texts that the program carries, for users without the repository.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _};

use super::Cli;
use crate::base::names::find_closest_name;
use crate::embedded::Tree;
use crate::ui::wrap_for_stdout;

/// Names of the topics, sorted.
pub fn list_topics() -> Vec<String> {
    let files = Tree::embedded_help().list_files("");
    let names = files.iter().filter_map(|file| file.strip_suffix(".md"));
    names.map(str::to_owned).collect()
}

/// The text of a topic, in Markdown.
pub fn find_topic(name: &str) -> Option<String> {
    let tree = Tree::embedded_help();
    let bytes = tree.get(&format!("{name}.md"))?;
    String::from_utf8(bytes.to_vec()).ok()
}

/// The topic of a command line `imagegen help WORD…`: `air gap` is `air-gap`. Flags of every verb may stand anywhere.
pub(super) fn read_asked_topic(arguments: impl Iterator<Item = OsString>) -> Option<String> {
    let (mut words, mut takes_value) = (Vec::new(), false);
    let command = Cli::command();
    for argument in arguments.skip(1) {
        let argument = argument.into_string().ok()?;
        if std::mem::take(&mut takes_value) {
            continue;
        }
        if argument.starts_with('-') {
            takes_value = awaits_value(&command, &argument);
        } else {
            words.push(argument.to_lowercase());
        }
    }
    let (help, topic) = words.split_first()?;
    (help == "help" && !topic.is_empty()).then(|| topic.join("-"))
}

/// Whether the word behind a flag is its value.
fn awaits_value(command: &Command, flag: &str) -> bool {
    let Some(name) = flag.strip_prefix("--") else {
        return false;
    };
    let known = command
        .get_arguments()
        .find(|it| it.get_long() == Some(name));
    known.is_some_and(|it| it.get_action().takes_values())
}

/// The text of the topic in the place of clap's error, which knows verbs alone; or the nearest topic beside it.
pub(super) fn answer(name: &str, error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    if let Some(text) = find_topic(name) {
        let command = Command::new("help").override_help(wrap_for_stdout(&text));
        let shown = command.try_get_matches_from(["help", "--help"]).err();
        return shown.unwrap_or(error);
    }
    suggest_names(name, error)
}

/// The nearest topic or verb, or all topics.
fn suggest_names(name: &str, mut error: clap::Error) -> clap::Error {
    let topics = list_topics();
    let command = Cli::command();
    let verbs = command.get_subcommands().map(Command::get_name);
    let names = topics.iter().map(String::as_str).chain(verbs);
    if let Some(nearest) = find_closest_name(name, names) {
        let suggestion = ContextValue::Strings(vec![nearest.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, suggestion);
        return error;
    }
    let text = format!("the topics are {}", topics.join(", "));
    let suggestion = ContextValue::StyledStrs(vec![text.into()]);
    error.insert(ContextKind::Suggested, suggestion);
    error
}
