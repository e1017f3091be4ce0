//! Additions of `-v` to every verb: the program, its inputs, and the time that it took.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::base::program::ProgramVersion;
use crate::cli::{Cli, SelectionArgs, Verb};
use crate::diagnostic::Result;
use crate::lock::LOCK_FILE;
use crate::ui::Printer;

/// # Errors
/// As the verb's stages; its class decides the exit code.
pub fn run_command(cli: Cli, printer: &Printer) -> Result<()> {
    let start = Instant::now();
    if printer.is_verbose() {
        for line in describe_inputs(&cli) {
            printer.print_detail(&line);
        }
    }
    let outcome = super::run_verb(cli, printer);
    printer.print_detail(&format!(
        "finished after {:.1} s",
        start.elapsed().as_secs_f32()
    ));
    outcome
}

fn describe_inputs(cli: &Cli) -> Vec<String> {
    let sources = &cli.global.sources;
    let program = ProgramVersion::current();
    let mut lines = vec![format!("imagegen {}", program.format_line())];
    lines.push(match &sources.manifests {
        Some(folder) => format!("catalog: {}", folder.display()),
        None => format!("catalog: built-in, sha256:{}", program.catalog),
    });
    lines.extend(
        sources
            .targets
            .iter()
            .map(|folder| format!("targets: built-in and {}", folder.display())),
    );
    lines.extend(
        sources
            .steps
            .iter()
            .map(|folder| format!("steps: built-in and {}", folder.display())),
    );
    lines.extend(
        find_selection(&cli.command)
            .into_iter()
            .flat_map(describe_selection),
    );
    lines
}

fn describe_selection(selection: &SelectionArgs) -> Vec<String> {
    let default = Path::new("imagegen.json");
    let definition = selection
        .config
        .clone()
        .or_else(|| default.exists().then(|| default.to_owned()));
    let folder = definition
        .as_ref()
        .and_then(|path| path.parent())
        .unwrap_or(Path::new(""))
        .to_owned();
    let lock = folder.join(LOCK_FILE);
    let describe = |what: &str, path: Option<PathBuf>| {
        format!(
            "{what}: {}",
            path.map_or_else(|| "none".to_owned(), |path| path.display().to_string())
        )
    };
    let mut lines = vec![
        describe("image definition", definition),
        describe(
            "lockfile beside it",
            Some(lock).filter(|lock| lock.exists()),
        ),
    ];
    lines.extend(
        selection
            .overrides
            .iter()
            .map(|path| format!("overrides: {}", path.display())),
    );
    lines.extend(
        selection
            .policy
            .iter()
            .map(|path| format!("policy: {}", path.display())),
    );
    lines
}

fn find_selection(command: &Verb) -> Option<&SelectionArgs> {
    match command {
        Verb::Build(args) => Some(&args.selection),
        Verb::Render(args) => Some(&args.selection),
        Verb::Plan(args) => Some(&args.selection),
        Verb::Lock(args) => Some(&args.selection),
        Verb::Outdated(args) => Some(&args.selection),
        Verb::Fetch(args) => Some(&args.online.selection),
        Verb::Doctor(args) => Some(&args.selection),
        Verb::Explain(args) => Some(&args.selection),
        _ => None,
    }
}
