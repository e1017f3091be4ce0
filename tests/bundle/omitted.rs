//! Images of a lockfile that a bundle does not have: only a registry that does not serve one leaves it out, and whoever
//! reads the bundle is told.

use imagegen::base::digest::sha256_hex;
use imagegen::catalog::Catalog;
use imagegen::embedded::Tree;
use serde_json::{Value, json};

use super::{forged, image, lock, operator, third_verify};
use crate::bundle::registry::Registry;
use crate::support::Test;

/// The pause image of a lock, which nobody asked for by name.
pub(super) fn pause(lock: &str) -> String {
    let lock: Value = serde_json::from_str(lock).expect("JSON");
    let name = lock["images"][0].as_str().expect("the pause image");
    assert!(name.starts_with("registry.k8s.io/pause:"), "{name}");
    name.to_owned()
}

/// Writes a bundle with a mirror for the registry of the pause image.
pub(super) fn create(registry: &Registry, lock: &str) -> Test {
    let mirror = format!("docker://registry.k8s.io/={}", registry.url("/"));
    operator()
        .file("imagegen.lock.json", lock)
        .line("bundle create --out b.zip --store s --mirror")
        .args([mirror.as_str()])
}

#[test]
fn an_image_that_no_registry_serves_is_named_as_omitted() {
    let server = Registry::start();
    let lock = lock(&server, b"first");
    let pause = pause(&lock);
    let test = create(&server, &lock);
    let said = format!("{pause} is not in the bundle, so a node pulls it from its registry");
    let ran = test.succeeds();
    assert!(ran.stdout.contains(&said), "{}", ran.stdout);
    assert!(ran.stderr.contains("not-found"), "{}", ran.stderr);

    let bundle = test.read("b.zip");
    let verified = third_verify(&bundle, 0).stdout;
    assert!(verified.contains(&said), "{verified}");
    for line in ["verify b.zip", "bundle extract b.zip --store other"] {
        let read = operator().bytes("b.zip", &bundle).line(line).succeeds();
        assert!(read.stdout.contains(&said), "{line}: {}", read.stdout);
    }

    let with = |omitted: Value| {
        let change = move |_: &mut super::Files, index: &mut Value| {
            index["omitted"] = omitted.clone();
        };
        third_verify(&forged(&bundle, true, &change), 5).stderr
    };
    let other = format!("a.example/b@sha256:{}", "ab".repeat(32));
    for omitted in [
        json!([]),
        json!([other]),
        json!([pause, other]),
        json!([pause, pause]),
    ] {
        let said = with(omitted.clone());
        assert!(said.contains("[bundle-image-absent]"), "{omitted}: {said}");
    }
}

/// An image that the selection names cannot be called omitted.
#[test]
fn an_image_that_was_asked_for_is_never_omitted() {
    let server = Registry::start();
    let lock = lock(&server, b"first");
    let test = create(&server, &lock);
    test.succeeds();
    let bundle = test.read("b.zip");
    let pause = pause(&lock);
    let named = forged(&bundle, false, &|files, _| {
        for (_, bytes) in files.iter_mut().filter(|it| it.0 == "imagegen.lock.json") {
            let mut lock: Value = serde_json::from_slice(bytes).expect("JSON");
            lock["selection"]["containerImages"] = json!([pause]);
            *bytes = format!("{lock:#}\n").into_bytes();
        }
    });
    let said = third_verify(&named, 5).stderr;
    assert!(said.contains("[bundle-image-absent]"), "{said}");
}

/// Other bytes, a refused login and a policy are no reason to leave an image out.
#[test]
fn an_image_with_other_bytes_refuses_the_bundle() {
    let server = Registry::start();
    let lock = lock(&server, b"first");
    let pause = pause(&lock);
    let (_, digest) = pause.split_once('@').expect("a digest");
    server.serve(&format!("/v2/pause/manifests/{digest}"), b"{}");
    let test = create(&server, &lock);
    test.fails(5, &["[digest-mismatch]"]);
    assert!(!test.exists("b.zip"));
    server.demand(Some("s3cr3t"));
    server.expire_tokens_after(0);
    let test = create(&server, &lock);
    test.fails(4, &["[registry-login]", "docker://HOST/"]);
    assert!(!test.exists("b.zip"));
}

/// A token that expires while an image is fetched is asked for again, as often as the image takes.
#[test]
fn a_token_that_expires_is_renewed() {
    let server = Registry::start();
    let lock = lock(&server, b"first");
    server.demand(Some("s3cr3t"));
    server.expire_tokens_after(1);
    let (list, ..) = image(&server, "team/app", &["10.0.20348.9"]);
    let name = format!("{}/team/app@sha256:{list}", server.address());
    let test = create(&server, &lock)
        .line("--jobs 1 --image")
        .args([name.as_str()]);
    test.succeeds();
    third_verify(&test.read("b.zip"), 0);
}

/// Between the verification of a bundle and its extraction another file takes its name.
#[test]
fn a_bundle_that_is_exchanged_is_not_extracted() {
    use imagegen::bundle::{BLOBS, OBJECTS, extract_bundle, verify_bundle};
    use imagegen::io::store::Store;

    let server = Registry::start();
    let test = create(&server, &lock(&server, b"first"));
    test.succeeds();
    let bundle = test.read("b.zip");
    let path = test.folder.join("b.zip");
    let opened = verify_bundle(&path, &Catalog::new(Tree::embedded_manifests())).expect("a bundle");
    let is_object = |name: &str| name.starts_with("objects/");
    for (what, change) in [("one more", 1), ("one less", -1)] {
        let other = forged(&bundle, false, &|files, _| {
            if change > 0 {
                let name = format!("objects/sha256/{}", sha256_hex(b"x"));
                files.push((name, b"x".to_vec()));
            } else {
                let at = files.iter().position(|(name, _)| is_object(name));
                files.remove(at.expect("an object"));
            }
        });
        std::fs::write(&path, other).expect("bundle");
        let store = Store::open(test.folder.join(what)).expect("a store");
        let folders = [OBJECTS, BLOBS];
        let error = extract_bundle(&path, &store, &opened, &folders).expect_err(what);
        assert!(error.to_string().contains("changed since"), "{error}");
    }
}

/// Whoever wants the artifacts of a bundle unpacks no container image.
#[test]
fn a_bundle_is_extracted_by_its_folders() {
    use imagegen::bundle::{BLOBS, OBJECTS, extract_bundle, verify_bundle};
    use imagegen::io::store::Store;

    let server = Registry::start();
    let lock = lock(&server, b"first");
    let (list, ..) = image(&server, "team/app", &["10.0.20348.9"]);
    let name = format!("{}/team/app@sha256:{list}", server.address());
    let test = create(&server, &lock).line("--image").args([name.as_str()]);
    test.succeeds();
    let path = test.folder.join("b.zip");
    let opened = verify_bundle(&path, &Catalog::new(Tree::embedded_manifests())).expect("a bundle");
    let list_names = |folder: &str| -> Vec<String> {
        let files = opened.index.files.iter();
        let mut names: Vec<String> = files
            .filter_map(|file| file.path.strip_prefix(folder))
            .map(str::to_owned)
            .collect();
        names.sort();
        names
    };
    assert!(!list_names(BLOBS).is_empty());
    for folder in [OBJECTS, BLOBS] {
        let place = test.folder.join("only").join(folder);
        let store = Store::open(place.clone()).expect("a store");
        extract_bundle(&path, &store, &opened, &[folder]).expect("extracted");
        let objects = crate::support::files(&place.join("objects")).into_keys();
        let mut objects: Vec<String> = objects
            .filter_map(|path| Some(path.rsplit_once('/')?.1.to_owned()))
            .collect();
        objects.sort();
        assert_eq!(objects, list_names(folder), "{folder}");
    }
}

/// A bundle stays one when it is damaged: `verify` says what is wrong with it.
#[test]
fn a_damaged_bundle_is_verified_as_one() {
    let server = Registry::start();
    let test = create(&server, &lock(&server, b"first"));
    test.succeeds();
    let bundle = test.read("b.zip");
    let mut altered = bundle.clone();
    let at = bundle.len() / 2;
    altered[at] ^= 1;
    for (what, bytes) in [
        ("altered", altered),
        ("cut", bundle[..bundle.len() - 9].to_vec()),
        ("longer", [&bundle[..], b"x"].concat()),
    ] {
        let ran = operator().bytes("b.zip", &bytes).line("verify b.zip").run();
        assert_eq!(ran.code, Some(5), "{what}: {}", ran.stderr);
    }
}
