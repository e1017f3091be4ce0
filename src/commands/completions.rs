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

/// Text of a generated script, and what takes its place in the script of this shell.
///
/// zsh and fish pass a word with its quotes and backslashes, so that no file with a blank in its name was found; both
/// quote the answer by themselves. `(Q)` of zsh leaves the quote of a word that is not closed yet.
///
/// bash divides words at `=`: the function of `bash.sh` rejoins them, and calls the generated one.
///
/// PowerShell writes an answer as it is, and Windows PowerShell 5.1 drops an argument that is empty: the word that begins
/// behind a blank. <https://github.com/PowerShell/PowerShell/pull/16639>
const CORRECTIONS: &[(Shell, &str, &str)] = &[
    (
        Shell::Bash,
        "-F _clap_complete_imagegen imagegen",
        "-F _imagegen_complete imagegen",
    ),
    (
        Shell::Zsh,
        r#""${words[@]}""#,
        r#""${(@)${(@Q)words}#[\'\"]}""#,
    ),
    (
        Shell::Fish,
        "(commandline --current-token)",
        "(commandline --current-token | string unescape)",
    ),
    (
        Shell::PowerShell,
        r#"$args += " ''";"#,
        r#"$args += if ($PSVersionTable.PSVersion.Major -lt 7) { " '`"`"'" } else { " ''" };"#,
    ),
    (
        Shell::PowerShell,
        "[System.Management.Automation.CompletionResult]::new($cmd, $cmd,",
        r#"$text = if ($cmd -match "[^\w.:=/\\+~-]") { "'" + $cmd.Replace("'", "''") + "'" } else { $cmd };
        [System.Management.Automation.CompletionResult]::new($text, $cmd,"#,
    ),
];

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
    let mut script = String::from_utf8_lossy(&script).into_owned();
    for (corrected, text, correction) in CORRECTIONS {
        if *corrected == shell {
            script = script.replace(text, correction);
        }
    }
    if shell == Shell::Bash {
        script.insert_str(0, include_str!("completions/bash.sh"));
    }
    Ok(script)
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
