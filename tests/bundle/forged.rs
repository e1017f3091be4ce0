//! Bundles that are not as their index and lock say.

use std::io::{Cursor, Write as _};

use imagegen::base::digest::sha256_hex;
use imagegen::verify::archive::own_options;
use serde_json::{Value, json};
use zip::result::ZipResult;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, System, ZipWriter};

use super::{Change, create_bundle, forged, lock, operator, third_verify, unpack};
use crate::bundle::registry::Registry;
use crate::support::{files, noise};

/// Digest of the artifact that the lock pins by SHA-512, too.
fn find_second(files: &[(String, Vec<u8>)]) -> String {
    let lock: Value =
        serde_json::from_slice(&files[place(files, "imagegen.lock.json")].1).expect("JSON");
    let mut artifacts = lock["artifacts"].as_array().expect("artifacts").iter();
    let second = artifacts
        .find(|artifact| artifact["component"] == "containerd")
        .expect("containerd");
    second["digests"][0]["digest"]
        .as_str()
        .expect("digest")
        .to_owned()
}

fn place(files: &[(String, Vec<u8>)], prefix: &str) -> usize {
    files
        .iter()
        .position(|(name, _)| name.starts_with(prefix))
        .expect("file")
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn bundles_that_are_not_as_index_and_lock_say_are_refused() {
    let server = Registry::start();
    let lock = lock(&server, &noise(3000));
    let made = create_bundle(&lock);
    made.succeeds();
    let good = made.read("node.zip");
    third_verify(&forged(&good, false, &|_, _| ()), 0);
    let edit = |name: &'static str, from: &'static str, to: &'static str| -> Box<Change<'static>> {
        Box::new(move |files, _| {
            let at = place(files, name);
            let text = String::from_utf8(files[at].1.clone()).expect("text");
            assert!(text.contains(from), "{text}");
            files[at].1 = text.replacen(from, to, 1).into_bytes();
        })
    };
    let rows: Vec<(&str, bool, Box<Change<'static>>, &str)> = vec![
        (
            "object altered",
            true,
            Box::new(|f, _| {
                let at = place(f, "objects/");
                f[at].1[0] ^= 1;
            }),
            "bundle-digest",
        ),
        (
            "object altered, index too",
            false,
            Box::new(|f, _| {
                let at = place(f, "objects/");
                f[at].1[0] ^= 1;
            }),
            "bundle-artifact-absent",
        ),
        (
            "object longer",
            true,
            Box::new(|f, _| {
                let at = place(f, "objects/");
                f[at].1.push(0);
            }),
            "bundle-digest",
        ),
        (
            "script altered",
            true,
            edit("scripts/engine/", "param", "PARAM"),
            "bundle-digest",
        ),
        (
            "script altered, index too",
            false,
            edit("scripts/engine/", "param", "PARAM"),
            "script-changed",
        ),
        (
            "script added, index too",
            false,
            Box::new(|f, _| f.push(("scripts/extra.ps1".into(), b"x".to_vec()))),
            "script-unknown",
        ),
        (
            "file added",
            true,
            Box::new(|f, _| f.push(("scripts/extra.ps1".into(), b"x".to_vec()))),
            "bundle-file-extra",
        ),
        (
            "file that nobody names, index too",
            false,
            Box::new(|f, _| f.push(("notes.txt".into(), b"x".to_vec()))),
            "bundle-file-extra",
        ),
        (
            "object that nobody names, index too",
            false,
            Box::new(|f, _| {
                let name = format!(
                    "objects/sha256/{}",
                    imagegen::base::digest::sha256_hex(b"x")
                );
                f.push((name, b"x".to_vec()));
            }),
            "bundle-file-extra",
        ),
        (
            "file taken",
            true,
            Box::new(|f, _| {
                let at = place(f, "scripts/");
                f.remove(at);
            }),
            "bundle-file-absent",
        ),
        (
            "artifact taken, index too",
            false,
            Box::new(|f, _| {
                f.retain(|(name, bytes)| !name.starts_with("objects/") || bytes.len() != 3000);
            }),
            "bundle-artifact-absent",
        ),
        (
            "sha512 artifact taken",
            false,
            Box::new(|f, _| {
                let second = find_second(f);
                f.retain(|(_, bytes)| sha256_hex(bytes) != second);
            }),
            "bundle-artifact-absent",
        ),
        (
            "no index",
            true,
            Box::new(|f, _| f[0].0 = "index.json".into()),
            "bundle-file-absent",
        ),
        (
            "other schema",
            true,
            Box::new(|_, index| index["schema"] = "imagegen.dev/bundle/v2".into()),
            "bundle-schema",
        ),
        (
            "index of another shape",
            true,
            Box::new(|_, index| index["extra"] = 1.into()),
            "bundle-index",
        ),
        (
            "lock of another schema",
            false,
            edit("imagegen.lock.json", "lock/v1", "lock/v9"),
            "bundle-lock",
        ),
        (
            "URL of others",
            true,
            Box::new(|_, index| {
                let first = index["origins"]
                    .as_object()
                    .expect("map")
                    .values()
                    .next()
                    .expect("one")
                    .clone();
                index["origins"]["https://dl.k8s.io/other"] = first;
            }),
            "bundle-origin",
        ),
        (
            "URL of another object",
            true,
            Box::new(|f, index| {
                let other = find_second(f);
                assert!(f.len() > 3);
                for (_, value) in index["origins"].as_object_mut().expect("map") {
                    *value = other.clone().into();
                }
            }),
            "bundle-origin",
        ),
        (
            "image that is not there",
            true,
            Box::new(
                |_, index| index["images"] = json!([{"name": format!("a.example/b@sha256:{}", "0".repeat(64)), "manifest": format!("sha256:{}", "0".repeat(64))}]),
            ),
            "image-blob-absent",
        ),
        (
            "blob of no image",
            false,
            Box::new(|f, _| {
                f.push((
                    format!("images/blobs/sha256/{}", sha256_hex(b"x")),
                    b"x".to_vec(),
                ));
            }),
            "image-manifest",
        ),
    ];
    for (what, honest, change, code) in rows {
        let said = third_verify(&forged(&good, honest, &*change), 5).stderr;
        assert!(said.contains(&format!("[{code}]")), "{what}: {said}");
        // What is not good is not put into a store, not even in part.
        let test = operator().line("bundle extract b.zip --store s");
        std::fs::write(test.folder.join("b.zip"), forged(&good, honest, &*change)).expect("bundle");
        test.fails(5, &[code]);
        assert!(!test.exists("s/objects"), "{what}");
    }
    for (what, bytes, code) in [
        ("cut", good[..good.len() / 2].to_vec(), "archive-corrupt"),
        (
            "bytes behind",
            [&good[..], b"x"].concat(),
            "archive-foreign",
        ),
        ("empty", Vec::new(), "archive-corrupt"),
    ] {
        let said = third_verify(&bytes, 5).stderr;
        assert!(said.contains(&format!("[{code}]")), "{what}: {said}");
    }
    // Any bit of it.
    for at in (0..good.len()).step_by(good.len() / 60) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        let test = operator().line("bundle verify b.zip");
        std::fs::write(test.folder.join("b.zip"), &bytes).expect("bundle");
        let ran = test.run();
        // Times and versions of the zip say nothing, and only they.
        assert!(
            ran.code == Some(5) || unpack(&bytes) == unpack(&good),
            "byte {at}: {}",
            ran.stderr
        );
    }
}

/// A bundle has the lock that was reviewed, or nothing of it is stored; and what it says of a publisher's address
/// is not the publisher's word later.
#[test]
fn a_bundle_speaks_for_its_reviewed_lock_alone() {
    let server = Registry::start();
    let lock = lock(&server, b"first artifact");
    let made = create_bundle(&lock);
    made.succeeds();
    let address = server.url("/one.exe.sha256");
    drop(server);
    let extract = |lock: &str, line: &str| {
        let test = operator()
            .file("reviewed.json", lock)
            .line("bundle extract node.zip")
            .line(line);
        std::fs::write(test.folder.join("node.zip"), made.read("node.zip")).expect("bundle");
        test
    };
    let other = lock.replace("the image definition's overrides", "somebody else");
    for place in ["--store s", "--as-mirror m"] {
        let test = extract(&other, place).line("--lock reviewed.json");
        test.fails(5, &["bundle-lock-differs"]);
        let stored = test.folder.join("s/objects");
        assert!(!test.exists("m") && (!stored.exists() || files(&stored).is_empty()));
    }
    extract("{}", "--store s --lock reviewed.json").fails(3, &["reviewed.json"]);
    let test = extract(&lock, "--store s --lock reviewed.json");
    test.succeeds();
    // Without a reviewed lock, the catalog says what the selection makes.
    extract(&lock, "--store s").succeeds();
    let edited = forged(&made.read("node.zip"), false, &|files, _| {
        let at = place(files, "imagegen.lock.json");
        let content = String::from_utf8(files[at].1.clone()).expect("text");
        files[at].1 = content
            .replace("\"license\": \"Apache-2.0\"", "\"license\": \"MIT\"")
            .into_bytes();
    });
    for verb in [
        "extract b.zip --store s",
        "extract b.zip --as-mirror m",
        "verify b.zip",
    ] {
        let test = operator().line("bundle").line(verb);
        std::fs::write(test.folder.join("b.zip"), &edited).expect("bundle");
        let said = test.fails(3, &["is stale", ".license` was"]).stderr;
        assert!(!said.contains("--ignore-lock"), "{said}");
        assert!(!test.exists("s/objects") && !test.exists("m"));
    }
    let verify = operator()
        .line("verify x --offline --store s --checksums")
        .args([address.as_str()])
        .file("x", "x");
    std::fs::rename(test.folder.join("s"), verify.folder.join("s")).expect("store");
    verify.fails(4, &["is not in the store"]);
}

fn find_last(bytes: &[u8], mark: &[u8]) -> usize {
    let mut windows = bytes.windows(mark.len());
    windows.rposition(|window| window == mark).expect("mark")
}

type Writer = ZipWriter<Cursor<Vec<u8>>>;

/// A bundle has the form in which it is written: what only some readers of zips see has no place in it.
#[test]
fn bundles_that_somebody_else_packed_are_refused() {
    let server = Registry::start();
    let lock = lock(&server, b"first artifact");
    let made = create_bundle(&lock);
    made.succeeds();
    let good = made.read("node.zip");
    let files = unpack(&good);
    let options = own_options(0);
    let with = |add: &dyn Fn(&mut Writer, &str) -> ZipResult<()>| {
        let mut zip = Writer::new(Cursor::new(Vec::new()));
        for (name, bytes) in &files {
            add(&mut zip, name).expect("an entry");
            zip.write_all(bytes).expect("bytes");
        }
        zip.finish().expect("zip").into_inner()
    };
    assert!(with(&|zip, name| zip.start_file(name, options)) == good);
    let last = &files.last().expect("a file").0;
    let each = |changed: SimpleFileOptions| {
        with(&|zip, name| zip.start_file(name, if name == last { changed } else { options }))
    };

    let mut stream = ZipWriter::new_stream(Vec::new());
    for (name, bytes) in &files {
        stream.start_file(name.as_str(), options).expect("file");
        stream.write_all(bytes).expect("bytes");
    }
    // The directory names the first file last.
    let mut turned = good.clone();
    let end = find_last(&good, b"PK\x05\x06");
    let start = find_last(&good, b"bundle.json") - 46;
    turned[start..end].rotate_left(46 + "bundle.json".len());
    let folder = with(&|zip, name| {
        if name == last {
            zip.add_directory("scripts/", options)?;
        }
        zip.start_file(name, options)
    });
    let commented = with(&|zip, name| {
        zip.set_comment("x")?;
        zip.start_file(name, options)
    });
    for (what, bytes) in [
        ("a folder", folder),
        (
            "sizes behind the bytes",
            stream.finish().expect("zip").into_inner(),
        ),
        ("a size with zip64", each(options.large_file(true))),
        (
            "another method",
            each(options.compression_method(CompressionMethod::Deflated)),
        ),
        ("another mode", each(options.unix_permissions(0o755))),
        ("another system", each(options.system(System::Dos))),
        ("a comment", commented),
        ("another order", turned),
        ("bytes in front", [&b"MZ"[..], &good].concat()),
        ("bytes behind", [&good[..], b"x"].concat()),
    ] {
        let said = third_verify(&bytes, 5).stderr;
        let refused = said.contains("[archive-foreign]") || said.contains("[archive-corrupt]");
        assert!(refused, "{what}: {said}");
        let extract = operator()
            .bytes("b.zip", &bytes)
            .line("bundle extract b.zip --store s");
        extract.fails(5, &["archive-"]);
        assert!(!extract.exists("s/objects"), "{what}");
    }
}
