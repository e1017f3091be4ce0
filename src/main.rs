//! Parse, run, and turn the error's class into the exit code.

use std::io::Write as _;
use std::process::ExitCode;

use clap::error::ErrorKind;
use imagegen::base::interrupt::{Interrupted, is_requested};
use imagegen::base::json::format_json;
use imagegen::base::secret::{mask_arguments, mask_environment, mask_text};
use imagegen::base::text::{escape_controls, find_control};
use imagegen::cli::{classify_parse_error, parse_cli};
use imagegen::commands;
use imagegen::diagnostic::{Error, ErrorClass, InternalError};
use imagegen::view::VersionOutput;

/// Plans of many images are made by threads: musl's own allocator lets one of them in at a time, and glibc's takes
/// longer.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match commands::answer_shell() {
        Ok(false) => {}
        Ok(true) => return ExitCode::SUCCESS,
        Err(error) => {
            print_parse_error(&error);
            return ErrorClass::Usage.exit_code().into();
        }
    }
    mask_environment(std::env::vars_os());
    mask_arguments(std::env::args_os());
    let cli = match parse_cli() {
        Ok(cli) => cli,
        Err(error) => {
            let is_printed = print_parse_error(&error);
            return match classify_parse_error(&error) {
                Some(class) => class.exit_code().into(),
                None if is_printed => ExitCode::SUCCESS,
                None => ErrorClass::Internal.exit_code().into(),
            };
        }
    };
    let printer = commands::create_printer(&cli.global);
    commands::announce_end(&cli.global);
    match name_interrupt(commands::run_command(cli, &printer)) {
        Ok(()) => {
            commands::write_code_quality(&printer);
            ExitCode::SUCCESS
        }
        Err(failure) => {
            commands::print_failure(&printer, &failure);
            ExitCode::from(failure.class().exit_code())
        }
    }
}

/// The interrupt in place of what it made fail, such as reading a file, or of a success: the user does not want what
/// comes after this run.
fn name_interrupt(outcome: Result<(), Error>) -> Result<(), Error> {
    match outcome {
        Err(failure) if failure.class() == ErrorClass::Interrupted => Err(failure),
        _ if is_requested() => Err(Interrupted.into()),
        outcome => outcome,
    }
}

/// In color as clap does, unless the text holds a secret, or an argument holds characters that control a terminal.
/// False if help or version cannot be written; a reader that has read enough is none of these.
fn print_parse_error(error: &clap::Error) -> bool {
    let text = error.render().to_string();
    if error.use_stderr() && commands::wants_json() {
        let class = classify_parse_error(error).unwrap_or(ErrorClass::Usage);
        commands::print_json_error(&describe_parse_error(&text, class));
        return true;
    }
    let shown = mask_text(&text);
    let is_plain = std::env::args_os()
        .all(|argument| find_control(&argument.to_string_lossy(), false).is_none());
    if error.use_stderr() && (shown != text || !is_plain) {
        eprint!("{}", escape_controls(&shown));
        return true;
    }
    let printed = if error.kind() == ErrorKind::DisplayVersion && commands::wants_json() {
        let version = format_json(&VersionOutput::current());
        std::io::stdout().write_all(version.as_bytes())
    } else {
        error.print()
    };
    match printed.and_then(|()| std::io::stdout().flush()) {
        Err(failed) if failed.kind() != std::io::ErrorKind::BrokenPipe => {
            let message = format!("writing to stdout: {failed}");
            commands::print_text_error(&InternalError(message).into());
            false
        }
        _ => true,
    }
}

/// The paragraphs of clap: what is wrong, tips, and the usage.
fn describe_parse_error(text: &str, class: ErrorClass) -> Error {
    let mut paragraphs = text.split("\n\n").map(str::trim);
    let first = paragraphs.next().unwrap_or_default();
    let message = first.trim_start_matches("error: ").to_owned();
    let others: Vec<&str> = paragraphs.filter(|part| !part.is_empty()).collect();
    let remedy = others.join("\n");
    if class == ErrorClass::Selection {
        Error::value(message, remedy)
    } else {
        Error::usage(message, remedy)
    }
}
