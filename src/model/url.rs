//! Parts of URLs, as texts.

/// Host of a URL, without port.
#[must_use]
pub fn host(url: &str) -> &str {
    let authority = authority(url);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    if host.starts_with('[') {
        return host.split_inclusive(']').next().unwrap_or(host);
    }
    host.split(':').next().unwrap_or(host)
}

/// What stands between `://` and the path.
#[must_use]
pub fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

/// What stands behind the last `/`, without query; empty where nothing does.
#[must_use]
pub fn file_name(url: &str) -> &str {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    path.rsplit('/').next().unwrap_or(path)
}

/// A path of a URL as a server reads it: without query, `%2B` as `+`. None where that is no text.
#[must_use]
pub fn decoded(path: &str) -> Option<String> {
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
    fn hosts_are_read_out_of_urls() {
        for (url, expected) in [
            ("https://dl.k8s.io/v1/kubelet.exe", "dl.k8s.io"),
            ("https://user:secret@host.example:8443/x?y#z", "host.example"),
            ("https://[::1]:8443/x", "[::1]"),
            ("https://host.example", "host.example"),
        ] {
            assert_eq!(host(url), expected);
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
            assert_eq!(decoded(path).as_deref(), expected, "{path}");
        }
    }
}
