//! The grammar of references to container images.

use super::{Sha256, is_registry};
use crate::base::text::{is_alphanumeric_or, is_lowercase_or};

/// `[registry/]name[:tag]@sha256:digest` in the grammar of the distribution specification
/// (<https://github.com/distribution/reference>): a policy that names `registry.example/*` means every spelling.
pub(super) fn is_image_reference(text: &str) -> bool {
    let Some((named, digest)) = text.rsplit_once("@sha256:") else {
        return false;
    };
    let path = match named.split_once('/') {
        // The first part is a registry, or the first word of the name.
        Some((first, rest)) if first.contains(['.', ':']) || first == "localhost" => {
            if !is_registry(first) {
                return false;
            }
            rest
        }
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
    is_lowercase_or(text, "._-")
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
        && text
            .split(|c: char| c.is_ascii_alphanumeric())
            .all(is_separator)
}

fn is_separator(text: &str) -> bool {
    matches!(text, "." | "_" | "__") || text.bytes().all(|byte| byte == b'-')
}

fn is_image_tag(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && is_alphanumeric_or(text, "_.-")
        && !text.starts_with(['.', '-'])
}
