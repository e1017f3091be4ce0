//! The guest's PowerShell beside what Rust has of it: fields of resources, laws of Windows, results of the cases, and
//! patterns. What its texts look like by themselves, `ci/analyzer` says.

mod catalogue;
mod forms;
mod resources;
mod results;

fn assert_none(findings: &[String]) {
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}
