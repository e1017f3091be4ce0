//! Parse, run, and turn the error's class into the exit code.

use std::process::ExitCode;

use imagegen::{cli, commands};

fn main() -> ExitCode {
    let cli = cli::parse();
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
