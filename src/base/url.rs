//! URLs, parsed by the parser that the HTTP client uses.

mod login;
mod secrets;

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use schemars::JsonSchema;
use url::Url;

use super::member::is_reserved;
use super::text::{find_control, is_alphanumeric_or, is_lowercase_or, last_segment};
use super::value::serde_as_text;

pub use login::{find_password, hide_login};
pub use secrets::find_secret_parts;
use secrets::may_hold_secret;

/// The URL of something that is downloaded: `https` or `http`, a host, no user. Plain HTTP passes the gate of
/// `trust` for loopback and for the hosts that the user names.
///
/// A query that may be a signature or a token is part of the request alone: `Display`, comparisons and
/// serde leave it out. There is no way to a text but by a method that says which of the two it gives.
#[derive(Clone, JsonSchema)]
#[schemars(with = "String", extend("examples" = ["https://artifacts.example.com/file.zip"]))]
pub struct HttpUrl {
    text: String,
    /// Length of the part without the secret query.
    public: usize,
}

/// A text that is not the URL of a download. The text is named without user and query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{shown}` is not a URL that can be used: {reason}, such as `https://files.example/kubelet.exe`"
)]
pub struct UrlError {
    shown: String,
    reason: &'static str,
}

/// Whether the authority of a text is the host as the parser reads it, and perhaps a port.
fn is_written_host(authority: &str, host: &str) -> bool {
    let written = authority
        .get(..host.len())
        .is_some_and(|written| written.eq_ignore_ascii_case(host));
    written && matches!(authority.as_bytes().get(host.len()), None | Some(b':'))
}

impl HttpUrl {
    /// The URL with its whole query, for the request alone.
    pub fn request_url(&self) -> &str {
        &self.text
    }

    /// The URL without a query that may be a secret.
    pub fn public_url(&self) -> &str {
        &self.text[..self.public]
    }

    /// Host and port as they are written.
    pub fn authority(&self) -> &str {
        split_authority(self.public_url())
    }

    /// Host without port, as the HTTP client reads it.
    pub fn host(&self) -> String {
        parse_host(self.public_url())
    }

    /// The part after the last `/`, without query.
    pub fn file_name(&self) -> &str {
        file_name(self.public_url())
    }

    /// The same as a server reads it: `%2B` as `+`.
    pub fn plain_file_name(&self) -> String {
        let name = self.file_name();
        decode_path(name).unwrap_or_else(|| name.to_owned())
    }

    /// Name of a copy of the file: the plain one, if every file system takes it as it is.
    pub fn local_file_name(&self) -> String {
        let plain = self.plain_file_name();
        let is_safe = is_alphanumeric_or(&plain, ".-_+~")
            && !plain.starts_with('.')
            && !plain.ends_with('.')
            && !is_reserved(&plain);
        if is_safe {
            plain
        } else {
            self.file_name().to_owned()
        }
    }

    /// Whether the request has a query that is not written anywhere.
    pub fn has_secret(&self) -> bool {
        self.public < self.text.len()
    }

    /// The address of a part of another URL or of an image's name below this one. The query of this one is for itself
    /// alone.
    #[must_use]
    pub fn join_path(&self, path: &str) -> Self {
        let base = self.public_url().split('?').next().unwrap_or_default();
        let text = format!("{base}{path}");
        let public = text.len();
        Self { text, public }
    }

    /// Whether nobody between this machine and the host can change what comes: HTTPS, or this machine itself.
    pub fn is_protected(&self) -> bool {
        self.text.starts_with("https://") || is_loopback(&self.host())
    }

    /// The URL with placeholders such as `{version}` filled in.
    #[must_use]
    pub fn fill_placeholders(&self, fill: impl Fn(&str) -> String) -> Self {
        let text = fill(&self.text);
        let public = if self.has_secret() {
            fill(self.public_url()).len()
        } else {
            text.len()
        };
        Self { text, public }
    }
}

impl FromStr for HttpUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let refuse = |reason| UrlError {
            shown: hide_login(text),
            reason,
        };
        if let Some(reason) = find_path_fault(text) {
            return Err(refuse(reason));
        }
        if is_plain(text) {
            let (text, public) = (text.to_owned(), text.len());
            return Ok(Self { text, public });
        }
        let url = parse_public_url(text).map_err(refuse)?;
        let text = write_normal_form(text, &url);
        let secret = url.query().is_some_and(may_hold_secret);
        let public = text.find('?').filter(|_| secret).unwrap_or(text.len());
        Ok(Self { text, public })
    }
}

/// The same URL with its host in normal form and without the port that its scheme has anyway.
fn write_normal_form(text: &str, url: &Url) -> String {
    let authority = split_authority(text);
    let start = text.len() - text.split_once("://").map_or(0, |(_, rest)| rest.len());
    let rest = &text[start + authority.len()..];
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}"));
    format!("{}{host}{}{rest}", &text[..start], port.unwrap_or_default())
}

fn parse_public_url(text: &str) -> Result<Url, &'static str> {
    if find_control(text, false).is_some()
        || text.contains([' ', '\\', '"', '<', '>', '^', '`', '|', '\''])
    {
        return Err("expected percent-encoding of special characters");
    }
    if !text.is_ascii() {
        return Err("expected ASCII characters");
    }
    if !text.starts_with("https://") && !text.starts_with("http://") {
        return Err("expected `https://` and a host");
    }
    let Ok(url) = Url::parse(text) else {
        return Err("expected `https://` and a host");
    };
    let host = url.host_str().unwrap_or_default();
    let authority = split_authority(text);
    if host.is_empty() || authority.is_empty() {
        return Err("expected a host");
    }
    if !url.username().is_empty() || url.password().is_some() || authority.contains('@') {
        return Err("expected no user and no password");
    }
    if url.fragment().is_some() {
        return Err("expected no fragment");
    }
    // What is filled in later would choose the host, behind every check of it.
    if host.contains(['{', '}']) {
        return Err("expected a host without placeholders");
    }
    // A dot at the end is another name for the same host, which no list of hosts has.
    if host.ends_with('.') {
        return Err("the host ends with a dot");
    }
    // `%67ithub.com`, `127.1`: the guest, Packer and a reviewer may read another host than this program does.
    if !is_written_host(authority, host) {
        return Err("the host is written in a roundabout way");
    }
    Ok(url)
}

/// Placeholders of a component's addresses.
const PLACEHOLDERS: &[&str] = &["version}", "version_}", "minor}", "os}", "arch}", "exe}"];

/// The fault of what stands behind the host: the server would be asked for another path than the text has, or for one
/// that nobody meant.
fn find_path_fault(text: &str) -> Option<&'static str> {
    let has_escapes = text.contains('%');
    if has_escapes && !has_whole_escapes(text) {
        return Some("expected two hexadecimal digits behind each `%`");
    }
    if (text.contains('{') || text.contains('}')) && !has_known_marks(text) {
        return Some("expected no braces but those of `{version}` and `{version_}`");
    }
    if has_escapes || text.contains("/.") {
        let path = text.split(['?', '#']).next().unwrap_or(text);
        if path.split('/').any(is_dot_segment) {
            return Some("expected a path without `.` and `..`");
        }
    }
    None
}

fn has_whole_escapes(text: &str) -> bool {
    let mut escapes = text.split('%').skip(1);
    escapes.all(|escape| escape.as_bytes().get(..2).is_some_and(is_hexadecimal))
}

fn has_known_marks(text: &str) -> bool {
    let mut marks = text.split('{').skip(1);
    marks.all(|mark| PLACEHOLDERS.iter().any(|known| mark.starts_with(known)))
        && text.matches('{').count() == text.matches('}').count()
}

fn is_hexadecimal(digits: &[u8]) -> bool {
    digits.iter().all(u8::is_ascii_hexdigit)
}

/// `.`, `..` and their percent-encoded forms, which clients take out of a path (WHATWG URL, "single-dot URL path
/// segment").
fn is_dot_segment(segment: &str) -> bool {
    // Longest: `%2e%2e`.
    if segment.len() > 6 {
        return false;
    }
    let plain = segment.to_ascii_lowercase().replace("%2e", ".");
    plain == "." || plain == ".."
}

/// Whether a URL is a host of ordinary names and a path of ordinary characters: the parser takes it as it is, and
/// costs much time in a catalog of some hundred URLs.
fn is_plain(text: &str) -> bool {
    let https = text.strip_prefix("https://");
    let Some(rest) = https.or_else(|| text.strip_prefix("http://")) else {
        return false;
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    // A last label with a digit at its start may be part of an address.
    let last = host.rsplit('.').next().unwrap_or(host);
    last.starts_with(|first: char| first.is_ascii_lowercase())
        && host.split('.').all(is_plain_label)
        && is_alphanumeric_or(path, "/-._~{}%+:@!=,")
}

fn is_plain_label(label: &str) -> bool {
    !label.is_empty() && !label.starts_with("xn--") && is_lowercase_or(label, "-")
}

serde_as_text!(HttpUrl);

impl PartialEq for HttpUrl {
    fn eq(&self, other: &Self) -> bool {
        self.public_url() == other.public_url()
    }
}

impl Eq for HttpUrl {}

impl fmt::Debug for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.public_url(), f)
    }
}

impl fmt::Display for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.public_url())
    }
}

crate::text_value!(
    /// A proxy of a node. It becomes part of environments and command lines, so only characters of
    /// hosts and ports are allowed.
    ProxyUrl,
    is_proxy,
    "a proxy: expected a scheme, a host and a port without user, such as `http://proxy.example:3128`"
);

fn is_proxy(text: &str) -> bool {
    is_alphanumeric_or(text, ".:/[]-_")
        && text.parse::<HttpUrl>().is_ok()
        && Url::parse(text)
            .is_ok_and(|url| url.path() == "/" && !text.ends_with(":/") && !text.ends_with("//"))
}

/// A URL as it may be shown and stored: without query, fragment and user.
pub fn strip_secrets(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or(url);
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_at(rest.find(['/', '\\']).unwrap_or(rest.len()));
            let host = authority.rsplit('@').next().unwrap_or(authority);
            format!("{scheme}://{host}{path}")
        }
        None => url.to_owned(),
    }
}

/// Whether a text is a URI that names something and nothing else: no user, no query and no fragment, which may hold
/// a secret.
pub fn is_plain_uri(text: &str) -> bool {
    Url::parse(text).is_ok_and(|uri| {
        let has_login = !uri.username().is_empty() || uri.password().is_some();
        !has_login && uri.query().is_none() && uri.fragment().is_none()
    })
}

/// A value as it is written and shown: of a URL, without a query that may be a secret.
pub fn strip_value(value: &serde_json::Value) -> serde_json::Value {
    if let Some(text) = value.as_str()
        && let Ok(url) = text.parse::<HttpUrl>()
    {
        return url.public_url().into();
    }
    value.clone()
}

/// Host of a URL, without port, in normal form. Empty for a text that is not a URL.
pub fn parse_host(url: &str) -> String {
    let host = Url::parse(url)
        .ok()
        .and_then(|url| url.host_str().map(normalize_host));
    host.unwrap_or_default()
}

/// The one form in which hosts are compared: lower case, addresses as numbers, no percent-encoding, no dot at the end.
/// Names in other letters than those of DNS are no hosts: a URL with one is refused.
pub fn normalize_host(host: &str) -> String {
    let is_name = host.is_ascii()
        && host.starts_with(|first: char| first.is_ascii_lowercase())
        && host.split('.').all(is_plain_label);
    if is_name {
        return host.to_owned();
    }
    let plain = host.to_ascii_lowercase();
    // The parser of names in other letters expects none in upper case, and such a name is no host here.
    let is_readable = decode_path(&plain).is_some_and(|text| text.is_ascii());
    let parsed = is_readable
        .then(|| url::Host::parse(&plain).ok())
        .flatten()
        .map(|host| host.to_string());
    let normal = parsed.unwrap_or(plain);
    normal.strip_suffix('.').unwrap_or(&normal).to_owned()
}

/// Whether a host is this machine.
pub fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

fn split_authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

/// The part after the last `/`, without query.
pub fn file_name(url: &str) -> &str {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    last_segment(path)
}

/// A path of a URL as a server reads it: without query, `%2B` as `+`. None where that is no text.
pub fn decode_path(path: &str) -> Option<String> {
    let path = path.split(['?', '#']).next().unwrap_or(path);
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let high = char::from(rest.next()?).to_digit(16)?;
        let value = 16 * high + char::from(rest.next()?).to_digit(16)?;
        bytes.push(u8::try_from(value).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_the_name_that_servers_read() {
        for (path, plain, local) in [
            (
                "a/agent-1.2%2Bx.exe?v=1",
                "agent-1.2+x.exe",
                "agent-1.2+x.exe",
            ),
            ("a/agent%20x.exe", "agent x.exe", "agent%20x.exe"),
            ("a/..%2Fx.exe", "../x.exe", "..%2Fx.exe"),
            ("a/%63on.exe", "con.exe", "%63on.exe"),
            ("a/x%ff.exe", "x%ff.exe", "x%ff.exe"),
            ("a/", "", ""),
        ] {
            let url: HttpUrl = format!("https://m.example/{path}").parse().expect(path);
            assert_eq!(url.plain_file_name(), plain, "{path}");
            assert_eq!(url.local_file_name(), local, "{path}");
        }
    }

    #[test]
    fn the_parser_takes_plain_urls_as_they_are() {
        let plain = [
            "https://dl.k8s.io/v1/kubelet.exe",
            "http://localhost",
            "https://a-b.c1/{version}/x@y:z",
        ];
        for url in plain {
            let parsed = Url::parse(url).expect(url);
            let host = url.split('/').nth(2);
            assert!(
                is_plain(url) && parsed.host_str() == host && parsed.port().is_none(),
                "{url}"
            );
            assert!(
                parsed.username().is_empty() && parsed.password().is_none(),
                "{url}"
            );
        }
        for url in [
            "https://1.2.3.4/x",
            "https://1.2.3.0x4/x",
            "https://a..b/x",
            "https://a.b./x",
            "https://user@a.b/x",
            "https://a.b:80/x",
            "https://[::1]/x",
            "https://A.b/x",
            "https://xn--a.b/x",
            "https://a.b/x?y",
            "https://a.b?y",
            "https://a.b/x#y",
            "https:///x",
        ] {
            assert!(!is_plain(url), "{url}");
        }
    }

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
        use crate::model::mirrors::Mirrors;
        use crate::model::overrides::Overrides;
        use crate::model::policy::{Policy, matches_host};
        use crate::trust::parse_origin;

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
}
