//! The grammar of references to container images.

use super::{Sha256, is_registry};

/// `[registry/]name[:tag]@sha256:digest` in the grammar of the distribution specification
/// (<https://github.com/distribution/reference>): a policy that names `registry.example/*` means every spelling.
pub(super) fn is_image_reference(text: &str) -> bool {
    let Some((named, digest)) = text.rsplit_once("@sha256:") else {
        return false;
    };
    let is_registry_of = |first: &str| first.contains(['.', ':']) || first == "localhost";
    let path = match named.split_once('/') {
        Some((first, rest)) if is_registry_of(first) && is_registry(first) => rest,
        Some((first, _)) if is_registry_of(first) => return false,
        _ => named,
    };
    let last = path.rfind('/').map_or(0, |slash| slash + 1);
    let (path, tag) = match path[last..].split_once(':') {
        Some((name, tag)) => (&path[..last + name.len()], tag),
        None => (path, "latest"),
    };
    path.split('/').all(is_image_name) && is_image_tag(tag) && digest.parse::<Sha256>().is_ok()
}

/// Words of lower-case letters and digits, with `.`, `_`, `__` or dashes between them.
fn is_image_name(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_separator =
        |text: &str| matches!(text, "." | "_" | "__") || text.bytes().all(|byte| byte == b'-');
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
        && text
            .bytes()
            .all(|byte| is_word(byte) || b"._-".contains(&byte))
        && text
            .split(|c: char| c.is_ascii_alphanumeric())
            .all(is_separator)
}

fn is_image_tag(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (1..=128).contains(&text.len())
        && text.bytes().next().is_some_and(is_word)
        && text
            .bytes()
            .all(|byte| is_word(byte) || b".-".contains(&byte))
}
