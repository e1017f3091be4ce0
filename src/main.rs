//! Parse, run, and turn the error's class into the exit code.

use std::process::ExitCode;

use clap::Parser as _;

use imagegen::cli::Cli;
use imagegen::commands;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let printer = commands::printer(&cli.global);
    match commands::run(cli, &printer) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            printer.error(&failure.to_string());
            failure.remedies().iter().for_each(|remedy| printer.hint(remedy));
            ExitCode::from(failure.class().exit_code())
        }
    }
}
