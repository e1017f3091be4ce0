//! Parse, run, and turn the error's class into the exit code.

use std::process::ExitCode;

use clap::Parser as _;

use imagegen::cli::Cli;
use imagegen::{commands, error};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let printer = commands::printer(&cli.global);
    match commands::run(cli, &printer) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            printer.error(&error::told(&failure));
            for hint in error::hints(&failure) {
                printer.hint(&hint);
            }
            ExitCode::from(error::class(&failure).exit_code())
        }
    }
}
