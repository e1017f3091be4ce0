//! Downloads from a server on loopback that misbehaves in every way there is.

pub mod crash;
mod program;
pub mod tls;

use std::sync::Arc;
use std::time::Duration;

use imagegen::base::secret::Secret;
use imagegen::base::value::FileDigest;
use imagegen::diagnostic::Classify as _;
use imagegen::fetch::{Addressing, FetchError, FetchedArtifact, Fetcher, OpenedMirrors, Request};
use imagegen::io::fs::{DigestSet, digest_file_with, digest_stream};
use imagegen::io::http::{Http, Options, Patience};
use imagegen::io::store::Store;
use imagegen::ui::Downloads;

use crate::support::server::{Asked, Handler, Server, Step, head, ranged, status, whole};
use crate::support::{Test, exit_codes, files};

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
    FileDigest::Sha256(digest(bytes).parse().unwrap())
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

pub fn digest(bytes: &[u8]) -> String {
    imagegen::base::digest::sha256_hex(bytes)
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
        assert!(name.ends_with(&digest(bytes)), "{name} holds other bytes");
    }
    objects.len()
}

struct Row {
    name: &'static str,
    /// Code of the error, or none where it succeeds.
    code: Option<&'static str>,
    /// Requests that the server sees.
    asked: usize,
    answer: Box<Handler>,
    change: fn(&mut Request),
    said: &'static [&'static str],
}

fn row(
    name: &'static str,
    code: impl Into<Option<&'static str>>,
    asked: usize,
    answer: impl Fn(&Asked) -> Vec<Step> + Send + Sync + 'static,
) -> Row {
    Row {
        name,
        code: code.into(),
        asked,
        answer: Box::new(answer),
        change: |_| {},
        said: &[],
    }
}

impl Row {
    fn change(self, change: fn(&mut Request)) -> Self {
        Self { change, ..self }
    }

    fn said(self, said: &'static [&'static str]) -> Self {
        Self { said, ..self }
    }
}

const SIZE: usize = 5000;

fn file() -> Vec<u8> {
    content(SIZE)
}

fn plain(_: &Asked) -> Vec<Step> {
    whole(&file(), &[])
}

/// Fails this often, then sends the file.
fn after(times: usize, failure: Vec<Step>) -> impl Fn(&Asked) -> Vec<Step> {
    move |asked| {
        if asked.before < times {
            failure.clone()
        } else {
            plain(asked)
        }
    }
}

fn always(steps: Vec<Step>) -> impl Fn(&Asked) -> Vec<Step> {
    move |_| steps.clone()
}

fn sent(status: &str, headers: &[&str], body: &[u8], then: Step) -> Vec<Step> {
    vec![Step::Send([&head(status, headers), body].concat()), then]
}

fn to(location: &str) -> Vec<Step> {
    status("302 Found", &[&format!("Location: {location}")])
}

fn statuses() -> Vec<Row> {
    let mut rows = Vec::new();
    for (text, code) in [
        ("400 Bad Request", "status"),
        ("401 Unauthorized", "forbidden"),
        ("403 Forbidden", "forbidden"),
        ("404 Not Found", "not-found"),
        ("410 Gone", "gone"),
        ("501 Not Implemented", "server-error"),
        ("206 Partial Content", "status"),
        ("204 No Content", "status"),
    ] {
        rows.push(row(text, code, 1, always(status(text, &[]))));
    }
    for (text, code) in [
        ("408 Request Timeout", "busy"),
        ("429 Too Many Requests", "busy"),
        ("500 Internal Server Error", "server-error"),
        ("502 Bad Gateway", "server-error"),
        ("503 Service Unavailable", "server-error"),
        ("504 Gateway Timeout", "server-error"),
    ] {
        rows.push(row(text, None, 3, after(2, status(text, &[]))));
        rows.push(row(text, code, 3, always(status(text, &[]))));
    }
    // What servers say of coming again is capped by our own patience.
    for header in [
        "Retry-After: 3600",
        "Retry-After: Fri, 31 Dec 2100 23:59:59 GMT",
        "Retry-After: soon",
    ] {
        rows.push(row(
            header,
            None,
            2,
            after(1, status("429 Too Many Requests", &[header])),
        ));
    }
    rows
}

fn bodies() -> Vec<Row> {
    let half = || file()[..SIZE / 2].to_vec();
    let chunk =
        |bytes: &[u8]| [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
    let chunked = ["Transfer-Encoding: chunked"];
    let page = || {
        let mut page = b"<!doctype html><title>Sign in</title>".to_vec();
        page.resize(SIZE, b' ');
        page
    };
    vec![
        row("whole", None, 1, plain),
        row("login page", "digest-mismatch", 1, move |_| {
            whole(&page(), &["Content-Type: text/html"])
        })
        .said(&["web page of 5000 bytes", "thing 1.0: http://127.0.0.1"]),
        row("login page of another size", "size-mismatch", 1, |_| {
            whole(b"<html>", &["Content-Type: text/html; charset=utf-8"])
        })
        .said(&["has 6 bytes, expected 5000 (it is a web page"]),
        row("empty", "size-mismatch", 1, |_| whole(b"", &[])),
        row("empty, size unknown", "digest-mismatch", 1, |_| {
            whole(b"", &[])
        })
        .change(|r| r.size = None),
        row("empty, nothing known", "empty", 1, |_| whole(b"", &[])).change(|r| {
            r.size = None;
            r.digests.clear();
        }),
        row("length too large", "size-mismatch", 1, |_| {
            sent("200 OK", &["Content-Length: 5001"], &file(), Step::Close)
        }),
        row("cut, with length", "short-body", 3, move |_| {
            sent("200 OK", &["Content-Length: 5000"], &half(), Step::Close)
        }),
        row("cut, without length", "short-body", 3, move |_| {
            sent("200 OK", &[], &half(), Step::Close)
        }),
        row(
            "cut, nothing known but the digest",
            "digest-mismatch",
            1,
            move |_| sent("200 OK", &[], &half(), Step::Close),
        )
        .change(|r| r.size = None),
        row("whole, without length", None, 1, |_| {
            sent("200 OK", &[], &file(), Step::Close)
        }),
        row("chunked", None, 1, move |_| {
            let body = [
                chunk(&file()[..1000]),
                chunk(&file()[1000..]),
                b"0\r\n\r\n".to_vec(),
            ]
            .concat();
            sent("200 OK", &chunked, &body, Step::Close)
        }),
        row("chunked and cut", "short-body", 3, move |_| {
            sent("200 OK", &chunked, &chunk(&file()[..1000]), Step::Close)
        }),
        row(
            "nonsense in the place of a chunk",
            "short-body",
            3,
            move |_| sent("200 OK", &chunked, b"no number\r\n", Step::Close),
        ),
        row("no HTTP", "connection", 3, |_| {
            vec![Step::Send(b"220 ftp ready\r\n\r\n".to_vec()), Step::Close]
        }),
        row("nothing", "connection", 3, |_| vec![Step::Close]),
        row("trickle", "too-slow", 3, |_| {
            vec![
                Step::Send(head("200 OK", &["Content-Length: 5000"])),
                Step::Trickle(file(), Duration::from_millis(20)),
            ]
        }),
        row("stall in the body", "too-slow", 3, move |_| {
            sent(
                "200 OK",
                &["Content-Length: 5000"],
                &file()[..50],
                Step::Hang,
            )
        }),
        row("stall before the head", "timeout", 3, |_| vec![Step::Hang]),
        row("encoded", "content-encoding", 1, |_| {
            whole(&file(), &["Content-Encoding: gzip"])
        }),
        row("announces too much", "too-large", 1, |_| {
            whole(&file(), &[])
        })
        .change(|r| {
            r.size = None;
            r.max_size = 4999;
        }),
        row("sends too much", "too-large", 1, |_| {
            sent("200 OK", &[], &file(), Step::Close)
        })
        .change(|r| {
            r.size = None;
            r.max_size = 4999;
        }),
        row("sends more than its size", "too-large", 1, |_| {
            sent("200 OK", &[], &content(5001), Step::Close)
        }),
        row("size pin wrong", "size-mismatch", 1, plain).change(|r| r.size = Some(5001)),
        row("two digests that disagree", "digest-mismatch", 1, plain).change(|r| {
            r.digests
                .push(FileDigest::Sha512("0".repeat(128).parse().unwrap()));
        }),
        row("an older file", "drift", 1, |_| whole(&content(4000), &[]))
            .change(|r| {
                r.size = None;
                r.superseded
                    .push((sha256(&content(4000)), "seen in 2021".into()));
            })
            .said(&["(seen in 2021)"]),
    ]
}

fn redirects() -> Vec<Row> {
    let hops = |hops: usize| {
        move |asked: &Asked| match asked.path.trim_start_matches("/x").parse().unwrap_or(0) {
            hop if hop == hops => plain(asked),
            hop => to(&format!("/x{}", hop + 1)),
        }
    };
    vec![
        row("five redirects", None, 6, hops(5)),
        row("six redirects", "too-many-redirects", 6, hops(6)),
        row("loop", "too-many-redirects", 6, |_| to("/x")),
        row("redirect to plain HTTP elsewhere", "plain-http", 1, |_| {
            to("http://example.com/x?sig=s3cret")
        })
        .said(&["--allow-http example.com"]),
        row("redirect with a user", "redirect-credentials", 1, |asked| {
            to(&format!(
                "http://u:s3cret@{}/x",
                asked.header("host").unwrap_or_default()
            ))
        }),
        row("redirect to a file", "bad-url", 1, |_| {
            to("file:///etc/passwd")
        }),
        row("redirect without target", "bad-redirect", 1, |_| {
            status("302 Found", &[])
        }),
        row("redirect to what is gone", "not-found", 2, |asked| {
            if asked.path == "/x" {
                to("/y?sig=s3cret")
            } else {
                status("404 Not Found", &[])
            }
        })
        .said(&["/y: the server answers 404"]),
        row("redirect to a signed URL", None, 2, |asked| {
            if asked.path == "/x" {
                to("/y?sig=s3cret")
            } else {
                plain(asked)
            }
        }),
    ]
}

/// The first answer ends in the middle; what the second gets is the row's.
fn resumed(
    name: &'static str,
    code: impl Into<Option<&'static str>>,
    asked: usize,
    etag: &'static str,
    second: impl Fn(&Asked) -> Vec<Step> + Send + Sync + 'static,
) -> Row {
    row(name, code, asked, move |asked| {
        if asked.before > 0 {
            return second(asked);
        }
        let tag = format!("ETag: {etag}");
        sent(
            "200 OK",
            &["Content-Length: 5000", &tag],
            &file()[..2000],
            Step::Close,
        )
    })
}

fn part(range: &str, headers: &[&str], body: &[u8]) -> Vec<Step> {
    let length = format!("Content-Length: {}", body.len());
    let range = format!("Content-Range: {range}");
    let all: Vec<&str> = [length.as_str(), &range]
        .into_iter()
        .chain(headers.iter().copied())
        .collect();
    vec![Step::Send(
        [&head("206 Partial Content", &all), body].concat(),
    )]
}

fn ranges() -> Vec<Row> {
    let first = |asked: &Asked, steps: Vec<Step>| {
        if asked.before == 1 {
            steps
        } else {
            plain(asked)
        }
    };
    vec![
        resumed("resumed", None, 2, "\"a\"", |asked| {
            assert_eq!(asked.range(), Some((2000, None)));
            assert_eq!(asked.header("if-range"), Some("\"a\""));
            ranged(&file(), "\"a\"", asked)
        }),
        resumed("a weak tag proves nothing", None, 2, "W/\"a\"", |asked| {
            assert_eq!(asked.range(), None);
            plain(asked)
        }),
        resumed("range ignored", None, 2, "\"a\"", plain),
        resumed("tag changed", None, 2, "\"a\"", |asked| {
            ranged(&file(), "\"b\"", asked)
        }),
        resumed("another part", None, 3, "\"a\"", move |asked| {
            first(asked, part("bytes 1999-4999/5000", &[], &file()[1999..]))
        }),
        resumed("a part of another file", None, 3, "\"a\"", move |asked| {
            first(
                asked,
                part("bytes 2000-4999/5000", &["ETag: \"b\""], &file()[2000..]),
            )
        }),
        resumed("a part without a range", None, 3, "\"a\"", move |asked| {
            first(asked, part("nonsense", &[], &file()[2000..]))
        }),
        resumed("out of range", None, 3, "\"a\"", move |asked| {
            first(
                asked,
                status(
                    "416 Range Not Satisfiable",
                    &["Content-Range: bytes */5000"],
                ),
            )
        }),
        resumed("another size", "size-mismatch", 2, "\"a\"", |_| {
            part("bytes 2000-5000/5001", &[], &content(5001)[2000..])
        }),
        resumed(
            "always another part, else cut",
            "short-body",
            3,
            "\"a\"",
            |asked| {
                if asked.range().is_some() {
                    return part("bytes 0-1/5000", &[], &file()[..2]);
                }
                sent(
                    "200 OK",
                    &["Content-Length: 5000", "ETag: \"a\""],
                    &file()[..2000],
                    Step::Close,
                )
            },
        ),
    ]
}

fn check(rows: Vec<Row>) {
    for row in rows {
        let test = Test::new();
        let answer = Arc::new(row.answer);
        let server = Server::new(move |asked| answer(asked));
        let mut wanted = request(&server.url("/x"), &file());
        (row.change)(&mut wanted);
        let outcome = one(&impatient(&test), &wanted);
        let code = outcome
            .as_ref()
            .err()
            .map(|error| error.failure.code().as_str());
        assert_eq!(code, row.code, "{}: {outcome:?}", row.name);
        assert_eq!(
            server.asked().len(),
            row.asked,
            "{}: {:?}",
            row.name,
            server.asked()
        );
        let objects = sound(&test.folder.join("store"));
        match outcome {
            Ok(fetched) => {
                assert_eq!(
                    std::fs::read(fetched.path()).unwrap(),
                    file(),
                    "{}",
                    row.name
                );
                assert_eq!(fetched.sha256(), digest(&file()), "{}", row.name);
            }
            Err(error) => {
                let said = error.to_string();
                assert!(
                    said.ends_with(&format!(" [{}]", error.failure.code())),
                    "{said}"
                );
                let exit = i32::from(error.class().exit_code());
                assert!(
                    exit_codes(error.failure.code().as_str()).contains(&exit),
                    "{}: {exit}",
                    row.name
                );
                assert_eq!(objects, 0, "{}: {said}", row.name);
                for part in row.said {
                    assert!(said.contains(part), "{}: no `{part}` in {said}", row.name);
                }
                assert!(!said.contains("s3cret"), "{said}");
            }
        }
        for (name, bytes) in files(&test.folder) {
            assert!(
                !String::from_utf8_lossy(&bytes).contains("s3cret"),
                "{}: {name}",
                row.name
            );
        }
    }
}

#[test]
fn statuses_are_final_or_tried_again() {
    check(statuses());
}

#[test]
fn bodies_are_whole_and_right_or_refused() {
    check(bodies());
}

#[test]
fn redirects_are_followed_to_what_is_allowed() {
    check(redirects());
}

#[test]
fn parts_are_continued_only_with_the_same_file() {
    check(ranges());
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

/// Between finding and reading a file another reader may have found it damaged.
#[test]
fn a_file_that_leaves_the_store_is_none() {
    let test = Test::new();
    let store = Store::open(test.folder.join("store")).unwrap();
    let object = store.insert("https://a.test/f", b"content").unwrap();
    assert_eq!(
        store.read_object(&object).unwrap().as_deref(),
        Some(b"content".as_slice())
    );
    assert_eq!(
        store
            .digest_object(&object, DigestSet::Sha256)
            .unwrap()
            .unwrap()
            .sha256,
        digest(b"content")
    );
    std::fs::write(&object.path, "other").unwrap();
    assert!(
        store
            .digest_object(&object, DigestSet::Sha256)
            .unwrap()
            .is_none()
            && !object.path.exists()
    );
    assert!(
        store
            .digest_object(&object, DigestSet::Sha256)
            .unwrap()
            .is_none()
            && store.read_object(&object).unwrap().is_none()
    );
}

#[test]
fn a_large_file_comes_over_several_connections() {
    let bytes = content(1 << 18);
    let split = Patience {
        split_from: 1 << 16,
        split_piece: 10_000,
        ..patience()
    };
    let options = || Options {
        patience: split.clone(),
        ..Options::default()
    };
    let copy = bytes.clone();
    let server = Server::new(move |asked| match asked.path.as_str() {
        // One piece fails once.
        "/broken" if asked.before == 5 => vec![Step::Close],
        // The file changes in the middle.
        "/changed" if asked.before > 3 => ranged(&copy, "\"b\"", asked),
        // A server that claims more than it can.
        "/ignored" => whole(&copy, &["ETag: \"a\"", "Accept-Ranges: bytes"]),
        "/plain" => whole(&copy, &[]),
        _ => ranged(&copy, "\"a\"", asked),
    });
    for (path, parts) in [
        ("/good?token=t", true),
        ("/broken", true),
        ("/changed", true),
        ("/ignored", true),
        ("/plain", false),
    ] {
        let test = Test::new();
        let wanted = request(&server.url(path), &bytes);
        let outcome = fetcher(&test, options())
            .fetch_all(&[wanted], 4, &Downloads::new_silent())
            .remove(0);
        let fetched = outcome.unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(std::fs::read(fetched.path()).unwrap(), bytes, "{path}");
        let asked = server.asked();
        let ranges = asked
            .iter()
            .filter(|asked| asked.path == path && asked.range().is_some())
            .count();
        assert_eq!(ranges > 1, parts, "{path}: {ranges}");
        assert_eq!(files(&test.folder.join("store/partial")).len(), 0, "{path}");
    }
    let good: Vec<_> = server
        .asked()
        .into_iter()
        .filter(|asked| asked.path == "/good?token=t")
        .collect();
    assert_eq!(
        good.len(),
        1 + bytes.len().div_ceil(10_000),
        "every byte is asked for once"
    );
}

#[test]
fn a_part_is_continued_by_the_next_process() {
    let bytes = content(1 << 18);
    let copy = bytes.clone();
    let server = Server::new(move |asked| {
        if asked.before < 3 {
            let length = format!("Content-Length: {}", copy.len());
            return sent(
                "200 OK",
                &[&length, "ETag: \"a\""],
                &copy[..100_000],
                Step::Close,
            );
        }
        ranged(&copy, "\"a\"", asked)
    });
    let test = Test::new();
    let wanted = request(&server.url("/x"), &bytes);
    let error = one(&impatient(&test), &wanted).unwrap_err();
    assert_eq!(error.failure.code().as_str(), "short-body");
    let parts = files(&test.folder.join("store/partial"));
    assert_eq!(
        parts.values().max_by_key(|part| part.len()).unwrap()[..],
        bytes[..100_000]
    );
    one(&impatient(&test), &wanted).unwrap();
    let asked = server.asked();
    assert_eq!(asked.last().unwrap().range(), Some((100_000, None)));
    assert_eq!(files(&test.folder.join("store/partial")).len(), 0);

    // What a crash left may be of another file, or hold what never reached the disk.
    let test = Test::new();
    one(&impatient(&test), &request(&server.url("/x"), &bytes)).unwrap();
    let other = Server::new({
        let bytes = bytes.clone();
        move |asked| ranged(&bytes, "\"a\"", asked)
    });
    let url = other.url("/x");
    let name = test
        .folder
        .join("store/partial")
        .join(digest(url.as_bytes()));
    std::fs::write(name.with_extension("part"), vec![0; 100_000]).unwrap();
    std::fs::write(
        name.with_extension("json"),
        format!(r#"{{"url": "{url}", "etag": "\"a\""}}"#),
    )
    .unwrap();
    std::fs::remove_dir_all(test.folder.join("store/objects")).unwrap();
    one(&impatient(&test), &request(&url, &bytes)).unwrap();
    assert_eq!(other.asked().len(), 2);
}

#[test]
fn every_digest_of_a_request_is_compared() {
    let server = Server::new(plain);
    let test = Test::new();
    let right = one(&impatient(&test), &request(&server.url("/x"), &file())).unwrap();
    let [sha256, sha512] = right.file_digests().unwrap().try_into().unwrap();
    let wrong = FileDigest::Sha512("7".repeat(128).parse().unwrap());
    for (digests, fits) in [
        (vec![sha512.clone()], true),
        (vec![sha256.clone(), sha512.clone()], true),
        (vec![wrong.clone()], false),
        (vec![sha256.clone(), wrong.clone()], false),
        (vec![sha512, wrong.clone()], false),
    ] {
        // From the server, and from the store.
        for folder in [Test::new(), Test::new()] {
            let wanted = Request {
                digests: digests.clone(),
                ..request(&server.url("/x"), &file())
            };
            let fetched = one(&impatient(&folder), &wanted);
            assert_eq!(fetched.is_ok(), fits, "{digests:?}: {fetched:?}");
            assert_eq!(
                one(&impatient(&folder), &wanted).is_ok(),
                fits,
                "{digests:?}"
            );
        }
    }
    // A replaced file is recognised by the digest that it is known by.
    let replaced = Request {
        digests: vec![FileDigest::Sha256("7".repeat(64).parse().unwrap())],
        superseded: vec![(right.file_digests().unwrap().remove(1), "seen".to_owned())],
        ..request(&server.url("/x"), &file())
    };
    assert_eq!(
        one(&impatient(&Test::new()), &replaced)
            .unwrap_err()
            .failure
            .code()
            .as_str(),
        "drift"
    );
    // Its SHA-512 is computed later, of the bytes that were verified.
    std::fs::write(right.path(), b"other").unwrap();
    assert_eq!(
        right.read_both().unwrap_err().failure.code().as_str(),
        "digest-mismatch"
    );
}

#[test]
fn a_stream_is_digested_while_it_is_copied() {
    for size in [0, 1, 5, (1 << 18) - 1, 1 << 18, (1 << 18) + 1, 3_000_000] {
        let bytes = content(size);
        for set in [DigestSet::Sha256, DigestSet::Both] {
            let mut copy = Vec::new();
            let found = digest_stream(&mut bytes.as_slice(), set, &mut copy);
            let found = found.unwrap();
            assert!(
                copy == bytes && found.size == bytes.len() as u64 && found.sha256 == digest(&bytes)
            );
            let sha512 = (set == DigestSet::Both).then(|| {
                let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA512, &bytes);
                imagegen::base::digest::encode_hex(digest.as_ref())
            });
            assert_eq!(found.sha512, sha512, "{size}");
        }
    }
    let mut full = [0; 8];
    let mut output = full.as_mut_slice();
    assert!(
        digest_stream(
            &mut content(3_000_000).as_slice(),
            DigestSet::Both,
            &mut output
        )
        .is_err()
    );
    let mut broken = std::io::Read::chain(content(600_000).leak() as &[u8], Broken);
    assert!(digest_stream(&mut broken, DigestSet::Both, &mut std::io::sink()).is_err());
}

struct Broken;

impl std::io::Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("broken"))
    }
}

#[test]
fn the_store_notices_what_was_changed_on_the_disk() {
    let server = Server::new(plain);
    let test = Test::new();
    let wanted = request(&server.url("/x?sig=s3cret"), &file());
    let path = one(&impatient(&test), &wanted).unwrap().path().to_owned();
    one(&impatient(&test), &wanted).unwrap();
    assert_eq!(server.asked().len(), 1, "the store has it");
    // By the other digest, and by nothing at all.
    let by_sha512 = Request {
        digests: vec![sha512(&path)],
        ..wanted.clone()
    };
    let elsewhere = Request {
        url: server.url("/other").parse().unwrap(),
        ..by_sha512.clone()
    };
    let offline = || {
        fetcher(
            &test,
            Options {
                offline: true,
                ..Options::default()
            },
        )
    };
    assert_eq!(
        one(&offline(), &elsewhere)
            .unwrap_err()
            .failure
            .code()
            .as_str(),
        "offline",
        "nobody asked for it"
    );
    one(&offline(), &by_sha512).unwrap();
    one(&offline(), &elsewhere).unwrap();
    // A URL that is signed anew is of the same file.
    let renewed = server.url("/x?sig=other").parse().unwrap();
    one(
        &offline(),
        &Request {
            digests: Vec::new(),
            url: renewed,
            ..wanted.clone()
        },
    )
    .unwrap();
    one(
        &offline(),
        &Request {
            digests: Vec::new(),
            ..wanted.clone()
        },
    )
    .unwrap();

    let mut bytes = file();
    bytes[17] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let error = one(&offline(), &wanted).unwrap_err();
    assert_eq!(error.failure.code().as_str(), "offline", "{error}");
    assert!(
        !error.to_string().contains("s3cret")
            && error.failure.hint().unwrap().contains("imagegen fetch")
    );
    std::fs::write(&path, &bytes).unwrap();
    one(&impatient(&test), &wanted).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), file());
    assert_eq!(server.asked().len(), 2);
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
    assert_eq!(small(&offline, "/sum").unwrap(), b"abc\n");
    assert_eq!(
        small(&offline, "/none")
            .unwrap_err()
            .failure
            .code()
            .as_str(),
        "offline"
    );
    let object = test
        .folder
        .join("store/objects/sha256")
        .join(&digest(b"abc\n")[..2])
        .join(digest(b"abc\n"));
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

#[cfg(unix)]
#[test]
fn a_store_that_others_can_write_to_is_not_used() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let test = Test::new();
    let root = test.folder.join("store");
    Store::open(root.clone()).unwrap();
    assert_eq!(root.metadata().unwrap().mode() & 0o777, 0o700);
    for mode in [0o770, 0o707, 0o777] {
        std::fs::set_permissions(&root, std::fs::Permissions::from_mode(mode)).unwrap();
        let error = Store::open(root.clone()).unwrap_err();
        assert!(
            error.to_string().contains("other users can write"),
            "{mode:o}: {error}"
        );
    }
    std::fs::set_permissions(&root, std::fs::Permissions::from_mode(0o755)).unwrap();
    Store::open(root).unwrap();
}

/// A link in the place of a part would be written through.
#[cfg(unix)]
#[test]
fn parts_follow_no_links() {
    let server = Server::new(plain);
    let test = Test::new();
    let fetcher = impatient(&test);
    let url = server.url("/x");
    let other = test.folder.join("other");
    std::fs::write(&other, "mine").unwrap();
    let part = test
        .folder
        .join("store/partial")
        .join(format!("{}.part", digest(url.as_bytes())));
    std::os::unix::fs::symlink(&other, &part).unwrap();
    let error = one(&fetcher, &request(&url, &file())).unwrap_err();
    assert_eq!(error.failure.code().as_str(), "file", "{error}");
    assert_eq!(std::fs::read(&other).unwrap(), b"mine");
}

#[test]
fn the_same_bytes_from_two_places_at_once_are_one_file() {
    let server = Server::new(plain);
    let test = Test::new();
    let wanted: Vec<Request> = (0..32)
        .map(|number| Request {
            digests: Vec::new(),
            ..request(&server.url(&format!("/{}", number % 16)), &file())
        })
        .collect();
    for outcome in impatient(&test).fetch_all(&wanted, 16, &Downloads::new_silent()) {
        outcome.unwrap();
    }
    assert_eq!(sound(&test.folder.join("store")), 1);
}
