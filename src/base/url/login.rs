//! The user and password of an address, also of one without a scheme: `user:password@proxy.example:3128`, and of one
//! whose scheme is mistyped: `https//user:password@proxy.example`.

use std::ops::Range;

use crate::base::text::{is_digits, is_hex};

/// Longest address that is read part by part.
const LONGEST: usize = 4096;

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

/// The user and password of an address, before its last `@`. In `PREFIX=URL`, those of the URL.
///
/// A password may hold the characters at which an authority ends, and an address may have no scheme. A text that can be
/// read as a user with a password is one: an address that is shown too short does no harm.
pub fn find_login(text: &str) -> Option<Range<usize>> {
    let start = find_start(text);
    let rest = &text[start..];
    let authority = take_authority(rest);
    let at = rest.rfind('@')?;
    if is_digest(&rest[at + 1..]) {
        return None;
    }
    let whole = start..start + at;
    if text.len() > LONGEST || is_cut(authority) || authority.contains('@') {
        return Some(whole);
    }

    // `docker.io/library=user:password@m.example`
    let of_value = find_login_of_value(text, start + authority.len());
    if let Some(login) = &of_value {
        let is_address = find_scheme_end(&text[start + authority.len()..login.start]).is_some()
            || text[..login.start].ends_with(['/', '\\', ':', ';']);
        let has_password = text[login.clone()].contains(':');
        if is_address || (has_password && !text[start..login.start].contains(':')) {
            return of_value;
        }
    }

    // `server/user:password@proxy.example`, in a path of Windows, too
    let segment = rest[..at].rfind(['/', '\\']).map(|slash| slash + 1..at);
    if let Some(login) = segment.filter(|_| start == 0)
        && rest[login.clone()].contains(':')
        && !rest[..login.start].contains(':')
    {
        return Some(login);
    }
    let is_login = rest[..at].contains(':') && !is_drive(&rest[..at]);
    is_login.then_some(whole).or(of_value)
}

/// The login of the address behind the first `=` from this place on.
fn find_login_of_value(text: &str, from: usize) -> Option<Range<usize>> {
    let value = from + text[from..].find('=')? + 1;
    let login = find_login(&text[value..])?;
    Some(value + login.start..value + login.end)
}

/// Where a user and a password may begin: behind the scheme, also of `docker.io=https://…`; else where the text begins.
/// Another `//` is part of a path or of a password.
fn find_start(text: &str) -> usize {
    if let Some(end) = find_scheme_end(text) {
        return end;
    }
    let Some((name, value)) = text.split_once('=') else {
        return 0;
    };
    let is_name = !name.contains('@') && !is_cut(take_authority(name));
    let end = find_scheme_end(value).filter(|_| is_name);
    end.map_or(0, |end| name.len() + 1 + end)
}

/// The end of `https://` where the text begins with it, and of what it is mistyped as: `https//`, `https;//`, `//`,
/// `https:/`, `https:`. Clients take the last two for it.
fn find_scheme_end(text: &str) -> Option<usize> {
    let scheme = text
        .split(|c: char| !c.is_ascii_alphanumeric() && !"+.-".contains(c))
        .next()
        .unwrap_or_default();
    let rest = &text[scheme.len()..];
    let end = rest.strip_prefix([':', ';']);
    let behind = end.unwrap_or(rest);
    let slashes = behind.len() - behind.trim_start_matches(['/', '\\']).len();

    let is_scheme = scheme.is_empty() || scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    let scheme = scheme.to_ascii_lowercase();
    let is_web = end.is_some() && (scheme == "http" || scheme == "https");
    let is_end = is_web || (is_scheme && slashes >= 2);
    is_end.then_some(text.len() - behind.len() + slashes)
}

fn take_authority(rest: &str) -> &str {
    rest.split(['/', '\\', '?', '#']).next().unwrap_or(rest)
}

/// Whether an authority is the beginning of a user and a password: no port follows its first colon.
fn is_cut(authority: &str) -> bool {
    authority.split_once(':').is_some_and(|(_, port)| {
        !is_literal_address(authority) && port.bytes().any(|byte| !byte.is_ascii_digit())
    })
}

/// `[::1]`, also with a port.
fn is_literal_address(authority: &str) -> bool {
    let inner = authority
        .strip_prefix('[')
        .and_then(|it| it.split_once(']'));
    inner.is_some_and(|(address, port)| {
        let mut inside = address.chars();
        let port = port.strip_prefix(':').unwrap_or(port);
        inside.all(|c| c.is_ascii_hexdigit() || matches!(c, ':' | '.')) && is_digits(port)
    })
}

/// Whether a text with one colon is a path of Windows: `C:\…`, `C:/…`.
fn is_drive(text: &str) -> bool {
    text.split_once(':').is_some_and(|(drive, path)| {
        drive.len() == 1
            && drive.starts_with(|c: char| c.is_ascii_alphabetic())
            && path.starts_with(['/', '\\'])
            && !path.contains(':')
    })
}

/// `busybox@sha256:…` names a container image.
fn is_digest(text: &str) -> bool {
    let digits = text
        .strip_prefix("sha256:")
        .filter(|digits| digits.len() == 64)
        .or_else(|| {
            text.strip_prefix("sha512:")
                .filter(|digits| digits.len() == 128)
        });
    digits.is_some_and(is_hex)
}

/// The password of an address; all of the login if it has no user. None for a user alone in front of an address
/// without a scheme: `git@github.com`.
pub fn find_password(text: &str) -> Option<&str> {
    let login = find_login(text)?;
    let has_scheme = text[..login.start].ends_with(['/', '\\', ':', ';']);
    let login = &text[login];
    match login.split_once(':') {
        Some((_, password)) => Some(password),
        None => has_scheme.then_some(login),
    }
}

#[cfg(test)]
mod tests {
    use super::{find_password, hide_login};

    /// Slashes, `#` and `?` in the path or in the password do not end the search for a password.
    #[test]
    fn a_slash_does_not_show_a_password() {
        for (text, shown, password) in [
            (
                "user:secret@nexus.example//repository/raw/",
                "nexus.example//repository/raw/",
                "secret",
            ),
            (
                "user:secret@proxy.example:3128//",
                "proxy.example:3128//",
                "secret",
            ),
            (
                "docker.io=user:secret@m.example//x",
                "m.example//x",
                "secret",
            ),
            ("user:secret@m.example?x=//y", "m.example", "secret"),
            ("user:pa//ss@proxy:3128", "proxy:3128", "pa//ss"),
            ("user:pa/ss@proxy:3128", "proxy:3128", "pa/ss"),
            ("user:pa#ss@proxy:3128", "proxy:3128", "pa#ss"),
            ("user:pa?ss@proxy:3128", "proxy:3128", "pa?ss"),
            ("user:pa=x//ss@proxy:3128", "proxy:3128", "pa=x//ss"),
            ("user:7/s=@proxy:3128", "proxy:3128", "7/s="),
            (
                "http://u:12/pass@proxy:3128",
                "http://proxy:3128",
                "12/pass",
            ),
            ("http://user:/pass@proxy:3128", "http://proxy:3128", "/pass"),
            (
                "http://alice@corp.example:12/Pass@proxy:3128",
                "http://proxy:3128",
                "12/Pass",
            ),
            (
                r"https//CORP\alice:pw@proxy:3128",
                "https//proxy:3128",
                "pw",
            ),
            (r"CORP\alice:/pw@proxy:3128", "proxy:3128", "/pw"),
            ("[user:12/pass@proxy", "proxy", "12/pass"),
            ("http://[user:p/s@proxy", "http://proxy", "p/s"),
            (":/pass@proxy", "proxy", "/pass"),
            (":#pass@proxy", "proxy", "#pass"),
            (r"//a\b:pass=@proxy", "//proxy", "pass="),
            ("htt ps://user:12/pass@proxy", "proxy", "//user:12/pass"),
            ("docker.io=user@corp:/pass@m.example", "m.example", "/pass"),
            ("user:/pa/ss@proxy:3128", "proxy:3128", "/pa/ss"),
            ("first_user://pa/ss@proxy", "proxy", "//pa/ss"),
            ("http://user:s:1/x@proxy", "http://proxy", "s:1/x"),
            ("http:user:secret@proxy", "http:proxy", "secret"),
            ("HTTP:/user:pa/ss@proxy", "HTTP:/proxy", "pa/ss"),
            (r"https:\\user:pa/ss@proxy", r"https:\\proxy", "pa/ss"),
            (
                "https://a.example/x=https:/user:s/x@m.example",
                "https://a.example/x=https:/m.example",
                "s/x",
            ),
            (
                "a.example:5000/x=https//user:pa//ss@m.example",
                "a.example:5000/x=https//m.example",
                "pa//ss",
            ),
            (
                "docker.io/x=user:pa//ss@m.example",
                "docker.io/x=m.example",
                "pa//ss",
            ),
            (
                "docker.io=https://token@m.example",
                "docker.io=https://m.example",
                "token",
            ),
        ] {
            assert_eq!(hide_login(text), shown, "{text}");
            assert_eq!(find_password(text), Some(password), "{text}");
        }
        let long = format!("{}:secret@proxy", "/=".repeat(50_000));
        assert_eq!(hide_login(&long), "proxy");
    }

    #[test]
    fn addresses_are_shown_without_user_and_password() {
        let image = &format!("busybox:1@sha256:{}", "0a".repeat(32));
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
            ("C:/images/a@b", "C:/images/a@b", None),
            (r"\\server\a@b", r"\\server\a@b", None),
            (image, image, None),
            ("u:P4th-w0rd@sha256:3128", "sha256:3128", Some("P4th-w0rd")),
            ("https://m.example/x@y?sig=1", "https://m.example/x@y", None),
            ("[::1]/x", "[::1]/x", None),
            ("a.example/x@1.0", "a.example/x@1.0", None),
            ("kubelet.exe", "kubelet.exe", None),
        ] {
            assert_eq!(hide_login(text), shown, "{text}");
            assert_eq!(find_password(text), password, "{text}");
        }
    }
}
