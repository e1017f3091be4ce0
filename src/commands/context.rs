//! Additions of `-v` to every verb: the program, its inputs, and the time that it took.

use std::path::Path;
use std::time::Instant;

use crate::base::program::ProgramVersion;
use crate::cli::{Cli, ImagesArgs, SelectionArgs, Verb};
use crate::diagnostic::Result;
use crate::selection::{DefinedImage, Definitions};
use crate::ui::Printer;

/// # Errors
/// As the verb's stages; its class decides the exit code.
pub fn run_command(mut cli: Cli, printer: &Printer) -> Result<()> {
    let start = Instant::now();
    if printer.is_verbose() {
        for line in describe_inputs(&cli) {
            printer.print_detail(&line);
        }
    }
    let given = cli.given.take();
    let outcome = super::run_verb(cli, printer);
    printer.print_detail(&format!(
        "finished after {:.1} s",
        start.elapsed().as_secs_f32()
    ));
    outcome?;
    if let Some(next) = given.and_then(|given| given.find_next()) {
        printer.print_next(&next);
    }
    Ok(())
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

/// A selection, and the images that are named after the verb.
type NamedSelection<'a> = (&'a SelectionArgs, Option<&'a ImagesArgs>);

fn describe_selection((selection, images): NamedSelection<'_>) -> Vec<String> {
    let default = Path::new("imagegen.json");
    let definition = selection
        .config
        .clone()
        .or_else(|| default.exists().then(|| default.to_owned()));
    let mut lines = vec![match definition {
        Some(path) => format!("image definition: {}", path.display()),
        None => "image definition: none".to_owned(),
    }];
    lines.extend(describe_locks(selection, images));
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

/// The lockfile of each image that the verb is for. A definition that cannot be read has its error from the verb.
fn describe_locks(selection: &SelectionArgs, named: Option<&ImagesArgs>) -> Vec<String> {
    let Ok(definitions) = Definitions::load(selection.config.as_deref()) else {
        return Vec::new();
    };
    let wanted = named.map_or(&[][..], |images| &images.names);
    let unnamed = [DefinedImage::empty()];
    let images = match definitions.images() {
        [] => &unnamed,
        images => images,
    };
    let mut lines = Vec::new();
    for image in images {
        if !wanted.is_empty() && !wanted.contains(&image.name) {
            continue;
        }
        let lock = image.lock_path();
        lines.push(if lock.exists() {
            format!("lockfile beside it: {}", lock.display())
        } else {
            format!("lockfile beside it: none ({})", lock.display())
        });
    }
    lines
}

fn find_selection(command: &Verb) -> Option<NamedSelection<'_>> {
    match command {
        Verb::Build(args) => Some((&args.selection, Some(&args.images))),
        Verb::Render(args) => Some((&args.selection, Some(&args.images))),
        Verb::Plan(args) => Some((&args.selection, Some(&args.images))),
        Verb::Lock(args) => Some((&args.selection, Some(&args.images))),
        Verb::Outdated(args) => Some((&args.selection, Some(&args.images))),
        Verb::Fetch(args) => Some((&args.online.selection, Some(&args.online.images))),
        Verb::Doctor(args) => Some((&args.selection, None)),
        Verb::Explain(args) => Some((&args.selection, None)),
        _ => None,
    }
}
