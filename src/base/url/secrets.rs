//! Parts of a URL that may be secret: its user, and parameters that sign or are tokens.

use std::ops::Range;

use crate::base::secret::is_secret_name;
use crate::base::text::is_alphanumeric_or;

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
    name.starts_with("x-amz-")
        || name.starts_with("x-goog-")
        || SECRET_PARAMETERS.contains(&name.as_str())
        || is_secret_name(&name)
        || !PUBLIC_PARAMETERS.contains(&name.as_str()) && is_random(value)
}

/// Whether nobody reads the value: it is long, and has letters and digits.
fn is_random(value: &str) -> bool {
    value.len() >= 24
        && is_alphanumeric_or(value, "+/=_-%~")
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Whether a query may hold a signature or a token: all that is not evidently none. Some servers divide queries at
/// `;`, too.
pub(super) fn may_hold_secret(query: &str) -> bool {
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
    let mut parts = text.split(['-', '_', '.', '+', ' ', '/', '{', '}']);
    text.len() <= 40 && parts.all(is_plain_part)
}

fn is_plain_part(part: &str) -> bool {
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    let is_short =
        digits == 0 && part.len() <= 16 || digits == part.len() && digits <= 12 || part.len() <= 5;
    is_short && is_alphanumeric_or(part, "")
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
pub fn find_secret_parts(text: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    if text.contains("://") {
        for (at, piece) in split_at(text, ends_url) {
            if piece.contains("://") {
                for user in find_users(piece) {
                    parts.push(at + user.start..at + user.end);
                }
            }
        }
    }
    if !text.contains('=') {
        return parts;
    }

    let mut opened = false;
    for (at, piece) in split_at(text, ends_parameter) {
        let piece_end = piece.trim_end_matches(ends_parameter).len();
        let mut starts = if opened { vec![0] } else { Vec::new() };
        starts.extend(piece.match_indices('?').map(|(mark, _)| mark + 1));
        for start in starts {
            if start >= piece_end {
                continue;
            }
            if let Some(length) = find_secret_value(&piece[start..piece_end]) {
                parts.push(at + start + length..at + piece_end);
            }
        }
        opened = piece.ends_with(['&', ';']);
    }
    parts
}

fn ends_parameter(c: char) -> bool {
    ends_url(c) || matches!(c, '&' | '#' | ';')
}

/// Users of the URLs in a text without blanks.
fn find_users(text: &str) -> Vec<Range<usize>> {
    let last = text.rfind('@');
    let mut users = Vec::new();
    for (at, _) in text.match_indices("://") {
        let start = at + 3;
        let after = &text[start..];
        let authority = &after[..after.find(['/', '?', '#']).unwrap_or(after.len())];
        // A password with `/` in it: what looks like a port is no number.
        let is_cut = authority.rsplit_once(':').is_some_and(|(host, port)| {
            !host.contains('[') && port.bytes().any(|byte| !byte.is_ascii_digit())
        });
        let end = if is_cut {
            last
        } else {
            authority.rfind('@').map(|user| start + user)
        };
        if let Some(end) = end
            && end > start
        {
            users.push(start..end);
        }
    }
    users
}

/// Where the value of a secret parameter begins in `name=value`.
fn find_secret_value(parameter: &str) -> Option<usize> {
    let length = parameter.find(|c: char| !c.is_ascii_alphanumeric() && !"._-[]".contains(c))?;
    let (name, rest) = parameter.split_at(length);
    let value = rest.strip_prefix('=')?;
    let is_secret = !name.is_empty() && !value.is_empty() && is_secret_parameter(name, value);
    is_secret.then_some(length + 1)
}
