//! Answers of a server, one row each.

use std::sync::Arc;
use std::time::Duration;

use imagegen::base::digest::sha256_hex;
use imagegen::base::value::FileDigest;
use imagegen::diagnostic::Classify as _;
use imagegen::fetch::Request;

use super::{SIZE, content, file, impatient, one, plain, request, sha256, sound, to};
use crate::support::server::{Asked, Handler, Server, Step, head, ranged, status, whole};
use crate::support::{Test, exit_codes, files};

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

fn always(steps: Vec<Step>) -> impl Fn(&Asked) -> Vec<Step> {
    move |_| steps.clone()
}

pub(super) fn sent(status: &str, headers: &[&str], body: &[u8], then: Step) -> Vec<Step> {
    vec![Step::Send([&head(status, headers), body].concat()), then]
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
                assert_eq!(fetched.sha256(), sha256_hex(&file()), "{}", row.name);
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
