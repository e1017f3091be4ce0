//! Redirects of downloads in the guest: what the real curl tells of them when it gets the arguments of the engine, and
//! which URLs the engine goes to.

use std::path::Path;

use imagegen::base::value::HostPattern;
use regex_lite::Regex;
use url::Url;

use super::programs::{capture_program, download_arguments, protocol};
use super::script::root;
use crate::support::server::{Asked, Server, Step, status, whole};

/// A server whose answers are redirects and their ends; `{here}` is its own address.
fn start_server() -> Server {
    Server::new(|asked| {
        let to = |target: &str| redirect(asked, "302 Found", target);
        match asked.path.as_str() {
            "/folder/file" | "/file" => whole(b"bytes", &[]),
            "/empty" => whole(b"", &[]),
            "/busy" if asked.before == 0 => status("503 Service Unavailable", &["Retry-After: 0"]),
            "/busy" => to("/file"),
            "/absolute" => to("http://other.example:81/file?sig=s3cret"),
            "/relative/x" => to("../file"),
            "/rooted" => redirect(asked, "307 Temporary Redirect", "/file"),
            "/moved" => redirect(asked, "301 Moved Permanently", "/file"),
            "/permanent" => redirect(asked, "308 Permanent Redirect", "/file"),
            "/other" => redirect(asked, "303 See Other", "/file"),
            "/slashes" => to("//other.example/file"),
            "/scheme" => to("https://other.example/file"),
            "/user" => to("https://user:s3cret@other.example/file"),
            "/local" => to("file:///etc/passwd"),
            "/braces" => to("http://other.example/{a,b}[1-3]"),
            "/blank" => to("/a b"),
            "/nowhere" => to(""),
            "/to-missing" => to("/missing"),
            "/to-empty" => to("/empty"),
            "/hop3" => to("/hop2"),
            "/hop2" => to("{here}/hop1"),
            "/hop1" => to("folder/file"),
            "/named" => whole(b"bytes", &["Location: /file"]),
            _ => redirect(asked, "404 Not Found", "/file"),
        }
    })
}

/// An answer with a body, so that one would be found in the place of the file.
fn redirect(asked: &Asked, code: &str, target: &str) -> Vec<Step> {
    let here = format!("http://{}", asked.header("host").unwrap_or_default());
    let location = target.replace("{here}", &here);
    let head = format!(
        "HTTP/1.1 {code}\r\nLocation: {location}\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"
    );
    vec![Step::Send(format!("{head}moved").into_bytes()), Step::Close]
}

/// Exit code, and what curl prints.
fn ask(url: &str, target: &Path) -> Option<(i32, String)> {
    let arguments = download_arguments(url, &protocol("http"), target);
    capture_program("curl", &arguments).map(|(code, printed, _)| (code, printed))
}

#[test]
fn curl_tells_where_a_redirect_leads_and_asks_nobody_there() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    for (path, code, expected) in [
        ("/file", 0, ""),
        ("/empty", 0, ""),
        ("/named", 0, ""),
        ("/missing", 22, ""),
        ("/nowhere", 0, ""),
        ("/busy", 0, "{here}/file"),
        ("/absolute", 0, "http://other.example:81/file?sig=s3cret"),
        ("/relative/x", 0, "{here}/file"),
        ("/rooted", 0, "{here}/file"),
        ("/moved", 0, "{here}/file"),
        ("/permanent", 0, "{here}/file"),
        ("/other", 0, "{here}/file"),
        ("/slashes", 0, "http://other.example/file"),
        ("/scheme", 0, "https://other.example/file"),
        ("/user", 0, "https://user:s3cret@other.example/file"),
        ("/local", 0, "file:///etc/passwd"),
        ("/braces", 0, "http://other.example/{a,b}[1-3]"),
        ("/blank", 0, "{here}/a%20b"),
        ("/hop1", 0, "{here}/folder/file"),
    ] {
        let server = start_server();
        let Some(found) = ask(&server.url(path), &target) else {
            return;
        };
        assert_eq!(
            found,
            (code, expected.replace("{here}", &server.url(""))),
            "{path}"
        );
        assert!(
            server.asked().iter().all(|asked| asked.path == path),
            "{path}: {:?}",
            server.asked()
        );
    }
}

/// As `Downloads.ps1` goes on: one program after the other, until one prints nothing.
#[test]
fn the_file_at_the_end_of_redirects_replaces_their_answers() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    for (path, asked, code, content) in [
        ("/file", 1, 0, "bytes"),
        ("/rooted", 2, 0, "bytes"),
        ("/hop3", 4, 0, "bytes"),
        ("/to-empty", 2, 0, ""),
        // What an answer before has left is never taken: 22 ends the download.
        ("/to-missing", 2, 22, "moved"),
    ] {
        let server = start_server();
        let (mut url, mut ended) = (server.url(path), None);
        while ended.is_none() {
            let Some((code, printed)) = ask(&url, &target) else {
                return;
            };
            assert!(server.asked().len() <= asked, "{path}");
            if printed.is_empty() {
                ended = Some(code);
            } else {
                url = printed;
            }
        }
        assert_eq!((ended, server.asked().len()), (Some(code), asked), "{path}");
        assert_eq!(std::fs::read_to_string(&target).unwrap(), content, "{path}");
    }
}

/// The form of a URL in `Split-DownloadUrl`.
fn read_form() -> Regex {
    let text = std::fs::read_to_string(root().join("provisioners/engine/Downloads.ps1")).unwrap();
    let form = text
        .split("$form = '")
        .nth(1)
        .and_then(|rest| rest.split('\'').next())
        .unwrap();
    Regex::new(form).unwrap()
}

/// The host that the engine compares is the host that the program's own parser reads, and no pattern fits another
/// spelling of it.
#[test]
fn hosts_are_read_as_the_program_reads_them() {
    let form = read_form();
    for (url, expected) in [
        ("https://files.example/a", Some("files.example")),
        ("https://Files.Example:8443/a?b=@c#d", Some("Files.Example")),
        (
            "https://files.example?x@evil.example/",
            Some("files.example"),
        ),
        (
            "https://files.example#@evil.example/",
            Some("files.example"),
        ),
        (
            "https://a_b.files.example/{a,b}[1-3]|^",
            Some("a_b.files.example"),
        ),
        (
            "https://xn--bcher-kva.example",
            Some("xn--bcher-kva.example"),
        ),
        ("https://files.example./a", Some("files.example.")),
        ("https://[::1]:8443/a", Some("[::1]")),
        ("http://127.0.0.1/a", Some("127.0.0.1")),
        ("https://127.1/a", Some("127.1")),
        ("https://0x7f000001/a", Some("0x7f000001")),
        ("https://[0:0:0:0:0:0:0:1]/a", Some("[0:0:0:0:0:0:0:1]")),
        ("https://user@files.example/a", None),
        ("https://@files.example/a", None),
        ("https://files.example:80@evil.example/a", None),
        (r"https://evil.example\@files.example/a", None),
        (r"https://files.example/a\b", None),
        ("https://files%2eexample/a", None),
        ("https://files.example%00.evil.example/a", None),
        ("https://[fe80::1%25eth0]/a", None),
        ("https://b\u{fc}cher.example/a", None),
        ("https://files\u{3002}example/a", None),
        ("https://files.example/\u{fc}", None),
        ("https://files.example/a b", None),
        ("https://files.example/a\"b", None),
        ("https://files.example/a\n", None),
        ("https://files.example/a\nhttps://evil.example/", None),
        ("https://files.example:123456/a", None),
        ("https://*.example/a", None),
        ("https:///files.example/a", None),
        ("https:/files.example/a", None),
        ("files.example/a", None),
        ("", None),
    ] {
        let found = form
            .captures(url)
            .map(|found| found.get(2).unwrap().as_str());
        assert_eq!(found, expected, "{url:?}");
        let Some(found) = found.map(str::to_ascii_lowercase) else {
            continue;
        };
        let read = Url::parse(url).unwrap();
        assert!(
            read.username().is_empty() && read.password().is_none(),
            "{url}"
        );
        let is_same = read.host_str() == Some(found.as_str());
        let fits_none = found.parse::<HostPattern>().is_err();
        assert!(is_same || fits_none, "{url}: {:?}", read.host_str());
    }
}

/// Every pattern that a policy can hold is one that the engine takes.
#[test]
fn the_engine_takes_the_hosts_of_a_policy() {
    let text = std::fs::read_to_string(root().join("provisioners/engine/Selection.ps1")).unwrap();
    let form = text
        .split("$form = '")
        .nth(1)
        .and_then(|rest| rest.split('\'').next())
        .unwrap();
    let form = Regex::new(form).unwrap();
    for pattern in [
        "dl.k8s.io",
        "*.Example.com",
        "localhost",
        "127.0.0.1",
        "[::1]",
        "[2001:db8::a]",
        "xn--a-0ga.example",
    ] {
        assert!(
            form.is_match(pattern) && pattern.parse::<HostPattern>().is_ok(),
            "{pattern}"
        );
    }
    for text in [
        "*",
        "*.",
        "f*",
        "?iles.example",
        "[a-z]iles.example",
        "a.*.example",
        "a.example:443",
        "a.example.",
        "",
    ] {
        assert!(
            !form.is_match(text) && text.parse::<HostPattern>().is_err(),
            "{text}"
        );
    }
}
