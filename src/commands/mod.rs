//! One file per verb: arguments → stages → output.

mod attest;
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
mod flags;
mod history;
mod init;
mod join_data;
mod list;
mod lock;
mod node_plan;
mod outdated;
mod output;
mod pin;
mod plan;
mod publish;
mod render;
mod report;
mod sbom;
mod schema;
mod scripts;
mod store;
mod test_clone;
mod verify;

pub use crate::complete::answer_shell;
pub use context::run_command;
pub use explain::list_options;
pub use output::{
    announce_end, create_printer, print_failure, print_json_error, print_text_error, wants_json,
    write_code_quality,
};

use crate::base::choice::Format;
use crate::cli::{Cli, Verb};
use crate::diagnostic::{Error, Result};
use crate::selection::SourceFolders;
use crate::ui::Printer;
use crate::updates::Answers;

use each::{ImageChoice, Pace, run_each};

fn run_verb(cli: Cli, printer: &Printer) -> Result<()> {
    let sources = &SourceFolders::from(&cli.global.sources);
    let answers = Answers::default();
    if printer.format == Format::Markdown && !matches!(cli.command, Verb::Diff(_)) {
        let message = "`--format markdown` applies to `diff` only";
        return Err(Error::usage(message, "choose `text` or `json`"));
    }
    match cli.command {
        Verb::Build(args) => run_each(
            ImageChoice::new(&args.images, &args.selection, args.lock.lock.as_deref())
                .at(Pace::of_build(&args)),
            sources,
            printer,
            |run| build::run_build(&args, &answers, run),
        ),
        Verb::Render(args) => run_each(
            ImageChoice::new(&args.images, &args.selection, args.lock.lock.as_deref())
                .at(Pace::Quick(args.jobs.jobs)),
            sources,
            printer,
            |run| render::run_render(&args, run),
        ),
        Verb::Plan(args) => run_each(
            ImageChoice::new(&args.images, &args.selection, args.lock.lock.as_deref())
                .at(Pace::Quick(args.jobs.jobs)),
            sources,
            printer,
            |run| plan::run_plan(&args, run),
        ),
        Verb::Pin(args) => pin::run_pin(args, sources.manifests.as_deref(), printer),
        Verb::Fetch(args) => run_each(ImageChoice::online(&args.online), sources, printer, |run| {
            fetch::run_fetch(&args, &answers, run)
        }),
        Verb::Bundle(args) => bundle::run_bundle(&args, sources, printer),
        Verb::Attest(args) => attest::run_attest(args, sources, printer),
        Verb::Diff(args) => diff::run_diff(&args, sources, printer),
        Verb::Doctor(args) => doctor::run_doctor(&args, sources, printer),
        Verb::Verify(args) => verify::run_verify(args, sources, printer),
        Verb::Scripts(args) => scripts::run_scripts(&args, sources, printer),
        Verb::Sbom(args) => sbom::run_sbom(&args, sources, printer),
        Verb::History(args) => history::run_history(&args, printer),
        Verb::TestClone(args) => test_clone::run_test_clone(&args, sources, printer),
        Verb::Promote(args) => publish::run_promote(&args, sources, printer),
        Verb::Retire(args) => publish::run_retire(&args, sources, printer),
        Verb::Report(args) => report::run_report(&args, sources, printer),
        Verb::Store(args) => store::run_store(&args, sources, printer),
        Verb::Lock(args) => run_each(
            ImageChoice::new(&args.images, &args.selection, args.lock.as_deref())
                .at(Pace::Slow(args.network.jobs)),
            sources,
            printer,
            |run| lock::run_lock(&args, &answers, run),
        ),
        Verb::Outdated(args) => run_each(ImageChoice::online(&args), sources, printer, |run| {
            outdated::run_outdated(&args, &answers, run)
        }),
        Verb::Explain(args) => explain::run_explain(&args, sources, printer),
        Verb::ClusterManifests(args) => {
            cluster_manifests::run_cluster_manifests(&args, sources, printer)
        }
        Verb::Conformance(args) => conformance::run_conformance(&args, sources, printer),
        Verb::JoinData(args) => join_data::run_join_data(&args, sources, printer),
        Verb::List(args) => list::run_list(&args.what, sources, printer),
        Verb::Catalog(args) => catalog::run_catalog(&args.what, sources, printer),
        Verb::Init(args) => init::run_init(&args, sources, printer),
        Verb::Completions(args) => completions::run_completions(&args, printer),
        Verb::Man(args) => completions::run_man(&args, printer),
        Verb::Schema(args) => schema::run_schema(&args, sources, printer),
    }
}
