//! Bundles: what goes in comes out, and nothing else is taken for one.

mod added;
mod forged;
#[cfg(target_os = "linux")]
mod full;
mod omitted;
pub(crate) mod registry;
mod tags;

use std::collections::BTreeMap;
use std::io::{Cursor, Read as _, Write as _};

use imagegen::base::digest::sha256_hex;
use registry::{Registry, image};
use serde_json::{Value, json};

use crate::support::archives::stand_in;
use crate::support::planned::list_artifacts;
use crate::support::{Ran, Test, files, noise, override_build};

/// A lock of artifacts and a checksum file that a server of the test has.
fn lock(server: &Registry, first: &[u8]) -> String {
    let line = "--target azure --k8s 1.36.0 --windows 2022";
    let mut overrides = serde_json::Map::new();
    for artifact in list_artifacts(&format!("plan {line}")).iter() {
        let component = artifact["component"].as_str().expect("component");
        let (path, bytes) = match component {
            "cloudbase-init" => ("/one.exe".to_owned(), first.to_vec()),
            _ => (format!("/{component}"), stand_in(artifact)),
        };
        server.serve(&path, &bytes);
        let mut over = override_build(artifact, &server.url(&path), &bytes);
        over["size"] = bytes.len().into();
        match component {
            "cloudbase-init" => over["checksums"] = server.url("/one.exe.sha256").into(),
            "containerd" => over["sha512"] = sha512(&bytes).into(),
            _ => {}
        }
        overrides.insert(component.to_owned(), over);
    }
    server.serve(
        "/one.exe.sha256",
        format!("{}\n", sha256_hex(first)).as_bytes(),
    );
    let test = operator()
        .file("overrides.json", &Value::Object(overrides).to_string())
        .line("lock --overrides overrides.json --store s")
        .line(line);
    test.succeeds();
    test.text("imagegen.lock.json")
}

/// A run whose operator accepts what the overrides of [`lock`] drop.
fn operator() -> Test {
    let waivers =
        "kubernetes-node=cosign-keyless,containerd=attestation,cloudbase-init=authenticode";
    Test::new().env("IMAGEGEN_WAIVE", waivers)
}

/// `node.zip`, of a lock.
fn create_bundle(lock: &str) -> Test {
    operator()
        .file("imagegen.lock.json", lock)
        .line("bundle create --out node.zip --store s")
}

/// How many artifacts a lock has.
fn count(lock: &str) -> usize {
    let lock: Value = serde_json::from_str(lock).expect("JSON");
    lock["artifacts"].as_array().expect("artifacts").len()
}

fn sha512(bytes: &[u8]) -> String {
    imagegen::base::digest::encode_hex(
        aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA512, bytes).as_ref(),
    )
}

#[test]
fn what_goes_in_comes_out() {
    let server = Registry::start();
    let lock = lock(&server, &noise(3000));
    let made = create_bundle(&lock);
    let said = made.succeeds();
    let artifacts = count(&lock);
    assert!(
        said.stdout
            .contains(&format!("node.zip: {artifacts} artifacts, 0 images")),
        "{}",
        said.stdout
    );
    let again = operator()
        .file("l.json", &lock)
        .line("bundle create --out other.zip --store s --lock l.json");
    again.succeeds();
    assert_eq!(
        made.read("node.zip"),
        again.read("other.zip"),
        "the same lock gives the same bytes"
    );
    assert!(made.exists("s"));
    drop(server);
    // Nothing listens any more: what follows needs no network.
    let out = operator().line("bundle extract node.zip --store s --write-lock out.json");
    std::fs::write(out.folder.join("node.zip"), made.read("node.zip")).expect("bundle");
    out.succeeds();
    let objects: Vec<String> = files(&out.folder.join("s/objects")).into_keys().collect();
    assert_eq!(
        objects.len(),
        artifacts + 1,
        "the artifacts and a checksum file: {objects:?}"
    );
    let third = operator()
        .file("imagegen.lock.json", &out.text("out.json"))
        .line("bundle create --out node.zip --offline --store s");
    std::fs::rename(out.folder.join("s"), third.folder.join("s")).expect("store");
    third.succeeds();
    assert_eq!(
        made.read("node.zip"),
        third.read("node.zip"),
        "a store that was filled by a bundle makes it again"
    );
    // Overrides give every file a URL of its own, which no mirror answers.
    let mirror = operator()
        .bytes("node.zip", &made.read("node.zip"))
        .line("bundle extract node.zip --as-mirror m");
    mirror.fails(
        3,
        &[
            "node.zip has nothing for a mirror: overrides give URLs of their own to ",
            "containerd",
            "--store DIR",
        ],
    );
    assert!(!mirror.exists("m"));
    let verified = third_verify(&third.read("node.zip"), 0);
    assert!(verified.stdout.contains(&format!("{artifacts} artifacts")));
}

fn third_verify(bundle: &[u8], code: i32) -> Ran {
    let test = operator().line("bundle verify b.zip");
    std::fs::write(test.folder.join("b.zip"), bundle).expect("bundle");
    if code == 0 {
        test.succeeds()
    } else {
        test.fails(code, &[])
    }
}

/// The files of a bundle in their order.
pub(crate) fn unpack(bundle: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut zip = zip::ZipArchive::new(Cursor::new(bundle)).expect("zip");
    (0..zip.len())
        .map(|at| {
            let mut file = zip.by_index(at).expect("file");
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).expect("bytes");
            (file.name().expect("UTF-8").into_owned(), bytes)
        })
        .collect()
}

fn pack(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        let options = imagegen::verify::archive::own_options(bytes.len() as u64);
        zip.start_file(name.as_str(), options).expect("file");
        zip.write_all(bytes).expect("bytes");
    }
    zip.finish().expect("zip").into_inner()
}

/// The files of a bundle in their order.
pub(crate) type Files = Vec<(String, Vec<u8>)>;

/// What somebody does to files and index.
pub(crate) type Change<'a> = dyn Fn(&mut Files, &mut Value) + 'a;

/// Changes files, and then what the index says of them, as somebody would who wants to be believed.
pub(crate) fn forged(bundle: &[u8], honest: bool, change: &Change<'_>) -> Vec<u8> {
    let mut files = unpack(bundle);
    let mut index: Value = serde_json::from_slice(&files[0].1).expect("index");
    change(&mut files, &mut index);
    if !honest {
        index["files"] = files
            .iter()
            .skip(1)
            .map(
                |(path, bytes)| json!({"path": path, "sha256": sha256_hex(bytes), "size": bytes.len()}),
            )
            .collect();
    }
    files[0].1 = index.to_string().into_bytes();
    pack(&files)
}

#[test]
fn locks_that_cannot_be_carried_are_refused() {
    let server = Registry::start();
    let locked = lock(&server, b"first");
    let mut unpinned: Value = serde_json::from_str(&locked).expect("JSON");
    unpinned["artifacts"][0]["digests"] = json!([]);
    let create = |lock: &str, line: &str| {
        operator()
            .file("imagegen.lock.json", lock)
            .line("bundle create --out b.zip --store s")
            .line(line)
    };
    create(&unpinned.to_string(), "").fails(5, &["not pinned by digest"]);
    create(&locked, "--offline").fails(4, &["--offline"]);
    create(&locked, "--image a.example/b:1").fails(3, &["not an image pinned by its digest"]);
    create("{}", "").fails(3, &["schema"]);
    server.serve("/one.exe", b"other");
    let test = create(&locked, "");
    test.fails(5, &["digest"]);
    assert!(!test.exists("b.zip"));
}

#[test]
fn images_are_carried_for_the_windows_release() {
    let server = Registry::start();
    let lock = lock(&server, b"first");
    for (token, login) in [(None, "open"), (Some("s3cr3t"), "with a token")] {
        server.demand(token);
        let (list, old, new) = image(
            &server,
            "team/pause",
            &[
                "10.0.17763.6",
                "10.0.20348.1",
                "10.0.20348.9",
                "10.0.26100.1",
            ],
        );
        let name = format!("{}/team/pause@sha256:{list}", server.address());
        let test = operator()
            .file("imagegen.lock.json", &lock)
            .line("bundle create --out b.zip --store s --format json --image")
            .args([name.as_str()]);
        let ran = test.succeeds();
        let said: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!(said["images"][0]["osVersion"], "10.0.20348.9", "{login}");
        assert_eq!(
            said["images"][0]["manifest"],
            format!("sha256:{new}").as_str()
        );
        let carried: BTreeMap<String, Vec<u8>> = unpack(&test.read("b.zip")).into_iter().collect();
        assert!(carried.contains_key(&format!("images/blobs/sha256/{new}")));
        assert!(
            !carried.contains_key(&format!("images/blobs/sha256/{old}")),
            "another release's image"
        );
        let layout: Value = serde_json::from_slice(&carried["images/index.json"]).expect("JSON");
        assert_eq!(
            layout["manifests"][0]["digest"],
            format!("sha256:{new}").as_str()
        );
        let kept = files(&test.folder.join("s"));
        assert!(
            !kept
                .values()
                .any(|bytes| bytes.windows(6).any(|window| window == b"s3cr3t")),
            "a token was kept"
        );
        third_verify(&test.read("b.zip"), 0);
        // One layer less.
        let layer = carried
            .iter()
            .find(|(name, bytes)| name.starts_with("images/blobs") && bytes.starts_with(b"layer"));
        let layer = layer.expect("layer").0.clone();
        let cut = forged(&test.read("b.zip"), false, &|files, _| {
            files.retain(|(name, _)| *name != layer);
        });
        assert!(third_verify(&cut, 5).stderr.contains("[image-blob-absent]"));
        // A node imports an image under the name of the layout: it is that of the index.
        let renamed = forged(&test.read("b.zip"), false, &|files, _| {
            for (_, bytes) in files.iter_mut().filter(|it| it.0 == "images/index.json") {
                let text = String::from_utf8_lossy(bytes).replace("team/pause", "team/other");
                *bytes = text.into_bytes();
            }
        });
        let said = third_verify(&renamed, 5).stderr;
        assert!(said.contains("the layout lists other images"), "{said}");
    }
    server.demand(None);
    let (list, ..) = image(&server, "team/old", &["10.0.17763.6", "10.0.14393.1"]);
    let name = format!("{}/team/old@sha256:{list}", server.address());
    let create = operator()
        .file("imagegen.lock.json", &lock)
        .line("bundle create --out b.zip --store s --image");
    create.args([name.as_str()]).fails(
        5,
        &[
            "no image for Windows build 20348",
            "10.0.17763.6, 10.0.14393.1",
        ],
    );
    // A registry that gives other bytes than were asked for.
    server.serve(&format!("/v2/team/old/manifests/sha256:{list}"), b"{}");
    let create = operator()
        .file("imagegen.lock.json", &lock)
        .line("bundle create --out b.zip --store s --image");
    create.args([name.as_str()]).fails(5, &["digest"]);
}

/// With delivery by media a machine imports its images: what the archive carries is whole and fits its Windows. An image
/// that is not there stops the build; the pause image, which nobody asked for by name, is left to the node.
#[test]
fn media_carries_images_for_the_windows_release() {
    let server = Registry::start();
    let (list, old, new) = image(
        &server,
        "team/app",
        &["10.0.17763.6", "10.0.20348.9", "10.0.26100.1"],
    );
    let name = format!("{}/team/app:1@sha256:{list}", server.address());
    let source = operator().file("imagegen.lock.json", &lock(&server, b"first"));
    let source = source
        .line("bundle create --out b.zip --store s --image")
        .args([name.as_str()]);
    source.succeeds();
    let build = |windows: &str, carried: bool| {
        let line = format!("--target host --k8s 1.30.0 --windows {windows} --image");
        let test = operator()
            .line("build --delivery media --out o")
            .stocked(&format!(
                "plan --target host --k8s 1.30.0 --windows {windows}"
            ));
        for (file, bytes) in files(&source.folder.join("s"))
            .into_iter()
            .filter(|_| carried)
        {
            let path = test.folder.join("store").join(file);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
            std::fs::write(path, bytes).expect("file");
        }
        test.line(&line).args([name.as_str()])
    };
    let test = build("2022", true);
    let said = test.succeeds().stderr;
    assert!(
        said.contains("registry.k8s.io/pause:3.9@sha256:") && said.contains("is not in the bundle"),
        "{said}"
    );
    let archive = test.read("o/imagegen-host-2022-k8s-1.30.0.zip");
    let carried: BTreeMap<String, Vec<u8>> = unpack(&archive).into_iter().collect();
    let blob = |digest: &str| format!("artifacts/images/blobs/sha256/{digest}");
    assert!(carried.contains_key(&blob(&list)) && carried.contains_key(&blob(&new)));
    assert!(
        !carried.contains_key(&blob(&old)),
        "another release's image"
    );
    for (path, bytes) in carried
        .iter()
        .filter(|(path, _)| path.starts_with("artifacts/images/"))
    {
        assert_eq!(*path, blob(&sha256_hex(bytes)));
    }
    let plan: Value = serde_json::from_slice(&carried["guest-plan.json"]).expect("JSON");
    let images = plan["resources"]
        .as_array()
        .expect("resources")
        .iter()
        .filter(|it| it["type"] == "containerImage");
    assert!(
        images.clone().count() == 2 && images.clone().all(|it| it["properties"]["pull"] == false)
    );
    build("2022", false).fails(4, &["team/app"]);
    let (list, ..) = image(&server, "team/old", &["10.0.14393.1"]);
    let name = format!("{}/team/old@sha256:{list}", server.address());
    let build = operator().file("imagegen.lock.json", &lock(&server, b"first"));
    let build = build
        .line("bundle create --out b.zip --store s --image")
        .args([name.as_str()]);
    build.fails(5, &["no image for Windows build 20348"]);
}

/// Killed anywhere, it leaves nothing under the final name, and the next run succeeds.
#[test]
fn a_killed_create_leaves_no_bundle() {
    const POINTS: u64 = 100;
    let server = Registry::start();
    let lock = lock(&server, &noise(1 << 18));
    let test = operator()
        .file("imagegen.lock.json", &lock)
        .line("bundle create --out out/b.zip --store s --quiet");
    test.succeeds();
    let whole = test.read("out/b.zip");
    let folder = test.folder.join("out");
    let mut seen = 0;
    for point in 0..POINTS {
        if test.exists("out/b.zip") {
            std::fs::remove_file(folder.join("b.zip")).expect("bundle");
        }
        let wanted = whole.len() as u64 * point / POINTS;
        let mut child = test
            .command()
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("the program starts");
        // The event is that the partial file has so many bytes.
        let prefix = format!(".b.zip.{}-", child.id());
        let partial_length = || {
            let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            let mut partial =
                entries.filter(|it| it.file_name().to_string_lossy().starts_with(&prefix));
            partial
                .next()?
                .metadata()
                .ok()
                .map(|metadata| metadata.len())
        };
        let ended = loop {
            if partial_length().is_some_and(|length| length >= wanted) {
                break child.try_wait().expect("state").is_some();
            }
            if child.try_wait().expect("state").is_some() {
                break true;
            }
            std::thread::yield_now();
        };
        child.kill().expect("kill");
        child.wait().expect("end");
        if let Ok(bytes) = std::fs::read(folder.join("b.zip")) {
            assert!(
                bytes == whole,
                "point {point}: part of a bundle stands under its name"
            );
        } else {
            assert!(!ended, "point {point}: it ended without a bundle");
            seen += 1;
        }
        // What one left, the next one clears away, whether it is killed, too, or not.
        if point % 10 == 9 {
            test.succeeds();
            assert_eq!(test.read("out/b.zip"), whole);
            assert_eq!(
                files(&folder).len(),
                1,
                "point {point}: {:?}",
                files(&folder).keys()
            );
        }
    }
    assert!(
        seen > POINTS / 2,
        "only {seen} runs were killed before their end"
    );
}
