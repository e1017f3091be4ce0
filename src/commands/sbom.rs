//! `imagegen sbom`.

use crate::attest::sbom::{format_cyclonedx, format_spdx};
use crate::base::choice::SbomFormat;
use crate::base::json;
use crate::cli::SbomArgs;
use crate::diagnostic::Result;
use crate::io::fs::OutputKind;
use crate::records::{describe_image, list_bill, read_bill_sources, scan_document};
use crate::selection::SourceFolders;
use crate::ui::Printer;

/// The first line of a bill of each format.
const BILL: OutputKind = OutputKind {
    name: "a bill of materials",
    beginnings: &[
        "{\n  \"$schema\": \"http://cyclonedx.org/schema/bom-",
        "{\n  \"spdxVersion\": \"",
    ],
};

pub(super) fn run_sbom(args: &SbomArgs, sources: &SourceFolders, printer: &Printer) -> Result<()> {
    let image = describe_image(&args.image, sources, printer)?;
    let parts = read_bill_sources(&image, sources)?;
    let bill = list_bill(&image, &parts);
    let document = match args.form {
        SbomFormat::Cyclonedx => format_cyclonedx(&bill),
        SbomFormat::Spdx => format_spdx(&bill),
    };
    let text = json::format_json(&document);
    if let Some(out) = &args.out {
        out.check(BILL)?.write(text.as_bytes())?;
        printer.print_note(&format!("bill of materials: {}", out.display()));
    } else {
        printer.print_result(&document, || text.clone())?;
    }
    let Some(command) = &args.scan_command else {
        return Ok(());
    };
    let name = match args.form {
        SbomFormat::Cyclonedx => "bom.cdx.json",
        SbomFormat::Spdx => "bom.spdx.json",
    };
    scan_document(command, name, &text, printer)
}
