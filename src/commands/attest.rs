//! `imagegen attest`.

use std::fmt::Write as _;

use crate::cli::AttestArgs;
use crate::diagnostic::Result;
use crate::records::{AttestOutput, AttestRequest, BuilderId, attest_image};
use crate::selection::SourceFolders;
use crate::ui::Printer;

pub(super) fn run_attest(
    args: AttestArgs,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<()> {
    let builder_id = args.builder_id.as_deref().map(BuilderId::new).transpose()?;
    let request = AttestRequest {
        image: args.image,
        out: args.out,
        key: args.key,
        sign_command: args.sign_command.zip(args.public_key),
        builder_id,
        sha256: args.sha256,
    };
    let output = attest_image(&request, sources, printer)?;
    printer.print_result(&output, || format_output(&output))
}

/// The sigstore bundles; for statements that nobody signed, the command of a pipeline.
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
