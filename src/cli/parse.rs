//! From the words of a command line to a [`Cli`], or to what is printed in its place.

use std::ffi::OsString;

use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgMatches, Args as _, Command, CommandFactory as _, FromArgMatches as _};

use super::{
    BuildArgs, Cli, ClusterManifestsArgs, GivenArguments, Global, JoinDataArgs, LockArgs, PlanArgs,
    RenderArgs,
};
use super::{global, topics};
use crate::base::program::ProgramVersion;
use crate::base::text::escape_controls;
use crate::base::url::hide_login;
use crate::diagnostic::ErrorClass;

/// Parses the command line. Errors show an invalid value without password, query and control characters.
///
/// # Errors
/// Help, version, or an error of clap.
pub fn parse_cli() -> Result<Cli, clap::Error> {
    parse_arguments().map_err(|error| {
        let mut error = match topics::read_asked_topic(std::env::args_os()) {
            Some(name) => topics::answer(&name, error),
            None => error,
        };
        if error.kind() == ErrorKind::DisplayVersion {
            let command = Cli::command().version(ProgramVersion::current().format());
            return command.try_get_matches().err().unwrap_or(error);
        }
        if let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) {
            let value = escape_controls(&hide_login(value)).into_owned();
            error.insert(ContextKind::InvalidValue, ContextValue::String(value));
        }
        error
    })
}

fn parse_arguments() -> Result<Cli, clap::Error> {
    let is_empty = |(name, value): (OsString, OsString)| {
        value.is_empty() && name.to_string_lossy().starts_with("IMAGEGEN_")
    };
    let matches = if std::env::vars_os().any(is_empty) {
        forget_empty(Cli::command()).try_get_matches()
    } else if let Some(matches) = parse_frequent_verb() {
        Ok(matches)
    } else {
        Cli::command().try_get_matches()
    };
    let mut matches = matches.map_err(global::name_variable)?;
    let mut cli = Cli::from_arg_matches(&matches)?;
    cli.global.prefer_flags(&matches)?;
    cli.given = matches.remove_subcommand().map(GivenArguments::new);
    Ok(cli)
}

/// A line of a verb that is started for every image, without the flags of the other verbs: these would be a twentieth of
/// what a preview executes. None for what the whole command line answers: help, an error, another verb.
fn parse_frequent_verb() -> Option<ArgMatches> {
    let name = std::env::args_os().nth(1)?.into_string().ok()?;
    let verb = create_verb(&name)?;
    let command = Global::augment_args(Command::new("imagegen")).subcommand(verb);
    command.try_get_matches().ok()
}

/// The arguments of a verb that is started for every image, or for every cluster; none for other verbs.
pub(super) fn create_verb(name: &str) -> Option<Command> {
    let verb = Command::new(name.to_owned());
    Some(match name {
        "build" => BuildArgs::augment_args(verb),
        "cluster-manifests" => ClusterManifestsArgs::augment_args(verb),
        "join-data" => JoinDataArgs::augment_args(verb),
        "lock" => LockArgs::augment_args(verb),
        "plan" => PlanArgs::augment_args(verb),
        "render" => RenderArgs::augment_args(verb),
        _ => return None,
    })
}

/// A variable of the environment that is empty says nothing: pipelines set them from values that may be unset.
fn forget_empty(command: Command) -> Command {
    command
        .mut_args(forget_variable)
        .mut_subcommands(forget_empty)
}

fn forget_variable(argument: Arg) -> Arg {
    let value = argument.get_env().and_then(std::env::var_os);
    if value.is_some_and(|value| value.is_empty()) {
        argument.env(Resettable::Reset)
    } else {
        argument
    }
}

/// An invalid value of a flag has the class of an invalid value in a file; other errors are usage errors. None
/// for help and version.
#[must_use]
pub fn classify_parse_error(error: &clap::Error) -> Option<ErrorClass> {
    let value = error.get(ContextKind::InvalidValue);
    let is_given = value.is_some_and(|value| !value.to_string().is_empty());
    match error.kind() {
        ErrorKind::ValueValidation => Some(ErrorClass::Selection),
        ErrorKind::InvalidValue if is_given => Some(ErrorClass::Selection),
        _ => error.use_stderr().then_some(ErrorClass::Usage),
    }
}
