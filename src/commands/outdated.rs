//! `imagegen outdated`.

use crate::acquire::{HeaderGrants, NetworkOptions, open_fetcher};
use crate::base::output_list::OutputList;
use crate::base::value::Sha256;
use crate::base::version::Version;
use crate::bundle::ImageSource;
use crate::cli::OnlineArgs;
use crate::diagnostic::Result;
use crate::planning::{GuestScriptUse, Stale};
use crate::selection::read_definition;
use crate::updates::{
    Answers, OutdatedImage, OutdatedOutput, OutdatedRow, Upstreams, check_images,
};

use super::each::ImageRun;
use super::flags::read_flags;

pub(super) fn run_outdated(args: &OnlineArgs, answers: &Answers, run: &ImageRun<'_>) -> Result<()> {
    let (trees, printer) = (&run.trees, run.printer);
    let flags = read_flags(&args.selection)?;
    let definition = read_definition(&flags, run.image, trees)?;
    let (stale, scripts) = (Stale::Warn(printer), GuestScriptUse::Unused);
    let planned = run.plan_defined(&flags, &definition, &args.lock, stale, scripts)?;
    let (plan, policy) = (planned.plan, planned.policy);
    let network = NetworkOptions::from(&args.network);
    let fetcher = answers.share(open_fetcher(&network, &policy)?);
    let grants = HeaderGrants::new(&network, &policy);
    let upstreams = Upstreams {
        plan: &plan,
        definition: &definition,
        trees,
        fetcher: &fetcher,
        grants: &grants,
    };
    let releases = upstreams.check_releases(&upstreams.list_candidates()?, printer)?;
    let source = ImageSource {
        fetcher: &fetcher,
        jobs: network.downloads(),
        printer,
    };
    let releases = releases.into_iter().map(Box::new).map(OutdatedRow::Release);
    let images = check_images(&plan, &source, answers)?;
    let rows: Vec<OutdatedRow> = releases
        .chain(images.into_iter().map(OutdatedRow::Image))
        .collect();
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

fn format_row(row: &OutdatedRow) -> String {
    match row {
        OutdatedRow::Release(row) => format_release(row),
        OutdatedRow::Image(row) => format_image(row),
    }
}

/// Digests by their first digits, as registries and runtimes show them.
fn format_image(row: &OutdatedImage) -> String {
    let shorten = |digest: &Option<Sha256>| {
        let digest = digest.as_ref().map_or("-", Sha256::as_str);
        digest.chars().take(12).collect::<String>()
    };
    let version = row.os_version.as_deref().unwrap_or_default();
    let (planned, newer) = (shorten(&row.planned), shorten(&row.newer));
    let line = format!(
        "{:<28} {planned:<14} {newer:<14} {:<14} {version}",
        row.name, "-"
    );
    format!("{}\n", line.trim_end())
}

fn format_release(row: &OutdatedOutput) -> String {
    let text = |version: &Option<Version>| version.as_ref().map_or("-", Version::as_str).to_owned();
    let note = match (&row.held, row.proof) {
        (Some(held), _) => format!("held: {held}"),
        (None, Some(proof)) => format!("provable by {}", proof.as_str()),
        (None, None) => String::new(),
    };
    let (newer, newest) = (text(&row.newer), text(&row.newest));
    let line = format!(
        "{:<28} {:<14} {newer:<14} {newest:<14} {note}",
        row.name, row.planned
    );
    format!("{}\n", line.trim_end())
}
