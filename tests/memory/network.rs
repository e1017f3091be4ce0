//! Verbs that download, store and carry a large artifact.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use imagegen::base::value::PinAlgorithm;
use imagegen::io::fs::{DigestSet, digest_file, digest_file_with};

use super::{large_size, measure_rows, write_sparse};
use crate::support::archives::stand_in;
use crate::support::planned::list_artifacts;
use crate::support::server::{Server, Step, head};
use crate::support::{Test, program};

const SELECTION: &str = "--target host --k8s 1.36.0";

/// An archive with the planned members, of which the first has `size` bytes.
fn write_archive(path: &Path, artifact: &Value, size: u64) {
    let file = File::create(path).expect("file");
    let mut builder = tar::Builder::new(GzEncoder::new(file, Compression::none()));
    let members = artifact["members"].as_array().expect("members").iter();
    for (at, member) in members.enumerate() {
        let size = if at == 0 { size } else { 5 };
        let mut header = tar::Header::new_gnu();
        header.set_size(size);
        header.set_mode(0o755);
        let name = member["member"].as_str().expect("name");
        builder
            .append_data(&mut header, name, std::io::repeat(b'a').take(size))
            .expect("member");
    }
    builder
        .into_inner()
        .expect("tar")
        .finish()
        .expect("gzip")
        .flush()
        .expect("file");
}

/// Serves the files of a folder, whole or in parts.
fn serve(folder: &Path) -> Server {
    let folder = folder.to_owned();
    Server::new(move |asked| {
        let path = folder.join(asked.path.trim_start_matches('/'));
        let Ok(size) = path.metadata().map(|metadata| metadata.len()) else {
            return crate::support::server::status("404 Not Found", &[]);
        };
        let (status, first, last) = match asked.range() {
            Some((first, last)) => (
                "206 Partial Content",
                first,
                last.map_or(size, |last| last + 1).min(size),
            ),
            None => ("200 OK", 0, size),
        };
        let lines = [
            format!("Content-Length: {}", last - first),
            format!("Content-Range: bytes {first}-{}/{size}", last.max(1) - 1),
            "ETag: \"a\"".to_owned(),
            "Accept-Ranges: bytes".to_owned(),
        ];
        let answer = head(status, &lines.each_ref().map(String::as_str));
        vec![Step::Send(answer), Step::File(path, first, last - first)]
    })
}

/// Proofs that the overrides drop.
const WAIVED: &str =
    "kubernetes-node=cosign-keyless,containerd=attestation,cloudbase-init=authenticode";

/// Overrides that name the server for every artifact.
fn write_overrides(server: &Server, published: &Path, size: u64) -> String {
    let mut overrides = serde_json::Map::new();
    for artifact in list_artifacts(&format!("plan {SELECTION}")).iter() {
        let component = artifact["component"].as_str().expect("component");
        let path = published.join(component);
        if component == "kubernetes-node" {
            write_archive(&path, artifact, size);
        } else {
            std::fs::write(&path, stand_in(artifact)).expect("file");
        }
        let sha256 = digest_file(&path).expect("digest").sha256;
        std::fs::write(
            published.join(format!("{component}.sha256")),
            format!("{sha256}\n"),
        )
        .expect("file");
        let url = server.url(&format!("/{component}"));
        let sums = digest_file_with(&path, DigestSet::Both).expect("digests");
        let sha512 = sums.digest(PinAlgorithm::Sha512);
        let mut over = json!({"url": url, "sha256": sha256, "sha512": sha512});
        over["checksums"] = format!("{url}.sha256").into();
        overrides.insert(component.to_owned(), over);
    }
    Value::Object(overrides).to_string()
}

#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_what_is_downloaded() {
    if program("python3").is_none() {
        return;
    }
    let published = Test::new();
    let server = serve(&published.folder);
    let overrides = write_overrides(&server, &published.folder, large_size());
    let test = Test::new()
        .env("IMAGEGEN_WAIVE", WAIVED)
        .file("o.json", &overrides);
    write_sparse(&published.folder.join("big.bin"), b"", large_size());
    let url = server.url("/big.bin");
    let sha256 = digest_file(&published.folder.join("big.bin"))
        .expect("digest")
        .sha256;
    let whole = format!("{SELECTION} --overrides o.json --store s");
    let rows = [
        (format!("verify {url} --sha256 {sha256} --store other"), 0),
        (format!("verify o.json --checksums {url} --store other"), 5),
        (
            format!("verify o.json --signature {url} --key {url} --store other"),
            5,
        ),
        ("catalog export --out catalog".to_owned(), 0),
        (
            format!(
                "pin kube-log-runner 1.36.4 --manifests catalog --from {url} --source https://a.example/x --store other"
            ),
            0,
        ),
        (format!("lock {whole} --prove"), 0),
        (format!("fetch {whole} --locked"), 0),
        (format!("lock {whole} --proofs proofs"), 0),
        (format!("fetch {whole} --locked --jobs 1"), 0),
        (
            format!("build {whole} --ignore-lock --delivery media --out media"),
            0,
        ),
        ("verify media".to_owned(), 0),
        ("bundle create --out node.zip --store s".to_owned(), 0),
        (
            "bundle verify node.zip --lock imagegen.lock.json".to_owned(),
            0,
        ),
        ("verify node.zip --lock imagegen.lock.json".to_owned(), 0),
        (
            "bundle extract node.zip --store out --lock imagegen.lock.json".to_owned(),
            0,
        ),
    ];
    measure_rows(&test, &rows);
}

/// A bundle with its lock and these other files, stored.
fn write_bundle(path: &Path, lock: &[u8], files: impl Iterator<Item = (String, Vec<u8>)>) {
    let mut zip = zip::ZipWriter::new(File::create(path).expect("file"));
    let options =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let documents = [
        ("imagegen.lock.json".to_owned(), lock.to_vec()),
        ("bundle.json".to_owned(), b"{}".to_vec()),
    ];
    for (name, bytes) in documents.into_iter().chain(files) {
        zip.start_file(name, options).expect("file");
        zip.write_all(&bytes).expect("bytes");
    }
    zip.finish().expect("zip");
}

#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_what_a_bundle_keeps() {
    if program("python3").is_none() {
        return;
    }
    let test = Test::new()
        .env("IMAGEGEN_WAIVE", WAIVED)
        .line("lock --store s")
        .line(SELECTION);
    let server = serve(&test.folder);
    let overrides = write_overrides(&server, &test.folder, 5);
    let test = test.file("o.json", &overrides).line("--overrides o.json");
    test.succeeds();
    let lock = test.read("imagegen.lock.json");
    let scripts = (0..40).map(|at| (format!("scripts/{at}.ps1"), vec![b'a'; 5 << 20]));
    write_bundle(&test.folder.join("scripts.zip"), &lock, scripts);
    let descriptors = vec![r#"{"mediaType":"a","digest":"b","size":1}"#; 80_000].join(",");
    let manifest = format!(r#"{{"schemaVersion":2,"manifests":[{descriptors}]}}"#).into_bytes();
    let manifests = (0..60).map(|at| (format!("images/blobs/sha256/{at:064}"), manifest.clone()));
    write_bundle(&test.folder.join("manifests.zip"), &lock, manifests);
    write_bundle(
        &test.folder.join("lock.zip"),
        &vec![b' '; 200 << 20],
        std::iter::empty(),
    );
    measure_rows(
        &test,
        &[
            ("bundle verify scripts.zip", 5),
            ("verify scripts.zip", 5),
            ("bundle extract manifests.zip --store s", 5),
            ("bundle verify lock.zip", 5),
        ],
    );
}
