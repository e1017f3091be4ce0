//! The catalog that ships, and what the lint finds in one that is wrong.

use imagegen::catalog::{Catalog, lint};
use imagegen::embedded::Tree;

#[test]
fn what_ships_has_no_findings() {
    let findings = lint(&Catalog::new(Tree::manifests()));
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}
