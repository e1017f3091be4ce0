//! URLs, parsed by the parser that the HTTP client uses.

use std::fmt;
use std::net::IpAddr;
use std::ops::Range;
use std::str::FromStr;

use schemars::JsonSchema;
use url::Url;

use super::secret::is_secret_name;
use super::text::find_control;
use super::value::serde_as_text;
use crate::diagnostic::classify;

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
#[error("`{shown}` is not a URL that can be used: {reason}, such as `https://files.example/kubelet.exe`")]
pub struct UrlError {
    shown: String,
    reason: &'static str,
}

classify!(UrlError => Selection);

/// Parameters of signed URLs and tokens, in lower case: Microsoft's and Google's shared access, S3's older
/// signatures and CloudFront, and common names of tokens.
const SECRET_PARAMETERS: &[&str] = &[
    "accesskey",
    "auth",
    "authkey",
    "authorization",
    "awsaccesskeyid",
    "code",
    "expires",
    "googleaccessid",
    "hmac",
    "jwt",
    "key",
    "key-pair-id",
    "pass",
    "policy",
    "pwd",
    "sas",
    "session",
    "sessionid",
    "sig",
    "signature",
];

/// Parameters whose values are long and no secret: which version or file is meant.
const PUBLIC_PARAMETERS: &[&str] = &[
    "branch",
    "commit",
    "file",
    "filename",
    "generation",
    "name",
    "path",
    "ref",
    "rev",
    "sha",
    "tag",
    "version",
    "versionid",
];

/// Whether a parameter may be a signature or a token: by its name, or by a value that nobody reads.
fn is_secret_parameter(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_random = |value: &str| {
        value.len() >= 24
            && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-%~".contains(&byte))
            && value.bytes().any(|byte| byte.is_ascii_digit())
            && value.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    name.starts_with("x-amz-")
        || name.starts_with("x-goog-")
        || SECRET_PARAMETERS.contains(&name.as_str())
        || is_secret_name(&name)
        || !PUBLIC_PARAMETERS.contains(&name.as_str()) && is_random(value)
}

/// Whether a query may hold a signature or a token: all that is not evidently none. Some servers divide queries at
/// `;`, too.
fn may_hold_secret(query: &str) -> bool {
    query.split(';').any(|part| {
        url::form_urlencoded::parse(part.as_bytes()).any(|(name, value)| {
            let is_public = PUBLIC_PARAMETERS.contains(&name.to_ascii_lowercase().as_str());
            is_secret_parameter(&name, &value)
                || !is_plain_word(&name)
                || !is_public && !value.split(',').all(is_plain_word)
        })
    })
}

/// Short words, numbers, dates and versions: `true`, `100`, `2026-01-31`, `v1.36.4`, `windows-amd64`.
fn is_plain_word(text: &str) -> bool {
    let is_plain = |part: &str| {
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        let short =
            digits == 0 && part.len() <= 16 || digits == part.len() && digits <= 12 || part.len() <= 5;
        short && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    text.len() <= 40 && text.split(['-', '_', '.', '+', ' ', '/', '{', '}']).all(is_plain)
}

/// Whether the authority of a text is the host as the parser reads it, and perhaps a port.
fn is_written_host(authority: &str, host: &str) -> bool {
    let written = authority.get(..host.len()).is_some_and(|written| written.eq_ignore_ascii_case(host));
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

    /// Host without port, as the HTTP client reads it.
    pub fn host(&self) -> String {
        parse_host(self.public_url())
    }

    /// What follows the last `/`, without query.
    pub fn file_name(&self) -> &str {
        file_name(self.public_url())
    }

    /// Whether the request has a query that is not written anywhere.
    #[must_use]
    pub fn has_secret(&self) -> bool {
        self.public < self.text.len()
    }

    /// Whether nobody between this machine and the host can change what comes: HTTPS, or this machine itself.
    #[must_use]
    pub fn is_protected(&self) -> bool {
        self.text.starts_with("https://") || is_loopback(&self.host())
    }

    /// The URL with placeholders such as `{version}` filled in.
    #[must_use]
    pub fn fill_placeholders(&self, fill: impl Fn(&str) -> String) -> Self {
        let text = fill(&self.text);
        let public = if self.has_secret() { fill(self.public_url()).len() } else { text.len() };
        Self { text, public }
    }
}

impl FromStr for HttpUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let public = if is_plain(text) { text.len() } else { find_public_end(text)? };
        Ok(Self { text: text.to_owned(), public })
    }
}

/// Length of the part of a URL without the secret query.
fn find_public_end(text: &str) -> Result<usize, UrlError> {
    let refuse = |reason| Err(UrlError { shown: strip_secrets(text), reason });
    if find_control(text, false).is_some() || text.contains([' ', '\\', '"', '<', '>', '^', '`', '|', '\'']) {
        return refuse("expected percent-encoding of special characters");
    }
    if !text.is_ascii() {
        return refuse("expected ASCII characters");
    }
    if !text.starts_with("https://") && !text.starts_with("http://") {
        return refuse("expected `https://` and a host");
    }
    let Ok(url) = Url::parse(text) else { return refuse("expected `https://` and a host") };
    let host = url.host_str().unwrap_or_default();
    if host.is_empty() || split_authority(text).is_empty() {
        return refuse("expected a host");
    }
    if !url.username().is_empty() || url.password().is_some() || split_authority(text).contains('@') {
        return refuse("expected no user and no password");
    }
    if url.fragment().is_some() {
        return refuse("expected no fragment");
    }
    // `%67ithub.com`, `127.1`: the guest, Packer and a reviewer may read another host than this program does.
    if !is_written_host(split_authority(text), host) {
        return refuse("the host is written in a roundabout way");
    }
    let secret = url.query().is_some_and(may_hold_secret);
    Ok(text.find('?').filter(|_| secret).unwrap_or(text.len()))
}

/// Whether a URL is a host of ordinary names and a path of ordinary characters: the parser takes it as it is, and
/// costs much time in a catalog of some hundred URLs.
fn is_plain(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")) else {
        return false;
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let is_name = |label: &str| {
        let is_known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !label.is_empty() && !label.starts_with("xn--") && label.bytes().all(is_known)
    };
    // A last label with a digit at its start may be part of an address.
    let last = host.rsplit('.').next().unwrap_or(host);
    last.starts_with(|first: char| first.is_ascii_lowercase())
        && host.split('.').all(is_name)
        && path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-._~{}%+:@!=,".contains(&byte))
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
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b".:/[]-_".contains(&byte);
    text.bytes().all(is_known)
        && text.parse::<HttpUrl>().is_ok()
        && Url::parse(text)
            .is_ok_and(|url| url.path() == "/" && !text.ends_with(":/") && !text.ends_with("//"))
}

/// A URL as it may be shown and stored: without query, fragment and user.
#[must_use]
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

/// A value as it is written and shown: of a URL, without a query that may be a secret.
#[must_use]
pub fn strip_value(value: &serde_json::Value) -> serde_json::Value {
    let url = value.as_str().and_then(|text| text.parse::<HttpUrl>().ok());
    url.map_or_else(|| value.clone(), |url| url.public_url().into())
}

/// Characters at which a URL in a text ends.
fn ends_url(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'' | '<' | '>' | '`')
}

/// Pieces of a text between the characters that end one, each with its place. Every character is looked at once: the
/// text may be what a machine printed, of any length.
fn split_at(text: &str, ends: impl Fn(char) -> bool) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    text.split_inclusive(ends).map(move |piece| {
        let at = start;
        start += piece.len();
        (at, piece)
    })
}

/// The bytes of a text that are the user of a URL, or the value of a secret parameter.
#[must_use]
pub fn find_secret_parts(text: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    for (at, piece) in split_at(text, ends_url).filter(|(_, piece)| piece.contains("://")) {
        find_users(piece, |user| parts.push(at + user.start..at + user.end));
    }
    let mut opened = false;
    for (at, piece) in split_at(text, |c| ends_url(c) || matches!(c, '&' | '#' | ';')) {
        let piece_end = piece.trim_end_matches(|c| ends_url(c) || matches!(c, '&' | '#' | ';')).len();
        let first = Some(0).filter(|_| opened);
        let starts = first.into_iter().chain(piece.match_indices('?').map(|(mark, _)| mark + 1));
        for start in starts.filter(|start| *start < piece_end) {
            let value = find_secret_value(&piece[start..piece_end]);
            parts.extend(value.map(|length| at + start + length..at + piece_end));
        }
        opened = piece.ends_with(['&', ';']);
    }
    parts
}

/// Users of the URLs in a text without blanks.
fn find_users(text: &str, mut found: impl FnMut(Range<usize>)) {
    let last = text.rfind('@');
    for (at, _) in text.match_indices("://") {
        let start = at + 3;
        let authority = text[start..].split(['/', '?', '#']).next().unwrap_or_default();
        // A password with `/` in it: what looks like a port is no number.
        let is_cut = authority.rsplit_once(':').is_some_and(|(host, port)| {
            !host.contains('[') && port.bytes().any(|byte| !byte.is_ascii_digit())
        });
        let end = if is_cut { last } else { authority.rfind('@').map(|user| start + user) };
        if let Some(end) = end.filter(|end| *end > start) {
            found(start..end);
        }
    }
}

/// Where the value of a secret parameter begins in `name=value`.
fn find_secret_value(parameter: &str) -> Option<usize> {
    let is_known = |b: &u8| b.is_ascii_alphanumeric() || b"._-[]".contains(b);
    let length = parameter.bytes().take_while(is_known).count();
    let value = parameter[length..].strip_prefix('=').filter(|value| !value.is_empty() && length > 0)?;
    is_secret_parameter(&parameter[..length], value).then_some(length + 1)
}

/// Host of a URL, without port, as the HTTP client reads it. Empty for a text that is not a URL.
pub fn parse_host(url: &str) -> String {
    Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
}

/// Whether a host is this machine.
#[must_use]
pub fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn split_authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

/// What follows the last `/`, without query.
pub fn file_name(url: &str) -> &str {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    path.rsplit('/').next().unwrap_or(path)
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
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let value = 16 * digit(rest.next())? + digit(rest.next())?;
        bytes.push(u8::try_from(value).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parser_takes_plain_urls_as_they_are() {
        let plain =
            ["https://dl.k8s.io/v1/kubelet.exe", "http://localhost", "https://a-b.c1/{version}/x@y:z"];
        for url in plain {
            let parsed = Url::parse(url).expect(url);
            let host = url.split('/').nth(2);
            assert!(is_plain(url) && parsed.host_str() == host && parsed.port().is_none(), "{url}");
            assert!(parsed.username().is_empty() && parsed.password().is_none(), "{url}");
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
}
