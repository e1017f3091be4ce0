//! `imagegen verify`.

use std::fmt::Write as _;

use crate::bundle::format_differences;
use crate::cli::VerifyArgs;
use crate::diagnostic::Result;
use crate::inspect::{
    AuthenticodeRequest, Inspected, VerifyOutput, VerifyRequest, WholeOutput, format_proof,
    inspect_attestations, inspect_file,
};
use crate::model::evidence::UNPROVEN;
use crate::selection::{SourceFolders, read_sources};
use crate::ui::Printer;

use super::flags::name_mirrored_policy;

pub(super) fn run_verify(
    args: VerifyArgs,
    sources: &SourceFolders,
    printer: &Printer,
) -> Result<()> {
    let request = read_request(args);
    let trees = read_sources(sources, &[])?;
    if !request.attestations.is_empty() {
        let (output, demand) = inspect_attestations(&request, &trees, printer)?;
        printer.print_listing(&output, || format_file(&output))?;
        output.require_proofs()?;
        return demand;
    }
    match inspect_file(&request, &trees, printer)? {
        Inspected::File(output) => {
            printer.print_listing(&output, || format_file(&output))?;
            Ok(output.require_proofs()?)
        }
        Inspected::Bundle(opened) => printer.print_listing(&opened.index, || {
            let files = opened.index.files.len();
            let differences = format_differences(opened.list_extra_images(), &opened.index.omitted);
            format!(
                "bundle: every file matches the index and the lock ({files} files)\n{differences}"
            )
        }),
        Inspected::Whole(output) => {
            printer.print_listing(&output, || format_whole(&output))?;
            output.require_proofs(request.proofs.as_deref())
        }
    }
}

fn read_request(args: VerifyArgs) -> VerifyRequest {
    let authenticode = args.authenticode.then_some(AuthenticodeRequest {
        publisher: args.publisher,
        root: args.root,
        members: args.member,
    });
    VerifyRequest {
        file: args.file,
        sha256: args.sha256,
        sha512: args.sha512,
        checksums: args.checksums,
        signature: args.signature,
        key: args.key,
        certificate: args.certificate,
        bundle: args.bundle,
        attestations: args.attestation,
        proofs: args.proofs,
        identity: args.identity,
        issuer: args.issuer,
        authenticode,
        lock: args.lock,
        policy: name_mirrored_policy(&args.policy, &args.mirrors),
        at: args.at,
        network: (&args.network).into(),
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
        .chain(output.uncompared.iter().map(|folder| {
            format!("not compared: {folder}/ (results of builds, which Packer does not read)\n")
        }))
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
