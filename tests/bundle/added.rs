//! Container images of a bundle beside those of its lockfile: none is taken for another one, and a reviewed lockfile
//! admits only those that are named.

use imagegen::base::digest::sha256_hex;
use serde_json::{Value, json};

use super::omitted::{create, pause};
use super::{Files, forged, image, lock, operator, third_verify};
use crate::bundle::registry::Registry;
use crate::support::Test;

/// Adds an image for each name, whose bytes a number tells from those of others. Returns the names with digests.
fn add_images(files: &mut Files, index: &mut Value, images: &[(&str, u8)]) -> Vec<String> {
    let mut names = Vec::new();
    let (mut indexed, mut listed) = (Vec::new(), Vec::new());
    for (name, number) in images {
        let mut add = |media_type: &str, bytes: String| {
            let digest = sha256_hex(bytes.as_bytes());
            let path = format!("images/blobs/sha256/{digest}");
            let size = bytes.len();
            if !files.iter().any(|file| file.0 == path) {
                files.push((path, bytes.into_bytes()));
            }
            json!({"mediaType": media_type, "digest": format!("sha256:{digest}"), "size": size})
        };
        let config = json!({"os": "windows", "architecture": "amd64", "author": number});
        let manifest_type = "application/vnd.oci.image.manifest.v1+json";
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": manifest_type,
            "config": add("application/vnd.oci.image.config.v1+json", config.to_string()),
            "layers": [add("application/vnd.oci.image.layer.v1.tar+gzip", format!("layer {number}"))],
        });
        let mut entry = add(manifest_type, manifest.to_string());
        let full = format!("{name}@{}", entry["digest"].as_str().expect("digest"));
        indexed.push(json!({"name": full, "manifest": entry["digest"]}));
        entry["annotations"] =
            json!({"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name});
        listed.push(entry);
        names.push(full);
    }
    index["images"] = json!(indexed);
    let list_type = "application/vnd.oci.image.index.v1+json";
    let list = json!({"schemaVersion": 2, "mediaType": list_type, "manifests": listed});
    let version = json!({"imageLayoutVersion": "1.0.0"});
    files.push(("images/oci-layout".into(), version.to_string().into_bytes()));
    files.push(("images/index.json".into(), list.to_string().into_bytes()));
    names
}

fn read(bundle: &[u8], lock: &str, line: &str) -> Test {
    operator()
        .bytes("b.zip", bundle)
        .file("reviewed.json", lock)
        .line(line)
}

#[test]
fn no_image_has_the_name_of_another_one() {
    let server = Registry::start();
    let lock = lock(&server, b"first");
    let made = create(&server, &lock);
    made.succeeds();
    let bundle = made.read("b.zip");
    let pause = pause(&lock);
    let tag = pause.split('@').next().expect("a tag");
    let with_port = tag.replacen('/', ":443/", 1);
    for (what, images) in [
        ("another image by the lock's tag", &[(tag, 1)][..]),
        (
            "the same with the port that is left out",
            &[(&with_port, 1)],
        ),
        (
            "one image twice",
            &[("a.example/b:1", 1), ("a.example/b:1", 1)],
        ),
        (
            "two images of one tag",
            &[("a.example/b:1", 1), ("a.example/b:1", 2)],
        ),
        ("two spellings", &[("c:1", 1), ("docker.io/library/c:1", 2)]),
    ] {
        let other = forged(&bundle, false, &|files, index| {
            add_images(files, index, images);
        });
        for line in [
            "verify b.zip",
            "bundle verify b.zip",
            "bundle verify b.zip --lock reviewed.json",
            "bundle extract b.zip --store s --lock reviewed.json",
        ] {
            let test = read(&other, &lock, line);
            let said = test.fails(5, &[]).stderr;
            assert!(
                said.contains("[bundle-image-name]"),
                "{what}, {line}: {said}"
            );
            assert!(!test.exists("s/objects"), "{what}");
        }
    }
    let other = format!("{tag}@sha256:{}", "ab".repeat(32));
    let test = create(&server, &lock)
        .line("--image")
        .args([other.as_str()]);
    test.fails(5, &["would be one image to a node", &pause]);
    assert!(!test.exists("b.zip"));
}

#[test]
fn a_reviewed_lockfile_admits_no_image_that_nobody_names() {
    let server = Registry::start();
    let lock = lock(&server, b"first");
    let made = create(&server, &lock);
    made.succeeds();
    let bundle = made.read("b.zip");
    let added = std::cell::RefCell::new(Vec::new());
    let other = forged(&bundle, false, &|files, index| {
        let images = [("a.example/b:1", 1), ("a.example/c:1", 2)];
        *added.borrow_mut() = add_images(files, index, &images);
    });
    let added = added.into_inner();
    for line in [
        "verify b.zip",
        "bundle verify b.zip",
        "bundle extract b.zip --store s",
    ] {
        let said = read(&other, &lock, line).succeeds().stdout;
        for name in &added {
            let line = format!("{name} is not an image of the lockfile");
            assert!(said.contains(&line), "{said}");
        }
        let test = read(&other, &lock, line).line("--lock reviewed.json");
        test.fails(5, &["[bundle-image-extra]", &added[0], "--image"]);
        assert!(!test.exists("s/objects"));
        if line.starts_with("bundle") {
            let one = read(&other, &lock, line).line("--lock reviewed.json --image");
            one.args([added[0].as_str()])
                .fails(5, &["[bundle-image-extra]", &added[1]]);
            let both = read(&other, &lock, line).line("--lock reviewed.json --image");
            both.args([added[0].as_str(), "--image", added[1].as_str()])
                .succeeds();
        }
    }

    let with_notes = forged(&bundle, false, &|files, index| {
        add_images(files, index, &[("a.example/b:1", 1)]);
        files.push(("images/notes".into(), b"x".to_vec()));
    });
    let said = read(&with_notes, &lock, "bundle verify b.zip")
        .fails(5, &[])
        .stderr;
    assert!(said.contains("[bundle-file-extra]"), "{said}");
}

/// Whoever packs a bundle does not choose which manifest of a list a node gets.
#[test]
fn an_image_for_another_windows_refuses_the_bundle() {
    let server = Registry::start();
    let versions = ["10.0.17763.6", "10.0.20348.9", "10.0.26100.1"];
    let (list, old, new) = image(&server, "team/app", &versions);
    let name = |digest: &str| format!("{}/team/app@sha256:{digest}", server.address());
    let test = operator()
        .file("imagegen.lock.json", &lock(&server, b"first"))
        .line("bundle create --out b.zip --store s")
        .args(["--image", &name(&list), "--image", &name(&old)]);
    test.succeeds();

    let blob = |digest: &str| format!("images/blobs/sha256/{digest}");
    let other = forged(&test.read("b.zip"), false, &|files, index| {
        let place = |path: &str| files.iter().position(|file| file.0 == path);
        let manifest = &files[place(&blob(&new)).expect("a manifest")].1;
        let manifest: Value = serde_json::from_slice(manifest).expect("JSON");
        let parts = [&manifest["config"], &manifest["layers"][0]];
        let unused = parts.map(|part| {
            part["digest"]
                .as_str()
                .expect("digest")
                .replace("sha256:", "")
        });
        let size = files[place(&blob(&old)).expect("a manifest")].1.len();
        let layout = place("images/index.json").expect("a layout");
        let mut listed: Value = serde_json::from_slice(&files[layout].1).expect("JSON");
        let named = format!("sha256:{new}");
        for (image, entry) in index["images"]
            .as_array_mut()
            .expect("images")
            .iter_mut()
            .zip(listed["manifests"].as_array_mut().expect("manifests"))
        {
            if image["manifest"] == named.as_str() {
                image["manifest"] = format!("sha256:{old}").into();
                image["osVersion"] = versions[0].into();
                entry["digest"] = image["manifest"].clone();
                entry["size"] = size.into();
            }
        }
        files[layout].1 = listed.to_string().into_bytes();
        files.retain(|file| file.0 != blob(&new) && unused.iter().all(|part| file.0 != blob(part)));
    });
    let said = third_verify(&other, 5).stderr;
    assert!(said.contains("[image-manifest]"), "{said}");
    assert!(
        said.contains("not its manifest for the Windows release"),
        "{said}"
    );
}
