//! `imagegen pin`.

use std::path::Path;

use crate::base::output_list::OutputList;
use crate::cli::PinArgs;
use crate::diagnostic::Result;
use crate::ui::Printer;
use crate::updates::{PinRequest, pin_digest};

pub(super) fn run_pin(args: PinArgs, manifests: Option<&Path>, printer: &Printer) -> Result<()> {
    let request = PinRequest {
        component: args.component,
        version: args.version,
        from: args.from,
        sha256: args.sha256,
        sha512: args.sha512,
        size: args.size,
        source: args.source,
        confidence: args.confidence,
        note: args.note,
        mirrors: args.mirrors.mirror,
        allow_http: args.allow_http,
        network: (&args.network).into(),
    };
    let pins = pin_digest(&request, manifests, printer)?;
    let added = OutputList::new("imagegen.dev/pins/v1", pins);
    printer.print_result(&added, || {
        added
            .items
            .iter()
            .map(|pin| {
                format!(
                    "{} {} {}\n",
                    request.component,
                    pin.version,
                    pin.digest.as_str()
                )
            })
            .collect()
    })
}
