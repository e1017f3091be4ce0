//! `imagegen pin`.

use std::path::Path;

use crate::base::output_list::OutputList;
use crate::cli::PinArgs;
use crate::diagnostic::Result;
use crate::ui::Printer;
use crate::updates::{PinRequest, pin_digest};

pub(super) fn run_pin(args: &PinArgs, manifests: Option<&Path>, printer: &Printer) -> Result<()> {
    let request = PinRequest {
        component: args.component.clone(),
        version: args.version.clone(),
        from: args.from.clone(),
        sha256: args.sha256.clone(),
        sha512: args.sha512.clone(),
        size: args.size,
        source: args.source.clone(),
        confidence: args.confidence,
        note: args.note.clone(),
        mirrors: args.mirrors.mirror.clone(),
        allow_http: args.allow_http.clone(),
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
                    args.component,
                    pin.version,
                    pin.digest.as_str()
                )
            })
            .collect()
    })
}
