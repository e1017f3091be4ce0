//! `imagegen attest`.

use std::fmt::Write as _;

use crate::cli::{AttestArgs, SourceArgs};
use crate::diagnostic::Result;
use crate::records::{AttestOutput, attest_image};
use crate::ui::Printer;

pub(super) fn run_attest(args: &AttestArgs, sources: &SourceArgs, printer: &Printer) -> Result<()> {
    let output = attest_image(args, sources, printer)?;
    printer.print_result(&output, || format_output(&output))
}

/// The bundles; for statements that nobody signed, the command of a pipeline.
fn format_output(output: &AttestOutput) -> String {
    let mut text = String::new();
    for statement in &output.statements {
        // Writing to a String cannot fail.
        let _ = match (&statement.bundle, &statement.command) {
            (Some(bundle), _) => writeln!(text, "{bundle}"),
            (None, Some(command)) => writeln!(text, "{command}"),
            (None, None) => writeln!(text, "{}", statement.statement),
        };
    }
    text
}
