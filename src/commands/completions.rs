//! `imagegen completions` and `imagegen man`.

use std::collections::BTreeMap;

use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use clap_complete::env::Shells;
use clap_mangen::Man;

use crate::cli::{Cli, CompletionsArgs, ManArgs};
use crate::diagnostic::{InternalError, Result};
use crate::io::fs;
use crate::ui::Printer;

use crate::complete::VARIABLE;

use crate::view::{CompletionsOutput, WrittenFolder};

pub(super) fn run_completions(args: &CompletionsArgs, printer: &Printer) -> Result<()> {
    let output = CompletionsOutput {
        schema: "imagegen.dev/completions/v1",
        shell: args.shell.to_string(),
        script: write_registration(args.shell)?,
    };
    printer.print_result(&output, || output.script.clone())
}

/// The shell's script, which asks the program itself for the words that fit.
fn write_registration(shell: Shell) -> Result<String> {
    let name = shell.to_string();
    let shells = Shells::builtins();
    let completer = shells
        .completer(&name)
        .ok_or_else(|| InternalError(format!("no completions for {name}")))?;

    let mut script = Vec::new();
    completer
        .write_registration(VARIABLE, "imagegen", "imagegen", "imagegen", &mut script)
        .map_err(|error| InternalError(format!("writing the completions of {name}: {error}")))?;
    let script = String::from_utf8_lossy(&script).into_owned();
    Ok(if shell == Shell::Bash {
        rejoin_words(&script)
    } else {
        script
    })
}

/// The script for bash with a function before the generated one, which gets words that bash divides at `=`.
fn rejoin_words(script: &str) -> String {
    let function = include_str!("completions/bash.sh");
    let generated = "-F _clap_complete_imagegen imagegen";
    let script = script.replace(generated, "-F _imagegen_complete imagegen");
    format!("{function}{script}")
}

pub(super) fn run_man(args: &ManArgs, printer: &Printer) -> Result<()> {
    let mut pages = BTreeMap::new();
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    add_pages(&command, "imagegen", &mut pages)?;
    fs::place_directory(&args.out, &pages, &[], &[], args.force)?;
    let output = WrittenFolder::new(&args.out, &pages);
    printer.print_result(&output, || format!("{}\n", args.out.display()))
}

/// A page for the command, and one for each below it: `imagegen-store-add.1`.
fn add_pages(command: &Command, name: &str, pages: &mut BTreeMap<String, Vec<u8>>) -> Result<()> {
    let mut page = Vec::new();
    let named = command.clone().name(name.to_owned());
    Man::new(named)
        .render(&mut page)
        .map_err(|error| InternalError(format!("writing {name}.1: {error}")))?;
    pages.insert(format!("{name}.1"), page);
    for below in command
        .get_subcommands()
        .filter(|below| !below.is_hide_set() && below.get_name() != "help")
    {
        add_pages(below, &format!("{name}-{}", below.get_name()), pages)?;
    }
    Ok(())
}
