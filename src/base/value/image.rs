//! The grammar of references to container images.

use super::{Sha256, is_registry};
use crate::base::text::{is_alphanumeric_or, is_lowercase_or};

/// `[registry/]name[:tag]@sha256:digest` in the grammar of the distribution specification
/// (<https://github.com/distribution/reference>): a policy that names `registry.example/*` means every spelling.
pub(super) fn is_image_reference(text: &str) -> bool {
    let Some((named, digest)) = text.rsplit_once("@sha256:") else {
        return false;
    };
    parse_named(named).is_some() && digest.parse::<Sha256>().is_ok()
}

/// The same, or `registry/name:tag`: a tag is asked for at a registry, so it has both.
pub(super) fn is_named_image(text: &str) -> bool {
    let has_tag = parse_named(text).is_some_and(|parts| parts.has_registry && parts.has_tag);
    has_tag || is_image_reference(text)
}

/// Optional parts of an image's name.
struct NamedParts {
    has_registry: bool,
    has_tag: bool,
}

fn parse_named(named: &str) -> Option<NamedParts> {
    let (registry, path) = match named.split_once('/') {
        // The first part is a registry, or the first word of the name.
        Some((first, rest)) if first.contains(['.', ':']) || first == "localhost" => {
            (Some(first), rest)
        }
        _ => (None, named),
    };
    let last = path.rfind('/').map_or(0, |slash| slash + 1);
    let (path, tag) = match path[last..].split_once(':') {
        Some((name, tag)) => (&path[..last + name.len()], Some(tag)),
        None => (path, None),
    };

    let fits = registry.is_none_or(is_registry)
        && path.split('/').all(is_image_name)
        && tag.is_none_or(is_image_tag);
    fits.then_some(NamedParts {
        has_registry: registry.is_some(),
        has_tag: tag.is_some(),
    })
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
