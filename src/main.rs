//! Parse, run, and turn the error's class into the exit code.

use std::process::ExitCode;

use imagegen::base::secret::{mask_environment, mask_text};
use imagegen::base::text::{escape_controls, find_control};
use imagegen::cli::{classify_parse_error, parse_cli};
use imagegen::commands;
use imagegen::diagnostic::ErrorClass;

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
    let cli = match parse_cli() {
        Ok(cli) => cli,
        Err(error) => {
            print_parse_error(&error);
            return classify_parse_error(&error)
                .map_or(ExitCode::SUCCESS, |class| class.exit_code().into());
        }
    };
    let printer = commands::create_printer(&cli.global);
    match commands::run_command(cli, &printer) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            printer.print_error(&failure.to_string());
            failure
                .remedies()
                .iter()
                .for_each(|remedy| printer.print_hint(remedy));
            ExitCode::from(failure.class().exit_code())
        }
    }
}

/// In color as clap does, unless the text holds a secret, or an argument holds characters that control a terminal.
fn print_parse_error(error: &clap::Error) {
    let text = error.render().to_string();
    let shown = mask_text(&text);
    let is_plain = std::env::args_os()
        .all(|argument| find_control(&argument.to_string_lossy(), false).is_none());
    if error.use_stderr() && (shown != text || !is_plain) {
        eprint!("{}", escape_controls(&shown));
    } else {
        // A closed stream cannot be reported.
        let _ = error.print();
    }
}
