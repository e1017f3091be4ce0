//! URLs: what is taken, what is shown, and which parts are secret.

use imagegen::base::url::{
    HttpUrl, ProxyUrl, decode_path, find_secret_parts, parse_host, strip_secrets,
};

#[test]
fn hosts_are_read_as_the_client_reads_them() {
    for (url, expected) in [
        ("https://dl.k8s.io/v1/kubelet.exe", "dl.k8s.io"),
        (
            "https://user:secret@host.example:8443/x?y#z",
            "host.example",
        ),
        (r"https://evil.example\@dl.k8s.io/x", "evil.example"),
        ("https://[::1]:8443/x", "[::1]"),
        ("https://Host.Example", "host.example"),
        ("https://xn--bcher-kva.example/x", "xn--bcher-kva.example"),
        ("https://b\u{fc}cher.example/x", ""),
        ("kubelet.exe", ""),
    ] {
        assert_eq!(parse_host(url), expected);
    }
}

#[test]
fn only_urls_of_downloads_are_taken() {
    for url in [
        "https://dl.k8s.io/v{version}/kubelet.exe",
        "http://127.0.0.1:8080/x?version=1",
        "https://[::1]/x",
    ] {
        assert_eq!(url.parse::<HttpUrl>().expect(url).public_url(), url);
    }
    for url in [
        "mirror.example",
        "ftp://a.example/x",
        "https://",
        "https:///x",
        "https://user:secret@a.example/x",
        "https://@a.example/x",
        r"https://a.example\@b.example/x",
        "https://a.example/x\r\nHost: b",
        "https://a.example/\u{202e}x",
        "https://a.example/x y",
        "https://a.example/x#y",
        "https://a.example/’;calc;‘",
        "https://{version}/x",
        "https://{version}.example/x",
        "https://a.example/{name}/x",
        "https://a.example/{version",
        "https://a.example/version}",
        "https://a.example/%zz",
        "https://a.example/x%2",
        "https://a.example/x/../y",
        "https://a.example/x/%2E%2e/y",
        "https://a.example/.",
    ] {
        let error = url.parse::<HttpUrl>().expect_err(url).to_string();
        assert!(!error.contains("secret"), "{error}");
    }
}

#[test]
fn secret_queries_are_for_the_request_alone() {
    for query in [
        "sv=1&sig=s3cret",
        "X-Amz-Signature=s3cret",
        "x-goog-signature=s3cret",
        "Expires=1&Signature=s3cret",
        "token=s3cret",
    ] {
        let text = format!("https://a.example/x?{query}");
        let url: HttpUrl = text.parse().expect("url");
        assert_eq!(url.request_url(), text);
        assert!(url.has_secret());
        let written = format!(
            "{url} {url:?} {}",
            serde_json::to_string(&url).expect("JSON")
        );
        assert!(!written.contains("s3cret"), "{written}");
    }
    let url: HttpUrl = "https://a.example/x?version=1".parse().expect("url");
    assert_eq!(url.to_string(), "https://a.example/x?version=1");
}

#[test]
fn proxies_hold_no_other_characters() {
    for good in [
        "http://proxy.example:3128",
        "https://10.0.0.1:8080/",
        "http://[fd00::1]:3128",
    ] {
        assert!(good.parse::<ProxyUrl>().is_ok(), "{good}");
    }
    for bad in [
        "foo",
        "",
        "http://p’;calc;‘.example:3128",
        "http://user:secret@proxy.example:3128",
        "http://x'y:1",
        "http://proxy.example:3128/path",
        "http://$env:x",
        "socks5://proxy.example:1080",
        "http://proxy.example:99999",
    ] {
        assert!(bad.parse::<ProxyUrl>().is_err(), "{bad}");
    }
}

#[test]
fn queries_are_secret_unless_they_are_plain() {
    for (query, secret) in [
        ("per_page=100", false),
        ("api-version=2026-01-31", false),
        ("raw=true&ref=release-1.36", false),
        ("version={version}&arch=amd64", false),
        ("sha=0123456789abcdefABCDEF012345", false),
        ("a=1;sig=x", true),
        ("%73ig=x", true),
        ("st=Zq9s3cretVaL7uXk", true),
        ("rlkey=a8f3k2l9q0x7", true),
        ("Zq9s3cretVaL7uXk", true),
        ("Zq9s3cretVaL7uXk=1", true),
        ("hdnea=exp=1~acl=/*~hmac=abc", true),
    ] {
        let url: HttpUrl = format!("https://a.example/x?{query}").parse().expect(query);
        assert_eq!(url.has_secret(), secret, "{query}");
    }
}

#[test]
fn hosts_are_written_as_they_are_read() {
    for good in [
        "https://A.example/x",
        "https://a.example:8443",
        "https://[::1]:80/x",
        "http://127.0.0.1?x=1",
    ] {
        assert!(good.parse::<HttpUrl>().is_ok(), "{good}");
    }
    for bad in [
        "https://github%2ecom/x",
        "https://%67ithub.com/x",
        "https://2130706433/x",
        "https://0x7f.1/x",
        "https://127.1/x",
        "https://[0:0:0:0:0:0:0:1]/x",
    ] {
        assert!(bad.parse::<HttpUrl>().is_err(), "{bad}");
    }
}

#[test]
fn texts_are_searched_for_secret_parts() {
    for (text, expected) in [
        ("proxy http://user:pa ss", vec![]),
        (
            "GET http://user:pw@proxy.example:3128/x failed",
            vec!["user:pw"],
        ),
        ("http://user:p/w@proxy.example", vec!["user:p/w"]),
        ("https://a.example:8443/x@sha256:00", vec![]),
        ("https://[::1]:80/x@y", vec![]),
        ("\"https://a.example/x?sv=1&sig=aB%2B&x=1\"", vec!["aB%2B"]),
        (
            "https://a.example/x?Client_Secret=s&other=0123456789abcdefABCDEF012345",
            vec!["s", "0123456789abcdefABCDEF012345"],
        ),
        (
            "https://a.example/x?version=1.36.4&ref=0123456789abcdefABCDEF012345",
            vec![],
        ),
        ("https://a.example/x?a=1;sig=aB%2B;b=2", vec!["aB%2B"]),
        ("is this key=value? no", vec![]),
    ] {
        let found: Vec<&str> = find_secret_parts(text)
            .into_iter()
            .map(|part| &text[part])
            .collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn urls_are_shown_without_secrets() {
    for (url, shown) in [
        ("https://a.example/x?sig=secret#part", "https://a.example/x"),
        ("https://user:secret@a.example/x", "https://a.example/x"),
        ("https://a.example?sig=secret", "https://a.example"),
        ("kubelet.exe", "kubelet.exe"),
    ] {
        assert_eq!(strip_secrets(url), shown);
    }
}

#[test]
fn paths_are_decoded_as_servers_do() {
    for (path, expected) in [
        ("a/b.zip", Some("a/b.zip")),
        ("v1.2.3%2Bk3s1/a%20b?sig=%2e", Some("v1.2.3+k3s1/a b")),
        ("a%2f..%2fb", Some("a/../b")),
        ("%", None),
        ("%2", None),
        ("%zz", None),
        ("%ff", None),
    ] {
        assert_eq!(decode_path(path).as_deref(), expected, "{path}");
    }
}

/// A guest or a server may print anything, of any length: each character is looked at a few times.
#[test]
fn texts_of_any_length_are_searched_once() {
    let started = std::time::Instant::now();
    for piece in [
        "://", ";", "?", "&a=b", "?a=", "x@://", ":/://x:y", "?sig=", ";a", "://a:b",
    ] {
        let text = piece.repeat(300_000);
        let parts = find_secret_parts(&text);
        assert!(parts.iter().all(|part| part.end <= text.len()), "{piece}");
    }
    // Looking from each place to the end would take hours.
    assert!(started.elapsed().as_secs() < 120, "{:?}", started.elapsed());
}

/// Hosts, ports and proxies that are one for every reader compare as one, and others do not.
#[test]
fn hosts_compare_after_one_normal_form() {
    use imagegen::base::url::{ProxyUrl, normalize_host, parse_host};
    use imagegen::model::mirrors::Mirrors;
    use imagegen::model::overrides::Overrides;
    use imagegen::model::policy::{Policy, matches_host};
    use imagegen::trust::parse_origin;

    for (written, normal) in [
        ("github.com", "github.com"),
        ("GitHub.COM", "github.com"),
        ("github.com.", "github.com"),
        ("GITHUB.com.", "github.com"),
        ("%67ithub.com", "github.com"),
        ("127.1", "127.0.0.1"),
        ("0x7f.0.0.1", "127.0.0.1"),
        ("[0:0:0:0:0:0:0:1]", "[::1]"),
        ("githud.com", "githud.com"),
    ] {
        assert_eq!(normalize_host(written), normal, "{written}");
        assert!(matches_host(normal, written), "{written}");
        assert!(matches_host(written, normal), "{written}");
        let url = format!("https://{written}/x");
        assert_eq!(parse_host(&url), normal, "{url}");
        assert_eq!(parse_origin(&url), format!("https://{normal}:443"));
    }
    // Names in other letters than those of DNS are refused where a URL is parsed.
    for url in [
        "https://b\u{fc}cher.example/x",
        "https://\u{ff47}ithub.com/x",
    ] {
        url.parse::<HttpUrl>().expect_err(url);
        assert!(!matches_host("github.com", &parse_host(url)), "{url}");
    }
    for (pattern, host, fits) in [
        ("*.example.com", "A.Example.Com.", true),
        ("*.EXAMPLE.com", "a.example.com", true),
        ("*.example.com", "example.com", false),
        ("*.example.com", "badexample.com", false),
        ("example.com", "example.com.evil.example", false),
    ] {
        assert_eq!(matches_host(pattern, host), fits, "{pattern} {host}");
    }
    for (one, other, same) in [
        ("https://GitHub.com/x", "https://github.com/x", true),
        ("https://github.com:443/x", "https://github.com/x", true),
        ("http://github.com:80/x", "http://github.com/x", true),
        ("https://github.com:80/x", "https://github.com/x", false),
        ("https://github.com:8443/x", "https://github.com/x", false),
        ("https://github.com/X", "https://github.com/x", false),
        (
            "https://github.com:443/x?sig=1",
            "https://github.com/x?sig=2",
            true,
        ),
    ] {
        let parse = |text: &str| text.parse::<HttpUrl>().expect(text);
        assert_eq!(parse(one) == parse(other), same, "{one} {other}");
        let is_one_origin = parse_origin(one) == parse_origin(other);
        assert!(!same || is_one_origin, "{one} {other}");
    }
    let secret: HttpUrl = "https://GitHub.com:443/x?sig=A%2b".parse().expect("URL");
    assert_eq!(secret.request_url(), "https://github.com/x?sig=A%2b");
    for proxy in ["http://PROXY.example:3128", "http://proxy.example:3128/"] {
        let proxy: ProxyUrl = proxy.to_owned().try_into().expect("a proxy");
        assert_eq!(parse_host(&proxy), "proxy.example");
    }
    for key in ["https://GitHub.com/", "https://github.com:443/"] {
        let over = serde_json::json!({ key: {"url": "https://mirror.example/"} });
        let overrides: Overrides = serde_json::from_value(over).expect("overrides");
        let url = "https://github.com/a/b".parse().expect("URL");
        let moved = Mirrors::default().complete(&overrides).locate(&url);
        assert_eq!(moved.public_url(), "https://mirror.example/a/b", "{key}");
    }
    let plain = Policy::from_hosts(&["Mirror.Example".to_owned()]);
    let url = "http://mirror.example:80/x".parse().expect("URL");
    assert!(plain.allows_transport(&url));
}
