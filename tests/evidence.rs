//! Documents about an image: what changed, what is in it, who says so.

use std::process::Command;

use crate::support::{Test, needs, root};

mod attest;
mod diff;
mod errors;
mod git;
mod history;
mod once;
pub mod outputs;
mod recorded;
mod report;
mod sbom;

/// Checks a document by the official library of its format, if it is there.
#[track_caller]
fn check_document(test: &Test, arguments: &[&str]) {
    let Some(python) = needs("IMAGEGEN_TEST_FORMATS", "libraries of document formats") else {
        return;
    };
    let output = Command::new(python)
        .arg(root().join("tests/evidence/check.py"))
        .args(arguments)
        .current_dir(&test.folder)
        .output()
        .expect("python");
    let (said, failed) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{arguments:?}: {said}{failed}");
}
