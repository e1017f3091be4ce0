//! Digests of embedded files.

use std::collections::BTreeMap;
use std::sync::Arc;

use imagegen::base::digest::sha256_hex;
use imagegen::base::program::ProgramVersion;
use imagegen::catalog::load_target;
use imagegen::embedded::{OverlayFile, Tree};
use imagegen::guest::read_steps;
use imagegen::model::kubernetes::ProgramTable;
use serde_json::Value;

/// A catalog's digest: the SHA-256 of one line `SHA256  PATH` for each file, in the order of the paths. The same as
/// `sha256sum` prints in an exported catalog.
fn digest_catalog(tree: &Tree) -> String {
    let lines = tree
        .files()
        .into_iter()
        .map(|(path, bytes)| format!("{}  {path}\n", sha256_hex(&bytes)));
    sha256_hex(lines.collect::<String>().as_bytes())
}

#[test]
fn the_digest_that_the_build_computed_is_that_of_the_catalog() {
    assert_eq!(
        ProgramVersion::current().catalog,
        digest_catalog(&Tree::embedded_manifests())
    );
}

#[test]
fn digests_of_the_build_are_those_of_the_files() {
    for tree in [
        Tree::embedded_manifests(),
        Tree::embedded_packer(),
        Tree::embedded_provisioners(),
    ] {
        for (path, bytes) in tree.files() {
            assert_eq!(tree.digest(&path), Some(sha256_hex(&bytes)), "{path}");
        }
    }
}

#[test]
fn the_digest_of_a_file_is_that_of_what_is_read() {
    let path = "node/Join-Node.ps1".to_owned();
    let own = OverlayFile {
        label: "own".to_owned(),
        bytes: b"own".to_vec(),
    };
    let laid = Tree::embedded_provisioners().lay_over([(path.clone(), own)].into(), |_| false);
    assert_eq!(laid.digest(&path), Some(sha256_hex(b"own")));
    let hidden = Tree::embedded_provisioners().lay_over(BTreeMap::new(), |it| it == path);
    assert_eq!((hidden.get(&path), hidden.digest(&path)), (None, None));
}

/// The user's file in the place of a built-in one.
fn replace_text(tree: &Tree, path: &str, from: &str, to: &str) -> Tree {
    let text = String::from_utf8(tree.get(path).expect(path).to_vec()).expect("UTF-8");
    let own = OverlayFile {
        label: "own".to_owned(),
        bytes: text.replacen(from, to, 1).into_bytes(),
    };
    tree.clone()
        .lay_over([(path.to_owned(), own)].into(), |_| false)
}

#[test]
fn values_are_shared_by_copies_and_not_by_other_files() {
    let packer = Tree::embedded_packer();
    let target = load_target(&packer, "azure").expect("a target");
    assert!(Arc::ptr_eq(
        &target,
        &load_target(&packer.clone(), "azure").expect("a target")
    ));
    let title = format!("\"{}\"", target.title);
    let laid = replace_text(&packer, "targets/azure/target.json", &title, "\"Ours\"");
    assert_eq!(load_target(&laid, "azure").expect("a target").title, "Ours");
    assert_ne!(
        load_target(&packer, "azure").expect("a target").title,
        "Ours"
    );

    let provisioners = Tree::embedded_provisioners();
    let steps = read_steps(&provisioners).expect("steps");
    assert!(Arc::ptr_eq(
        &steps,
        &read_steps(&provisioners.clone()).expect("steps")
    ));
    let (path, step) = ("steps/055-nssm.json", "nssm");
    let found = steps
        .iter()
        .find(|(_, it)| it.id.as_str() == step)
        .expect(step);
    let summary = format!("\"{}\"", found.1.summary);
    let laid = read_steps(&replace_text(&provisioners, path, &summary, "\"Ours\"")).expect("steps");
    assert!(
        laid.iter()
            .any(|(label, it)| label == "own" && it.summary == "Ours")
    );
}

#[test]
fn a_file_is_kept_as_a_value_of_each_type() {
    let (tree, path) = (Tree::embedded_manifests(), "kubernetes/programs.json");
    let value: Arc<Value> = tree.share_json(path).expect(path).expect(path);
    let table: Arc<ProgramTable> = tree.share_json(path).expect(path).expect(path);
    assert_eq!(value["source"], table.source);
    let again: Arc<Value> = tree.share_json(path).expect(path).expect(path);
    assert!(Arc::ptr_eq(&value, &again));
}

#[test]
fn an_error_is_not_kept() {
    let tree = Tree::from_files(String::new(), BTreeMap::new());
    assert_eq!(tree.keep("a", || Err::<u8, _>("not yet")), Err("not yet"));
    assert_eq!(tree.keep("a", || Ok::<u8, &str>(1)), Ok(Arc::new(1)));
    assert_eq!(tree.keep("a", || Ok::<u8, &str>(2)), Ok(Arc::new(1)));
}
