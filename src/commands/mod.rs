//! One file per verb: arguments → stages → output.

mod build;
mod bundle;
mod catalog;
mod cluster_manifests;
mod conformance;
mod doctor;
mod explain;
mod fetch;
mod join_data;
mod list;
mod lock;
mod outdated;
mod pin;
mod plan;
mod render;
mod schema;
mod scripts;
mod store;
mod verify;

use std::env;

use crate::cli::{Cli, Command, Global};
use crate::diagnostic::Result;
use crate::ui::{Printer, Verbosity};

/// How the user wants to be spoken to.
#[must_use]
pub fn printer(global: &Global) -> Printer {
    let verbosity = match (global.quiet, global.verbose) {
        (true, _) => Verbosity::Quiet,
        (false, 0) => Verbosity::Normal,
        (false, _) => Verbosity::Verbose,
    };
    let no_color = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Printer::new(global.format, verbosity, no_color)
}

/// # Errors
/// As the verb's stages; its class decides the exit code.
pub fn run(cli: Cli, printer: &Printer) -> Result<()> {
    let manifests = cli.global.manifests.as_deref();
    match cli.command {
        Command::Build(args) => build::build(&args, manifests, printer),
        Command::Render(args) => render::render(&args, manifests, printer),
        Command::Plan(args) => plan::plan(&args, manifests, printer),
        Command::Pin(args) => pin::pin(&args, manifests, printer),
        Command::Fetch(args) => fetch::fetch(&args, manifests, printer),
        Command::Bundle(args) => bundle::bundle(&args, manifests, printer),
        Command::Doctor(args) => doctor::doctor(&args, manifests, printer),
        Command::Verify(args) => verify::verify(&args, manifests, printer),
        Command::Scripts(args) => scripts::scripts(&args, manifests, printer),
        Command::Store(args) => store::store(&args, printer),
        Command::Lock(args) => lock::lock(&args, manifests, printer),
        Command::Outdated(args) => outdated::outdated(&args, manifests, printer),
        Command::Explain(args) => explain::explain(&args, manifests, printer),
        Command::ClusterManifests(args) => cluster_manifests::cluster_manifests(&args, manifests, printer),
        Command::Conformance(args) => conformance::conformance(&args, manifests, printer),
        Command::JoinData(args) => join_data::join_data(&args, manifests, printer),
        Command::List(args) => list::list(&args.what, manifests, printer),
        Command::Catalog(args) => catalog::catalog(&args.what, manifests, printer),
        Command::Schema(args) => schema::schema(&args, printer),
    }
}
