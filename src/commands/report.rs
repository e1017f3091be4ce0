//! `imagegen report`.

use std::path::PathBuf;

use crate::attest::report::{format_fleet_page, format_image_page};
use crate::attest::sbom::format_cyclonedx;
use crate::bake::REPORT_PAGE;
use crate::base::json;
use crate::cli::ReportArgs;
use crate::diagnostic::Result;
use crate::io::fs::{OutputFile, OutputKind};
use crate::records::{
    REPORT_SCHEMA, ReportOutput, describe_fleet, describe_image, describe_page, list_bill,
    read_bill_sources, read_history, scan_document,
};
use crate::selection::{SourceFolders, read_sources};
use crate::ui::Printer;

const PAGE: OutputKind = OutputKind {
    name: "a page",
    beginnings: &["<!DOCTYPE html>"],
};

pub(super) fn run_report(
    args: &ReportArgs,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<()> {
    let (text, place) = if let Some(image) = &args.image {
        let (page, place) = describe_page(image, sources, printer)?;
        (format_image_page(&page)?, place)
    } else {
        let history = read_history(&args.place.from, &(&args.place.network).into(), printer)?;
        let page = describe_fleet(&history, &read_sources(sources, &[])?)?;
        (format_fleet_page(&page)?, PathBuf::from(REPORT_PAGE))
    };
    let out = args.out.clone().unwrap_or_else(|| OutputFile::from(place));
    out.check(PAGE)?.write(text.as_bytes())?;
    let output = ReportOutput {
        schema: REPORT_SCHEMA,
        page: out.display().to_string(),
        size: text.len(),
    };
    printer.print_result(&output, || format!("{}\n", output.page))?;
    scan_image(args, sources, printer)
}

/// Runs the scanner over the bill of materials.
fn scan_image(args: &ReportArgs, sources: &SourceFolders, printer: &Printer) -> Result<()> {
    let (Some(image), Some(command)) = (&args.image, &args.scan_command) else {
        return Ok(());
    };
    let image = describe_image(image, sources, printer)?;
    let parts = read_bill_sources(&image, sources)?;
    let bill = list_bill(&image, &parts);
    let text = json::format_json(&format_cyclonedx(&bill));
    scan_document(command, "bom.cdx.json", &text, printer)
}
