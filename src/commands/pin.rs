//! `imagegen pin`.

use std::path::Path;

use crate::base::output_list::OutputList;
use crate::cli::PinArgs;
use crate::diagnostic::Result;
use crate::ui::Printer;
use crate::updates::pin_digest;

pub(super) fn run_pin(args: &PinArgs, manifests: Option<&Path>, printer: &Printer) -> Result<()> {
    let added = OutputList::new(
        "imagegen.dev/pins/v1",
        pin_digest(args, manifests, printer)?,
    );
    printer.print_result(&added, || {
        added
            .items
            .iter()
            .map(|pin| {
                format!(
                    "{} {} {}\n",
                    args.component,
                    pin.version,
                    pin.digest.as_str()
                )
            })
            .collect()
    })
}
