//! Downloads from a server on loopback that misbehaves in every way there is.

mod answers;
pub mod crash;
#[cfg(target_os = "linux")]
mod locks;
mod parts;
mod program;
mod store;
pub mod tls;

use std::time::{Duration, SystemTime};

use imagegen::base::digest::sha256_hex;
use imagegen::base::secret::Secret;
use imagegen::base::value::FileDigest;
use imagegen::fetch::{Addressing, FetchError, FetchedArtifact, Fetcher, OpenedMirrors, Request};
use imagegen::io::fs::{DigestSet, digest_file_with};
use imagegen::io::http::{Http, Options, Patience};
use imagegen::io::store::Store;
use imagegen::ui::Downloads;

use crate::support::server::{Asked, Server, Step, head, status, whole};
use crate::support::{Test, files};

/// Bounds that a test can wait for.
pub fn patience() -> Patience {
    Patience {
        connect: Duration::from_secs(10),
        head: Duration::from_millis(400),
        window: Duration::from_millis(250),
        least: 100,
        tries: 3,
        deadline: Duration::from_secs(60),
        pause: Duration::from_millis(2),
        longest_pause: Duration::from_millis(10),
        split_from: 1 << 40,
        split_piece: 1 << 40,
    }
}

pub fn fetcher(test: &Test, options: Options) -> Fetcher {
    let store = Store::open(test.folder.join("store")).expect("store");
    let http = Http::new(options).expect("client");
    Fetcher::new(http, store, OpenedMirrors::default()).expect("threads")
}

fn impatient(test: &Test) -> Fetcher {
    fetcher(
        test,
        Options {
            patience: patience(),
            ..Options::default()
        },
    )
}

/// Bytes that are nowhere the same.
pub fn content(size: usize) -> Vec<u8> {
    (0_u32..)
        .flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes())
        .take(size)
        .collect()
}

pub fn sha256(bytes: &[u8]) -> FileDigest {
    FileDigest::Sha256(sha256_hex(bytes).parse().unwrap())
}

fn sha512(path: &std::path::Path) -> FileDigest {
    let digests = digest_file_with(path, DigestSet::Both)
        .unwrap()
        .file_digests()
        .unwrap();
    digests
        .into_iter()
        .find(|digest| matches!(digest, FileDigest::Sha512(_)))
        .unwrap()
}

/// What is wanted where these bytes are meant.
pub fn request(url: &str, bytes: &[u8]) -> Request {
    Request {
        name: "thing 1.0".to_owned(),
        url: url.parse().expect("a URL"),
        addressing: Addressing::Published,
        size: Some(bytes.len() as u64),
        max_size: 1 << 20,
        digests: vec![sha256(bytes)],
        superseded: Vec::new(),
        headers: Vec::new(),
        login: None,
    }
}

pub fn one(fetcher: &Fetcher, request: &Request) -> Result<FetchedArtifact, FetchError> {
    fetcher
        .fetch_all(std::slice::from_ref(request), 1, &Downloads::new_silent())
        .remove(0)
}

/// Nothing stands in the store but whole files, each under its own digest.
pub fn sound(folder: &std::path::Path) -> usize {
    let objects = files(&folder.join("objects"));
    for (name, bytes) in &objects {
        assert!(
            name.ends_with(&sha256_hex(bytes)),
            "{name} holds other bytes"
        );
    }
    objects.len()
}

const SIZE: usize = 5000;

fn file() -> Vec<u8> {
    content(SIZE)
}

fn plain(_: &Asked) -> Vec<Step> {
    whole(&file(), &[])
}

fn to(location: &str) -> Vec<Step> {
    status("302 Found", &[&format!("Location: {location}")])
}

#[test]
fn hosts_that_are_not_there_are_told() {
    let test = Test::new();
    let fetcher = impatient(&test);
    let gone = Server::new(plain);
    let address = gone.address;
    drop(gone);
    // The listener is closed by the thread that drops it.
    while std::net::TcpStream::connect(address).is_ok() {}
    let error = one(&fetcher, &request(&format!("http://{address}/x"), &file())).unwrap_err();
    assert_eq!(error.failure.code().as_str(), "connect", "{error}");
    // No name has a label of 64 letters: no resolver is asked.
    let error = one(
        &fetcher,
        &request(&format!("https://{}.example/x", "a".repeat(64)), &file()),
    )
    .unwrap_err();
    assert_eq!(error.failure.code().as_str(), "dns", "{error}");
    assert!(error.failure.hint().is_some());
}

#[test]
fn credentials_stay_with_the_host_they_are_for() {
    let other = Server::new(plain);
    let url = other.url("/y");
    let server = Server::new(move |_| to(&url));
    let test = Test::new();
    let mut wanted = request(&server.url("/x"), &file());
    wanted.headers = vec![(
        "Authorization".to_owned(),
        Secret::new("Bearer s3cret".to_owned()),
    )];
    assert!(!format!("{wanted:?}").contains("s3cret"));
    one(&impatient(&test), &wanted).unwrap();
    assert_eq!(
        server.asked()[0].header("authorization"),
        Some("Bearer s3cret")
    );
    assert_eq!(other.asked()[0].header("authorization"), None);
    for (name, bytes) in files(&test.folder) {
        assert!(
            !String::from_utf8_lossy(&bytes).contains("s3cret"),
            "{name}"
        );
    }
}

#[test]
fn small_files_are_there_without_network() {
    let server = Server::new(|asked| match asked.path.as_str() {
        "/sum" => whole(b"abc\n", &[]),
        "/large" => whole(&file(), &[]),
        "/401" => status("401 Unauthorized", &[]),
        "/403" => status("403 Forbidden", &[]),
        _ => status("404 Not Found", &[]),
    });
    let test = Test::new();
    let small = |fetcher: &Fetcher, path: &str| {
        fetcher.fetch_small("thing", &server.url(path).parse().unwrap(), 100, &[])
    };
    assert_eq!(small(&impatient(&test), "/sum").unwrap(), b"abc\n");
    assert!(small(&impatient(&test), "/none").unwrap_err().is_absent());
    for path in ["/401", "/403"] {
        let error = small(&impatient(&test), path).unwrap_err();
        assert!(
            !error.is_absent() && error.failure.code().as_str() == "forbidden",
            "{error}"
        );
    }
    assert_eq!(
        small(&impatient(&test), "/large")
            .unwrap_err()
            .failure
            .code()
            .as_str(),
        "too-large"
    );
    let offline = fetcher(
        &test,
        Options {
            offline: true,
            ..Options::default()
        },
    );
    let object = test
        .folder
        .join("store/objects/sha256")
        .join(&sha256_hex(b"abc\n")[..2])
        .join(sha256_hex(b"abc\n"));
    // What is read is in use: a sweep of unused files leaves it.
    let month = Duration::from_secs(30 * 24 * 60 * 60);
    let opened = std::fs::File::options().write(true).open(&object).unwrap();
    opened.set_modified(SystemTime::now() - 2 * month).unwrap();
    assert_eq!(small(&offline, "/sum").unwrap(), b"abc\n");
    let removed = offline.store().collect_garbage(&|_| false, month).unwrap();
    assert!(removed.is_empty() && object.exists(), "{removed:?}");
    assert_eq!(
        small(&offline, "/none")
            .unwrap_err()
            .failure
            .code()
            .as_str(),
        "offline"
    );
    std::fs::write(object, "abd\n").unwrap();
    assert_eq!(
        small(&offline, "/sum").unwrap_err().failure.code().as_str(),
        "offline"
    );
    assert_eq!(server.asked().len(), 5, "without network nobody is asked");
}

/// Bytes that come just fast enough, without end in sight.
#[test]
fn a_download_has_a_deadline() {
    let server = Server::new(|_| {
        let head = Step::Send(head("200 OK", &["Content-Length: 1000000"]));
        vec![
            head,
            Step::Trickle(vec![0; 1_000_000], Duration::from_millis(5)),
        ]
    });
    let patience = Patience {
        deadline: Duration::from_millis(3600),
        least: 1,
        ..patience()
    };
    let test = Test::new();
    let fetcher = fetcher(
        &test,
        Options {
            patience,
            ..Options::default()
        },
    );
    let wanted = Request::without_digest("thing", &server.url("/x").parse().unwrap(), 1 << 20);
    let error = one(&fetcher, &wanted).unwrap_err();
    assert_eq!(error.failure.code().as_str(), "deadline", "{error}");
}
