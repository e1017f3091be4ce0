//! Flags of every verb. Each has an environment variable.

use std::path::PathBuf;

use clap::builder::{BoolishValueParser, TypedValueParser as _};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Args, Command};

use crate::base::choice::{Format, SbomFormat, UnknownName};

#[derive(Debug, Args)]
#[command(next_help_heading = "Output and catalog")]
pub struct Global {
    /// Output format: `text` or `json`.
    #[arg(
        long,
        global = true,
        default_value = "text",
        value_name = "FORMAT",
        env = "IMAGEGEN_FORMAT",
        hide_env_values = true,
        value_parser = parse_format
    )]
    pub format: Format,

    /// Print only warnings and errors.
    #[arg(
        short, long, global = true, env = "IMAGEGEN_QUIET", hide_env_values = true,
        value_parser = BoolishValueParser::new()
    )]
    pub quiet: bool,

    /// Increase verbosity.
    #[arg(
        short, long, global = true, action = ArgAction::Count, env = "IMAGEGEN_VERBOSE", hide_env_values = true,
        value_parser = parse_verbosity
    )]
    pub verbose: u8,

    #[command(flatten)]
    pub sources: SourceArgs,
}

impl Global {
    /// Lets `--quiet` and `--verbose` on the command line win over the environment.
    ///
    /// # Errors
    /// The command line has both.
    pub fn prefer_flags(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let is_flag = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        match (is_flag("quiet"), is_flag("verbose")) {
            (true, true) => {
                let message = "the argument '--quiet' cannot be used with '--verbose...'";
                return Err(Command::new("imagegen").error(ErrorKind::ArgumentConflict, message));
            }
            (true, false) => self.verbose = 0,
            (false, true) => self.quiet = false,
            (false, false) => {}
        }
        Ok(())
    }
}

/// A number, or a truth value as `IMAGEGEN_QUIET` has it.
fn parse_verbosity(text: &str) -> Result<u8, String> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let command = Command::new("imagegen");
    let is_true = BoolishValueParser::new().parse_ref(&command, None, text.as_ref());
    let expected = "expected a number such as 1, `true` or `false`";
    is_true.map(u8::from).map_err(|_| expected.to_owned())
}

/// One verb has a third format.
fn parse_format(text: &str) -> Result<Format, String> {
    let parsed: Result<Format, UnknownName> = text.parse();
    parsed.map_err(|_| {
        if text.parse::<SbomFormat>().is_ok() {
            return format!(
                "`{text}` is a format of bills of materials: `imagegen sbom --as {text}`"
            );
        }
        format!("unknown format `{text}`: expected text or json, or markdown for `imagegen diff`")
    })
}

/// Names the variable of the environment that is no text or has an invalid value: clap does not tell it from an argument.
pub(super) fn name_variable(error: clap::Error) -> clap::Error {
    match error.kind() {
        ErrorKind::InvalidUtf8 => name_unreadable_variable(error),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => add_variable(error),
        _ => error,
    }
}

/// A value that is no argument comes from the environment.
fn add_variable(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) else {
        return error;
    };
    if std::env::args_os().any(|it| it.to_string_lossy().contains(value)) {
        return error;
    }
    let mut variables = std::env::vars_os();
    let found = variables.find(|(name, text)| {
        let is_own = name.to_string_lossy().starts_with("IMAGEGEN_");
        is_own && text.to_string_lossy().split(',').any(|it| it == value)
    });
    if let Some((name, _)) = found {
        let tip = format!(
            "the environment variable {} has this value",
            name.to_string_lossy()
        );
        let tip = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tip);
    }
    error
}

fn name_unreadable_variable(error: clap::Error) -> clap::Error {
    if std::env::args_os().any(|it| it.to_str().is_none()) {
        return error;
    }
    let mut variables = std::env::vars_os();
    let found = variables.find(|(name, value)| {
        name.to_string_lossy().starts_with("IMAGEGEN_") && value.to_str().is_none()
    });
    let Some((name, _)) = found else {
        return error;
    };
    let message = format!(
        "the environment variable {} is not UTF-8 text",
        name.to_string_lossy()
    );
    Command::new("imagegen").error(ErrorKind::InvalidUtf8, message)
}

/// Files in the place of built-in ones, and beside them.
#[derive(Debug, Clone, Default, Args)]
pub struct SourceArgs {
    /// Read the catalog from this directory instead of the built-in catalog.
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "IMAGEGEN_MANIFESTS",
        hide_env_values = true
    )]
    pub manifests: Option<PathBuf>,

    /// Directory of your own targets, one folder each; a folder with the name of a built-in target replaces it.
    /// Repeatable.
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "IMAGEGEN_TARGETS",
        hide_env_values = true
    )]
    pub targets: Vec<PathBuf>,

    /// Directory of your own steps: files `NNN-ID.json`, the files that they name, and the folder `templates`; a step
    /// with the id of a built-in step replaces it. Repeatable.
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "IMAGEGEN_STEPS",
        hide_env_values = true
    )]
    pub steps: Vec<PathBuf>,

    /// Directory of your own component files `NAME.json`, beside those of the catalog. Repeatable.
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "IMAGEGEN_COMPONENT_FILES",
        hide_env_values = true
    )]
    pub component_files: Vec<PathBuf>,
}
