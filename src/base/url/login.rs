//! The user and password of an address, also of one without a scheme: `user:password@proxy.example:3128`, and of one
//! whose scheme is mistyped: `https//user:password@proxy.example`.

use std::ops::Range;

/// An address as an error shows it: without user and password, and of a URL without query and fragment.
pub fn hide_login(text: &str) -> String {
    let without_login = match find_login(text) {
        Some(login) => format!("{}{}", &text[..login.start], &text[login.end + 1..]),
        None => text.to_owned(),
    };
    if !text.contains("//") {
        return without_login;
    }
    let end = without_login.find(['?', '#']);
    without_login[..end.unwrap_or(without_login.len())].to_owned()
}

/// The user and password of an address, before its `@`. In `PREFIX=URL`, those of the URL.
pub fn find_login(text: &str) -> Option<Range<usize>> {
    let start = text.find("//").map_or(0, |at| at + 2);
    let rest = &text[start..];
    let authority = rest.split(['/', '\\', '?', '#']).next().unwrap_or(rest);
    let at = rest.rfind('@')?;
    if is_digest(&rest[at + 1..]) {
        return None;
    }
    // A password may hold the characters at which an authority ends.
    if start > 0 && is_cut(authority) {
        return Some(start..start + at);
    }
    if let Some(at) = authority.rfind('@') {
        return Some(start..start + at);
    }
    if let Some(equals) = rest[authority.len()..].find('=') {
        let value = start + authority.len() + equals + 1;
        let login = find_login(&text[value..])?;
        return Some(value + login.start..value + login.end);
    }
    if start > 0 {
        return None;
    }
    // `https:/user:password@proxy.example`
    let segment = rest[..at].rfind(['/', '\\'])? + 1;
    rest[segment..at].contains(':').then_some(segment..at)
}

/// Whether an authority is the beginning of a user and a password: no port follows its last colon.
fn is_cut(authority: &str) -> bool {
    authority.rsplit_once(':').is_some_and(|(host, port)| {
        !host.contains('[') && port.bytes().any(|byte| !byte.is_ascii_digit())
    })
}

/// `busybox@sha256:…` names a container image.
fn is_digest(text: &str) -> bool {
    text.starts_with("sha256:") || text.starts_with("sha512:")
}

/// The password of an address; all of the login if it has no user. None for a user alone in front of an address
/// without a scheme: `git@github.com`.
pub fn find_password(text: &str) -> Option<&str> {
    let login = find_login(text)?;
    let has_scheme = text[..login.start].ends_with("//");
    let login = &text[login];
    match login.split_once(':') {
        Some((_, password)) => Some(password),
        None => has_scheme.then_some(login),
    }
}

#[cfg(test)]
mod tests {
    use super::{find_password, hide_login};

    #[test]
    fn addresses_are_shown_without_user_and_password() {
        for (text, shown, password) in [
            ("user:secret@m.example", "m.example", Some("secret")),
            (
                "user:secret@m.example:3128/x",
                "m.example:3128/x",
                Some("secret"),
            ),
            ("user:s@cret@m.example", "m.example", Some("s@cret")),
            (
                "http://user:secret@m.example",
                "http://m.example",
                Some("secret"),
            ),
            (
                "http://user:s/cr#et@m.example/x?y",
                "http://m.example/x",
                Some("s/cr#et"),
            ),
            (
                "https://token@m.example",
                "https://m.example",
                Some("token"),
            ),
            (
                "git@github.com:org/repository",
                "github.com:org/repository",
                None,
            ),
            (
                "https://github.com/=user:secret@m.example",
                "https://github.com/=m.example",
                Some("secret"),
            ),
            (
                "docker.io=user:secret@m.example",
                "m.example",
                Some("secret"),
            ),
            (
                "https//user:secret@m.example/x",
                "https//m.example/x",
                Some("secret"),
            ),
            (
                "https;//user:secret@m.example/x",
                "https;//m.example/x",
                Some("secret"),
            ),
            ("//user:secret@m.example", "//m.example", Some("secret")),
            (
                "https:/user:secret@m.example",
                "https:/m.example",
                Some("secret"),
            ),
            (
                "https://github.com/=https//user:secret@m.example",
                "https://github.com/=https//m.example",
                Some("secret"),
            ),
            (r"C:\images\a@b", r"C:\images\a@b", None),
            ("busybox:1@sha256:00", "busybox:1@sha256:00", None),
            (
                "https://m.example:80/x@y?sig=1",
                "https://m.example:80/x@y",
                None,
            ),
            ("a.example/x@1.0", "a.example/x@1.0", None),
            ("kubelet.exe", "kubelet.exe", None),
        ] {
            assert_eq!(hide_login(text), shown, "{text}");
            assert_eq!(find_password(text), password, "{text}");
        }
    }
}
