//! What publishers lay beside their files: checksum files, signatures, sigstore bundles. Good ones made by
//! the real tools or by the real publishers; bad ones each with its code.

mod checksums;
mod cosign;
mod fuzz;
mod minisign;
mod openpgp;
pub mod sigstore;
pub mod tools;

use imagegen::model::evidence::Verdict;
use imagegen::verify::{ProofError, Proven};

/// The code of a refusal.
fn code(outcome: Result<Proven, ProofError>) -> &'static str {
    match outcome {
        Ok(proven) if proven.verdict == Verdict::Verified => "ok",
        Ok(_) => "ok, time unproven",
        Err(error) => {
            println!("{}: {error}", error.code);
            assert!(
                !error.message.is_empty() && !error.message.ends_with('.'),
                "{error}"
            );
            assert!(error.message.bytes().all(|byte| byte >= 0x20), "{error:?}");
            error.code.as_str()
        }
    }
}

/// Every row of a table, and not the first that is wrong alone.
#[track_caller]
fn agree<'a>(rows: impl IntoIterator<Item = (&'a str, &'static str, &'static str)>) {
    let wrong: Vec<String> = rows
        .into_iter()
        .filter(|(_, found, wanted)| found != wanted)
        .map(|(title, found, wanted)| format!("{title}: {found}, not {wanted}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
