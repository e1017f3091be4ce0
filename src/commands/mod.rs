//! One file per verb: arguments → stages → output.

mod build;
mod bundle;
mod catalog;
mod cluster_manifests;
mod completions;
mod conformance;
mod context;
mod diff;
mod doctor;
mod each;
mod explain;
mod fetch;
mod init;
mod join_data;
mod list;
mod lock;
mod outdated;
mod pin;
mod plan;
mod render;
mod sbom;
mod schema;
mod scripts;
mod store;
mod verify;

pub use context::run_command;

use std::env;
use std::path::Path;

use crate::base::choice::Format;
use crate::cli::{Cli, Command, Global, ImagesArgs, SelectionArgs};
use crate::diagnostic::{Result, UsageError};
use crate::ui::{Printer, Verbosity};

use each::{ImageChoice, run_each};

/// How the user wants to be spoken to.
#[must_use]
pub fn create_printer(global: &Global) -> Printer {
    let verbosity = match (global.quiet, global.verbose) {
        (true, _) => Verbosity::Quiet,
        (false, 0) => Verbosity::Normal,
        (false, _) => Verbosity::Verbose,
    };
    let no_color = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Printer::new(global.format, verbosity, no_color)
}

fn choose<'a>(
    images: &'a ImagesArgs,
    selection: &'a SelectionArgs,
    lock: Option<&'a Path>,
) -> ImageChoice<'a> {
    ImageChoice {
        images,
        config: selection.config.as_deref(),
        lock,
    }
}

fn run_verb(cli: Cli, printer: &Printer) -> Result<()> {
    let sources = &cli.global.sources;
    if printer.format == Format::Markdown && !matches!(cli.command, Command::Diff(_)) {
        let message = "`--format markdown` applies to `diff` only";
        return Err(UsageError::new(message, "choose `text` or `json`").into());
    }
    match cli.command {
        Command::Build(args) => run_each(
            choose(&args.images, &args.selection, args.lock.lock.as_deref()),
            sources,
            printer,
            |run| build::run_build(&args, run),
        ),
        Command::Render(args) => run_each(
            choose(&args.images, &args.selection, args.lock.lock.as_deref()),
            sources,
            printer,
            |run| render::run_render(&args, run),
        ),
        Command::Plan(args) => run_each(
            choose(&args.images, &args.selection, args.lock.lock.as_deref()),
            sources,
            printer,
            |run| plan::run_plan(&args, run),
        ),
        Command::Pin(args) => pin::run_pin(&args, sources.manifests.as_deref(), printer),
        Command::Fetch(args) => run_each(
            choose(&args.images, &args.selection, args.lock.lock.as_deref()),
            sources,
            printer,
            |run| fetch::run_fetch(&args, run),
        ),
        Command::Bundle(args) => bundle::run_bundle(&args, sources, printer),
        Command::Diff(args) => diff::run_diff(&args, sources, printer),
        Command::Doctor(args) => doctor::run_doctor(&args, sources, printer),
        Command::Verify(args) => verify::run_verify(&args, sources, printer),
        Command::Scripts(args) => scripts::run_scripts(&args, sources, printer),
        Command::Sbom(args) => sbom::run_sbom(&args, sources, printer),
        Command::Store(args) => store::run_store(&args, printer),
        Command::Lock(args) => run_each(
            choose(&args.images, &args.selection, args.lock.as_deref()),
            sources,
            printer,
            |run| lock::run_lock(&args, run),
        ),
        Command::Outdated(args) => run_each(
            choose(&args.images, &args.selection, args.lock.lock.as_deref()),
            sources,
            printer,
            |run| outdated::run_outdated(&args, run),
        ),
        Command::Explain(args) => explain::run_explain(&args, sources, printer),
        Command::ClusterManifests(args) => {
            cluster_manifests::run_cluster_manifests(&args, sources, printer)
        }
        Command::Conformance(args) => conformance::run_conformance(&args, sources, printer),
        Command::JoinData(args) => join_data::run_join_data(&args, sources, printer),
        Command::List(args) => list::run_list(&args.what, sources, printer),
        Command::Catalog(args) => catalog::run_catalog(&args.what, sources, printer),
        Command::Init(args) => init::run_init(&args, sources, printer),
        Command::Completions(args) => completions::run_completions(&args, printer),
        Command::Man(args) => completions::run_man(&args, printer),
        Command::Schema(args) => schema::run_schema(&args, sources, printer),
    }
}
