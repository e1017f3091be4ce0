//! `imagegen outdated`.

use crate::acquire::{HeaderGrants, open_fetcher};
use crate::base::output_list::OutputList;
use crate::base::version::Version;
use crate::cli::OnlineArgs;
use crate::diagnostic::Result;
use crate::planning::{PlanRequest, Stale, ToolUse, plan_image};
use crate::selection::read_definition;
use crate::updates::{OutdatedOutput, Upstreams};

use super::each::ImageRun;

pub(super) fn run_outdated(args: &OnlineArgs, run: &ImageRun<'_>) -> Result<()> {
    let (trees, printer) = (&run.trees, run.printer);
    let definition = read_definition(&args.selection, run.image, trees)?;
    let planned = plan_image(&PlanRequest {
        definition: &definition,
        selection: &args.selection,
        lock: &args.lock,
        beside: &run.image.lock_path(),
        stale: Stale::Warn(printer),
        tools: ToolUse::Run,
        scripts: None,
        trees,
    })?;
    let (plan, policy) = (planned.plan, planned.policy);
    let fetcher = open_fetcher(&args.network, &policy)?;
    let grants = HeaderGrants::new(&args.network, &policy);
    let upstreams = Upstreams {
        plan: &plan,
        definition: &definition,
        trees,
        fetcher: &fetcher,
        grants: &grants,
    };
    let rows = upstreams.check_releases(&upstreams.list_subjects()?, printer)?;
    let output = OutputList::new("imagegen.dev/outdated/v1", rows);
    printer.print_listing(&output, || {
        let mut text = format!(
            "{:<28} {:<14} {:<14} {:<14}\n",
            "", "planned", "newer", "newest"
        );
        text.extend(output.items.iter().map(format_row));
        text
    })
}

fn format_row(row: &OutdatedOutput) -> String {
    let text = |version: &Option<Version>| version.as_ref().map_or("-", Version::as_str).to_owned();
    let note = match (&row.held, row.proof) {
        (Some(held), _) => format!("held: {held}"),
        (None, Some(proof)) => format!("provable by {}", proof.as_str()),
        (None, None) => String::new(),
    };
    let flaws = match row.vulnerabilities.as_slice() {
        [] => String::new(),
        ids => format!(" affected: {}", ids.join(", ")),
    };
    let (newer, newest) = (text(&row.newer), text(&row.newest));
    let line = format!(
        "{:<28} {:<14} {newer:<14} {newest:<14} {note}{flaws}",
        row.name, row.planned
    );
    format!("{}\n", line.trim_end())
}
