//! Digests of embedded files.

use std::collections::BTreeMap;

use imagegen::base::digest::sha256_hex;
use imagegen::base::program::ProgramVersion;
use imagegen::embedded::{OverlayFile, Tree};

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
