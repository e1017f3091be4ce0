//! `imagegen history`.

use std::path::Path;

use crate::cli::{HistoryArgs, HistoryShowArgs, HistoryWhat};
use crate::diagnostic::Result;
use crate::records::{HistoryPlace, prune_history, read_history};
use crate::ui::Printer;
use crate::view::{format_build, format_history};

pub(super) fn run_history(args: &HistoryArgs, printer: &Printer) -> Result<()> {
    match &args.what {
        None => {
            let HistoryPlace { from, network } = &HistoryPlace::from(&args.place);
            let history = read_history(from, network, printer)?;
            printer.print_listing(&history, || format_history(&history))
        }
        Some(HistoryWhat::Show(args)) => show_build(args, printer),
        Some(HistoryWhat::Prune(args)) => {
            let pruned = prune_history(args.from.as_deref(), args.keep, args.dry_run, printer)?;
            printer.print_result(&pruned, || {
                let verb = if pruned.dry_run {
                    "would remove"
                } else {
                    "removed"
                };
                let lines = pruned.removed.iter().map(|it| format!("{verb} {it}\n"));
                lines.collect()
            })
        }
    }
}

fn show_build(args: &HistoryShowArgs, printer: &Printer) -> Result<()> {
    let HistoryPlace { from, network } = &HistoryPlace::from(&args.place);
    let path = Path::new(&args.version);
    let entry = if path.exists() && path.components().count() > 1 {
        let named = [args.version.clone()];
        let history = read_history(&named, network, printer)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match history.builds.as_slice() {
            [only] => only.clone(),
            _ => history.find_build(&name)?.clone(),
        }
    } else {
        let history = read_history(from, network, printer)?;
        history.find_build(&args.version)?.clone()
    };
    printer.print_listing(&entry.record, || format_build(&entry))
}
