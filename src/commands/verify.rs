//! `imagegen verify`.

use std::fmt::Write as _;

use crate::cli::{SourceArgs, VerifyArgs};
use crate::diagnostic::Result;
use crate::inspect::{
    Inspected, VerifyOutput, WholeOutput, format_proof, inspect_attestations, inspect_file,
};
use crate::model::evidence::UNPROVEN;
use crate::selection::read_sources;
use crate::ui::Printer;

pub(super) fn run_verify(args: &VerifyArgs, sources: &SourceArgs, printer: &Printer) -> Result<()> {
    if !args.attestation.is_empty() {
        let (output, demand) = inspect_attestations(args)?;
        printer.print_listing(&output, || format_file(&output))?;
        output.require_proofs()?;
        return demand;
    }
    match inspect_file(args, &read_sources(sources, &[])?, printer)? {
        Inspected::File(output) => {
            printer.print_listing(&output, || format_file(&output))?;
            Ok(output.require_proofs()?)
        }
        Inspected::Bundle(opened) => printer.print_listing(&opened.index, || {
            let files = opened.index.files.len();
            format!("bundle: every file matches the index and the lock ({files} files)\n")
        }),
        Inspected::Whole(output) => {
            printer.print_listing(&output, || format_whole(&output))?;
            Ok(output.require_proofs()?)
        }
    }
}

fn format_whole(output: &WholeOutput) -> String {
    let proofs = output
        .evidence
        .iter()
        .map(|proof| format_proof(proof) + "\n");
    let recorded = output
        .recorded
        .iter()
        .map(|proof| format!("recorded only: {}\n", format_proof(proof)));
    proofs
        .chain(recorded)
        .chain(
            output
                .unasked
                .iter()
                .map(|line| format!("not asked for: {line}\n")),
        )
        .chain(output.unproven.iter().map(|artifact| {
            format!("{UNPROVEN:<21} {artifact}: only the lockfile states its digest\n")
        }))
        .chain(
            output
                .unpinned
                .iter()
                .map(|artifact| format!("{:<21} {artifact}\n", "unpinned")),
        )
        .collect()
}

fn format_file(output: &VerifyOutput) -> String {
    let mut text = format!(
        "{}  {} bytes\nsha256  {}\n",
        output.file, output.size, output.sha256
    );
    for proof in &output.evidence {
        let code = proof
            .code
            .as_ref()
            .map(|code| format!(" [{code}]"))
            .unwrap_or_default();
        let _ = writeln!(text, "{}{code}", format_proof(proof));
        for (name, value) in &proof.facts {
            let _ = writeln!(text, "    {name}: {value}");
        }
    }
    if output.evidence.is_empty() {
        text += "no proof requested; the file was not verified\n";
        for offer in &output.offers {
            let _ = writeln!(text, "it offers {offer}");
        }
    }
    text
}
