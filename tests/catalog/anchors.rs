//! Keys and roots of a catalog, and the keys that its components name.

use std::collections::BTreeMap;

use imagegen::catalog::Catalog;
use imagegen::embedded::Tree;
use imagegen::verify::lint_anchors;
use serde_json::{Value, json};

use crate::support::{Test, files, root};

/// 2026-11-27
const NOW: u64 = 1_795_737_600;
const HASHICORP: &str = "c874011f0ab405110d02105534365d9472d7468f";
const COSIGN: &str = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt\n6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q==\n-----END PUBLIC KEY-----\n";
const MINISIGN: &str = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";

type Files = BTreeMap<String, Vec<u8>>;

fn lint(files: Files) -> Vec<String> {
    let catalog = Catalog::new(Tree::from_files("c".to_owned(), files));
    lint_anchors(&catalog, NOW)
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn replace(files: &mut Files, path: &str, from: &str, to: &str) {
    let text = String::from_utf8(files[path].clone()).expect("UTF-8");
    assert!(text.contains(from), "{path} has no {from}");
    files.insert(path.to_owned(), text.replace(from, to).into_bytes());
}

fn add_key(files: &mut Files, name: &str, fingerprint: &str, key: &str) {
    let mut list: Value = serde_json::from_slice(&files["trust/keys.json"]).expect("JSON");
    let entry = json!({"name": name, "fingerprint": fingerprint, "file": "ours.pub", "source": "derived: a test"});
    list.as_array_mut().expect("a list").push(entry);
    files.insert("trust/keys.json".to_owned(), list.to_string().into_bytes());
    files.insert("trust/ours.pub".to_owned(), key.as_bytes().to_vec());
}

/// A fault of the catalog, and the finding.
type Row = (&'static str, fn(&mut Files), &'static str);

const ROWS: [Row; 13] = [
    (
        "list that is none",
        |it| drop(it.insert("trust/keys.json".to_owned(), b"[".to_vec())),
        "c/trust/keys.json:1:1",
    ),
    (
        "key without file",
        |it| drop(it.remove("trust/hashicorp.asc")),
        "c/trust/keys.json: hashicorp: no trust/hashicorp.asc",
    ),
    (
        "empty file",
        |it| drop(it.insert("trust/hashicorp.asc".to_owned(), Vec::new())),
        "c/trust/hashicorp.asc: the keyring has no key c874",
    ),
    (
        "another fingerprint",
        |it| replace(it, "trust/keys.json", HASHICORP, &"ab".repeat(20)),
        "c/trust/hashicorp.asc: the keyring has no key abab",
    ),
    (
        "short fingerprint",
        |it| replace(it, "trust/keys.json", HASHICORP, "72d7468f"),
        "is not a whole fingerprint",
    ),
    (
        "name that no component has",
        |it| replace(it, "trust/keys.json", "\"hashicorp\"", "\"hashi\""),
        "c/components/packer.json: trust/keys.json has no key `hashicorp`",
    ),
    (
        "component with another fingerprint",
        |it| replace(it, "components/packer.json", "C874011F", "D874011F"),
        "c/components/packer.json: https://releases.hashicorp.com/",
    ),
    (
        "two keys of one name",
        |it| add_key(it, "hashicorp", HASHICORP, COSIGN),
        "two keys are named `hashicorp`",
    ),
    (
        "cosign key with another fingerprint",
        |it| add_key(it, "ours", "00", COSIGN),
        "c/trust/ours.pub: the key has the SHA-256 ",
    ),
    (
        "minisign key with another fingerprint",
        |it| add_key(it, "ours", "00", MINISIGN),
        "[minisign-key]",
    ),
    (
        "file that is no key",
        |it| add_key(it, "ours", HASHICORP, "none"),
        "c/trust/ours.pub: the keyring is truncated or damaged",
    ),
    (
        "root that is none",
        |it| drop(it.insert("trust/sigstore-root.json".to_owned(), b"none".to_vec())),
        "c/trust/sigstore-root.json: the trusted root cannot be read",
    ),
    (
        "other certificate of a root",
        |it| replace(it, "trust/roots.json", "\"sha256\": \"", "\"sha256\": \"0"),
        "c/trust/roots.json: trust/",
    ),
];

#[test]
fn each_fault_of_a_key_or_a_root_is_found() {
    let shipped = files(&root().join("manifests"));
    assert_eq!(lint(shipped.clone()), Vec::<String>::new());
    for (title, change, said) in ROWS {
        let mut files = shipped.clone();
        change(&mut files);
        let found = lint(files);
        let is_found = found.iter().any(|finding| finding.contains(said));
        assert!(is_found, "{title}: no `{said}` in {found:#?}");
    }
}

/// By the SHA-256 by which a policy names them, and by roots of several instances.
#[test]
fn keys_and_roots_of_the_user_have_no_findings() {
    use imagegen::base::public_key::{CosignKey, MinisignKey};
    let cosign = CosignKey::parse(COSIGN).expect("a key").sha256();
    let minisign = MinisignKey::parse(MINISIGN).expect("a key").sha256();
    for (fingerprint, key) in [(cosign, COSIGN), (minisign.to_uppercase(), MINISIGN)] {
        let mut files = files(&root().join("manifests"));
        add_key(&mut files, "ours", &fingerprint, key);
        let roots = [
            sigstore_verify::trust_root::SIGSTORE_PRODUCTION_TRUSTED_ROOT,
            sigstore_verify::trust_root::SIGSTORE_GITHUB_TRUSTED_ROOT,
        ];
        let lines = roots.map(|root| root.replace('\n', " ")).join("\n");
        files.insert("trust/sigstore-root.json".to_owned(), lines.into_bytes());
        assert_eq!(lint(files), Vec::<String>::new(), "{fingerprint}");
    }
}

#[test]
fn the_lint_reads_them() {
    let mut test = Test::new();
    for (name, bytes) in files(&root().join("manifests")) {
        if name != "trust/hashicorp.asc" {
            test = test.bytes(&format!("mine/{name}"), &bytes);
        }
    }
    let test = test.line("--manifests mine catalog lint");
    let ran = test.fails(3, &["mine: 1 error(s)"]);
    let said = "mine/trust/keys.json: hashicorp: no trust/hashicorp.asc [dangling-reference]";
    assert!(ran.stdout.contains(said), "{}", ran.stdout);
}
